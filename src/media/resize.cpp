#include "media/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace gesso {
namespace {

/// The source pixels that one pixel of the result is made of.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

double lanczos3(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= 3) return 0;
  const double a = std::numbers::pi * x;
  return 3 * std::sin(a) * std::sin(a / 3) / (a * a);
}

std::vector<Taps> taps_for(int from, int to) {
  const double scale = static_cast<double>(from) / to, stretch = std::max(1.0, scale);
  std::vector<Taps> all(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    Taps& taps = all[static_cast<size_t>(i)];
    const double middle = (i + 0.5) * scale, reach = 3 * stretch;
    taps.first = std::max(0, static_cast<int>(middle - reach + 0.5));
    const int end = std::min(from, static_cast<int>(middle + reach + 0.5));
    double sum = 0;
    for (int k = taps.first; k < end; ++k) {
      const double weight = lanczos3((k + 0.5 - middle) / stretch);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  }
  return all;
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0.f, 255.f)));
}

/// The rows of a picture [rows, columns, c] resampled to another width, or its columns to another height. Bytes between
/// the two, as in Pillow: the rings around edges do not add up.
std::vector<uint8_t> across(const std::vector<uint8_t>& x, size_t columns, size_t c, int width) {
  const std::vector<Taps> taps = taps_for(static_cast<int>(columns), width);
  std::vector<uint8_t> y;
  for (size_t row = 0; row < x.size(); row += columns * c)
    for (const Taps& pixel : taps) {
      const uint8_t* source = x.data() + row + static_cast<size_t>(pixel.first) * c;
      std::array<float, 4> sum{};
      for (const float weight : pixel.weights)
        for (size_t k = 0; k < c; ++k) sum[k] += weight * *source++;
      for (size_t k = 0; k < c; ++k) y.push_back(to_byte(sum[k]));
    }
  return y;
}

std::vector<uint8_t> down(const std::vector<uint8_t>& x, size_t row, int height) {
  std::vector<uint8_t> y;
  std::vector<float> sum(row);
  for (const Taps& pixel : taps_for(static_cast<int>(x.size() / row), height)) {
    sum.assign(row, 0);
    const uint8_t* source = x.data() + static_cast<size_t>(pixel.first) * row;
    for (const float weight : pixel.weights)
      for (size_t i = 0; i < row; ++i) sum[i] += weight * *source++;
    for (const float value : sum) y.push_back(to_byte(value));
  }
  return y;
}

void check_sizes(const Image& image, int width, int height) {
  check_image(image);
  if (width <= 0 || height <= 0) fail(ErrorCode::kInternal, "a picture cannot become {} x {}", width, height);
  check_picture_size(width, height, "the resized picture");
}

}  // namespace

Image repeated(const Image& image, int width, int height) {
  check_sizes(image, width, height);
  Image y{width, height, image.channels, {}};
  y.pixels.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(image.channels));
  const auto source = [](int i, int from, int to) { return (2 * int64_t{i} + 1) * from / (2 * int64_t{to}); };
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      const int64_t at = source(row, image.height, height) * image.width + source(column, image.width, width);
      const auto pixel = image.pixels.begin() + at * image.channels;
      y.pixels.insert(y.pixels.end(), pixel, pixel + image.channels);
    }
  return y;
}

Image resized(const Image& image, int width, int height) {
  check_sizes(image, width, height);
  if (width == image.width && height == image.height) return image;
  const auto c = static_cast<size_t>(image.channels), before = static_cast<size_t>(image.width);
  std::vector<uint8_t> x = image.pixels;
  const auto for_colours = [&](const auto& change) {
    for (size_t i = 0; c == 4 && i < x.size(); i += 4)
      for (size_t k = 0; k < 3; ++k) x[i + k] = change(x[i + k], x[i + 3]);
  };
  for_colours([](float colour, float alpha) { return to_byte(colour * alpha / 255); });
  if (width > image.width && height < image.height) {  // first what makes it smaller
    x = across(down(x, before * c, height), before, c, width);
  } else {
    x = down(across(x, before, c, width), static_cast<size_t>(width) * c, height);
  }
  for_colours([](float colour, float alpha) { return alpha > 0 ? to_byte(colour * 255 / alpha) : uint8_t{0}; });
  return {width, height, image.channels, std::move(x)};
}

std::vector<float> blurred(std::vector<float> values, int width, int height, double deviation) {
  if (deviation <= 0) return values;
  const int reach = static_cast<int>(std::ceil(3 * deviation));
  std::vector<float> kernel;
  for (int i = -reach; i <= reach; ++i)
    kernel.push_back(static_cast<float>(std::exp(-0.5 * i * i / (deviation * deviation))));
  float sum = 0;
  for (const float k : kernel) sum += k;
  const auto pass = [&](int lines, int length, int line_step, int step) {
    std::vector<float> line(static_cast<size_t>(length));
    for (int l = 0; l < lines; ++l) {
      for (int i = 0; i < length; ++i)
        line[static_cast<size_t>(i)] = values[static_cast<size_t>(l * line_step + i * step)];
      for (int i = 0; i < length; ++i) {
        float y = 0;
        for (int k = -reach; k <= reach; ++k)
          y += kernel[static_cast<size_t>(k + reach)] * line[static_cast<size_t>(std::clamp(i + k, 0, length - 1))];
        values[static_cast<size_t>(l * line_step + i * step)] = y / sum;
      }
    }
  };
  pass(height, width, width, 1);
  pass(width, height, 1, width);
  return values;
}

}  // namespace gesso
