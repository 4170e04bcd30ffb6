#include "pipeline/canvas.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "media/codec.h"
#include "media/resize.h"

namespace gesso {
namespace {

constexpr std::array<uint8_t, 3> kBlack = {0, 0, 0};

/// A part of a picture; it may reach over the picture's border.
struct Part {
  double x = 0, y = 0, width = 0, height = 0;
};

/// The largest part of a picture with the proportions of `width` to `height`, in its middle; or, to `fit`, the smallest
/// that contains it.
Part middle_part(const Image& image, int width, int height, bool fit) {
  const double across = static_cast<double>(image.width) / width, down = static_cast<double>(image.height) / height;
  const double scale = fit ? std::max(across, down) : std::min(across, down);
  Part part{0, 0, width * scale, height * scale};
  part.x = (image.width - part.width) / 2;
  part.y = (image.height - part.height) / 2;
  return part;
}

/// `image` with its border repeated until it contains the part, which is rounded to whole pixels and cut out.
Image cut(const Image& image, const Part& part) {
  const int x = static_cast<int>(std::lround(part.x)), y = static_cast<int>(std::lround(part.y));
  const int width = std::max(1, static_cast<int>(std::lround(part.width)));
  const int height = std::max(1, static_cast<int>(std::lround(part.height)));
  check_picture_size(width, height, "the init picture with its border");
  Image result{width, height, image.channels, {}};
  const auto c = static_cast<size_t>(image.channels);
  result.pixels.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * c);
  for (int i = 0; i < height; ++i) {
    const auto row = static_cast<size_t>(std::clamp(y + i, 0, image.height - 1)) * static_cast<size_t>(image.width);
    for (int j = 0; j < width; ++j) {
      const size_t pixel = (row + static_cast<size_t>(std::clamp(x + j, 0, image.width - 1))) * c;
      for (size_t k = 0; k < c; ++k) result.pixels.push_back(image.pixels[pixel + k]);
    }
  }
  return result;
}

Image shaped(const Image& image, const Request& r) {
  if (r.resize_mode == "stretch") return resized(image, *r.width, *r.height);
  return resized(cut(image, middle_part(image, *r.width, *r.height, r.resize_mode == "fit")), *r.width, *r.height);
}

std::vector<float> mask_values(const Image& gray, bool invert) {
  std::vector<float> values;
  values.reserve(gray.pixels.size());
  for (const uint8_t p : gray.pixels) values.push_back((p >= 128) != invert ? 1.f : 0.f);
  return values;
}

/// 0 outside of the mask and on its edge, 1 from `blur` pixels inwards.
std::vector<float> cover_of(const std::vector<float>& mask, int width, int height, int blur) {
  std::vector<float> cover = blurred(mask, width, height, blur / 2.0);
  for (size_t i = 0; i < cover.size(); ++i)
    cover[i] = blur == 0 ? mask[i] : mask[i] == 0 ? 0.f : std::clamp(2 * cover[i] - 1, 0.f, 1.f);
  return cover;
}

/// The mask's bounding box with `padding` around it, widened to the request's proportions where the base has room.
Part masked_part(const std::vector<float>& mask, const Image& base, const Request& r) {
  int left = base.width, right = -1, top = base.height, bottom = -1;
  for (int i = 0; i < base.height; ++i)
    for (int j = 0; j < base.width; ++j)
      if (mask[static_cast<size_t>(i) * static_cast<size_t>(base.width) + static_cast<size_t>(j)] > 0) {
        left = std::min(left, j), right = std::max(right, j);
        top = std::min(top, i), bottom = std::max(bottom, i);
      }
  const auto widen = [](int low, int high, int padding, double wanted, int limit) {
    double begin = std::max(0, low - padding), end = std::min(limit, high + 1 + padding);
    const double size = std::clamp(wanted, end - begin, static_cast<double>(limit));
    begin = std::clamp((begin + end - size) / 2, 0.0, limit - size);
    return std::pair{std::floor(begin), std::min<double>(limit, std::ceil(begin + size))};
  };
  const double aspect = static_cast<double>(*r.width) / *r.height;
  const double tall = bottom + 1 - top + 2.0 * r.inpaint_padding, wide = right + 1 - left + 2.0 * r.inpaint_padding;
  const auto [x, x_end] = widen(left, right, r.inpaint_padding, std::max(wide, tall * aspect), base.width);
  const auto [y, y_end] = widen(top, bottom, r.inpaint_padding, std::max(tall, wide / aspect), base.height);
  return {x, y, x_end - x, y_end - y};
}

/// Gray, white is painted anew.
Image load_mask(const Request& r) {
  const Image image = load_image(r.mask_image);
  if (r.mask_channel == "luminance") return to_gray(image, kBlack);
  if (image.channels != 4)
    fail(ErrorCode::kUsage, "the mask {} has no transparent part, which is what --mask-channel alpha paints anew",
         gesso::quoted(r.mask_image));
  Image mask{image.width, image.height, 1, {}};
  for (size_t i = 3; i < image.pixels.size(); i += 4)
    mask.pixels.push_back(static_cast<uint8_t>(255 - image.pixels[i]));
  return mask;
}

/// The pictures with room on each side: the init picture's border goes on, and a mask says that all of it is painted.
void extend(InputPictures& inputs, const Request& r) {
  const Image& init = *inputs.init;
  const Part room{-static_cast<double>(r.outpaint_left), -static_cast<double>(r.outpaint_top),
                  static_cast<double>(init.width) + r.outpaint_left + r.outpaint_right,
                  static_cast<double>(init.height) + r.outpaint_top + r.outpaint_bottom};
  const Image inner = inputs.mask ? resized(*inputs.mask, init.width, init.height) : Image{};
  Image wide = cut(init, room);
  const uint8_t painted = r.mask_invert ? 0 : 255, kept = 255 - painted;
  Image mask{wide.width, wide.height, 1, {}};
  mask.pixels.assign(static_cast<size_t>(mask.width) * static_cast<size_t>(mask.height), painted);
  for (int y = 0; y < init.height; ++y)
    for (int x = 0; x < init.width; ++x) {
      const size_t at = static_cast<size_t>(y) * static_cast<size_t>(init.width) + static_cast<size_t>(x);
      mask.pixels[static_cast<size_t>(y + r.outpaint_top) * static_cast<size_t>(mask.width) +
                  static_cast<size_t>(x + r.outpaint_left)] = inputs.mask ? inner.pixels[at] : kept;
    }
  inputs.init = std::move(wide);
  inputs.mask = std::move(mask);
}

}  // namespace

InputPictures load_input_pictures(const Request& request) {
  InputPictures inputs;
  if (!request.mask_image.empty() && request.init_image.empty())
    fail(ErrorCode::kUsage, "--mask says where a picture is painted anew, and there is none: give it with --init-img");
  if (!request.init_image.empty()) inputs.init = to_rgb(load_image(request.init_image));
  if (!request.mask_image.empty()) {
    inputs.mask = load_mask(request);
    const Image &mask = *inputs.mask, &init = *inputs.init;
    const double a = static_cast<double>(mask.width) * init.height, b = static_cast<double>(init.width) * mask.height;
    if (std::abs(a - b) > 0.02 * std::max(a, b))
      fail(
          ErrorCode::kUsage,
          "the mask {} is {} x {} and the picture {} is {} x {}: they must have the same size, or the same proportions",
          gesso::quoted(request.mask_image), mask.width, mask.height, gesso::quoted(request.init_image), init.width,
          init.height);
  }
  if (outpaints(request)) {
    if (!inputs.init)
      fail(ErrorCode::kUsage, "outpainting continues a picture, and there is none: give it with --init-img");
    extend(inputs, request);
  }
  return inputs;
}

Canvas make_canvas(const InputPictures& inputs, const Request& r) {
  Canvas canvas;
  const bool masked_only = inputs.mask && r.inpaint_area == "masked";
  canvas.base = masked_only ? *inputs.init : shaped(*inputs.init, r);
  const int width = canvas.base.width, height = canvas.base.height;
  Part part{0, 0, static_cast<double>(width), static_cast<double>(height)};
  if (inputs.mask) {
    const Image mask = resized(*inputs.mask, inputs.init->width, inputs.init->height);
    const std::vector<float> values = mask_values(masked_only ? mask : shaped(mask, r), r.mask_invert);
    if (std::ranges::none_of(values, [](float v) { return v > 0; }))
      fail(ErrorCode::kUsage,
           "the mask {} leaves nothing to paint: white is painted anew, black stays; --mask-invert "
           "turns that round",
           gesso::quoted(r.mask_image));
    canvas.cover = cover_of(values, width, height, r.mask_blur);
    if (masked_only) part = masked_part(values, canvas.base, r);
    Image gray{width, height, 1, {}};
    for (const float v : values) gray.pixels.push_back(v > 0 ? 255 : 0);
    canvas.mask = mask_values(resized(cut(gray, part), *r.width, *r.height), false);
  }
  canvas.picture = resized(cut(canvas.base, part), *r.width, *r.height);
  canvas.x = static_cast<int>(part.x), canvas.y = static_cast<int>(part.y);
  canvas.width = static_cast<int>(part.width), canvas.height = static_cast<int>(part.height);
  return canvas;
}

Image on_canvas(const Canvas& canvas, const Image& painted) {
  if (canvas.cover.empty()) return painted;
  const Image part = resized(painted, canvas.width, canvas.height);
  Image result = canvas.base;
  for (int i = 0; i < part.height; ++i)
    for (int j = 0; j < part.width; ++j) {
      const size_t pixel =
          static_cast<size_t>(canvas.y + i) * static_cast<size_t>(result.width) + static_cast<size_t>(canvas.x + j);
      const size_t source = static_cast<size_t>(i) * static_cast<size_t>(part.width) + static_cast<size_t>(j);
      const float cover = canvas.cover[pixel];
      for (size_t k = 0; k < 3; ++k) {
        const float old = result.pixels[3 * pixel + k], fresh = part.pixels[3 * source + k];
        result.pixels[3 * pixel + k] = static_cast<uint8_t>(std::lround(old + cover * (fresh - old)));
      }
    }
  return result;
}

}  // namespace gesso
