#pragma once
#include <string>
#include <string_view>

namespace gesso {

/// An XMP packet whose property gesso:request is the text (ISO 16684-1).
std::string build_xmp(std::string_view request);
/// That property of a packet, or nothing.
std::string parse_xmp(std::string_view packet);

}  // namespace gesso
