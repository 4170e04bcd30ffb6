#include "media/origin.h"

#include <algorithm>
#include <optional>

#include "media/comfy_graph.h"

namespace gesso {
namespace {

/// Parses JSON as Python writes it: NaN and infinities, which JSON lacks, become null. What is nested too deeply is
/// left out; null for what is no JSON.
Json parse_text(std::string_view python) {
  std::string text;
  bool quoted = false;
  for (size_t i = 0; i < python.size(); ++i) {
    const std::string_view rest = python.substr(i);
    if (!quoted && (rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity"))) {
      text += "null";
      i += rest[0] == 'N' ? 2 : rest[0] == 'I' ? 7 : 8;
      continue;
    }
    text += python[i];
    if (python[i] == '"') quoted = !quoted;
    if (quoted && python[i] == '\\' && i + 1 < python.size()) text += python[++i];
  }
  constexpr int kDepth = 64;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth < kDepth; };
  Json json = Json::parse(text, shallow, false);
  return json.is_discarded() ? Json() : json;
}

class Texts {
 public:
  explicit Texts(const std::vector<PictureText>& texts) : texts_(texts) {}

  const std::string* find(std::string_view key) const {
    const auto found = std::ranges::find(texts_, key, &PictureText::key);
    return found == texts_.end() ? nullptr : &found->text;
  }
  /// What stands behind "prompt:", in letters of either case, in a text of EXIF.
  std::optional<std::string> behind(std::string_view head) const {
    for (const PictureText& entry : texts_) {
      const bool same = entry.text.size() > head.size() &&
                        std::equal(head.begin(), head.end(), entry.text.begin(),
                                   [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
      if (same) return entry.text.substr(head.size());
    }
    return std::nullopt;
  }

 private:
  const std::vector<PictureText>& texts_;
};

/// Adds a member of a JSON object under A1111's name, where it is there.
void add(Parameters& parameters, const char* name, const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (object.contains(key))
      if (std::string value = plain_text(object[key]); !value.empty()) {
        parameters.fields.emplace_back(name, std::move(value));
        return;
      }
}

void add_size(Parameters& parameters, const Json& object) {
  if (!object.contains("width") || !object.contains("height")) return;
  const std::string width = plain_text(object["width"]), height = plain_text(object["height"]);
  if (!width.empty() && !height.empty()) parameters.fields.emplace_back("Size", width + "x" + height);
}

std::string member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? plain_text(object[key]) : "";
}

/// invoke-ai/InvokeAI, invokeai/app/invocations/metadata.py: CoreMetadata.
Parameters read_invoke(const Json& data) {
  Parameters parameters{member(data, "positive_prompt"), member(data, "negative_prompt"), {}};
  add(parameters, "Steps", data, {"steps"});
  add(parameters, "Sampler", data, {"scheduler"});
  add(parameters, "CFG scale", data, {"cfg_scale", "guidance"});
  add(parameters, "Seed", data, {"seed"});
  add_size(parameters, data);
  if (data.contains("model") && data["model"].is_object())
    add(parameters, "Model", data["model"], {"name", "model_name"});
  add(parameters, "Denoising strength", data, {"strength"});
  return parameters;
}

/// Its versions before 3: "sd-metadata", whose prompt is a text or a list of weighted ones.
Parameters read_old_invoke(const Json& data) {
  Parameters parameters;
  if (!data.contains("image") || !data["image"].is_object()) return parameters;
  const Json& image = data["image"];
  if (image.contains("prompt") && image["prompt"].is_array()) {
    for (const Json& part : image["prompt"]) parameters.prompt += member(part, "prompt");
  } else {
    parameters.prompt = member(image, "prompt");
  }
  add(parameters, "Steps", image, {"steps"});
  add(parameters, "Sampler", image, {"sampler"});
  add(parameters, "CFG scale", image, {"cfg_scale"});
  add(parameters, "Seed", image, {"seed"});
  add_size(parameters, image);
  add(parameters, "Model", data, {"model_weights", "model"});
  return parameters;
}

/// The command that it painted with: "a prompt" -s 50 -S 42 -W 512 -H 512 -C 7.5 -A k_lms
Parameters read_dream(const std::string& command) {
  Parameters parameters;
  const size_t begin = command.find('"'), end = command.rfind('"');
  if (begin == command.npos || end == begin) return parameters;
  parameters.prompt = command.substr(begin + 1, end - begin - 1);
  constexpr std::pair<std::string_view, const char*> kOptions[] = {
      {" -s ", "Steps"}, {" -A ", "Sampler"}, {" -C ", "CFG scale"}, {" -S ", "Seed"}, {" -W ", "W"}, {" -H ", "H"}};
  const std::string options = command.substr(end + 1) + " ";
  std::string width, height;
  for (const auto& [option, name] : kOptions) {
    const size_t at = options.find(option);
    if (at == options.npos) continue;
    const size_t value = at + option.size();
    std::string text = options.substr(value, options.find(' ', value) - value);
    if (name == std::string_view("W"))
      width = std::move(text);
    else if (name == std::string_view("H"))
      height = std::move(text);
    else
      parameters.fields.emplace_back(name, std::move(text));
  }
  if (!width.empty() && !height.empty()) parameters.fields.emplace_back("Size", width + "x" + height);
  return parameters;
}

Parameters read_novel(const Texts& texts, const Json& comment) {
  Parameters parameters{
      texts.find("Description") ? *texts.find("Description") : member(comment, "prompt"), member(comment, "uc"), {}};
  add(parameters, "Steps", comment, {"steps"});
  add(parameters, "Sampler", comment, {"sampler"});
  add(parameters, "Schedule type", comment, {"noise_schedule"});
  add(parameters, "CFG scale", comment, {"scale"});
  add(parameters, "Seed", comment, {"seed"});
  add_size(parameters, comment);
  if (const std::string* source = texts.find("Source")) parameters.fields.emplace_back("Model", *source);
  add(parameters, "Denoising strength", comment, {"strength"});
  return parameters;
}

Json object_or_empty(Json json) {
  return json.is_object() ? json : Json::object();
}

}  // namespace

PictureOrigin picture_origin(std::string_view picture) {
  PictureOrigin origin{.program = {}, .parameters = {}, .texts = read_picture_texts(picture)};
  const Texts texts(origin.texts);
  const std::string* software = texts.find("Software");
  const auto prompt = texts.find("prompt") ? std::optional(*texts.find("prompt")) : texts.behind("prompt:");
  const bool workflow = texts.find("workflow") || texts.behind("workflow:");
  const std::string text = read_picture_info(picture).parameters;
  if (texts.find("gesso")) {
    origin.program = "Gesso";
    origin.parameters = parse_parameters(text);
  } else if (const std::string* data = texts.find("invokeai_metadata")) {
    origin.program = "InvokeAI";
    origin.parameters = read_invoke(object_or_empty(parse_text(*data)));
  } else if (const std::string* old = texts.find("sd-metadata")) {
    origin.program = "InvokeAI";
    origin.parameters = read_old_invoke(object_or_empty(parse_text(*old)));
  } else if (const std::string* dream = texts.find("Dream")) {
    origin.program = "InvokeAI";
    origin.parameters = read_dream(*dream);
  } else if (software && software->starts_with("NovelAI")) {
    origin.program = "NovelAI";
    const std::string* comment = texts.find("Comment");
    origin.parameters = read_novel(texts, object_or_empty(parse_text(comment ? *comment : "")));
  } else if (!text.empty()) {
    origin.program = "A1111";
    origin.parameters = parse_parameters(text);
  } else if (prompt || workflow) {
    origin.program = "ComfyUI";
    if (prompt) origin.parameters = read_comfy_graph(parse_text(*prompt));
  }
  return origin;
}

}  // namespace gesso
