#pragma once
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace gesso {

/// A picture in the space that a diffusion model works in: f32, channels outermost, then rows, then columns (torch's
/// NCHW with n = 1), so that noise drawn in order equals the reference's.
struct Latent {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<float> values;

  size_t size() const { return values.size(); }
  bool same_shape(const Latent& other) const {
    return channels == other.channels && height == other.height && width == other.width && size() == other.size();
  }
};

/// A latent of zeros.
Latent zero_latent(int channels, int height, int width);

/// a * x, element by element.
Latent scaled(double a, Latent x);

/// a * x + b * y, element by element; computed in f64, rounded once. Both must have the same shape.
Latent weighted_sum(double a, Latent x, double b, const Latent& y);

/// A term of a sum: a factor and the latent it multiplies.
struct Term {
  double factor;
  const Latent& latent;
};

/// The sum of factor * latent over all terms, element by element; computed in f64, rounded once. All must have the same
/// shape.
Latent sum_of(std::initializer_list<Term> terms);

/// Whether no element is NaN or infinite.
bool all_finite(const Latent& x);

}  // namespace gesso
