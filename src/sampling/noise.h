#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/latent.h"

namespace gesso {

/// A stream of standard normal noise. A stream belongs to one picture: its values depend on the seed and on the sizes
/// of the calls before, never on other pictures of a batch.
class Noise {
 public:
  virtual ~Noise() = default;
  /// Fills `values`; each call stands for one torch.randn of that many elements.
  virtual void fill(std::span<float> values) = 0;
};

/// A way of making noise: one row of a table.
struct NoiseSource {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  std::unique_ptr<Noise> (*make)(uint64_t seed);
};

/// All noise sources; the first is the default.
///   cpu   torch.randn with a CPU generator, equal bit for bit to an x86 build of torch with AVX2. As there, fewer than
///         16 values take another path than 16 and more, and only the low 32 bits of the seed count.
///   cuda  torch.randn with a CUDA generator, within 1e-6 (the GPU's sine is an approximation of its own), while a call
///         has no more elements than the GPU has threads (196 608 on an RTX 4090). Beyond that the reference depends on
///         the GPU, and this goes on as if it had more threads.
const std::vector<NoiseSource>& noise_sources();

/// The source of that name or alias. Throws kUsage listing the known ones.
const NoiseSource& find_noise_source(std::string_view name);

/// Noise of the shape of `like`.
Latent noise_like(Noise& noise, const Latent& like);

}  // namespace gesso
