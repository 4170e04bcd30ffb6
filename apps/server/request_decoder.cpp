#include "server/request_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "gesso/gesso.h"
#include "server/base64.h"

namespace server {
namespace {

/// Stands for the name of a picture that came with the request.
constexpr const char* kUploaded = "uploaded picture";

/// What the file of a field is: "model", "picture", or empty for a field that names none.
std::string file_kind(const std::string& name) {
  const Json* property = schema_property(name);
  return property ? (*property)["x-cli"].value("file", "") : "";
}

/// What the server decides for everybody.
constexpr const char* kServersOwn[] = {"threads", "memory"};

/// The field that the library objects to: the first that it refuses alone too. Its messages name the field for people;
/// programs want it apart.
std::string culprit(const Json& fields) {
  for (const auto& [name, value] : fields.items()) {
    Json alone = {{"prompt", "-"}};
    alone[name] = value;
    if (gesso_check_request(dumped(alone).c_str(), nullptr) != GESSO_OK) return name;
  }
  return fields.contains("prompt") ? "" : "prompt";
}

void check(const Json& fields) {
  gesso_error error = {};
  const gesso_status status = gesso_check_request(dumped(fields).c_str(), &error);
  if (status == GESSO_OK) return;
  throw ApiError(status == GESSO_UNSUPPORTED ? 501 : 400, gesso_status_name(status), error.message, culprit(fields));
}

int64_t integer_or(const Json& fields, const char* name, int64_t otherwise) {
  const auto field = fields.find(name);
  return field != fields.end() && field->is_number() ? field->get<int64_t>() : otherwise;
}

/// Steps that sigmas given one by one stand for; the library has checked that they are numbers.
int64_t steps_of(const Json& fields) {
  const auto field = fields.find("sigmas");
  if (field == fields.end() || !field->is_string()) return 0;
  const std::string sigmas = field->get<std::string>();
  constexpr const char* kNumber = "0123456789.eE+-";
  int64_t numbers = 0;
  for (size_t at = sigmas.find_first_of(kNumber); at != sigmas.npos; at = sigmas.find_first_of(kNumber, at)) {
    ++numbers;
    at = std::min(sigmas.find_first_not_of(kNumber, at), sigmas.size());
  }
  return numbers - 1;
}

void check_limits(const Json& fields, const RequestLimits& limits) {
  const int64_t width = integer_or(fields, "width", 0), height = integer_or(fields, "height", 0);
  // one side alone: the model decides the other; it counts as large as the one given
  const int64_t pixels = (width ? width : height) * (height ? height : width);
  if (pixels > limits.pixels)
    throw bad_field(
        width >= height ? "width" : "height",
        fmt::format("{}x{} is more than the {} pixels that this server paints", width, height, limits.pixels));
  if (const int64_t steps = integer_or(fields, "steps", 0); steps > limits.steps)
    throw bad_field("steps", fmt::format("wanted at most {} on this server, found {}", limits.steps, steps));
  if (const int64_t steps = steps_of(fields); steps > limits.steps)
    throw bad_field("sigmas", fmt::format("wanted at most {} steps on this server, found {}", limits.steps, steps));
  if (const int64_t batch = integer_or(fields, "batch_count", 1); batch > limits.batch)
    throw bad_field("batch_count", fmt::format("wanted at most {} on this server, found {}", limits.batch, batch));
}

}  // namespace

const Json& schema() {
  static const Json parsed = parse_json(gesso_schema());
  return parsed;
}

const Json* schema_property(const std::string& name) {
  const Json& properties = schema()["properties"];
  const auto found = properties.find(name);
  return found == properties.end() ? nullptr : &*found;
}

Json schema_choices(const std::string& name) {
  Json names = Json::array();
  const Json* property = schema_property(name);
  if (property && property->contains("enum"))
    for (const Json& choice : (*property)["enum"])
      if (choice.is_string()) names.push_back(choice);
  return names;
}

std::string picture_format(const std::string& field, const std::string& name) {
  if (name == "png" || name == "webp") return name;
  if (name == "jpg" || name == "jpeg") return "jpg";
  throw bad_field(field, "wanted png, jpeg or webp, found " + shown(name));
}

void expect_picture(const std::string& field, std::string_view bytes) {
  gesso_error error = {};
  const std::unique_ptr<char, decltype(&gesso_free)> found(
      gesso_picture_info(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &error), gesso_free);
  if (!found) throw bad_field(field, error.message);
}

std::string picture_of(const std::string& field, const Json& value) {
  constexpr const char* kWanted = "wanted a picture in base64, with or without data:image/png;base64, before it";
  if (!value.is_string()) throw bad_field(field, std::string(kWanted) + ", found " + shown(value));
  std::optional<std::string> bytes = base64_decode(value.get_ref<const std::string&>());
  if (!bytes) throw bad_field(field, kWanted);
  expect_picture(field, *bytes);
  return *std::move(bytes);
}

void take_pictures(Decoded& decoded) {
  for (auto& [name, value] : decoded.fields.items()) {
    if (file_kind(name) != "picture" || value == "" || value.is_null()) continue;
    decoded.pictures[name] = picture_of(name, value);
    value = kUploaded;
  }
}

Decoded decode_native(std::string_view body, std::string_view format, std::string_view quality) {
  Decoded out{.fields = parse_object(body)};
  take_pictures(out);
  if (!format.empty()) out.format = picture_format("format", std::string(format));
  if (!quality.empty()) {
    const Json value = {{"quality", quality}};
    out.quality = static_cast<int>(Fields(value).integer("quality", 1, 100).value_or(0));
  }
  out.save = true;
  return out;
}

bool is_model_field(const std::string& name) {
  return file_kind(name) == "model";
}

std::vector<std::pair<std::string, std::string>> name_models(const ModelList& models, Json& fields) {
  std::vector<std::pair<std::string, std::string>> names;
  for (auto& [name, value] : fields.items()) {
    if (!is_model_field(name) || !value.is_string() || value == "") continue;
    const ModelList::Entry entry = models.find(name, value.get<std::string>());
    names.emplace_back(name, entry.name);
    value = entry.path.string();
  }
  const auto given = [&](const char* name) { return fields.contains(name) && fields[name] != ""; };
  if (given("model") || given("diffusion_model")) return names;
  const auto chosen = models.chosen();
  if (!chosen)
    throw ApiError(404, "not_found", "this server has no model: start it with -m FILE or --models FOLDER", "model");
  names.emplace_back("model", chosen->name);
  fields["model"] = chosen->path.string();
  return names;
}

JobOrder make_order(const DecoderContext& context, const Decoded& decoded) {
  Json fields = decoded.fields;
  for (const auto& [name, bytes] : decoded.pictures) fields[name] = "";  // their files come when all else is right
  for (const char* name : kServersOwn)
    if (fields.contains(name)) throw bad_field(name, "the server decides it for everybody");
  if (fields.contains("grid") && fields["grid"] != "")
    throw ApiError(501, "unsupported", "grid: this server paints no grids: ask for the pictures one by one", "grid");
  check(fields);
  check_limits(fields, context.limits);

  JobOrder order;
  for (const auto& [name, value] : fields.items())
    if (const std::string file = file_kind(name); !file.empty() && file != "model" && value.is_string() && value != "")
      throw bad_field(name, "a request cannot name files of the server's computer");
  order.names = name_models(context.models, fields);
  for (const auto& [name, bytes] : decoded.pictures) {
    order.uploads.push_back(context.uploads.keep(bytes));
    order.names.emplace_back(name, kUploaded);
    fields[name] = order.uploads.back()->path().string();
  }
  order.request = dumped(fields);
  order.format = decoded.format;
  order.quality = decoded.quality;
  order.pictures = static_cast<int>(integer_or(fields, "batch_count", 1));
  order.keep = decoded.save;
  return order;
}

}  // namespace server
