#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/shape.h"

namespace gesso {

/// One entry of a safetensors header as it is written there, not yet checked against the file.
struct SafetensorsEntry {
  std::string name, dtype;
  std::array<int64_t, Shape::kMaxRank> dims{};
  int rank = -1;  ///< -1: there was no shape
  uint64_t begin = 0, end = 0;
  int offsets = 0;  ///< how many data_offsets there were
};

/// Receives the JSON of a safetensors header from nlohmann's streaming parser, so that a hostile header never becomes
/// a tree in memory. Each finished entry is handed to `on_entry`. When a callback returns false, error() says why.
class SafetensorsJson final : public nlohmann::json_sax<Json> {
 public:
  using OnEntry = void (*)(void* context, SafetensorsEntry&& entry);
  SafetensorsJson(OnEntry on_entry, void* context) : on_entry_(on_entry), context_(context) {}

  const std::string& error() const { return error_; }
  bool unsupported() const { return unsupported_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool start_object(size_t elements) override;
  bool key(string_t& name) override;
  bool end_object() override;
  bool start_array(size_t elements) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string& last, const nlohmann::detail::exception& e) override;

 private:
  enum class Place { kStart, kTop, kMetadata, kEntry, kShape, kOffsets, kUnknown, kEnd };
  enum class Field { kDType, kShape, kOffsets, kUnknown };

  bool refuse(std::string why);
  bool unexpected(const char* found);
  bool scalar(const char* kind);
  std::string where() const;

  OnEntry on_entry_;
  void* context_;
  std::map<std::string, std::string> metadata_;
  SafetensorsEntry entry_;
  std::string key_;  ///< the last key of the top level or of __metadata__
  Place place_ = Place::kStart;
  Field field_ = Field::kUnknown;
  unsigned seen_ = 0;      ///< bit set of the entry's fields
  int unknown_depth_ = 0;  ///< depth inside the value of a field that the format does not know
  bool metadata_seen_ = false;
  bool unsupported_ = false;
  std::string error_;
};

}  // namespace gesso
