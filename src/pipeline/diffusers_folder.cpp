#include "pipeline/diffusers_folder.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "io/shards.h"

namespace gesso {
namespace fs = std::filesystem;
namespace {

constexpr size_t kConfigLimit = 1 << 20;

/// What of a component's config.json the shapes of its weights cannot tell, and the metadata key that we know it by.
struct ConfigKey {
  const char* folder;
  const char* key;
  const char* metadata;
};

constexpr ConfigKey kConfigKeys[] = {
    {"unet", "norm_num_groups", "unet_norm_num_groups"},
    // Misnamed in diffusers: for every model that exists it holds the number of heads.
    {"unet", "attention_head_dim", "num_heads"},
    {"unet", "num_attention_heads", "num_heads"},
    {"vae", "norm_num_groups", "vae_norm_num_groups"},
    {"vae", "scaling_factor", "scale_factor"},
    {"vae", "shift_factor", "shift_factor"},
    {"transformer", "attention_head_dim", "num_head_channels"},
    {"text_encoder", "num_attention_heads", "clip_heads"},
    {"text_encoder", "hidden_act", "clip_hidden_act"},
    {"text_encoder_2", "num_attention_heads", "clip_g_heads"},
    {"text_encoder_2", "hidden_act", "clip_hidden_act"},
    {"scheduler", "prediction_type", "prediction_type"},
};

Json read_config(const fs::path& path) {
  if (!fs::exists(path)) return Json::object();
  std::optional<Json> config = parse_json(read_file(path, kConfigLimit));
  if (!config || !config->is_object()) fail(ErrorCode::kBadFile, "{} is not a JSON object", quoted(path));
  return *std::move(config);
}

/// A list of one number per level of the UNet: all equal is that number; else the heads follow from the channels.
std::optional<std::string> scalar(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return to_text(value);
  return std::nullopt;
}

void add_config(const fs::path& folder, const std::string& name, const char* file,
                std::map<std::string, std::string>& metadata) {
  const Json config = read_config(folder / name / file);
  for (const ConfigKey& row : kConfigKeys) {
    if (name != row.folder || !config.contains(row.key)) continue;
    if (const auto value = scalar(config[row.key])) metadata[row.metadata] = *value;
    // Lists (5, 10, 20, 20) are heads of 64 channels each, or as many as level 0 says.
    const auto& list = config[row.key];
    const auto channels = config.find("block_out_channels");
    if (list.is_array() && !list.empty() && list[0].is_number_integer() && list[0] > 0 && channels != config.end() &&
        channels->is_array() && !channels->empty() && (*channels)[0].is_number_integer())
      metadata["num_head_channels"] = std::to_string((*channels)[0].get<int64_t>() / list[0].get<int64_t>());
  }
}

/// What to open in a component's folder, or nothing.
std::optional<fs::path> weights_in(const fs::path& folder) {
  std::vector<fs::path> indexes, singles;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors.index.json")) indexes.push_back(entry.path());
    if (name.ends_with(".safetensors") && name.find("-of-") == std::string::npos) singles.push_back(entry.path());
  }
  // "model.fp16.safetensors" is a variant: the shorter name is the plain one.
  const auto shorter = [](const fs::path& a, const fs::path& b) {
    return std::pair(a.native().size(), a.native()) < std::pair(b.native().size(), b.native());
  };
  for (auto* candidates : {&indexes, &singles})
    if (!candidates->empty()) return *std::min_element(candidates->begin(), candidates->end(), shorter);
  return std::nullopt;
}

}  // namespace

bool is_diffusers_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) &&
         (fs::exists(path / "model_index.json", error) || fs::is_directory(path / "unet", error) ||
          fs::is_directory(path / "transformer", error));
}

std::vector<DiffusersPart> open_diffusers_folder(const fs::path& path) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  std::vector<DiffusersPart> parts;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (name == "safety_checker" || name == "feature_extractor") continue;  // not part of painting
    const auto weights = weights_in(folder);
    if (!weights) continue;
    DiffusersPart part{open_tensor_files(*weights), {}};
    add_config(path, name, "config.json", part.metadata);
    if (name == "unet") add_config(path, "scheduler", "scheduler_config.json", part.metadata);
    parts.push_back(std::move(part));
  }
  if (parts.empty())
    fail(ErrorCode::kBadFile, "the folder {} holds no component in safetensors files (unet/, vae/, text_encoder/)",
         quoted(path));
  return parts;
}

}  // namespace gesso
