#include <zlib.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "media/containers.h"
#include "media/unicode.h"

namespace gesso {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMaxInflated = size_t{16} << 20;
constexpr size_t kMaxTextChunk = 0x7fffffff - 64;
constexpr auto kParameters = "parameters"sv, kRequest = "gesso"sv;

struct Chunk {
  std::string_view type, data, whole;  ///< whole: with length, type and CRC
};

uint32_t big_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// The chunk at the front of `rest`, which is moved past it; nothing when the file ends or is damaged there.
std::optional<Chunk> next_chunk(std::string_view& rest) {
  if (rest.size() < 12) return std::nullopt;
  const uint64_t length = big_endian(rest);
  if (length > rest.size() - 12) return std::nullopt;
  const Chunk chunk{rest.substr(4, 4), rest.substr(8, length), rest.substr(0, 12 + length)};
  rest.remove_prefix(12 + length);
  return chunk;
}

std::string_view chunks_of(std::string_view png) {
  return png.substr(std::min<size_t>(8, png.size()));
}

std::optional<std::string> inflated(std::string_view compressed) {
  struct Stream : z_stream {
    Stream() : z_stream{} { ready = inflateInit(this) == Z_OK; }
    ~Stream() {
      if (ready) inflateEnd(this);
    }
    bool ready;
  } stream;
  if (!stream.ready) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string text;
  char buffer[16384];
  for (int status = Z_OK; status != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) return std::nullopt;
    text.append(buffer, sizeof buffer - stream.avail_out);
    if (text.size() > kMaxInflated) return std::nullopt;
  }
  return text;
}

/// Takes the bytes before the next NUL, and the NUL, off the front; nothing when there is none.
std::optional<std::string_view> take_field(std::string_view& data) {
  const size_t end = data.find('\0');
  if (end == data.npos) return std::nullopt;
  const auto field = data.substr(0, end);
  data.remove_prefix(end + 1);
  return field;
}

/// The keyword of a tEXt, zTXt or iTXt chunk; empty for others.
std::string_view keyword(const Chunk& chunk) {
  if (chunk.type != "tEXt" && chunk.type != "zTXt" && chunk.type != "iTXt") return {};
  std::string_view data = chunk.data;
  return take_field(data).value_or(std::string_view());
}

/// The text of such a chunk as UTF-8. PNG 1.2, 11.3.4.
std::optional<std::string> text_of(const Chunk& chunk) {
  std::string_view data = chunk.data;
  if (!take_field(data)) return std::nullopt;
  if (chunk.type == "tEXt") return latin1_to_utf8(data);
  if (chunk.type == "zTXt") {
    if (data.empty() || data[0] != 0) return std::nullopt;
    const auto text = inflated(data.substr(1));
    return text ? std::optional(latin1_to_utf8(*text)) : std::nullopt;
  }
  if (data.size() < 2 || data[0] > 1 || data[1] != 0) return std::nullopt;
  const bool compressed = data[0] == 1;
  data.remove_prefix(2);
  if (!take_field(data) || !take_field(data)) return std::nullopt;  // language, translated keyword
  if (!compressed) return valid_utf8(data);
  const auto text = inflated(data);
  return text ? std::optional(valid_utf8(*text)) : std::nullopt;
}

void append_big_endian(std::string& bytes, uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

void append_text_chunk(std::string& png, std::string_view key, const std::string& text) {
  if (text.empty()) return;
  if (text.size() > kMaxTextChunk) fail(ErrorCode::kUnsupported, "{} bytes of text do not fit a PNG", text.size());
  std::string body = "iTXt";
  body.append(key).append("\0\0\0\0\0"sv).append(text);  // uncompressed, no language, no translated keyword
  append_big_endian(png, body.size() - 4);
  png += body;
  append_big_endian(png, crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
}

}  // namespace

PictureInfo read_png_info(std::string_view png) {
  PictureInfo info;
  std::string_view rest = chunks_of(png);
  while (const auto chunk = next_chunk(rest)) {
    const std::string_view key = keyword(*chunk);
    std::string* target = key == kParameters ? &info.parameters : key == kRequest ? &info.request_json : nullptr;
    if (target && target->empty()) *target = text_of(*chunk).value_or("");
  }
  return info;
}

void add_png_texts(std::string_view png, TextRoom& room) {
  std::string_view rest = chunks_of(png);
  while (const auto chunk = next_chunk(rest)) {
    if (room.full()) return;
    if (const std::string_view key = keyword(*chunk); !key.empty())
      if (auto text = text_of(*chunk)) room.add(latin1_to_utf8(key), std::move(*text));
  }
}

std::string with_png_info(std::string_view png, const PictureInfo& info) {
  std::string result(png.substr(0, 8));
  std::string_view rest = chunks_of(png);
  while (const auto chunk = next_chunk(rest)) {
    if (keyword(*chunk) == kParameters || keyword(*chunk) == kRequest) continue;
    result += chunk->whole;
    if (chunk->type == "IEND") return result;
    if (chunk->type != "IHDR") continue;
    append_text_chunk(result, kParameters, info.parameters);
    append_text_chunk(result, kRequest, info.request_json);
  }
  fail(ErrorCode::kBadFile, "the PNG is damaged: cannot put the parameters into it");
}

std::string_view png_exif(std::string_view png) {
  std::string_view rest = chunks_of(png);
  while (const auto chunk = next_chunk(rest))
    if (chunk->type == "eXIf") return chunk->data;
  return {};
}

}  // namespace gesso
