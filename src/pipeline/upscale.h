#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/engine.h"
#include "pipeline/request.h"
#include "pipeline/upscaler.h"

namespace gesso {

/// One way to make a picture larger: a network, or, without one, resampling.
struct UpscaleMethod {
  std::filesystem::path model = {};  ///< empty: `filter` alone
  std::string filter = "lanczos";    ///< or "nearest"
};

/// What `gesso upscale` is asked for.
struct UpscaleRequest {
  std::vector<std::filesystem::path> inputs = {};
  UpscaleMethod method = {};
  std::optional<UpscaleMethod> second = {};  ///< laid over the first with that share of the whole
  double second_visibility = 0;
  std::optional<double> scale = {};  ///< of the result; nothing: the network's own
  /// In place of `scale`: the picture becomes as large as covers this, or, where only one is given, as wide or as high.
  std::optional<int> width = {}, height = {};
  bool crop = false;     ///< cut what goes beyond width x height, equally on both sides
  int repeats = 0;       ///< of a network; 0: as often as the scale takes
  int tile = 0;          ///< see UpscalePlan::tile
  bool metadata = true;  ///< write what the picture said of its making, and what was done
  Request machine = {};  ///< of this only threads, memory and precision count
};

/// Reads {"inputs": ["in.png"], "model": "x4.pth" or "filter": "lanczos", "scale": 4, ...}; the names are those of
/// UpscaleRequest, with "second_model" and "second_filter". Throws kUsage naming the field, the wanted range and the
/// value found.
UpscaleRequest parse_upscale_request(std::string_view json);

/// What one network does to a picture of some size on the way to its result.
struct UpscaleSizes {
  int passes = 0;             ///< of the network
  int width = 0, height = 0;  ///< of the result before it is cropped
};

/// `scale` of the network, 1 without one. Throws kUsage where a result or what lies on the way to it is beyond the
/// limits of pictures.
UpscaleSizes upscale_sizes(const UpscaleRequest& request, int width, int height, int scale);

/// Upscales the inputs one after another. `budget` is bytes.
std::vector<Picture> upscale_pictures(const UpscaleRequest& request, Device& device, DType compute, int64_t budget,
                                      const EventSink& sink, const CancelToken& cancel);

}  // namespace gesso
