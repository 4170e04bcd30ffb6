#include "io/printable.h"

#include <fmt/format.h>

namespace gesso {

std::string printable(std::string_view name) {
  constexpr size_t kLongest = 160;
  const bool cut = name.size() > kLongest;
  if (cut) {
    size_t end = kLongest;
    while (end > 0 && (name[end] & 0xc0) == 0x80) --end;
    name = name.substr(0, end);
  }
  std::string text = "'";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + (cut ? "...'" : "'");
}

}  // namespace gesso
