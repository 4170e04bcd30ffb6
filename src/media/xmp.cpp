#include "media/xmp.h"

#include <charconv>

#include "media/unicode.h"

namespace gesso {
namespace {

constexpr std::string_view kBefore =
    "<?xpacket begin=\"\xef\xbb\xbf\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>"
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
    "<rdf:Description rdf:about=\"\" xmlns:gesso=\"urn:gesso:picture:1\">";
constexpr std::string_view kAfter = "</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>";
constexpr std::string_view kOpen = "<gesso:request>", kClose = "</gesso:request>";

/// The character that an entity such as `amp` or `#10` stands for.
char32_t entity(std::string_view name) {
  if (name == "amp") return '&';
  if (name == "lt") return '<';
  if (name == "gt") return '>';
  if (name == "quot") return '"';
  if (name == "apos") return '\'';
  if (!name.starts_with('#')) return 0xfffd;
  const bool hex = name.starts_with("#x");
  uint32_t code = 0xfffd;
  std::from_chars(name.data() + (hex ? 2 : 1), name.data() + name.size(), code, hex ? 16 : 10);
  return code;
}

}  // namespace

std::string build_xmp(std::string_view request) {
  std::string xmp(kBefore);
  xmp += kOpen;
  for (const char c : request) {
    switch (c) {
      case '&':
        xmp += "&amp;";
        break;
      case '<':
        xmp += "&lt;";
        break;
      case '>':
        xmp += "&gt;";
        break;
      // an XML reader would otherwise make line ends alike
      case '\r':
        xmp += "&#13;";
        break;
      default:
        xmp += c;
    }
  }
  return xmp.append(kClose).append(kAfter);
}

std::string parse_xmp(std::string_view packet) {
  const size_t open = packet.find(kOpen), close = packet.find(kClose);
  if (open == packet.npos || close == packet.npos || close < open) return {};
  std::string_view text = packet.substr(open + kOpen.size(), close - open - kOpen.size());
  std::string request;
  while (!text.empty()) {
    const size_t mark = text.find('&');
    request += text.substr(0, mark);
    if (mark == text.npos) break;
    text.remove_prefix(mark + 1);
    const size_t end = text.substr(0, 12).find(';');
    if (end == text.npos) {
      request += '&';
      continue;
    }
    append_utf8(request, entity(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return valid_utf8(request);
}

}  // namespace gesso
