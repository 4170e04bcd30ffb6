#pragma once
#include "media/image.h"

namespace gesso {

/// The alpha of an RGBA picture as gray.
Image alpha_of(const Image& rgba);
/// RGB and an alpha of the same size as RGBA.
Image with_alpha(const Image& rgb, const Image& alpha);
/// The colours of an RGBA picture as RGB. What is fully transparent has a colour of chance, often black, which would
/// run into its surroundings: near what can be seen it becomes the mean of the coloured neighbours, ring after ring.
Image visible_colours(const Image& rgba);

}  // namespace gesso
