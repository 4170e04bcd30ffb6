#pragma once
#include <cstdint>
#include <vector>

#include "sampling/latent.h"

namespace gesso {

/// A path of Brownian motion over sigma that depends on its seed and ends alone, never on the steps that ask for it:
/// with more steps the same path is seen in more detail. Equal to torchsde's BrownianTree on the CPU, as k-diffusion
/// and ComfyUI use it, within rounding of f32. Sigmas count as f32, to six decimal places.
class BrownianTree {
 public:
  /// For latents of the shape of `like` and sigmas from `low` to `high`.
  BrownianTree(const Latent& like, double low, double high, uint64_t seed);

  /// The path's change from one sigma to another, scaled to unit deviation; 0 where both are equal. Sigmas outside of
  /// the ends count as the nearest end.
  Latent between(double from, double to);

 private:
  struct Node {
    double start, end;
    Latent before, change;  ///< of the path up to start, and from there to the end
    uint64_t key;           ///< place among the nodes of its depth
  };
  Latent at(double sigma);
  Latent normal(uint32_t seed) const;

  Latent zero_;
  uint64_t seed_;
  std::vector<Node> path_;  ///< from the root to the node asked for last, whose neighbours are asked for next
};

/// The first `count` words of numpy's SeedSequence(entropy, spawn_key, pool_size = 24).generate_state() (O'Neill 2015,
/// "Developing a seed_seq Alternative").
std::vector<uint32_t> seed_sequence(uint64_t entropy, const std::vector<uint64_t>& spawn_key, size_t count);

}  // namespace gesso
