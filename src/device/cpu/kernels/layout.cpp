// Kernels that only move elements: of any type, by their size.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/kernels/kernels.h"

namespace gesso::cpu {
namespace {

constexpr int64_t kGrainBytes = 65536;

size_t bytes_of(int64_t count) {
  return static_cast<size_t>(count);
}

// One matrix [rows, columns] -> [columns, rows], for result rows [begin, end). Square tiles keep both sides in cache.
template <typename T>
void transpose(const T* x, int64_t rows, int64_t columns, int64_t begin, int64_t end, T* y) {
  constexpr int64_t kTile = 16;
  for (int64_t c0 = begin; c0 < end; c0 += kTile)
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c = c0; c < std::min(c0 + kTile, end); ++c)
        for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r) y[c * rows + r] = x[r * columns + c];
}

// `count` matrices, shared out by result rows.
template <typename T>
void transpose_each(const T* x, int64_t count, int64_t rows, int64_t columns, T* y) {
  if (rows == 0 || columns == 0) return;
  const int64_t grain = kGrainBytes / (rows * static_cast<int64_t>(sizeof(T)));
  for (int64_t i = 0; i < count; ++i)
    parallel_for(columns, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
      transpose(x + i * rows * columns, rows, columns, begin, end, y + i * rows * columns);
    });
}

void transpose_tensor(const Tensor& x, int64_t rows, int64_t columns, Tensor& y) {
  if (size_of(x.dtype()) == 4)
    transpose_each(x.data<uint32_t>(), x.dim(0), rows, columns, y.data<uint32_t>());
  else
    transpose_each(x.data<uint16_t>(), x.dim(0), rows, columns, y.data<uint16_t>());
}

struct PatchLayout {
  PatchLayout(const Tensor& patches, const Patch& patch, int64_t channels)
      : rows(patches.dim(0) * patches.dim(1)), columns(patches.dim(2)), c(channels), size(patch.size) {
    channel_step = patch.channels_first ? int64_t{size} * size : 1;
    pixel_step = patch.channels_first ? 1 : c;
  }
  int64_t rows, columns, c;  // rows of patches of all pictures, which lie one below the other
  int size;
  int64_t channel_step, pixel_step;  // within a patch
};

// Calls move(pixel element, patch element) for every element of a picture.
template <typename T, typename Move>
void move_patches(const PatchLayout& l, T* pixels, T* patches, const Move& move) {
  const int64_t patch = l.c * l.size * l.size, pixel_row = l.columns * l.size * l.c;
  if (patch * l.columns == 0) return;
  parallel_for(l.rows, std::max<int64_t>(1, kGrainBytes / (patch * l.columns * 4)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < l.columns; ++column)
        for (int64_t y = 0; y < l.size; ++y)
          for (int64_t x = 0; x < l.size; ++x) {
            T* pixel = pixels + (row * l.size + y) * pixel_row + (column * l.size + x) * l.c;
            T* at = patches + (row * l.columns + column) * patch + (y * l.size + x) * l.pixel_step;
            for (int64_t channel = 0; channel < l.c; ++channel) move(pixel[channel], at[channel * l.channel_step]);
          }
  });
}

}  // namespace

void concat(const Tensor& a, const Tensor& b, Tensor& y) {
  const int64_t left = a.dim(-1) * size_of(a.dtype()), right = b.dim(-1) * size_of(b.dtype()), row = left + right;
  if (row == 0) return;
  parallel_for(y.bytes() / row, kGrainBytes / row, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::byte* to = y.data<std::byte>() + i * row;
      std::memcpy(to, a.data<std::byte>() + i * left, bytes_of(left));
      std::memcpy(to + left, b.data<std::byte>() + i * right, bytes_of(right));
    }
  });
}

void columns(const Tensor& x, int64_t begin, Tensor& y) {
  const int64_t size = size_of(x.dtype()), row = y.dim(-1) * size, stride = x.dim(-1) * size;
  if (row == 0) return;
  parallel_for(y.bytes() / row, std::max<int64_t>(1, kGrainBytes / row), [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i)
      std::memcpy(y.data<std::byte>() + i * row, x.data<std::byte>() + i * stride + begin * size, bytes_of(row));
  });
}

void patchify(const Tensor& x, const Patch& patch, Tensor& y) {
  const PatchLayout layout(y, patch, x.dim(3));
  if (size_of(x.dtype()) == 4)
    move_patches(layout, x.data<uint32_t>(), y.data<uint32_t>(), [](uint32_t& pixel, uint32_t& p) { p = pixel; });
  else
    move_patches(layout, x.data<uint16_t>(), y.data<uint16_t>(), [](uint16_t& pixel, uint16_t& p) { p = pixel; });
}

void unpatchify(const Tensor& x, const Patch& patch, Tensor& y) {
  const PatchLayout layout(x, patch, y.dim(3));
  if (size_of(x.dtype()) == 4)
    move_patches(layout, y.data<uint32_t>(), x.data<uint32_t>(), [](uint32_t& pixel, uint32_t& p) { pixel = p; });
  else
    move_patches(layout, y.data<uint16_t>(), x.data<uint16_t>(), [](uint16_t& pixel, uint16_t& p) { pixel = p; });
}

void upsample_nearest(const Tensor& x, int factor, Tensor& y) {
  const int64_t width = x.dim(2), pixel = x.dim(3) * size_of(x.dtype()), row = width * pixel;
  const int64_t height = y.dim(1), wide = y.dim(2), wide_row = wide * pixel;
  if (row == 0) return;
  // One result row at a time: of each picture, rows of x that the result does not reach are left out.
  parallel_for(y.dim(0) * height, std::max<int64_t>(1, kGrainBytes / wide_row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t picture = i / height, from_row = picture * x.dim(1) + i % height / factor;
      const std::byte* from = x.data<std::byte>() + from_row * row;
      std::byte* to = y.data<std::byte>() + i * wide_row;
      for (int64_t column = 0; column < wide; ++column)
        std::memcpy(to + column * pixel, from + column / factor * pixel, bytes_of(pixel));
    }
  });
}

void pad_circular(const Tensor& x, int64_t top, int64_t left, Tensor& y) {
  const int64_t height = x.dim(1), width = x.dim(2), pixel = x.dim(3) * size_of(x.dtype());
  const int64_t tall = y.dim(1), wide_row = y.dim(2) * pixel;
  if (wide_row == 0) return;
  const auto ring = [](int64_t i, int64_t n) { return (i % n + n) % n; };
  parallel_for(y.dim(0) * tall, std::max<int64_t>(1, kGrainBytes / wide_row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from_row = i / tall * height + ring(i % tall - top, height);
      const std::byte* from = x.data<std::byte>() + from_row * width * pixel;
      std::byte* to = y.data<std::byte>() + i * wide_row;
      for (int64_t column = 0; column < y.dim(2);) {  // as much as lies together
        const int64_t source = ring(column - left, width), run = std::min(width - source, y.dim(2) - column);
        std::memcpy(to + column * pixel, from + source * pixel, bytes_of(run * pixel));
        column += run;
      }
    }
  });
}

void to_channels_last(const Tensor& x, Tensor& y) {
  transpose_tensor(x, x.dim(1), x.dim(2) * x.dim(3), y);
}

void to_channels_first(const Tensor& x, Tensor& y) {
  transpose_tensor(x, x.dim(1) * x.dim(2), x.dim(3), y);
}

}  // namespace gesso::cpu
