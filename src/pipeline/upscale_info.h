#pragma once
#include <string>
#include <string_view>

#include "media/metadata.h"
#include "pipeline/upscale.h"

namespace gesso {

/// What an upscaled picture says: what the original (a picture's file) said of its making, and under A1111's names what
/// was done. A program's own text that is not A1111's comes over as far as it is understood.
PictureInfo upscaled_info(std::string_view original, const UpscaleRequest& request, int width, int height,
                          double scale);

}  // namespace gesso
