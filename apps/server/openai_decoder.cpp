// POST /v1/images/generations as https://platform.openai.com/docs/api-reference/images/create has it.
#include <algorithm>
#include <charconv>

#include "server/request_decoder.h"

namespace server {
namespace {

constexpr int64_t kMostPictures = 10000;  // the server's own limit is checked later

/// "512x768" in either case; "auto": the model decides.
void read_size(const std::string& size, Json& fields) {
  if (size == "auto") return;
  const size_t cross = size.find_first_of("xX");
  const auto number = [](std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : 0;
  };
  const std::string_view text = size;
  const int width = number(text.substr(0, cross)), height = cross == size.npos ? 0 : number(text.substr(cross + 1));
  if (width <= 0 || height <= 0)
    throw bad_field("size", "wanted auto or WIDTHxHEIGHT, such as 512x512, found " + shown(size));
  fields["width"] = width;
  fields["height"] = height;
}

/// One of the words that the API knows; a word that asks for nothing here is worth a warning.
void read_word(Fields& in, Decoded& out, const char* name, std::initializer_list<const char*> known,
               std::initializer_list<const char*> without_effect) {
  const auto word = in.text(name);
  if (!word) return;
  if (std::ranges::find(known, *word) != known.end()) return;
  if (std::ranges::find(without_effect, *word) != without_effect.end()) {
    out.warnings.push_back(std::string(name) + ": has no effect here; steps and sampling_method have");
    return;
  }
  std::string all;
  for (const auto& list : {known, without_effect})
    for (const char* each : list) all += (all.empty() ? "" : ", ") + std::string(each);
  throw bad_field(name, "wanted one of " + all + ", found " + shown(*word));
}

void read_format(Fields& in, Decoded& out) {
  if (const auto format = in.text("output_format")) out.format = picture_format("output_format", *format);
  if (const auto quality = in.integer("output_compression", 0, 100)) {
    if (out.format == "png" && *quality != 100) out.warnings.emplace_back("output_compression: has no effect on png");
    out.quality = std::max(1, static_cast<int>(*quality));
  }
}

}  // namespace

Decoded decode_openai(std::string_view body) {
  const Json document = parse_object(body);
  Fields in(document);
  Decoded out;
  const auto prompt = in.text("prompt");
  if (!prompt) throw bad_field("prompt", "missing; it says what the picture shows");
  out.fields["prompt"] = *prompt;
  out.fields["seed"] = -1;
  if (const auto model = in.text("model"); model && !model->empty()) out.fields["model"] = *model;
  if (const auto n = in.integer("n", 1, kMostPictures)) out.fields["batch_count"] = *n;
  out.size = in.text("size").value_or("auto");
  read_size(out.size, out.fields);

  const std::string response = in.text("response_format").value_or("b64_json");
  if (response != "url" && response != "b64_json")
    throw bad_field("response_format", "wanted b64_json or url, found " + shown(response));
  out.url = out.save = response == "url";
  read_format(in, out);
  out.stream = in.boolean("stream").value_or(false);
  if (in.integer("partial_images", 0, 3).value_or(0) > 0)
    out.warnings.emplace_back("partial_images: this engine sends none yet");
  if (in.text("background") == "transparent")
    throw ApiError(501, "unsupported", "background: transparent is not supported yet; use auto or opaque",
                   "background");
  read_word(in, out, "background", {"auto", "opaque"}, {});
  read_word(in, out, "quality", {"auto"}, {"standard", "hd", "low", "medium", "high"});
  read_word(in, out, "style", {}, {"vivid", "natural"});
  read_word(in, out, "moderation", {"auto", "low"}, {});
  in.text("user");

  for (const std::string& name : in.unknown()) {
    if (!schema_property(name))
      throw bad_field(name, "unknown; besides those of this API, the fields of /api/v1/schema are known");
    if (!document[name].is_null()) out.fields[name] = document[name];
  }
  return out;
}

}  // namespace server
