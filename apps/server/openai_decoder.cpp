// POST /v1/images/generations, /edits and /variations as https://platform.openai.com/docs/api-reference/images has
// them.
#include <algorithm>
#include <charconv>
#include <memory>

#include "gesso/gesso.h"
#include "server/multipart.h"
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

/// Pictures and fields of a form, or of a JSON object.
struct Form {
  Json fields = Json::object();
  std::vector<std::string> images = {};
  std::optional<std::string> mask = {};
};

bool names_image(const std::string& name) {
  return name == "image" || name == "image[]" || name == "images";
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Form read_form(std::string_view content_type, std::string_view body) {
  Form form;
  if (content_type.empty() || content_type.starts_with("application/json")) {
    const Json document = parse_object(body);
    for (const auto& [name, value] : document.items()) {
      if (names_image(name) && value.is_array()) {
        for (const Json& each : value) form.images.push_back(picture_of(name, each));
      } else if (names_image(name)) {
        form.images.push_back(picture_of(name, value));
      } else if (name == "mask" && !value.is_null()) {
        form.mask = picture_of(name, value);
      } else {
        form.fields[name] = value;
      }
    }
    return form;
  }
  for (Part& part : parse_multipart(content_type, body)) {
    if (names_image(part.name) || part.name == "mask") {
      expect_picture(part.name, part.bytes);
      if (part.name == "mask")
        form.mask = std::move(part.bytes);
      else
        form.images.push_back(std::move(part.bytes));
    } else if (form.fields.contains(part.name)) {
      throw bad_field(part.name.substr(0, 100), "is given twice");
    } else if (!is_utf8(part.name) || !is_utf8(part.bytes)) {
      throw bad_field(is_utf8(part.name) ? part.name.substr(0, 100) : "", "a field of the form is not valid UTF-8");
    } else {
      form.fields[part.name] = std::move(part.bytes);
    }
  }
  return form;
}

/// The prompt with which a picture was painted, if it says so.
std::optional<std::string> prompt_inside(std::string_view picture) {
  const std::unique_ptr<char, decltype(&gesso_free)> info(
      gesso_picture_info(reinterpret_cast<const uint8_t*>(picture.data()), picture.size(), nullptr), gesso_free);
  if (!info) return std::nullopt;
  const std::string prompt = parse_json(info.get())["fields"].value("Prompt", "");
  return prompt.empty() ? std::nullopt : std::optional(prompt);
}

/// A form has nothing but texts: the number or truth that one stands for, where the schema wants it.
Json typed(const Json& property, const Json& value) {
  if (!value.is_string() || property["type"] == "string") return value;
  const Json meant = Json::parse(value.get_ref<const std::string&>(), nullptr, false);
  return meant.is_number() || meant.is_boolean() ? meant : value;
}

Decoded decode_fields(const Json& document) {
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
  out.partial_images = static_cast<int>(in.integer("partial_images", 0, 3).value_or(0));
  if (out.partial_images > 0 && !out.stream) out.warnings.emplace_back("partial_images: have no effect without stream");
  if (out.partial_images > 0 && out.stream) out.fields["preview"] = "proj";  // unless the request says another
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
    if (!document[name].is_null()) out.fields[name] = typed(*schema_property(name), document[name]);
  }
  take_pictures(out);
  return out;
}

/// Fields and the one picture that is painted over.
Decoded decode_over(Form form) {
  if (form.images.empty()) throw bad_field("image", "missing; it is the picture to paint over");
  if (form.images.size() > 1)
    throw ApiError(501, "unsupported", "image: this server paints over one picture at a time", "image");
  Decoded out = decode_fields(form.fields);
  for (const char* name : {"init_image", "mask_image"})
    if (out.fields.contains(name)) throw bad_field(name, "here the pictures come as image and mask");
  out.pictures["init_image"] = std::move(form.images.front());
  if (form.mask) {
    out.pictures["mask_image"] = *std::move(form.mask);
    if (!out.fields.contains("mask_channel")) out.fields["mask_channel"] = "alpha";
  }
  return out;
}

}  // namespace

Decoded decode_openai(std::string_view body) {
  return decode_fields(parse_object(body));
}

Decoded decode_openai_edit(std::string_view content_type, std::string_view body) {
  return decode_over(read_form(content_type, body));
}

Decoded decode_openai_variation(std::string_view content_type, std::string_view body) {
  constexpr double kStrength = 0.6;  // another picture, but of the same kind
  Form form = read_form(content_type, body);
  if (form.mask) throw bad_field("mask", "variations are of the whole picture; /v1/images/edits takes a mask");
  if (!form.fields.contains("prompt")) {
    const auto prompt = form.images.empty() ? std::nullopt : prompt_inside(form.images.front());
    form.fields["prompt"] = prompt.value_or("a picture");
  }
  if (!form.fields.contains("strength")) form.fields["strength"] = kStrength;
  return decode_over(std::move(form));
}

}  // namespace server
