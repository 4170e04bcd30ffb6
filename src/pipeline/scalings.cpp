#include "pipeline/scalings.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "io/printable.h"

namespace gesso {
namespace {

struct Parts {
  std::optional<size_t> scale;
  bool second_scale = false;
  std::string format;  ///< JSON; empty: the type says it
};

std::string text_of(const TensorFile& file, const TensorInfo& tensor) {
  constexpr uint64_t kMost = 4096;
  if (tensor.dtype != DType::kU8 || tensor.bytes > kMost || tensor.bytes == 0)
    fail(ErrorCode::kBadFile, "tensor {} of {}: wanted a JSON text as U8, found {} {}", printable(tensor.name),
         quoted(file.path()), to_string(tensor.dtype), to_string(tensor.shape));
  const auto bytes = file.read(tensor);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The texts that newer files hold together, in their metadata: {"layers": {"NAME": {"format": ...}}}, where NAME is
/// that of the weight without ".weight".
std::map<std::string, std::string> texts_of_metadata(const ModelFile& file) {
  const auto found = file.metadata.find("_quantization_metadata");
  if (found == file.metadata.end()) return {};
  const auto json = parse_json(found->second);
  if (!json || !json->is_object() || !json->contains("layers") || !(*json)["layers"].is_object())
    fail(ErrorCode::kBadFile, "metadata _quantization_metadata of {}: wanted JSON with \"layers\", found {}",
         quoted(file.file->path()), printable(found->second));
  std::map<std::string, std::string> texts;
  for (const auto& [layer, format] : (*json)["layers"].items()) texts.emplace(layer + ".weight", to_text(format));
  return texts;
}

}  // namespace

std::map<size_t, std::shared_ptr<const Scaling>> read_scalings(const ModelFile& file,
                                                               const std::function<bool(size_t weight)>& wanted) {
  std::map<size_t, Parts> parts;
  const auto& tensors = file.file->tensors();
  for (const Companion& companion : file.recognition.companions) {
    if (companion.kind == CompanionKind::kInputScale || !wanted(companion.weight_index)) continue;
    Parts& of = parts[companion.weight_index];
    const TensorInfo& tensor = tensors[companion.tensor_index];
    if (companion.kind == CompanionKind::kFormat) of.format = text_of(*file.file, tensor);
    if (companion.kind == CompanionKind::kSecondScale) of.second_scale = true;
    if (companion.kind != CompanionKind::kScale) continue;
    if (of.scale)
      fail(ErrorCode::kBadFile, "{}: both {} and {} would scale {}", quoted(file.file->path()),
           printable(tensors[*of.scale].name), printable(tensor.name), printable(tensors[companion.weight_index].name));
    of.scale = companion.tensor_index;
  }
  const auto more = texts_of_metadata(file);
  for (size_t i = 0; !more.empty() && i < tensors.size(); ++i)
    if (const auto text = more.find(tensors[i].name); text != more.end() && wanted(i) && parts[i].format.empty())
      parts[i].format = text->second;

  std::map<size_t, std::shared_ptr<const Scaling>> scalings;
  for (const auto& [weight, part] : parts) {
    scalings.emplace(weight, Scaling::read(*file.file, weight, part.scale, part.format));
    if (part.second_scale)
      fail(ErrorCode::kUnsupported, "tensor {} of {}: its scales have scales, which this version cannot read",
           printable(tensors[weight].name), quoted(file.file->path()));
  }
  return scalings;
}

}  // namespace gesso
