#include "io/safetensors_json.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "io/printable.h"
#include "io/safetensors.h"

namespace gesso {
namespace {
constexpr int kMaxUnknownDepth = 16;
}

std::string SafetensorsJson::where() const {
  switch (place_) {
    case Place::kStart:
    case Place::kTop:
    case Place::kEnd:
      return "the header";
    case Place::kMetadata:
      return "__metadata__";
    default:
      return "tensor " + printable(entry_.name);
  }
}

bool SafetensorsJson::refuse(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  return false;
}

bool SafetensorsJson::unexpected(const char* found) {
  return refuse(fmt::format("{} has {} where it cannot be", where(), found));
}

/// A value of a kind that no known field has: fine only inside an unknown field.
bool SafetensorsJson::scalar(const char* kind) {
  if (place_ == Place::kUnknown || (place_ == Place::kEntry && field_ == Field::kUnknown)) return true;
  return unexpected(kind);
}

bool SafetensorsJson::null() {
  if (place_ == Place::kTop && key_ == "__metadata__") return true;
  return scalar("null");
}

bool SafetensorsJson::boolean(bool) {
  return scalar("a boolean");
}

bool SafetensorsJson::number_integer(number_integer_t) {
  if (place_ == Place::kShape || place_ == Place::kOffsets) return unexpected("a negative number");
  return scalar("a number");
}

bool SafetensorsJson::number_unsigned(number_unsigned_t value) {
  if (place_ == Place::kShape) {
    if (entry_.rank == Shape::kMaxRank) {
      unsupported_ = true;
      return refuse(fmt::format("{} has more than {} dimensions", where(), Shape::kMaxRank));
    }
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return unexpected("an extent over 2^63");
    entry_.dims[static_cast<size_t>(entry_.rank++)] = static_cast<int64_t>(value);
    return true;
  }
  if (place_ == Place::kOffsets) {
    if (entry_.offsets == 2) return unexpected("more than two data_offsets");
    (entry_.offsets++ == 0 ? entry_.begin : entry_.end) = value;
    return true;
  }
  return scalar("a number");
}

bool SafetensorsJson::number_float(number_float_t, const string_t&) {
  return scalar("a number that is no 64-bit integer");
}

bool SafetensorsJson::string(string_t& value) {
  if (place_ == Place::kMetadata) {
    if (metadata_.size() == kMaxSafetensorsMetadata)
      return refuse(fmt::format("__metadata__ has more than {} entries", kMaxSafetensorsMetadata));
    if (!metadata_.emplace(key_, std::move(value)).second)
      return refuse(fmt::format("__metadata__ has the key {} twice", printable(key_)));
    return true;
  }
  if (place_ == Place::kEntry && field_ == Field::kDType) {
    entry_.dtype = std::move(value);
    return true;
  }
  return scalar("a string");
}

bool SafetensorsJson::binary(binary_t&) {
  return unexpected("binary data");
}

bool SafetensorsJson::start_object(size_t) {
  if (place_ == Place::kStart) {
    place_ = Place::kTop;
    return true;
  }
  if (place_ == Place::kTop) {
    if (key_ == "__metadata__") {
      if (std::exchange(metadata_seen_, true)) return refuse("the header has __metadata__ twice");
      place_ = Place::kMetadata;
      return true;
    }
    entry_ = {};
    entry_.name = std::move(key_);
    seen_ = 0;
    place_ = Place::kEntry;
    return true;
  }
  if (!scalar("an object")) return false;
  if (++unknown_depth_ > kMaxUnknownDepth) return unexpected("too deep nesting");
  place_ = Place::kUnknown;
  return true;
}

bool SafetensorsJson::key(string_t& name) {
  if (place_ == Place::kTop || place_ == Place::kMetadata) key_ = std::move(name);
  if (place_ != Place::kEntry) return true;
  field_ = name == "dtype"          ? Field::kDType
           : name == "shape"        ? Field::kShape
           : name == "data_offsets" ? Field::kOffsets
                                    : Field::kUnknown;
  if (field_ == Field::kUnknown) return true;
  const unsigned bit = 1u << static_cast<unsigned>(field_);
  if (seen_ & bit) return refuse(fmt::format("{} has {} twice", where(), name));
  seen_ |= bit;
  return true;
}

bool SafetensorsJson::end_object() {
  switch (place_) {
    case Place::kTop:
      place_ = Place::kEnd;
      return true;
    case Place::kMetadata:
      place_ = Place::kTop;
      return true;
    case Place::kEntry:
      if (seen_ != 7) return refuse(fmt::format("{} lacks one of dtype, shape and data_offsets", where()));
      on_entry_(context_, std::move(entry_));
      place_ = Place::kTop;
      return true;
    default:
      return end_array();
  }
}

bool SafetensorsJson::start_array(size_t) {
  if (place_ == Place::kEntry && field_ == Field::kShape) {
    place_ = Place::kShape;
    entry_.rank = 0;
    return true;
  }
  if (place_ == Place::kEntry && field_ == Field::kOffsets) {
    place_ = Place::kOffsets;
    return true;
  }
  if (!scalar("an array")) return false;
  if (++unknown_depth_ > kMaxUnknownDepth) return unexpected("too deep nesting");
  place_ = Place::kUnknown;
  return true;
}

bool SafetensorsJson::end_array() {
  if (place_ == Place::kOffsets && entry_.offsets != 2)
    return refuse(fmt::format("{} has {} data_offsets where two belong", where(), entry_.offsets));
  if (place_ == Place::kUnknown && --unknown_depth_ > 0) return true;
  place_ = Place::kEntry;
  return true;
}

bool SafetensorsJson::parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
  return refuse(fmt::format("the header is not valid JSON at its byte {}", position));
}

}  // namespace gesso
