// The K types: super-blocks of 256, sub-blocks of 16 or 32 whose scales are quantised too.
#include "tensor/quant/bits.h"
#include "tensor/quant/dequantise.h"

namespace gesso::quant {

void dequantise_q2_k(const uint8_t* b, float* y) {
  const uint8_t *scales = b, *q = b + 16;
  const float d = load_f16(b + 80), dmin = load_f16(b + 82);
  for (int j = 0; j < 16; ++j) {
    const float scale = d * static_cast<float>(scales[j] & 15), min = dmin * static_cast<float>(scales[j] >> 4);
    const uint8_t* quads = q + 32 * (j / 8) + 16 * (j % 2);
    const int shift = 2 * (j / 2 % 4);
    for (int i = 0; i < 16; ++i) *y++ = scale * static_cast<float>(quads[i] >> shift & 3) - min;
  }
}

void dequantise_q3_k(const uint8_t* b, float* y) {
  const uint8_t *high = b, *q = b + 32, *scales = b + 96;
  const float d = load_f16(b + 108);
  for (int j = 0; j < 16; ++j) {
    const float scale = d * static_cast<float>(unpack_scale_q3(scales, j));
    const uint8_t *quads = q + 32 * (j / 8) + 16 * (j % 2), *bits = high + 16 * (j % 2);
    const int shift = 2 * (j / 2 % 4), bit = j / 2;
    for (int i = 0; i < 16; ++i)
      *y++ = scale * static_cast<float>((quads[i] >> shift & 3) - (bits[i] >> bit & 1 ? 0 : 4));
  }
}

void dequantise_q4_k(const uint8_t* b, float* y) {
  const float d = load_f16(b), dmin = load_f16(b + 2);
  for (int j = 0; j < 8; ++j) {
    int scale, min;
    unpack_scale_min(b + 4, j, scale, min);
    const float s = d * static_cast<float>(scale), m = dmin * static_cast<float>(min);
    const uint8_t* q = b + 16 + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    for (int i = 0; i < 32; ++i) *y++ = s * static_cast<float>(q[i] >> shift & 15) - m;
  }
}

void dequantise_q5_k(const uint8_t* b, float* y) {
  const float d = load_f16(b), dmin = load_f16(b + 2);
  for (int j = 0; j < 8; ++j) {
    int scale, min;
    unpack_scale_min(b + 4, j, scale, min);
    const float s = d * static_cast<float>(scale), m = dmin * static_cast<float>(min);
    const uint8_t *high = b + 16, *q = b + 48 + 32 * (j / 2);
    const int shift = 4 * (j % 2);
    for (int i = 0; i < 32; ++i) *y++ = s * static_cast<float>((q[i] >> shift & 15) + (high[i] >> j & 1 ? 16 : 0)) - m;
  }
}

void dequantise_q6_k(const uint8_t* b, float* y) {
  const float d = load_f16(b + 208);
  for (int j = 0; j < 8; ++j) {  // 32 elements
    const uint8_t *low = b + 64 * (j / 4) + 32 * (j % 2), *high = b + 128 + 32 * (j / 4), *scales = b + 192 + 2 * j;
    const int low_shift = j % 4 < 2 ? 0 : 4, high_shift = 2 * (j % 4);
    for (int i = 0; i < 32; ++i) {
      const int q = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
      *y++ = d * static_cast<float>(static_cast<int8_t>(scales[i / 16])) * static_cast<float>(q - 32);
    }
  }
}

}  // namespace gesso::quant
