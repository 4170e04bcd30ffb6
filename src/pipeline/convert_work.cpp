#include "pipeline/convert_work.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "io/gguf.h"
#include "io/printable.h"
#include "models/names/network.h"
#include "pipeline/scalings.h"

namespace gesso {
namespace {

/// Parts of the names that layers which weigh little and lose much have in several tools; for networks whose names this
/// version does not know (Network::sensitive is for the others).
constexpr std::string_view kSensitive[] = {
    "embedding",    "pos_embed",  "x_embedder.", "t_embedder.", "y_embedder.", "context_embedder.",
    "time_embed",   "label_emb.", "img_in.",     "txt_in.",     "time_in.",    "vector_in.",
    "time_text_",   "proj_out.",  "norm_out.",   "patch_embed", "time_proj",   "guidance_in.",
    "final_layer.", "conv_in.",   "conv_out.",   "head.",
};

/// Before the names of a component that has no prefix, when several make one file.
std::string prefix_of(Role role) {
  if (role == Role::kDiffusionModel) return "model.diffusion_model.";
  if (role == Role::kVae) return "first_stage_model.";
  return fmt::format("text_encoders.{}.transformer.", to_string(role));
}

/// Metadata that describe the file they came from and not the weights.
bool is_carried(std::string_view key) {
  return key != "general.alignment" && key != "general.quantization_version" && key != "general.file_type" &&
         !key.starts_with(kGgufShapeKey) && !key.starts_with("tokenizer.");
}

/// What becomes of the weights of a file that have scales in tensors beside them: all keep them, or all get the values.
struct ScaledWeights {
  std::map<size_t, std::shared_ptr<const Scaling>> applied;  ///< by the index of the weight; empty: all are copied
  std::set<size_t> left;  ///< companions and markers that say nothing once the scales are applied
};

constexpr std::string_view kMetadataOfScales = "_quantization_metadata";

ScaledWeights scaled_weights(const ConvertRequest& request, const ModelFile& file, bool renamed) {
  const auto& tensors = file.file->tensors();
  bool changes = request.output.extension() == ".gguf" || request.type ||
                 (renamed && file.metadata.contains(std::string(kMetadataOfScales)));
  for (const Companion& c : file.recognition.companions)
    changes |=
        std::ranges::any_of(request.rules, [&](const TypeRule& r) { return r.finds(tensors[c.weight_index].name); });
  if (!changes) return {};
  ScaledWeights result{read_scalings(file, [](size_t) { return true; }), {}};
  if (result.applied.empty()) return result;
  for (const Companion& c : file.recognition.companions) result.left.insert(c.tensor_index);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name.ends_with("scaled_fp8")) result.left.insert(i);
  return result;
}

void add_metadata(const ModelFile& file, bool with_scales, ConvertWork& work) {
  bool tokenizer = false;
  for (const auto& [key, value] : file.metadata) {
    tokenizer |= key.starts_with("tokenizer.");
    if (!is_carried(key) || (key == kMetadataOfScales && !with_scales)) continue;
    const auto [at, added] = work.metadata.emplace(key, value);
    if (!added && at->second != value)
      work.notes.push_back(fmt::format("metadata {} of {} differ from those of a file before it and are left out",
                                       printable(key), quoted(file.file->path())));
  }
  if (tokenizer) work.notes.push_back(fmt::format("the tokenizer in {} is left out", quoted(file.file->path())));
}

/// The tensors of a file that belong to sensitive layers, by their index.
std::set<size_t> sensitive_tensors(const ModelFile& file) {
  std::set<size_t> found, told;
  for (const Component& component : file.recognition.components) {
    if (!component.kind->network) continue;
    for (const PlacedTensor& placed : component.tensors) {
      told.insert(placed.tensor_index);
      if (is_sensitive(*component.kind->network, placed.placement.name)) found.insert(placed.tensor_index);
    }
  }
  const auto& tensors = file.file->tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!told.contains(i) && std::ranges::any_of(kSensitive, [&](std::string_view part) {
          return tensors[i].name.find(part) != std::string::npos;
        }))
      found.insert(i);
  return found;
}

/// The united file must be as recognisable as its parts were.
void expect_same_components(const ConvertWork& work) {
  if (work.files.size() < 2) return;
  std::vector<TensorInfo> united;
  for (const ConvertItem& item : work.items) united.push_back(item.to);
  const Recognition together = recognise(united, work.metadata);
  for (const ModelFile& file : work.files)
    for (const Component& component : file.recognition.components)
      if (!together.find(component.role))
        fail(ErrorCode::kUnsupported, "the {} of {} would not be found again among the names of the others",
             title_of(component.role), quoted(file.file->path()));
}

void add_items(const ConvertRequest& request, const ModelFile& file, std::map<std::string, const TensorFile*>& owners,
               ConvertWork& work) {
  std::string prefix;
  const Component* main = file.recognition.main();
  if (work.files.size() > 1 && main && main->prefix.empty()) prefix = prefix_of(main->role);
  const std::set<size_t> sensitive = sensitive_tensors(file);
  const ScaledWeights scaled = scaled_weights(request, file, !prefix.empty());
  if (!scaled.applied.empty())
    work.notes.push_back(fmt::format("the scales of {} weights of {} are applied to them and left out",
                                     scaled.applied.size(), quoted(file.file->path())));
  add_metadata(file, scaled.applied.empty(), work);
  for (size_t i = 0; i < file.file->tensors().size(); ++i) {
    if (scaled.left.contains(i)) continue;
    const auto scaling = scaled.applied.find(i);
    const bool apply = scaling != scaled.applied.end();
    const TensorInfo& from = file.file->tensors()[i];
    TensorInfo to{prefix + from.name, apply ? DType::kF16 : from.dtype, from.shape, 0, 0};
    const auto [owner, added] = owners.emplace(to.name, file.file.get());
    if (!added)
      fail(ErrorCode::kUsage, "tensor {} is both in {} and in {}; give only one of them", printable(to.name),
           quoted(owner->second->path()), quoted(file.file->path()));
    ChosenType chosen = choose_type(request, to, sensitive.contains(i));
    to.dtype = chosen.type;
    work.items.push_back(
        {file.file.get(), &from, std::move(to), std::move(chosen.reason), apply ? scaling->second : nullptr});
  }
}

}  // namespace

ConvertWork plan_conversion(const ConvertRequest& request) {
  ConvertWork work;
  for (const auto& input : request.inputs) {
    std::error_code error;
    if (std::filesystem::equivalent(input, request.output, error))
      fail(ErrorCode::kUsage, "output: {} is one of the inputs; take another name", quoted(request.output));
    for (ModelFile& file : open_model_files(nullptr, input)) work.files.push_back(std::move(file));
  }
  std::map<std::string, const TensorFile*> owners;
  for (const ModelFile& file : work.files) {
    add_items(request, file, owners, work);
  }
  expect_same_components(work);
  return work;
}

}  // namespace gesso
