#pragma once
#include <span>
#include <string_view>

namespace cli {

/// An option of other programs' command lines that is no field of our request.
struct CompatibleOption {
  enum class Kind {
    kAccepted,  ///< changes nothing about the picture here: taken as `meaning` says
    kMissing,   ///< a feature that does not exist yet: refused unless its value asks for nothing
  };
  Kind kind;
  std::string_view options;      ///< "-i,--init-img"
  std::string_view placeholder;  ///< of its value; empty for a flag
  std::string_view meaning;      ///< what accepting it means, or what the missing feature is
  std::string_view inert = {};   ///< values, separated by spaces, that ask for nothing
};

std::span<const CompatibleOption> compatible_options();

/// True when a missing option's value asks for nothing, as "0" or "none" may.
bool asks_for_nothing(const CompatibleOption& option, std::string_view value);

}  // namespace cli
