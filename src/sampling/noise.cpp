#include "sampling/noise.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <random>

#include "sampling/names.h"
#include "sampling/philox.h"
#include "sampling/torch_normal.h"

namespace gesso {
namespace {

class TorchCpuNoise final : public Noise {
 public:
  explicit TorchCpuNoise(uint64_t seed) : engine_(static_cast<uint32_t>(seed)) {}

  void fill(std::span<float> values) override {
    if (values.size() < 16) {
      for (float& value : values) value = static_cast<float>(next());
      return;
    }
    for (float& value : values) value = torch_uniform(engine_);
    for (size_t i = 0; i + 16 <= values.size(); i += 16) torch_normal_16(&values[i]);
    if (values.size() % 16 == 0) return;
    const std::span<float> tail = values.last(16);  // drawn anew, over the end of the last full block
    for (float& value : tail) value = torch_uniform(engine_);
    torch_normal_16(tail.data());
  }

 private:
  /// Box-Muller in f64; the second value of a pair is kept for the next draw, also over calls.
  double next() {
    if (spare_) {
      const double value = *spare_;
      spare_.reset();
      return value;
    }
    const double angle = 2 * std::numbers::pi * torch_uniform_double(engine_);
    const double radius = std::sqrt(-2 * std::log1p(-torch_uniform_double(engine_)));
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

  std::mt19937 engine_;
  std::optional<double> spare_;
};

/// Each element is a thread of the GPU with its own Philox sequence, from which a call takes the first value of the
/// next group of four (curand_normal4).
class TorchCudaNoise final : public Noise {
 public:
  explicit TorchCudaNoise(uint64_t seed) : key_{low(seed), high(seed)} {}

  void fill(std::span<float> values) override {
    for (uint64_t i = 0; i < values.size(); ++i) {
      const auto words = philox4x32_10({low(calls_), high(calls_), low(i), high(i)}, key_);
      const double u = words[0] * kUnit + kUnit / 2;
      const double angle = words[1] * kTurn + kTurn / 2;
      values[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::sin(angle));
    }
    ++calls_;
  }

 private:
  static constexpr double kUnit = 0x1p-32;
  static constexpr double kTurn = 0x1p-32 * 2 * std::numbers::pi_v<float>;
  static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
  static uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

  std::array<uint32_t, 2> key_;
  uint64_t calls_ = 0;
};

template <typename Stream>
std::unique_ptr<Noise> make(uint64_t seed) {
  return std::make_unique<Stream>(seed);
}

}  // namespace

const std::vector<NoiseSource>& noise_sources() {
  static const std::vector<NoiseSource> sources = {
      {"cpu", {"torch_cpu"}, "as torch.randn on a CPU", make<TorchCpuNoise>},
      {"cuda", {"gpu", "nv", "torch_cuda", "philox"}, "as torch.randn on an NVIDIA GPU", make<TorchCudaNoise>},
  };
  return sources;
}

const NoiseSource& find_noise_source(std::string_view name) {
  return find_row(noise_sources(), "noise source", name);
}

Latent noise_like(Noise& noise, const Latent& like) {
  Latent result = zero_latent(like.channels, like.height, like.width);
  noise.fill(result.values);
  return result;
}

}  // namespace gesso
