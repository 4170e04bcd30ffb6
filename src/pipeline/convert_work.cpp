#include "pipeline/convert_work.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "io/gguf.h"
#include "io/imatrix.h"
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

/// Metadata that describe the file they came from and not the weights.
bool is_carried(std::string_view key) {
  return key != "general.alignment" && key != "general.quantization_version" && key != "general.file_type" &&
         !key.starts_with(kGgufShapeKey) && !key.starts_with("tokenizer.");
}

constexpr std::string_view kMetadataOfScales = "_quantization_metadata";

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
void expect_same_components(const ConvertWork& work, bool renamed) {
  if (work.files.size() < 2 && !renamed) return;
  std::vector<TensorInfo> united;
  for (const ConvertItem& item : work.items) united.push_back(item.to);
  const Recognition together = recognise(united, work.metadata);
  for (const ModelFile& file : work.files)
    for (const Component& component : file.recognition.components)
      if (!together.find(component.role))
        fail(ErrorCode::kUnsupported, "the {} of {} would not be found again among the names of the others",
             title_of(component.role), quoted(file.file->path()));
}

/// What our names of the file's tensors are, by their index.
std::map<size_t, std::vector<std::string>> our_names(const ModelFile& file) {
  std::map<size_t, std::vector<std::string>> names;
  for (const Component& component : file.recognition.components)
    if (component.kind->network)
      for (const PlacedTensor& placed : component.tensors)
        names[placed.tensor_index].push_back(file_prefix(component.role) + placed.placement.name);
  return names;
}

void add_items(const ConvertRequest& request, const ModelFile& file, ConvertWork& work) {
  std::string prefix;
  const Component* main = file.recognition.main();
  if (work.files.size() > 1 && main && main->prefix.empty()) prefix = file_prefix(main->role);
  const std::set<size_t> sensitive = sensitive_tensors(file);
  const ScaledWeights scaled = plan_scaled_weights(request, file, !prefix.empty(), work);
  carry_metadata(file, scaled.applied.empty(), work);
  auto names = our_names(file);
  for (size_t i = 0; i < file.file->tensors().size(); ++i) {
    if (scaled.left.contains(i)) continue;
    const TensorInfo& from = file.file->tensors()[i];
    auto [source, type] = scaled.source(file, i);
    add_item(request,
             {.sources = {std::move(source)}, .to = {prefix + from.name, type, from.shape, 0, 0}, .ours = names[i]},
             sensitive.contains(i), work);
  }
}

/// The importance of an item: under its own name, that of the diffusion model's part, or ours. Parts that stand below
/// one another are multiplied by the same.
const Importance* importance_of(const ConvertItem& item, const Imatrix& imatrix) {
  std::vector<std::string> names = {item.to.name, file_prefix(Role::kDiffusionModel) + item.to.name};
  names.insert(names.end(), item.ours.begin(), item.ours.end());
  for (const std::string& name : names)
    if (const auto found = imatrix.entries.find(name); found != imatrix.entries.end() && found->second.rows > 0)
      return &found->second;
  return nullptr;
}

/// Gives each item that becomes blocks the importance of its columns.
void weigh_items(const Imatrix& imatrix, ConvertWork& work) {
  size_t weighed = 0, alike = 0;
  for (ConvertItem& item : work.items) {
    if (!is_block(item.to.dtype) || item.is_copied()) continue;
    const Importance* importance = importance_of(item, imatrix);
    const bool turned = std::ranges::any_of(item.sources, [](const ConvertSource& s) { return s.turned.rank() > 0; });
    if (!importance || turned) {
      ++alike;
      continue;
    }
    if (static_cast<int64_t>(importance->sums.size()) != item.to.shape[-1])
      fail(ErrorCode::kBadFile,
           "imatrix: it has {} columns for tensor {}, which has rows of {}: it was made with another model",
           importance->sums.size(), printable(item.to.name), item.to.shape[-1]);
    item.importance = importance->means();
    ++weighed;
  }
  if (weighed == 0 && alike > 0)
    fail(ErrorCode::kUsage,
         "imatrix: none of its {} entries belongs to a tensor that is quantised; the first is for {}",
         imatrix.entries.size(), printable(imatrix.entries.begin()->first));
  work.notes.push_back(fmt::format("{} tensors are quantised by importance, {} without", weighed, alike));
}

}  // namespace

std::pair<ConvertSource, DType> ScaledWeights::source(const ModelFile& file, size_t tensor) const {
  const TensorInfo& info = file.file->tensors()[tensor];
  const auto found = applied.find(tensor);
  const bool apply = found != applied.end();
  return {{file.file.get(), &info, apply ? found->second : nullptr, 0, info.shape.elements()},
          apply ? DType::kF16 : info.dtype};
}

void carry_metadata(const ModelFile& file, bool with_scales, ConvertWork& work) {
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

ScaledWeights plan_scaled_weights(const ConvertRequest& request, const ModelFile& file, bool renamed,
                                  ConvertWork& work) {
  const auto& tensors = file.file->tensors();
  bool changes = request.output.extension() == ".gguf" || request.type || request.names ||
                 (renamed && file.metadata.contains(std::string(kMetadataOfScales)));
  for (const Companion& c : file.recognition.companions)
    changes |=
        std::ranges::any_of(request.rules, [&](const TypeRule& r) { return r.finds(tensors[c.weight_index].name); });
  if (!changes) return {};
  ScaledWeights result{read_scalings(file, [](size_t) { return true; }), {}};
  if (result.applied.empty()) return result;
  work.notes.push_back(fmt::format("the scales of {} weights of {} are applied to them and left out",
                                   result.applied.size(), quoted(file.file->path())));
  for (const Companion& c : file.recognition.companions) result.left.insert(c.tensor_index);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name.ends_with("scaled_fp8")) result.left.insert(i);
  return result;
}

void add_item(const ConvertRequest& request, ConvertItem item, bool sensitive, ConvertWork& work) {
  const TensorFile& file = *item.sources.front().file;
  const auto [owner, added] = work.owners.emplace(item.to.name, &file);
  if (!added)
    fail(ErrorCode::kUsage, "tensor {} is both in {} and in {}; give only one of them", printable(item.to.name),
         quoted(owner->second->path()), quoted(file.path()));
  ChosenType chosen = choose_type(request, item.to, sensitive);
  item.to.dtype = chosen.type;
  item.reason = std::move(chosen.reason);
  work.items.push_back(std::move(item));
}

ConvertWork plan_conversion(const ConvertRequest& request) {
  ConvertWork work;
  Imatrix imatrix;
  for (const auto& path : request.imatrix) imatrix.merge(read_imatrix(path));
  for (const auto& input : request.inputs) {
    std::error_code error;
    if (std::filesystem::equivalent(input, request.output, error))
      fail(ErrorCode::kUsage, "output: {} is one of the inputs; take another name", quoted(request.output));
    for (ModelFile& file : open_model_files(nullptr, input)) work.files.push_back(std::move(file));
  }
  if (request.names)
    add_renamed_items(request, work);
  else
    for (const ModelFile& file : work.files) add_items(request, file, work);
  expect_same_components(work, request.names.has_value());
  if (!request.imatrix.empty()) weigh_items(imatrix, work);
  return work;
}

}  // namespace gesso
