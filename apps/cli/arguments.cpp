#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <numeric>

#include "compatibility.h"
#include "library.h"
#include "text_file.h"

namespace cli {
namespace {

bool has_type(const Json& property, const char* type) {
  const Json& types = property["type"];
  return types == type || (types.is_array() && std::ranges::find(types, Json(type)) != types.end());
}

template <typename Number>
std::optional<Number> whole_text(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The JSON that a value stands for. What is no number where one is wanted stays text: the library then says what it
/// wanted.
Json to_json(const std::string& option, const std::string& text, const Json& property) {
  if (has_type(property, "integer") || has_type(property, "number")) {
    if (const auto number = whole_text<int64_t>(text)) return *number;
    if (const auto number = whole_text<double>(text); number && std::isfinite(*number)) return *number;
  }
  if (!is_utf8(text)) throw usage(option + ": the value is not valid UTF-8 text");
  return text;
}

std::string joined(const Json& names) {
  std::string out;
  for (const Json& name : names) out += (out.empty() ? "" : ",") + name.get<std::string>();
  return out;
}

/// The declared options and where their values land.
class Parser {
 public:
  Parser(const Json& schema, GenerateArguments& out) : out_(out) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const auto& item : schema["properties"].items()) declare_field(item.key(), item.value());
    declare_own();
    for (const CompatibleOption& option : compatible_options()) declare_compatible(option);
  }

  void parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
    try {
      app_.parse(reversed);
    } catch (const CLI::ArgumentMismatch& error) {  // "--steps: 1 required TEXT missing"
      const std::string text = error.what();
      throw usage(text.substr(0, text.find(':')) + ": a value is missing");
    } catch (const CLI::ParseError& error) {
      throw usage(error.what());
    }
    if (const auto extra = app_.remaining(); !extra.empty()) refuse(extra.front());
    if (out_.help || out_.help_all) return;
    for (const auto& check : checks_) check();
  }

 private:
  CLI::Option* value(const std::string& names, std::string& target) {
    return app_.add_option(names, target)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void declare_field(const std::string& field, const Json& property) {
    const Json& cli = property["x-cli"];
    const std::string names = joined(cli["options"]);
    if (cli.contains("flag")) {
      CLI::Option* flag = app_.add_flag(names);
      checks_.push_back([this, flag, field, &cli] {
        if (flag->count() > 0) out_.fields[field] = cli["flag"];
      });
      return;
    }
    std::string& text = values_.emplace_back();
    CLI::Option* option = value(names, text);
    checks_.push_back([this, option, field, &text, &property] {
      if (option->count() > 0) out_.fields[field] = to_json(option->get_name(), text, property);
    });
  }

  void declare_own() {
    optional_value("-o,--output", [this](const std::string& text) { out_.output = text; });
    optional_value("--output-begin-idx", [this](const std::string& text) {
      out_.output_begin = number("--output-begin-idx", text, 0, 1000000000);
    });
    optional_value("--quality", [this](const std::string& text) { out_.quality = number("--quality", text, 1, 100); });
    optional_value("--preview-path", [this](const std::string& text) { out_.preview_path = text; });
    optional_value("--from-image", [this](const std::string& text) { out_.from_image = text; });
    optional_value("--prompt-file", [this](const std::string& path) { read_text("prompt", "--prompt-file", path); });
    optional_value("--negative-prompt-file",
                   [this](const std::string& path) { read_text("negative_prompt", "--negative-prompt-file", path); });
    optional_value("--profile", [this](const std::string& text) { out_.profile = text; });
    optional_value("--imatrix-out,--imat-out", [this](const std::string& text) { out_.imatrix_out = text; });
    app_.add_option("--imatrix-in,--imat-in", out_.imatrix_in)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1);
    checks_.push_back([this] {
      if (!out_.imatrix_in.empty() && !out_.imatrix_out)
        throw usage(
            "--imatrix-in: what is to be added to it goes to --imatrix-out FILE; to quantise by it, give it to "
            "gesso convert --imatrix");
    });
    optional_value("--prompts-from-file", [this](const std::string& path) {
      if (out_.fields.contains("prompt")) throw usage("--prompts-from-file: there is a prompt already");
      out_.prompts = path;
    });
    app_.add_flag("--dry-run", out_.dry_run);
    CLI::Option* circular = app_.add_flag("--circular");
    checks_.push_back([this, circular] {
      if (circular->count() > 0) out_.fields["circular_x"] = out_.fields["circular_y"] = true;
    });
    app_.add_flag("--explain-prompt", out_.explain_prompt);
    app_.add_flag("-v,--verbose", out_.verbose);
    app_.add_flag("-h,--help", out_.help);
    app_.add_flag("--help-all", out_.help_all);
  }

  template <typename Use>
  void optional_value(const std::string& names, Use use) {
    std::string& text = values_.emplace_back();
    CLI::Option* option = value(names, text);
    checks_.push_back([option, &text, use] {
      if (option->count() > 0) use(text);
    });
  }

  void declare_compatible(const CompatibleOption& option) {
    const std::string names(option.options);
    std::string& text = values_.emplace_back();
    CLI::Option* declared = option.placeholder.empty() ? app_.add_flag(names) : value(names, text);
    checks_.push_back([this, declared, &option, &text] {
      if (declared->count() == 0) return;
      if (option.kind == CompatibleOption::Kind::kAccepted)
        out_.notes.push_back(fmt::format("{}: {}", declared->get_name(), option.meaning));
      else if (!asks_for_nothing(option, text))
        throw usage(fmt::format("{}: not supported yet ({})", declared->get_name(), option.meaning));
    });
  }

  static int number(const char* option, const std::string& text, int minimum, int maximum) {
    const auto parsed = whole_text<int>(text);
    if (!parsed || *parsed < minimum || *parsed > maximum)
      throw usage(fmt::format("{}: wanted a whole number from {} to {}, found '{}'", option, minimum, maximum, text));
    return *parsed;
  }

  void read_text(const std::string& field, const std::string& option, const std::string& path) {
    if (out_.fields.contains(field)) throw usage(fmt::format("{}: the text is given a second time", option));
    out_.fields[field] = to_json(option, read_text_file(path), {{"type", "string"}});
  }

  [[noreturn]] void refuse(const std::string& extra) {
    if (!extra.starts_with('-') || extra == "-")
      throw usage(fmt::format("unexpected argument '{}'; a text with spaces needs quotes: -p \"a red house\"", extra));
    const std::string name = extra.substr(0, extra.find('='));
    std::string best;
    size_t best_score = 0;
    for (const CLI::Option* option : app_.get_options())
      for (const std::string& known : option->get_lnames())
        if (const size_t score = likeness(name, "--" + known); score > best_score)
          best = "--" + known, best_score = score;
    throw usage(fmt::format("unknown option '{}'{}; --help-all lists every option", name,
                            best_score >= 4 ? fmt::format(", did you mean {}?", best) : ""));
  }

  /// Length of the longest common subsequence, less what both have besides.
  static size_t likeness(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    for (const char c : a) {
      size_t diagonal = 0;
      for (size_t j = 0; j < b.size(); ++j) {
        const size_t above = row[j + 1];
        row[j + 1] = c == b[j] ? diagonal + 1 : std::max(above, row[j]);
        diagonal = above;
      }
    }
    const size_t common = 3 * row.back(), besides = a.size() + b.size();
    return common > besides ? common - besides : 0;
  }

  CLI::App app_;
  GenerateArguments& out_;
  std::deque<std::string> values_;  // a deque keeps addresses
  std::vector<std::function<void()>> checks_;
};

}  // namespace

GenerateArguments parse_generate(const std::vector<std::string>& arguments, const Json& schema) {
  GenerateArguments out;
  Parser(schema, out).parse(arguments);
  return out;
}

}  // namespace cli
