#include "pipeline/request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "base/error.h"
#include "pipeline/request_fields.h"
#include "pipeline/tiling.h"
#include "sampling/extra_args.h"

namespace gesso {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<int64_t>(value));
  return fmt::format("{}", value);
}

std::string range_of(const Field& field) {
  if (field.minimum == field.maximum) return "";
  return fmt::format(" from {} to {}", number(field.minimum), number(field.maximum));
}

[[noreturn]] void refuse(const Field& field, const std::string& wanted, const Json& found) {
  fail(ErrorCode::kUsage, "{}: wanted {}, found {}", field.name, wanted, shown(found));
}

std::string wanted_integer(const Field& field) {
  if (field.multiple > 1) return fmt::format("a multiple of {}{}", field.multiple, range_of(field));
  return "a whole number" + range_of(field);
}

/// The multiples on both sides of a value that is none, within the field's range.
std::string neighbours(const Field& field, int64_t value) {
  const int64_t below = value / field.multiple * field.multiple, above = below + field.multiple;
  if (below < field.minimum) return fmt::format("{}", above);
  if (above > field.maximum) return fmt::format("{}", below);
  return fmt::format("{} and {}", below, above);
}

bool in_range(const Field& field, double value) {
  return field.minimum == field.maximum || (value >= field.minimum && value <= field.maximum);
}

/// An integer that JSON may write as 20 or, as some programs do, 20.0.
std::optional<int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) > 9007199254740992.0) return std::nullopt;  // 2^53
  return static_cast<int64_t>(number);
}

int64_t read_integer(const Field& field, const Json& value) {
  const std::optional<int64_t> number = whole_number(value);
  if (!number || !in_range(field, static_cast<double>(*number))) refuse(field, wanted_integer(field), value);
  if (*number % field.multiple != 0)
    fail(ErrorCode::kUsage, "{}: wanted {}, found {}; nearest: {}", field.name, wanted_integer(field), *number,
         neighbours(field, *number));
  return *number;
}

double read_number(const Field& field, const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>()) || !in_range(field, value.get<double>()))
    refuse(field, "a number" + range_of(field), value);
  return value.get<double>();
}

int64_t read_memory(const Field& field, const Json& value) {
  constexpr const char* kWanted = "an amount of memory such as \"8GiB\" or a number of bytes, at most 1 PiB";
  const std::optional<int64_t> bytes =
      value.is_string() ? parse_memory(value.get_ref<const std::string&>()) : whole_number(value);
  if (!bytes || !in_range(field, static_cast<double>(*bytes))) refuse(field, kWanted, value);
  return *bytes;
}

std::string read_choice(Request& request, const Field& field, const Json& value) {
  const std::vector<std::string_view> choices = field.choices();
  if (value.is_string() && field.choose) return field.choose(request, value.get_ref<const std::string&>());
  if (value.is_string() && std::ranges::find(choices, value.get_ref<const std::string&>()) != choices.end())
    return value.get<std::string>();
  refuse(field, fmt::format("one of {}", fmt::join(choices, ", ")), value);
}

std::string read_text(Request& request, const Field& field, const Json& value) {
  if (field.choices) return read_choice(request, field, value);
  if (!value.is_string()) refuse(field, "a text", value);
  std::string text = value.get<std::string>();
  if (text.find('\0') != text.npos) refuse(field, "a text without NUL characters", value);
  if (field.required && text.find_first_not_of(" \t\r\n") == text.npos)
    refuse(field, "a text that is not blank", value);
  return text;
}

void read_field(Request& request, const Field& field, const Json& value) {
  const auto integer = [&] {
    const int64_t number = read_integer(field, value);
    return field.below_one_is_absent ? std::max<int64_t>(number, 0) : number;
  };
  std::visit(
      Overloaded{
          [&](std::string Request::*member) { request.*member = read_text(request, field, value); },
          [&](std::optional<std::string> Request::*member) { request.*member = read_text(request, field, value); },
          [&](bool Request::*member) {
            if (!value.is_boolean()) refuse(field, "true or false", value);
            request.*member = value.get<bool>();
          },
          [&](int Request::*member) { request.*member = static_cast<int>(integer()); },
          [&](std::optional<int> Request::*member) {
            const int number = static_cast<int>(integer());
            request.*member = field.below_one_is_absent && number == 0 ? std::nullopt : std::optional(number);
          },
          [&](int64_t Request::*member) { request.*member = field.memory ? read_memory(field, value) : integer(); },
          [&](std::optional<double> Request::*member) { request.*member = read_number(field, value); },
      },
      field.member);
}

bool is_optional(const Field& field) {
  return std::holds_alternative<std::optional<std::string> Request::*>(field.member) ||
         std::holds_alternative<std::optional<int> Request::*>(field.member) ||
         std::holds_alternative<std::optional<double> Request::*>(field.member);
}

Json memory_to_json(int64_t bytes) {
  constexpr int64_t kGiB = int64_t{1} << 30, kMiB = int64_t{1} << 20;
  if (bytes > 0 && bytes % kGiB == 0) return fmt::format("{}GiB", bytes / kGiB);
  if (bytes > 0 && bytes % kMiB == 0) return fmt::format("{}MiB", bytes / kMiB);
  return bytes;
}

/// The field's value, or null when it is not set.
Json write_field(const Request& request, const Field& field) {
  return std::visit(
      Overloaded{
          [&](std::string Request::*member) { return (request.*member).empty() ? Json() : Json(request.*member); },
          [&](int64_t Request::*member) {
            return field.memory ? memory_to_json(request.*member) : Json(request.*member);
          },
          [&](bool Request::*member) { return Json(request.*member); },
          [&](int Request::*member) { return Json(request.*member); },
          [&](auto optional) { return request.*optional ? Json(*(request.*optional)) : Json(); },
      },
      field.member);
}

/// What A1111 would not paint as text must not be painted as text here.
void check_prompt(const Request& request) {
  for (const char* tag : {"<lora:", "<lyco:", "<hypernet:"})
    for (const std::string& text : {request.prompt, request.negative_prompt})
      if (text.find(tag) != text.npos)
        fail(ErrorCode::kUnsupported, "prompt: {}...> is not supported yet; take it out of the prompt", tag);
}

}  // namespace

Request parse_request(std::string_view text) {
  if (text.size() > kRequestLimit)
    fail(ErrorCode::kUsage, "the request is too large: {} bytes where at most {} are allowed", text.size(),
         kRequestLimit);
  return request_from_json(parse_document(text, "the request", /*depth=*/8));
}

Request request_from_json(const Json& document) {
  if (!document.is_object()) fail(ErrorCode::kUsage, "a request is a JSON object, found {}", shown(document));
  Request request;
  for (const auto& [name, value] : document.items()) {
    const Field* field = find_field(name);
    if (!field)
      fail(ErrorCode::kUsage, "unknown field {} in the request; the nearest known one is \"{}\"", shown(name),
           nearest_field(name));
    if (value.is_null() && is_optional(*field)) continue;
    read_field(request, *field, value);
  }
  for (const Field& field : request_fields())
    if (field.required && !document.contains(field.name))
      fail(ErrorCode::kUsage, "{}: missing; it says {}", field.name, field.description);
  check_prompt(request);
  if (!request.sigmas.empty()) parse_sigmas(request.sigmas);
  parse_extra_args(request.extra_sample_args);
  check_tiling(request);
  for (const auto& [name, seed] : {std::pair{"seed", request.seed}, std::pair{"subseed", request.subseed}})
    if (seed > std::numeric_limits<int64_t>::max() - request.batch_count)
      fail(ErrorCode::kUsage, "{}: {} leaves no room for {} pictures with one each", name, seed, request.batch_count);
  return request;
}

Json request_to_json(const Request& request) {
  Json document = Json::object();
  for (const Field& field : request_fields()) {
    Json value = write_field(request, field);
    if (!value.is_null()) document[std::string(field.name)] = std::move(value);
  }
  return document;
}

Json recipe_to_json(const Request& resolved, int index) {
  Request single = resolved;
  const Seeds seeds = seeds_of(resolved, index);
  single.seed = seeds.seed;
  single.subseed = seeds.subseed;
  single.batch_count = 1;
  Json document = request_to_json(single);
  if (resolved.subseed_strength.value_or(0) == 0) document.erase("subseed");
  for (const Field& field : request_fields()) {
    const std::string name(field.name);
    if (field.role == FieldRole::kMachine || field.role == FieldRole::kFolder) document.erase(name);
    if ((field.role != FieldRole::kFile && field.role != FieldRole::kInput) || !document.contains(name)) continue;
    std::filesystem::path path(document[name].get<std::string>());
    if (!path.has_filename()) path = path.parent_path();  // a folder with a slash at its end
    document[name] = path.filename().string();
  }
  return document;
}

Seeds seeds_of(const Request& r, int index) {
  if (r.subseed_strength.value_or(0) > 0) return {r.seed, r.subseed + index};
  return {r.seed + index, r.subseed};
}

int64_t resolve_seed(int64_t seed) {
  if (seed >= 0) return seed;
  return static_cast<int64_t>(std::random_device{}() & 0xFFFFFFFFu);
}

std::optional<int64_t> parse_memory(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t bytes;
  };
  constexpr int64_t kK = 1024;
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"b", 1},
                                    {"kb", 1000},
                                    {"mb", 1000000},
                                    {"gb", 1000000000},
                                    {"kib", kK},
                                    {"mib", kK * kK},
                                    {"gib", kK * kK * kK},
                                    {"k", kK},
                                    {"m", kK * kK},
                                    {"g", kK * kK * kK},
                                    {"tib", kK * kK * kK * kK},
                                    {"t", kK * kK * kK * kK},
                                    {"tb", 1000000000000}};
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || !std::isfinite(amount) || amount < 0) return std::nullopt;
  std::string unit;
  for (const char c : std::string_view(end, static_cast<size_t>(text.data() + text.size() - end)))
    if (c != ' ') unit += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const Unit& known : kUnits)
    if (unit == known.name && amount * static_cast<double>(known.bytes) <= 0x1p62)
      return static_cast<int64_t>(amount * static_cast<double>(known.bytes));
  return std::nullopt;
}

}  // namespace gesso
