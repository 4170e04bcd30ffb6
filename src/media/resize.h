#pragma once
#include <vector>

#include "media/image.h"

namespace gesso {

/// The picture at another size, by Lanczos' windowed sinc of three lobes, stretched over the source's pixels when the
/// result is smaller, so that nothing aliases. Within 1 of 255 of Pillow's LANCZOS. Alpha weighs the colours. Throws
/// kUnsupported when the size is beyond the limits and kInternal when it is not positive.
Image resized(const Image& image, int width, int height);

/// The picture at another size, each pixel that of the source in which its middle lies (Pillow's NEAREST). Throws as
/// resized().
Image repeated(const Image& image, int width, int height);

/// `values` [height, width] smoothed by a Gaussian of that deviation in pixels; beyond the border its nearest value
/// goes on. 0 leaves it as it is.
std::vector<float> blurred(std::vector<float> values, int width, int height, double deviation);

}  // namespace gesso
