#include <cstdint>
#include <optional>

#include "base/error.h"
#include "media/containers.h"
#include "media/exif.h"
#include "media/unicode.h"

namespace gesso {
namespace {

using namespace std::string_view_literals;

constexpr uint8_t kApp0 = 0xe0, kApp1 = 0xe1, kComment = 0xfe, kStartOfScan = 0xda, kEndOfImage = 0xd9;
constexpr size_t kMaxPayload = 65533;
constexpr auto kExifHead = "Exif\0\0"sv;
// COM segments of ours begin so; those of one kind are read as one text, in their order.
constexpr auto kParametersHead = "gesso parameters:"sv, kRequestHead = "gesso request:"sv;

struct Segment {
  uint8_t marker = 0;
  std::string_view payload, whole;
};

/// The marker segment at the front of `rest` (just past SOI, or past another segment), which is moved past it; nothing
/// where the compressed data begin, or the file ends or is damaged. ITU-T T.81, B.1.1.
std::optional<Segment> next_segment(std::string_view& rest) {
  std::string_view at = rest;
  if (!at.starts_with('\xff')) return std::nullopt;
  while (at.size() > 1 && at[1] == '\xff') at.remove_prefix(1);  // fill bytes
  if (at.size() < 4) return std::nullopt;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(at[i]); };
  const size_t length = static_cast<size_t>(byte(2) << 8 | byte(3));
  const uint8_t marker = byte(1);
  const bool standalone = marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= kEndOfImage);
  if (standalone || marker == kStartOfScan || length < 2 || length > at.size() - 2) return std::nullopt;
  rest = at.substr(2 + length);
  return Segment{marker, at.substr(4, length - 2), at.substr(0, 2 + length)};
}

bool is_exif(const Segment& s) {
  return s.marker == kApp1 && s.payload.starts_with(kExifHead);
}
bool is_comment(const Segment& s, std::string_view head) {
  return s.marker == kComment && s.payload.starts_with(head);
}

void append_segment(std::string& jpeg, uint8_t marker, std::string_view head, std::string_view payload) {
  const size_t length = 2 + head.size() + payload.size();
  jpeg += '\xff';
  jpeg += static_cast<char>(marker);
  jpeg += static_cast<char>(length >> 8);
  jpeg += static_cast<char>(length);
  jpeg.append(head).append(payload);
}

void append_comments(std::string& jpeg, std::string_view head, std::string_view text) {
  while (!text.empty()) {
    const auto piece = text.substr(0, kMaxPayload - head.size());
    append_segment(jpeg, kComment, head, piece);
    text.remove_prefix(piece.size());
  }
}

void append_info(std::string& jpeg, const PictureInfo& info) {
  const std::string exif = info.parameters.empty() ? "" : build_exif(info.parameters);
  if (kExifHead.size() + exif.size() > kMaxPayload)
    append_comments(jpeg, kParametersHead, info.parameters);
  else if (!exif.empty())
    append_segment(jpeg, kApp1, kExifHead, exif);
  append_comments(jpeg, kRequestHead, info.request_json);
}

std::string_view after_soi(std::string_view jpeg) {
  return jpeg.substr(std::min<size_t>(2, jpeg.size()));
}

}  // namespace

PictureInfo read_jpeg_info(std::string_view jpeg) {
  PictureInfo info;
  std::string in_exif;
  std::string_view rest = after_soi(jpeg);
  while (const auto segment = next_segment(rest)) {
    if (is_exif(*segment) && in_exif.empty()) in_exif = parse_exif(segment->payload).user_comment;
    if (is_comment(*segment, kParametersHead)) info.parameters += segment->payload.substr(kParametersHead.size());
    if (is_comment(*segment, kRequestHead)) info.request_json += segment->payload.substr(kRequestHead.size());
  }
  return {valid_utf8(in_exif.empty() ? info.parameters : in_exif), valid_utf8(info.request_json)};
}

void add_jpeg_texts(std::string_view jpeg, TextRoom& room) {
  std::string_view rest = after_soi(jpeg);
  while (const auto segment = next_segment(rest)) {
    if (room.full()) return;
    const bool ours = is_comment(*segment, kParametersHead) || is_comment(*segment, kRequestHead);
    if (segment->marker == kComment && !ours) room.add("Comment", valid_utf8(segment->payload));
  }
  PictureInfo info = read_jpeg_info(jpeg);
  room.add("gesso", std::move(info.request_json));
}

std::string with_jpeg_info(std::string_view jpeg, const PictureInfo& info) {
  std::string kept_first(jpeg.substr(0, 2)), kept_after;
  std::string_view rest = after_soi(jpeg);
  bool first = true, any = false;
  while (const auto segment = next_segment(rest)) {
    any = true;
    // JFIF wants its APP0 right behind SOI
    first = first && segment->marker == kApp0;
    if (is_exif(*segment) || is_comment(*segment, kParametersHead) || is_comment(*segment, kRequestHead)) continue;
    (first ? kept_first : kept_after) += segment->whole;
  }
  if (!any) fail(ErrorCode::kBadFile, "the JPEG is damaged: cannot put the parameters into it");
  append_info(kept_first, info);
  return kept_first.append(kept_after).append(rest);
}

std::string_view jpeg_exif(std::string_view jpeg) {
  std::string_view rest = after_soi(jpeg);
  while (const auto segment = next_segment(rest))
    if (is_exif(*segment)) return segment->payload;
  return {};
}

}  // namespace gesso
