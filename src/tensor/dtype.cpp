#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "tensor/quant/block_type.h"

namespace gesso {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int size;
  bool floating;
};

constexpr Row kRows[] = {
    {DType::kF32, "F32", 4, true},  {DType::kF16, "F16", 2, true},        {DType::kBF16, "BF16", 2, true},
    {DType::kF64, "F64", 8, true},  {DType::kF8E4M3, "F8_E4M3", 1, true}, {DType::kF8E5M2, "F8_E5M2", 1, true},
    {DType::kI8, "I8", 1, false},   {DType::kU8, "U8", 1, false},         {DType::kI16, "I16", 2, false},
    {DType::kU16, "U16", 2, false}, {DType::kI32, "I32", 4, false},       {DType::kU32, "U32", 4, false},
    {DType::kI64, "I64", 8, false}, {DType::kU64, "U64", 8, false},       {DType::kBool, "BOOL", 1, false},
};

static_assert(std::size(kRows) == static_cast<size_t>(kFirstBlockType));

const Row& row(DType dtype) {
  if (is_block(dtype)) fail(ErrorCode::kInternal, "elements of {} have no size of their own", to_string(dtype));
  return kRows[static_cast<int>(dtype)];
}

template <typename T, typename F>
void convert_each(const void* source, float* target, int64_t count, F convert) {
  const auto* bytes = static_cast<const unsigned char*>(source);
  for (int64_t i = 0; i < count; ++i) {
    T value;  // files do not promise alignment
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    target[i] = convert(value);
  }
}

/// What each of 256 codes means.
std::array<float, 256> table_of(float (*value)(uint8_t)) {
  std::array<float, 256> values;
  for (int code = 0; code < 256; ++code) values[static_cast<size_t>(code)] = value(static_cast<uint8_t>(code));
  return values;
}

float small_float_to_f32(uint8_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                    : std::ldexp(static_cast<float>(mantissa | (1 << mantissa_bits)), exponent - bias - mantissa_bits);
  return bits & 0x80 ? -magnitude : magnitude;
}

}  // namespace

int64_t size_of(DType dtype) {
  return row(dtype).size;
}

int64_t block_elements(DType dtype) {
  const BlockType* type = find_block_type(dtype);
  return type ? type->elements : 1;
}

std::optional<int64_t> byte_size(DType dtype, int64_t elements) {
  const BlockType* type = find_block_type(dtype);
  const int64_t together = type ? type->elements : 1;
  int64_t bytes = 0;
  if (elements < 0 || elements % together != 0) return std::nullopt;
  if (__builtin_mul_overflow(elements / together, type ? type->bytes : size_of(dtype), &bytes)) return std::nullopt;
  return bytes;
}

bool is_float(DType dtype) {
  return is_block(dtype) || row(dtype).floating;
}
std::string_view to_string(DType dtype) {
  const BlockType* type = find_block_type(dtype);
  return type ? type->name : row(dtype).name;
}

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const Row& r : kRows)
    if (r.name == name) return r.dtype;
  for (const BlockType& type : block_types())
    if (type.name == name) return type.dtype;
  return std::nullopt;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return __builtin_bit_cast(float, sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float value = static_cast<float>(mantissa) * 0x1p-24f;  // zero and subnormals
  return sign ? -value : value;
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds beyond 65504
  if (magnitude < 0x38800000) {                       // subnormal half: let the float adder round
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(__builtin_bit_cast(uint32_t, shifted) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float f8e4m3_to_f32(uint8_t bits) {
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  return small_float_to_f32(bits, 4, 3);
}

float f8e5m2_to_f32(uint8_t bits) {
  if ((bits & 0x7f) > 0x7c) return std::numeric_limits<float>::quiet_NaN();
  if ((bits & 0x7f) == 0x7c) return std::copysign(std::numeric_limits<float>::infinity(), bits & 0x80 ? -1.f : 1.f);
  return small_float_to_f32(bits, 5, 2);
}

void convert_to_f32(DType from, const void* source, float* target, int64_t count) {
  const auto by_value = [](auto v) { return static_cast<float>(v); };
  if (const BlockType* type = find_block_type(from)) {
    const auto* block = static_cast<const uint8_t*>(source);
    for (; count >= type->elements; count -= type->elements, block += type->bytes, target += type->elements)
      type->dequantise(block, target);
    return;
  }
  switch (from) {
    case DType::kF32:
      std::memcpy(target, source, static_cast<size_t>(count) * 4);
      return;
    case DType::kF16:
      return convert_each<uint16_t>(source, target, count, f16_to_f32);
    case DType::kBF16:
      return convert_each<uint16_t>(source, target, count, bf16_to_f32);
    case DType::kF64:
      return convert_each<double>(source, target, count, by_value);
    case DType::kF8E4M3: {
      static const std::array<float, 256> values = table_of(f8e4m3_to_f32);
      return convert_each<uint8_t>(source, target, count, [](uint8_t v) { return values[v]; });
    }
    case DType::kF8E5M2: {
      static const std::array<float, 256> values = table_of(f8e5m2_to_f32);
      return convert_each<uint8_t>(source, target, count, [](uint8_t v) { return values[v]; });
    }
    case DType::kI8:
      return convert_each<int8_t>(source, target, count, by_value);
    case DType::kU8:
      return convert_each<uint8_t>(source, target, count, by_value);
    case DType::kI16:
      return convert_each<int16_t>(source, target, count, by_value);
    case DType::kU16:
      return convert_each<uint16_t>(source, target, count, by_value);
    case DType::kI32:
      return convert_each<int32_t>(source, target, count, by_value);
    case DType::kU32:
      return convert_each<uint32_t>(source, target, count, by_value);
    case DType::kI64:
      return convert_each<int64_t>(source, target, count, by_value);
    case DType::kU64:
      return convert_each<uint64_t>(source, target, count, by_value);
    case DType::kBool:
      return convert_each<uint8_t>(source, target, count, [](uint8_t v) { return v ? 1.f : 0.f; });
    default:
      fail(ErrorCode::kInternal, "no conversion from {}", to_string(from));
  }
}

void convert_range_to_f32(DType from, const void* source, int64_t begin, float* target, int64_t count) {
  const auto* bytes = static_cast<const std::byte*>(source);
  const BlockType* type = find_block_type(from);
  if (!type) return convert_to_f32(from, bytes + begin * size_of(from), target, count);
  const auto at = [&](int64_t element) { return bytes + element / type->elements * type->bytes; };
  float block[kMaxBlockElements];
  while (count > 0) {
    const int64_t inside = begin % type->elements;
    int64_t n = std::min(count, type->elements - inside);
    if (inside == 0 && count >= type->elements) {
      n = count - count % type->elements;
      convert_to_f32(from, at(begin), target, n);
    } else {
      convert_to_f32(from, at(begin), block, type->elements);
      std::copy_n(block + inside, n, target);
    }
    begin += n;
    target += n;
    count -= n;
  }
}

void convert_from_f32(DType to, const float* source, void* target, int64_t count) {
  auto* halves = static_cast<uint16_t*>(target);
  switch (to) {
    case DType::kF32:
      std::memcpy(target, source, static_cast<size_t>(count) * 4);
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) halves[i] = f32_to_f16(source[i]);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) halves[i] = f32_to_bf16(source[i]);
      return;
    default:
      fail(ErrorCode::kInternal, "no conversion from F32 to {}", to_string(to));
  }
}

}  // namespace gesso
