#include "help.h"

#include <fmt/format.h>

#include <vector>

#include "compatibility.h"
#include "gesso/gesso.h"

namespace cli {
namespace {

/// "  -W, --width PX           width in pixels", the text wrapped at 100 columns.
std::string row(const std::string& names, const std::string& text) {
  constexpr size_t kColumn = 32, kWidth = 100;
  std::string out = fmt::format("  {:<{}}", names, kColumn - 3);
  out += out.size() >= kColumn ? "\n" + std::string(kColumn, ' ') : std::string(kColumn - out.size(), ' ');
  size_t column = kColumn;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (column > kColumn && column + end - begin > kWidth) {
      out.back() = '\n';  // in place of the blank before this word
      out += std::string(kColumn, ' ');
      column = kColumn;
    }
    out += text.substr(begin, end - begin) + " ";
    column += end - begin + 1;
    begin = end + 1;
  }
  out.back() = '\n';
  return out;
}

std::string field_names(const Json& cli) {
  std::string out;
  for (const Json& name : cli["options"]) out += (out.empty() ? "" : ", ") + name.get<std::string>();
  if (out.starts_with("--")) out = "    " + out;
  const std::string placeholder = cli["placeholder"];
  return placeholder.empty() ? out : out + " " + placeholder;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : to_text(value);
}

/// What a value may be, and what it is when not given.
std::string details(const Json& property) {
  std::vector<std::string> parts;
  if (property.contains("enum")) {
    std::vector<std::string> names;
    for (const Json& name : property["enum"])
      if (!name.is_null()) names.push_back(name);
    parts.push_back(fmt::format("{}", fmt::join(names, ", ")));
  } else if (property.contains("minimum") && !property["x-cli"].contains("flag") &&
             property["type"].front() != "string" && !property.contains("pattern")) {
    parts.push_back(fmt::format("{} to {}", shown(property["minimum"]), shown(property["maximum"])));
  }
  if (property.contains("multipleOf")) parts.push_back("a multiple of " + shown(property["multipleOf"]));
  if (property["x-cli"].contains("flag")) return "";
  if (property.contains("default")) parts.push_back("default " + shown(property["default"]));
  if (property.contains("x-absent")) parts.push_back("default: " + shown(property["x-absent"]));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

std::string description(const Json& property) {
  const std::string text = property["description"];
  return property["x-cli"].value("flag", true) ? text : "do not " + text;
}

constexpr const char* kCommands =
    "  gesso inspect FILE...         what files are, and the command that runs them\n"
    "  gesso upscale FILE... -o OUT  larger pictures by an upscaling network (--help)\n"
    "  gesso serve [options]         pictures over HTTP; gesso serve --help lists its options\n"
    "  gesso bench [NAME...]         what this machine can do, and how near to it Gesso comes\n"
    "  gesso convert FILE... -o OUT  models as one file, in other types (--help)\n"
    "  gesso metadata FILE...        what pictures say of their making; also those of other programs\n"
    "  gesso schema                  the JSON schema of a request\n"
    "  gesso version\n";

std::string compatible_rows(CompatibleOption::Kind kind) {
  std::string out;
  for (const CompatibleOption& option : compatible_options()) {
    if (option.kind != kind) continue;
    std::string names(option.options);
    if (const size_t comma = names.find(','); comma != names.npos) names.insert(comma + 1, " ");
    if (names.starts_with("--")) names = "    " + names;
    if (!option.placeholder.empty()) names += " " + std::string(option.placeholder);
    out += row(names, std::string(option.meaning));
  }
  return out;
}

}  // namespace

std::string short_help(const Json& schema) {
  std::string out = fmt::format(
      "gesso {}: paints pictures from words\n\n"
      "  gesso -p \"a red house under a yellow sun\" -o out.png\n"
      "  gesso -m model.safetensors -p \"a cat\" -n \"blurry\" -W 512 -H 512 --steps 20 -s 42 -b 4\n"
      "  gesso --from-image out.png -o again.png     the same picture, byte for byte\n"
      "  gesso inspect model.safetensors             what a file is, and the command that runs it\n"
      "  gesso serve                                 a page and APIs at http://127.0.0.1:7860/\n\n",
      gesso_version());
  for (const auto& item : schema["properties"].items())
    if (item.value()["x-cli"].value("common", false))
      out += row(field_names(item.value()["x-cli"]), description(item.value()));
  out += row("-o, --output FILE", "the picture: .png, .jpg or .webp; several get numbers");
  out += row("    --dry-run", "show the plan, time and memory, and paint nothing");
  out += row("    --help-all", "every option");
  return out;
}

std::string full_help(const Json& schema) {
  std::string out = "usage: gesso [generate] [options]\n" + std::string(kCommands), group;
  for (const auto& item : schema["properties"].items()) {
    const Json& cli = item.value()["x-cli"];
    if (cli["group"] != group) out += fmt::format("\n{}\n", group = cli["group"].get<std::string>());
    out += row(field_names(cli), description(item.value()) + details(item.value()));
    if (item.key() == "preview_noisy")
      out += row("    --preview-path FILE", "where the last preview is: .png, .jpg or .webp (default preview.png)");
    if (item.key() == "circular_y") out += row("    --circular", "both");
    if (item.key() == "prompt") out += row("    --prompt-file FILE", "read it from a file");
    if (item.key() == "prompt") out += row("    --prompts-from-file FILE", "paint each line of a file");
    if (item.key() == "negative_prompt") out += row("    --negative-prompt-file FILE", "read it from a file");
  }
  out += "\nOutput\n";
  out += row(
      "-o, --output FILE",
      "the picture: .png, .jpg or .webp (default output.png); several are numbered, out_0001.png, or as %d or %04d in "
      "the name says, and replace nothing");
  out += row("    --output-begin-idx N", "the first number (default 1; 0 with %d)");
  out += row("    --quality N", "of .jpg and .webp, 1 to 100 (100: lossless .webp)");
  out += row("    --from-image FILE", "repeat a picture that Gesso painted; other options change its request");
  out += row("    --dry-run", "show the plan, time and memory, and paint nothing");
  out += row("    --profile FILE",
             "write the time of every operation as a trace for ui.perfetto.dev, and show where it went");
  out +=
      row("    --imatrix-out FILE",
          "write what the model's matrices are multiplied by, as sums of squares, for gesso convert --imatrix; .gguf "
          "or llama.cpp's older layout");
  out += row("    --imatrix-in FILE", "add to what such a file has; may be repeated");
  out += row("    --explain-prompt",
             "show how the prompts are read (chunks, ids, weights, and what holds in which steps), and paint nothing");
  out += row("-v, --verbose", "show messages");
  out += row("-h, --help", "the options people use");
  out += row("    --help-all", "this text");
  out += "\nAccepted from other programs' command lines\n" + compatible_rows(CompatibleOption::Kind::kAccepted);
  out += "\nNot supported yet\n" + compatible_rows(CompatibleOption::Kind::kMissing);
  out += "\nEnvironment\n" + row("GESSO_DEMO_MODEL", "the model without -m") +
         row("GESSO_MODELS", "folders, separated by colons, in which --from-image looks for models") +
         row("GESSO_PROFILE", "1: show where the time went") +
         row("GESSO_ISA", "highest instruction set to use, such as avx2");
  return out;
}

}  // namespace cli
