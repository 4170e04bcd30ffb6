#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// What a value of a pickle is. Nothing is ever called or imported: a global is its name, and an object made by a call
/// is a record of what would have been called with what.
enum class PickleKind : uint8_t {
  kNone,
  kBool,        ///< integer
  kInt,         ///< integer
  kBigInt,      ///< text: the decimal digits, or the little-endian bytes of LONG1 and LONG4
  kFloat,       ///< its value is not kept: no weight hangs on it
  kString,      ///< text, as UTF-8 when the pickle was valid
  kBytes,       ///< text
  kList,        ///< items (also sets)
  kTuple,       ///< items
  kDict,        ///< items: key, value, key, value ...
  kGlobal,      ///< text: "module.name"
  kObject,      ///< of the call first(*second); items are pairs or elements set on it, `state` is what BUILD gave it
  kPersistent,  ///< first: what names something outside the pickle (a storage)
};

using PickleId = uint32_t;

struct PickleValue {
  static constexpr PickleId kNoValue = 0xffffffff;
  PickleKind kind = PickleKind::kNone;
  PickleId first = kNoValue, second = kNoValue, state = kNoValue;
  int64_t integer = 0;
  std::string_view text;
  std::vector<PickleId> items;
};

/// The values of one pickle. Values refer to each other by number and may be shared or form cycles.
struct Pickle {
  std::vector<PickleValue> values;
  std::deque<std::string> decoded;  ///< text that had to be decoded; all other text lies in the bytes given
  PickleId root = 0;
  size_t size = 0;  ///< bytes up to and with the STOP

  const PickleValue& operator[](PickleId id) const { return values[id]; }
};

/// The most values that are read from one pickle.
inline constexpr size_t kMaxPickleValues = size_t{1} << 23;

/// Reads the pickle at the beginning of `bytes` (protocols 0 to 5, as Python's pickletools.py describes them). Text
/// refers to `bytes`, which must outlive the result. Memory stays within about 200 bytes for each byte of the pickle
/// and kMaxPickleValues values. `name` is for messages. Throws kBadFile naming the byte for a truncated or malformed
/// pickle, kUnsupported for the opcodes of extension registries and out-of-band buffers.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name);

}  // namespace gesso
