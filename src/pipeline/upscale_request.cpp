// What `gesso upscale` is asked for.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "pipeline/upscale.h"

namespace gesso {
namespace {

constexpr std::string_view kKnown[] = {
    "inputs", "model", "filter",  "second_model", "second_filter", "second_visibility", "scale",   "width",
    "height", "crop",  "repeats", "tile",         "metadata",      "precision",         "threads", "memory"};
constexpr double kLeastScale = 0.05, kLargestScale = 64;
constexpr int kMostRepeats = 8, kLargestTile = 8192;

/// The fields of a document, read by name and range.
class Document {
 public:
  explicit Document(Json json) : json_(std::move(json)) {
    if (!json_.is_object()) fail(ErrorCode::kUsage, "the request is not a JSON object");
    for (const auto& item : json_.items())
      if (std::ranges::find(kKnown, item.key()) == std::end(kKnown))
        fail(ErrorCode::kUsage, "unknown field {}; known: {}", shown(item.key()), fmt::join(kKnown, ", "));
  }
  /// Null where the field is absent or null.
  const Json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<std::string> text(const char* name) const {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_string() || *value == "") refuse(name, "a text that is not empty", *value);
    return value->get<std::string>();
  }
  std::optional<double> number(const char* name, double least, double most) const {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
      refuse(name, fmt::format("a number from {} to {}", least, most), *value);
    return value->get<double>();
  }
  std::optional<int> integer(const char* name, int least, int most) const {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (!(number >= least && number <= most && number == std::floor(number)))
      refuse(name, fmt::format("a whole number from {} to {}", least, most), *value);
    return static_cast<int>(number);
  }
  std::optional<bool> truth(const char* name) const {
    const Json* value = find(name);
    if (value && !value->is_boolean()) refuse(name, "true or false", *value);
    return value ? std::optional(value->get<bool>()) : std::nullopt;
  }
  [[noreturn]] static void refuse(const char* name, const std::string& wanted, const Json& found) {
    fail(ErrorCode::kUsage, "{}: wanted {}, found {}", name, wanted, shown(found));
  }

 private:
  Json json_;
};

std::optional<UpscaleMethod> method(const Document& document, const char* model_field, const char* filter_field) {
  const auto model = document.text(model_field), filter = document.text(filter_field);
  if (model && filter) fail(ErrorCode::kUsage, "{} and {} are both given: give one", model_field, filter_field);
  if (model) return UpscaleMethod{.model = *model};
  if (!filter) return std::nullopt;
  if (*filter != "lanczos" && *filter != "nearest")
    fail(ErrorCode::kUsage, "{}: wanted lanczos or nearest, found '{}'", filter_field, *filter);
  return UpscaleMethod{.filter = *filter};
}

/// Threads, memory and precision by the rules of a painting request, which needs a prompt.
Request machine_of(const Document& document) {
  Json fields = {{"prompt", "-"}};
  for (const char* name : {"precision", "threads", "memory"})
    if (const Json* value = document.find(name)) fields[name] = *value;
  return request_from_json(fields);
}

}  // namespace

UpscaleRequest parse_upscale_request(std::string_view text) {
  if (text.size() > kRequestLimit)
    fail(ErrorCode::kUsage, "the request has {} bytes; at most {} are read", text.size(), kRequestLimit);
  const Document document(parse_document(text, "the request", /*depth=*/3));
  UpscaleRequest request;
  const Json* inputs = document.find("inputs");
  if (!inputs || !inputs->is_array() || inputs->empty())
    fail(ErrorCode::kUsage, "inputs: wanted a list of pictures, found {}", inputs ? shown(*inputs) : "none");
  for (const Json& path : *inputs) {
    if (!path.is_string()) Document::refuse("inputs", "a list of pictures", path);
    request.inputs.emplace_back(path.get<std::string>());
  }
  const auto first = method(document, "model", "filter");
  if (!first) fail(ErrorCode::kUsage, "model: missing; give the file of an upscaler");
  request.method = *first;
  request.second = method(document, "second_model", "second_filter");
  const auto visibility = document.number("second_visibility", 0, 1);
  if (visibility.has_value() != request.second.has_value())
    fail(ErrorCode::kUsage, "second_visibility and a second upscaler go together: give both");
  request.second_visibility = visibility.value_or(0);
  request.scale = document.number("scale", kLeastScale, kLargestScale);
  request.width = document.integer("width", 1, kMaxPictureSide);
  request.height = document.integer("height", 1, kMaxPictureSide);
  request.crop = document.truth("crop").value_or(false);
  const bool sized = request.width || request.height;
  if (sized && request.scale) fail(ErrorCode::kUsage, "scale and width or height are both given: give one");
  if (request.crop && !(request.width && request.height))
    fail(ErrorCode::kUsage, "crop: needs width and height, to which the picture is cut");
  if (first->model.empty() && !sized && !request.scale)
    fail(ErrorCode::kUsage, "scale: missing; only a network has one of its own");
  request.repeats = document.integer("repeats", 0, kMostRepeats).value_or(0);
  request.tile = document.integer("tile", 0, kLargestTile).value_or(0);
  request.metadata = document.truth("metadata").value_or(true);
  request.machine = machine_of(document);
  return request;
}

}  // namespace gesso
