#include "pipeline/preview.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "pipeline/model_files.h"
#include "sampling/noise.h"

namespace gesso {
namespace {

/// Patches of a few latents of one colour each, with a little noise: what neighbouring latents look like in pictures.
Latent patches(int channels, int side) {
  constexpr int kPatch = 3;
  constexpr double kColour = 1, kGrain = 0.2;
  const auto noise = find_noise_source("cpu").make(0);
  const Latent colours = noise_like(*noise, zero_latent(channels, side / kPatch, side / kPatch));
  Latent latent = scaled(kGrain, noise_like(*noise, zero_latent(channels, side, side)));
  for (int c = 0; c < channels; ++c)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        latent.values[static_cast<size_t>((c * side + y) * side + x)] +=
            static_cast<float>(kColour) *
            colours.values[static_cast<size_t>((c * colours.height + y / kPatch) * colours.width + x / kPatch)];
  return latent;
}

/// Solves a x = b for three right sides by Gauss and Jordan; `a` [n, n] is symmetric and positive.
std::vector<std::array<double, 3>> solved(std::vector<std::vector<double>> a, std::vector<std::array<double, 3>> b) {
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t row = 0; row < n; ++row) {
      if (row == i) continue;
      const double factor = a[row][i] / a[i][i];
      for (size_t k = i; k < n; ++k) a[row][k] -= factor * a[i][k];
      for (size_t k = 0; k < 3; ++k) b[row][k] -= factor * b[i][k];
    }
  for (size_t i = 0; i < n; ++i)
    for (double& value : b[i]) value /= a[i][i];
  return b;
}

bool finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

uint8_t to_byte(float v) {
  return static_cast<uint8_t>(std::lround(std::clamp(v * 127.5f + 127.5f, 0.f, 255.f)));
}

}  // namespace

Image projected(const LatentProjection& projection, const Latent& latent) {
  Image image{latent.width, latent.height, 3, {}};
  const size_t plane = static_cast<size_t>(latent.width) * static_cast<size_t>(latent.height);
  for (size_t i = 0; i < plane; ++i)
    for (size_t k = 0; k < 3; ++k) {
      float sum = projection.bias[k];
      for (size_t c = 0; c < projection.factors.size(); ++c)
        sum += latent.values[c * plane + i] * projection.factors[c][k];
      image.pixels.push_back(to_byte(sum));
    }
  return image;
}

LatentProjection fit_projection(const Latent& latent, const std::vector<float>& picture, int scale) {
  const auto n = static_cast<size_t>(latent.channels) + 1;
  const size_t plane = static_cast<size_t>(latent.width) * static_cast<size_t>(latent.height);
  std::vector<std::vector<double>> normal(n, std::vector<double>(n, 0));
  std::vector<std::array<double, 3>> right(n, {0, 0, 0});
  const double pixels = static_cast<double>(scale) * scale;
  for (int y = 0; y < latent.height; ++y)
    for (int x = 0; x < latent.width; ++x) {
      std::vector<double> values(n, 1);
      for (size_t c = 0; c + 1 < n; ++c)
        values[c] = latent.values[c * plane + static_cast<size_t>(y * latent.width + x)];
      std::array<double, 3> mean{};
      for (int i = 0; i < scale; ++i)
        for (int j = 0; j < scale; ++j)
          for (size_t k = 0; k < 3; ++k)
            mean[k] += std::clamp<double>(
                picture[static_cast<size_t>((y * scale + i) * latent.width * scale + x * scale + j) * 3 + k], -1, 1);
      for (size_t a = 0; a < n; ++a) {
        for (size_t b = 0; b < n; ++b) normal[a][b] += values[a] * values[b];
        for (size_t k = 0; k < 3; ++k) right[a][k] += values[a] * mean[k] / pixels;
      }
    }
  for (size_t a = 0; a < n; ++a) normal[a][a] += 1e-6 * static_cast<double>(plane);  // keeps it solvable
  const auto solution = solved(std::move(normal), std::move(right));
  LatentProjection projection;
  for (size_t a = 0; a < n; ++a) {
    std::array<float, 3> row{};
    for (size_t k = 0; k < 3; ++k) row[k] = static_cast<float>(solution[a][k]);
    if (a + 1 < n)
      projection.factors.push_back(row);
    else
      projection.bias = row;
  }
  return projection;
}

std::unique_ptr<Preview> Preview::of(LoadedModel& loaded, const Request& request) {
  if (request.preview == "none") return nullptr;
  std::unique_ptr<Preview> preview(new Preview());
  if (request.preview == "proj") {
    if (loaded.model->latent_format().projection) {
      preview->published_ = loaded.model->latent_format().projection;
    } else {
      preview->codec_ = picture_codec(loaded, request);
      preview->projection_ = &loaded.projection;
    }
  } else if (request.preview == "tae") {
    if (!loaded.tiny)
      fail(ErrorCode::kUsage, "preview tae takes a tiny autoencoder: give it with --taesd FILE, or use proj");
    preview->codec_.emplace(*loaded.model, loaded.tiny.get());
  } else {
    if (!loaded.model->decoder_weights())
      fail(ErrorCode::kNotFound,
           "preview vae takes the model's own autoencoder: give it with --vae FILE, or use tae or proj");
    preview->codec_.emplace(*loaded.model);
  }
  return preview;
}

void Preview::prepare(Device& device, DType dtype) {
  if (!fitter()) return;
  const LatentFormat& format = codec_->format();
  const Latent latent = patches(format.channels, kFitSide);
  std::vector<float> picture = codec_->decode(device, latent, dtype);
  if (!finite(picture)) picture = codec_->decode(device, latent, DType::kF32);
  for (float& v : picture)
    if (!std::isfinite(v)) v = 0;  // decoding fails later, and says so
  *projection_ = std::make_shared<LatentProjection>(fit_projection(latent, picture, format.scale));
}

std::optional<Image> Preview::picture(Device& device, const Latent& latent, DType dtype) const {
  if (!all_finite(latent)) return std::nullopt;
  if (published_) return projected(*published_, latent);
  if (fits()) return *projection_ ? std::optional(projected(**projection_, latent)) : std::nullopt;
  std::vector<float> values = codec_->decode(device, latent, dtype);
  if (!finite(values) && dtype != DType::kF32) values = codec_->decode(device, latent, DType::kF32);
  if (!finite(values)) return std::nullopt;
  const int side = codec_->format().scale;
  Image image{side * latent.width, side * latent.height, 3, std::vector<uint8_t>(values.size())};
  std::ranges::transform(values, image.pixels.begin(), to_byte);
  return image;
}

}  // namespace gesso
