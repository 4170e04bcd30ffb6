#pragma once
#include <string>
#include <string_view>

namespace gesso {

/// A name out of a file, quoted for a one-line message: 'name'. Control characters become \xNN; a long name is cut
/// after about 160 bytes, on a character border.
std::string printable(std::string_view name);

}  // namespace gesso
