// What `gesso convert` is asked for.
#include <algorithm>
#include <regex>

#include "base/error.h"
#include "base/files.h"
#include "io/printable.h"
#include "pipeline/convert.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

DType parse_type(std::string_view name, std::string_view field) {
  constexpr DType kWritable[] = {DType::kF32, DType::kF16, DType::kBF16};
  std::string known;
  for (const DType type : kWritable) {
    if (lower(to_string(type)) == lower(name)) return type;
    known += fmt::format("{}, ", lower(to_string(type)));
  }
  for (const BlockType& type : block_types()) {
    if (lower(type.name) == lower(name)) return type.dtype;
    known += fmt::format("{}, ", lower(type.name));
  }
  fail(ErrorCode::kUsage, "{}: unknown type '{}'; known: {}", field, name, known.substr(0, known.size() - 2));
}

/// Searches names for an expression. The library's matcher recurses, which is why lengths are bounded, and may take
/// exponential time unless it is the polynomial one, which lacks back references.
std::function<bool(const std::string&)> matcher(const std::string& expression) {
  static constexpr size_t kLongest = 256, kLongestName = 512;
  if (expression.size() > kLongest)
    fail(ErrorCode::kUsage, "tensor_type_rules: an expression of more than {} characters", kLongest);
  try {
    const std::regex regex(expression, std::regex::ECMAScript | std::regex_constants::__polynomial);
    return [regex](const std::string& name) {
      if (name.size() > kLongestName)
        fail(ErrorCode::kUnsupported, "the name of tensor {} is too long for tensor_type_rules ({} bytes, at most {})",
             printable(name), name.size(), kLongestName);
      return std::regex_search(name, regex);
    };
  } catch (const std::regex_error& error) {
    fail(ErrorCode::kUsage, "tensor_type_rules: '{}' is no regular expression: {}", expression, error.what());
  }
}

std::vector<TypeRule> parse_rules(std::string_view text) {
  constexpr size_t kMostRules = 256;
  std::vector<TypeRule> rules;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view rule = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (rule.empty()) continue;
    const size_t equals = rule.rfind('=');
    if (equals == rule.npos || equals == 0)
      fail(ErrorCode::kUsage, "tensor_type_rules: expected REGEX=TYPE, found '{}'", rule);
    if (rules.size() == kMostRules) fail(ErrorCode::kUsage, "tensor_type_rules: more than {} rules", kMostRules);
    const DType type = parse_type(rule.substr(equals + 1), "tensor_type_rules");
    rules.push_back({matcher(std::string(rule.substr(0, equals))), type});
  }
  return rules;
}

}  // namespace

ConvertRequest parse_convert_request(std::string_view text) {
  const Json json = parse_document(text, "the request", /*depth=*/3);
  if (!json.is_object()) fail(ErrorCode::kUsage, "the request is not a JSON object");
  ConvertRequest request;
  for (const auto& [key, value] : json.items()) {
    const auto string = [&, &key = key, &value = value] {
      if (!value.is_string()) fail(ErrorCode::kUsage, "{}: expected a text", key);
      return value.get<std::string>();
    };
    if (key == "inputs") {
      if (!value.is_array()) fail(ErrorCode::kUsage, "inputs: expected a list of paths");
      for (const auto& path : value) {
        if (!path.is_string()) fail(ErrorCode::kUsage, "inputs: expected a list of paths");
        request.inputs.emplace_back(path.get<std::string>());
      }
    } else if (key == "output") {
      request.output = string();
    } else if (key == "type") {
      request.type = parse_type(string(), "type");
    } else if (key == "tensor_type_rules") {
      request.rules = parse_rules(string());
    } else if (key == "verify") {
      if (!value.is_boolean()) fail(ErrorCode::kUsage, "verify: expected true or false");
      request.verify = value.get<bool>();
    } else if (key == "imatrix") {
      for (const Json& path : value.is_array() ? value : Json::array({value})) {
        if (!path.is_string()) fail(ErrorCode::kUsage, "imatrix: expected a path or a list of paths");
        request.imatrix.emplace_back(path.get<std::string>());
      }
    } else if (key == "names") {
      const std::string layout = lower(string());
      if (layout != "ldm" && layout != "diffusers")
        fail(ErrorCode::kUsage, "names: expected ldm or diffusers, found '{}'", layout);
      request.names = layout == "ldm" ? Layout::kLdm : Layout::kDiffusers;
    } else {
      fail(ErrorCode::kUsage,
           "unknown field \"{}\"; known: inputs, output, type, tensor_type_rules, verify, names, imatrix", key);
    }
  }
  if (request.inputs.empty()) fail(ErrorCode::kUsage, "inputs: no file to convert");
  const auto ending = request.output.extension();
  if (ending != ".gguf" && ending != ".safetensors")
    fail(ErrorCode::kUsage, "output: expected a name ending in .gguf or .safetensors, found {}",
         quoted(request.output));
  return request;
}

}  // namespace gesso
