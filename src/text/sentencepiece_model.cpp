#include "text/sentencepiece_model.h"

#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "base/error.h"
#include "text/gunzip.h"

namespace gesso {

std::span<const std::byte> embedded_t5_vocabulary();  // defined by gesso_embed(), see CMakeLists.txt

namespace {

/// The fields of a protocol buffer message, one after the other (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // of a number
    std::string_view bytes;  // of a string or message
  };
  Message(std::string_view bytes, const std::string& what) : rest_(bytes), what_(what) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t tag = varint();
    Field field{.number = tag >> 3, .value = 0, .bytes = {}};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        damaged();
    }
    return field;
  }

  [[noreturn]] void damaged() const { fail(ErrorCode::kBadFile, "{} is no SentencePiece model, or damaged", what_); }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) damaged();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(uint64_t count) {
    uint64_t value = 0;
    int shift = 0;
    for (const char c : take(count)) {
      value |= uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  std::string_view rest_;
  const std::string& what_;
};

constexpr uint64_t kPieces = 1, kNormalizer = 3;                        // of ModelProto
constexpr uint64_t kText = 1, kScore = 2, kType = 3, kUnknownType = 2;  // of SentencePiece
constexpr uint64_t kCharsmap = 2;                                       // of NormalizerSpec

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& what) {
  SentencePieceModel model;
  std::optional<int32_t> unknown;
  Message file(bytes, what);
  while (const auto field = file.next()) {
    Message inner(field->bytes, what);
    if (field->number == kPieces) {
      SentencePieceModel::Piece piece;
      while (const auto part = inner.next()) {
        if (part->number == kText) piece.text = part->bytes;
        if (part->number == kScore) piece.score = std::bit_cast<float>(static_cast<uint32_t>(part->value));
        if (part->number == kType && part->value == kUnknownType) unknown = static_cast<int32_t>(model.pieces.size());
      }
      if (!(piece.score > -1e30f && piece.score < 1e30f)) file.damaged();
      model.pieces.push_back(std::move(piece));
    } else if (field->number == kNormalizer) {
      while (const auto part = inner.next())
        if (part->number == kCharsmap) model.charsmap = part->bytes;
    }
  }
  if (!unknown) fail(ErrorCode::kBadFile, "{} has no piece for unknown characters", what);
  model.unknown = *unknown;
  return model;
}

SentencePieceModel t5_vocabulary() {
  const std::string what = "built-in T5 vocabulary";
  SentencePieceModel model = parse_sentencepiece_model(gunzip(embedded_t5_vocabulary(), what), what);
  for (int i = 99; i >= 0; --i) model.pieces.push_back({"<extra_id_" + std::to_string(i) + ">", 0.f});
  return model;
}

}  // namespace gesso
