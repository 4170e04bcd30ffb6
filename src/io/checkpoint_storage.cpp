#include "io/checkpoint_storage.h"

#include <charconv>

namespace gesso {
namespace {

using enum PickleKind;

struct TypeRow {
  std::string_view name;
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {"FloatStorage", DType::kF32},
    {"DoubleStorage", DType::kF64},
    {"HalfStorage", DType::kF16},
    {"BFloat16Storage", DType::kBF16},
    {"LongStorage", DType::kI64},
    {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},
    {"CharStorage", DType::kI8},
    {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool},
    {"UntypedStorage", DType::kU8},
    {"float32", DType::kF32},
    {"float64", DType::kF64},
    {"float16", DType::kF16},
    {"bfloat16", DType::kBF16},
    {"int64", DType::kI64},
    {"int32", DType::kI32},
    {"int16", DType::kI16},
    {"int8", DType::kI8},
    {"uint8", DType::kU8},
    {"bool", DType::kBool},
    {"uint16", DType::kU16},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
};

/// Takes what stands before `end` off the front of `text`, and `end`; false when it is not there.
bool cut(std::string_view& text, std::string_view end, std::string_view& part) {
  const size_t at = text.find(end);
  if (at == text.npos) return false;
  part = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

/// "('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 6)", with ", None" before the end in legacy files.
std::optional<StorageName> printed_name(std::string_view text) {
  StorageName name;
  std::string_view skipped;
  if (!cut(text, "('storage', <class '", skipped) || !skipped.empty() || !cut(text, "'>, '", name.type) ||
      !cut(text, "', '", name.key) || !cut(text, "', ", skipped))
    return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), name.count);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (error != std::errc() || (text != ")" && text != ", None)")) return std::nullopt;
  return name;
}

}  // namespace

std::optional<StorageName> storage_name(const Pickle& pickle, const PickleValue& persistent) {
  if (persistent.kind != kPersistent) return std::nullopt;
  const PickleValue& what = pickle[persistent.first];
  if (what.kind == kString) return printed_name(what.text);
  const auto item = [&](size_t i) -> const PickleValue& { return pickle[what.items[i]]; };
  const auto natural = [](const PickleValue& v) { return v.kind == kInt && v.integer >= 0; };
  if (what.kind != kTuple || what.items.size() < 5 || item(0).text != "storage" || item(1).kind != kGlobal ||
      item(2).kind != kString || !natural(item(4)))
    return std::nullopt;
  StorageName name{item(1).text, item(2).text, static_cast<uint64_t>(item(4).integer), std::nullopt};
  if (what.items.size() > 5 && item(5).kind == kTuple) {  // (key, begin, count)
    const auto& view = item(5).items;
    if (view.size() != 3 || !natural(pickle[view[1]]) || !natural(pickle[view[2]])) return std::nullopt;
    name.view = StorageName::View{static_cast<uint64_t>(pickle[view[1]].integer),
                                  static_cast<uint64_t>(pickle[view[2]].integer)};
  }
  return name;
}

std::optional<DType> torch_dtype(std::string_view global) {
  const size_t dot = global.rfind('.');
  if (!global.starts_with("torch.")) return std::nullopt;
  for (const TypeRow& row : kTypes)
    if (row.name == global.substr(dot + 1)) return row.dtype;
  return std::nullopt;
}

}  // namespace gesso
