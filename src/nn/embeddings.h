#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace gesso::nn {

/// Sinusoidal embedding of numbers: [n] -> [n, width], cosines first (Ho et al. 2020 with LDM's order), max period
/// 10,000. Used for timesteps, guidance and sizes.
std::vector<float> sinusoidal_embedding(std::span<const float> values, int64_t width);
/// The same as a tensor of the device.
Tensor sinusoids(Device& device, std::span<const float> values, int64_t width, DType dtype);

/// A token's place: up to three coordinates, of which each turns a part of a head.
using RopePosition = std::array<float, 3>;

/// The table of gesso::rope for tokens at these positions: f32 [tokens, 2, sum of widths]. Coordinate i turns the next
/// `widths[i]` (even) elements of a head, the pair j of them by position * theta^(-2 j / widths[i]) (Su et al. 2021).
/// Angles are computed in f64.
Tensor rope_table(Device& device, std::span<const RopePosition> positions, const std::array<int, 3>& widths,
                  double theta);

}  // namespace gesso::nn
