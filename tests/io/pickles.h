#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Pieces of pickles, made by hand.
namespace gesso::testing::pickles {

inline std::string bytes(uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += i < 8 ? static_cast<char>(value >> (8 * i)) : char{0};
  return text;
}

inline std::string text(std::string_view s) {
  return "X" + bytes(s.size(), 4) + std::string(s);
}
inline std::string number(int64_t value) {
  return "J" + bytes(static_cast<uint64_t>(value), 4);
}

inline std::string tuple(const std::vector<int>& values) {
  std::string items = "(";
  for (const int v : values) items += number(v);
  return items + "t";
}

/// A tensor over the storage '0' of `count` elements.
inline std::string tensor(const std::string& type, int count, const std::vector<int>& shape,
                          const std::vector<int>& strides) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type + "\n" + text("0") +
         text("cpu") + number(count) + "tQ" + number(0) + tuple(shape) + tuple(strides) +
         "\x89"
         "Nt"
         "R";
}

inline std::string dict(const std::string& key, const std::string& value) {
  return "}" + text(key) + value + "s";
}

struct Storage {
  std::string key;
  uint64_t count = 0;
  std::string data;
};

/// A legacy checkpoint of one value.
inline std::string legacy(const std::string& value, const std::vector<Storage>& storages) {
  std::string file("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  file += "\x80\x02M\xe9\x03.";
  file += "\x80\x02}" + text("little_endian") + "\x88s.";
  file += "\x80\x02" + value + ".\x80\x02](";
  for (const Storage& s : storages) file += text(s.key);
  file += "e.";
  for (const Storage& s : storages) file += bytes(s.count, 8) + s.data;
  return file;
}

}  // namespace gesso::testing::pickles
