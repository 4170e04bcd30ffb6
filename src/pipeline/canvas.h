#pragma once
#include <optional>
#include <vector>

#include "media/image.h"
#include "pipeline/request.h"

namespace gesso {

/// The pictures that a request names, as they are in their files, or with room around them where it is outpainted.
struct InputPictures {
  std::optional<Image> init;  ///< RGB: alpha was laid over white
  std::optional<Image> mask;  ///< gray, white is painted anew: alpha was laid over black
};

/// Reads them. Outpainting continues the init picture by its border and makes or widens the mask by the new part.
/// Throws as load_image does, and kUsage for a mask or outpainting without a picture, or a mask of other proportions.
InputPictures load_input_pictures(const Request& request);

/// What is painted over, and where the result goes.
struct Canvas {
  Image base;                     ///< RGB; the result is laid into it
  int x = 0, y = 0;               ///< the part of the base that is painted
  int width = 0, height = 0;      ///< of that part
  Image picture;                  ///< that part at the request's size
  std::vector<float> mask = {};   ///< at the request's size, [height, width], 1 where it is painted anew; empty: all
  std::vector<float> cover = {};  ///< at the base's size: how much of the result shows; 0 outside of the mask
};

/// Prepares the pictures for a request whose size is resolved. The init picture is brought to the request's size as
/// resize_mode says: "fill" cuts off what sticks out, "fit" repeats its border where something lacks, "stretch"
/// distorts. With inpaint_area "masked" only the mask's surroundings are painted, at the request's size, and the base
/// keeps its own. The mask's edge is softened inwards by mask_blur pixels, so that no pixel outside of it changes.
Canvas make_canvas(const InputPictures& inputs, const Request& request);

/// The painted pixels (RGB, at the request's size) laid into the base.
Image on_canvas(const Canvas& canvas, const Image& painted);

}  // namespace gesso
