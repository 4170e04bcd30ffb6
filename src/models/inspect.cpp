#include "models/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "models/inspect_details.h"

namespace gesso {
namespace {

std::vector<std::string> printable_all(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(shown_text(text));
  return result;
}

std::string count_text(int64_t count) {
  if (count < 10'000) return std::to_string(count);
  const double value = static_cast<double>(count);
  if (value < 1e6) return fmt::format("{:.1f} K", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} M", value / 1e6);
  return fmt::format("{:.2f} B", value / 1e9);
}

std::string dtypes_text(const Component& component) {
  std::string text;
  for (const auto& [dtype, count] : component.dtypes) {
    if (!text.empty()) text += ", ";
    text += to_string(dtype);
    if (component.dtypes.size() > 1) text += fmt::format(" x{}", count);
  }
  return text;
}

/// Bytes by type, and all together.
std::map<DType, uint64_t> bytes_by_type(const RecognisedFile& file, const Component& component) {
  std::map<DType, uint64_t> bytes;
  for (size_t i = 0; i < component.tensors.size(); ++i) {
    const size_t index = component.tensors[i].tensor_index;
    if (i == 0 || index != component.tensors[i - 1].tensor_index)
      bytes[file.tensors[index].dtype] += file.tensors[index].bytes;
  }
  return bytes;
}

std::string family_text(const Component& component) {
  std::string text(component.family->title);
  if (!component.variant.empty()) text += ", " + component.variant;
  return text;
}

std::string support_text(const Component& component) {
  if (!component.supported) return "not supported yet";
  return component.complete.value_or(true) ? "" : "incomplete";
}

Json component_json(const RecognisedFile& file, const Component& component) {
  Json json{{"role", to_string(component.role)}, {"family", component.family->id},
            {"title", component.family->title},  {"variant", component.variant},
            {"scheme", component.scheme},        {"prefix", shown_text(component.prefix)},
            {"tensors", component.tensor_count}, {"parameters", component.parameters}};
  auto& dtypes = json["dtypes"] = Json::object();
  for (const auto& [dtype, count] : component.dtypes) dtypes[std::string(to_string(dtype))] = count;
  uint64_t sum = 0;
  auto& by_type = json["dtype_bytes"] = Json::object();
  for (const auto& [dtype, bytes] : bytes_by_type(file, component)) {
    by_type[std::string(to_string(dtype))] = bytes;
    sum += bytes;
  }
  json["bytes"] = sum;
  if (component.scaled_count > 0) json["scaled"] = component.scaled_count;
  json["complete"] = component.complete ? Json(*component.complete) : Json();
  if (!component.missing.empty()) json["missing"] = printable_all(component.missing);
  json["supported"] = component.supported;
  return json;
}

void add_component(const RecognisedFile& file, const Component& component, ModelReport& report) {
  std::string line = fmt::format("  {}: {} ({} parameters in {} tensors, {}; {} names", title_of(component.role),
                                 family_text(component), count_text(component.parameters), component.tensor_count,
                                 dtypes_text(component), component.scheme);
  if (!component.prefix.empty()) line += fmt::format(" under {}", shown_text(component.prefix));
  if (component.scaled_count > 0) line += fmt::format("; {} with scales of their own", component.scaled_count);
  line += ")";
  uint64_t bytes = 0;
  for (const auto& [dtype, part] : bytes_by_type(file, component)) bytes += part;
  if (bytes > 0 && component.parameters > 0)
    line += fmt::format(", {}, {:.2f} bits each", size_text(bytes),
                        8 * static_cast<double>(bytes) / static_cast<double>(component.parameters));
  if (const std::string support = support_text(component); !support.empty()) line += ": " + support;
  report.lines.push_back(std::move(line));
  if (!component.missing.empty())
    report.lines.push_back(fmt::format("    missing: {}", fmt::join(printable_all(component.missing), ", ")));
}

void add_ignored(const RecognisedFile& file, ModelReport& report, Json& json) {
  std::map<std::string, std::vector<size_t>> by_reason;
  for (const IgnoredTensor& tensor : file.recognition.ignored)
    by_reason[shown_text(tensor.reason)].push_back(tensor.tensor_index);
  auto& list = json["ignored"] = Json::array();
  for (const auto& [reason, tensors] : by_reason) {
    const std::string first = shown_text(file.tensors[tensors.front()].name);
    report.lines.push_back(fmt::format("  ignored: {}{}: {}", first,
                                       tensors.size() > 1 ? fmt::format(" and {} more", tensors.size() - 1) : "",
                                       reason));
    list.push_back({{"tensor", first}, {"count", tensors.size()}, {"reason", reason}});
  }
}

/// Scales of weights are part of what the component says; scales of inputs are left.
void add_companions(const RecognisedFile& file, ModelReport& report, Json& json) {
  size_t used = 0, inputs = 0;
  for (const Companion& companion : file.recognition.companions)
    (companion.kind == CompanionKind::kInputScale ? inputs : used) += 1;
  json["scale_tensors"] = used;
  json["input_scale_tensors"] = inputs;
  if (used > 0)
    report.lines.push_back(fmt::format("  scales: {} tensor{} beside the weights", used, used == 1 ? "" : "s"));
  if (inputs > 0)
    report.lines.push_back(fmt::format("  not used: {} scale{} of inputs, for products in 8 bits; ours are finer",
                                       inputs, inputs == 1 ? "" : "s"));
}

void add_unknown(const RecognisedFile& file, ModelReport& report, Json& json) {
  constexpr size_t kShown = 8;
  const std::vector<size_t>& unknown = file.recognition.unknown;
  json["unknown_count"] = unknown.size();
  auto& list = json["unknown"] = Json::array();
  std::vector<std::string> names;
  for (const size_t tensor : unknown) {
    if (names.size() == kShown) break;
    names.push_back(shown_text(file.tensors[tensor].name));
    list.push_back(names.back());
  }
  if (!names.empty())
    report.lines.push_back(fmt::format("  unknown: {} tensor{}: {}{}", unknown.size(), unknown.size() == 1 ? "" : "s",
                                       fmt::join(names, ", "), unknown.size() > names.size() ? ", ..." : ""));
}

void add_nearest(const RecognisedFile& file, ModelReport& report, Json& json) {
  if (file.recognition.nearest.empty()) return;
  auto& list = json["nearest"] = Json::array();
  for (const Nearest& nearest : file.recognition.nearest) {
    report.lines.push_back(fmt::format("  nearest: {} {}, but without {}", nearest.family->title,
                                       title_of(nearest.role), fmt::join(nearest.missing, ", ")));
    list.push_back({{"family", nearest.family->id},
                    {"role", to_string(nearest.role)},
                    {"prefix", shown_text(nearest.prefix)},
                    {"missing", nearest.missing}});
  }
}

/// "FILE: Stable Diffusion 1.x" and what is in it.
Json add_file(const RecognisedFile& file, ModelReport& report) {
  const Component* main = file.recognition.main();
  const std::string what = main ? fmt::format("{} ({})", family_text(*main), title_of(main->role))
                                : std::string("no model that this version knows");
  report.lines.push_back(fmt::format("{}: {}", shown_text(file.path.string()), what));
  Json json{{"path", shown_text(file.path.string())},
            {"format", file.format},
            {"tensors", file.tensors.size()},
            {"components", Json::array()}};
  for (const Component& component : file.recognition.components) {
    add_component(file, component, report);
    if (component.role == Role::kLora) add_adapter(file, component, report);
    json["components"].push_back(component_json(file, component));
  }
  add_tokenizer(file, report, json);
  add_metadata(file, report, json);
  add_companions(file, report, json);
  add_ignored(file, report, json);
  add_unknown(file, report, json);
  add_nearest(file, report, json);
  json["markers"] = file.recognition.markers;
  return json;
}

/// The component of that role, and the file it is in; the last file that has one counts, as on the command line.
struct Found {
  const RecognisedFile* file = nullptr;
  const Component* component = nullptr;
};

Found find(std::span<const RecognisedFile> files, Role role) {
  Found found;
  for (const RecognisedFile& file : files)
    if (const Component* component = file.recognition.find(role)) found = {&file, component};
  return found;
}

/// The word after -m or --diffusion-model, and those of the other files.
std::string command(std::span<const RecognisedFile> files, const Found& model, const std::vector<Role>& missing) {
  const bool whole = model.file->recognition.components.size() > 1;
  std::string text = fmt::format("gesso generate {} {}", whole ? "-m" : option_of(Role::kDiffusionModel),
                                 shell_word(model.file->path));
  std::vector<Role> used = model.component->family->needs;
  used.insert(used.end(), model.component->family->optional.begin(), model.component->family->optional.end());
  used.push_back(Role::kTinyVae);
  for (const Role role : used)
    if (const Found part = find(files, role); part.file && part.file != model.file)
      text += fmt::format(" {} {}", option_of(role), shell_word(part.file->path));
  for (const Role role : missing) text += fmt::format(" {} FILE", option_of(role));
  return text + " -p \"...\"";
}

void add_model(std::span<const RecognisedFile> files, ModelReport& report) {
  const Found model = find(files, Role::kDiffusionModel);
  if (!model.component) return;
  const Family& family = *model.component->family;
  std::vector<Role> missing;
  const bool tiny = find(files, Role::kTinyVae).component != nullptr;  // which takes the autoencoder's place
  for (const Role role : family.needs)
    if (!find(files, role).component && !(role == Role::kVae && tiny)) missing.push_back(role);
  auto& json = report.json["missing_components"] = Json::array();
  for (const Role role : missing) {
    report.lines.push_back(fmt::format("missing: {}", title_of(role)));
    json.push_back(to_string(role));
  }
  const auto runs = [&](Role role) {
    const Found part = find(files, role);
    return !part.component || (part.component->supported && part.component->complete.value_or(true));
  };
  const bool supported = runs(Role::kDiffusionModel) && runs(Role::kTinyVae) && std::ranges::all_of(family.needs, runs);
  report.json["runnable"] = supported && missing.empty();
  if (!supported) return;
  const std::string text = command(files, model, missing);
  report.lines.push_back("run it: " + text);
  report.json["command"] = text;
}

/// What each tensor of a file is for, by its index.
std::vector<std::string> uses_of(const RecognisedFile& file) {
  std::vector<std::string> uses(file.tensors.size());
  for (const Component& component : file.recognition.components)
    for (const PlacedTensor& placed : component.tensors) {
      std::string& use = uses[placed.tensor_index];
      const bool named = component.kind->network != nullptr;
      use += fmt::format("{}{}{}", use.empty() ? to_string(component.role) : ",", use.empty() && named ? " " : "",
                         named ? placed.placement.name : "");
    }
  for (const Companion& companion : file.recognition.companions)
    uses[companion.tensor_index] = fmt::format(
        "{}{}", companion.kind == CompanionKind::kInputScale ? "not used: scale of the inputs of " : "scale of ",
        file.tensors[companion.weight_index].name);
  for (const IgnoredTensor& ignored : file.recognition.ignored)
    uses[ignored.tensor_index] = "not used: " + ignored.reason;
  for (const size_t tensor : file.recognition.unknown) uses[tensor] = "unknown";
  for (std::string& use : uses) use = shown_text(use);
  return uses;
}

/// An upscaler by itself: each file is run alone.
void add_upscaler(std::span<const RecognisedFile> files, ModelReport& report) {
  const Found upscaler = find(files, Role::kUpscaler);
  if (!upscaler.component || find(files, Role::kDiffusionModel).component) return;
  const bool runs = upscaler.component->supported && upscaler.component->complete.value_or(true);
  report.json["runnable"] = runs;
  if (!runs) return;
  const std::string text =
      fmt::format("gesso upscale in.png --upscale-model {} -o out.png", shell_word(upscaler.file->path));
  report.lines.push_back("run it: " + text);
  report.json["command"] = text;
}

}  // namespace

ModelReport list_tensors(std::span<const RecognisedFile> files) {
  ModelReport report;
  report.json = Json::array();
  for (const RecognisedFile& file : files) {
    const std::vector<std::string> uses = uses_of(file);
    report.lines.push_back(fmt::format("{}: {} tensors", shown_text(file.path.string()), file.tensors.size()));
    Json list = Json::array();
    for (size_t i = 0; i < file.tensors.size(); ++i) {
      const TensorInfo& t = file.tensors[i];
      report.lines.push_back(fmt::format("  {}  {} {}, {}  ({})", shown_text(t.name), to_string(t.dtype),
                                         to_string(t.shape), size_text(t.bytes), uses[i]));
      list.push_back({{"name", shown_text(t.name)},
                      {"dtype", to_string(t.dtype)},
                      {"shape", std::vector<int64_t>(t.shape.begin(), t.shape.end())},
                      {"bytes", t.bytes},
                      {"use", uses[i]}});
    }
    report.json.push_back({{"path", shown_text(file.path.string())}, {"tensors", std::move(list)}});
  }
  return report;
}

std::string shell_word(const std::filesystem::path& path) {
  std::string text = path.string();
  if (text.starts_with('-')) text = "./" + text;
  const auto plain = [](unsigned char c) {
    return std::string_view("/._-+,@%=:").find(static_cast<char>(c)) != std::string_view::npos ||
           (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

ModelReport describe(std::span<const RecognisedFile> files) {
  ModelReport report;
  auto list = Json::array();
  for (const RecognisedFile& file : files) list.push_back(add_file(file, report));
  report.json["files"] = std::move(list);
  add_model(files, report);
  add_upscaler(files, report);
  return report;
}

}  // namespace gesso
