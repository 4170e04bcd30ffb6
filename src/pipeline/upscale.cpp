#include "pipeline/upscale.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "media/codec.h"
#include "media/resize.h"
#include "pipeline/upscale_info.h"

namespace gesso {
namespace {

constexpr size_t kLargestPictureFile = size_t{512} << 20;
/// Beyond this a scale is not reached by repeating of itself.
constexpr int kMostPasses = 5;

bool within_limits(double width, double height) {
  return width <= kMaxPictureSide && height <= kMaxPictureSide &&
         width * height <= static_cast<double>(kMaxPicturePixels);
}

/// The scale of the result that is asked for, or the one given.
double wanted_scale(const UpscaleRequest& r, int width, int height, double otherwise) {
  if (r.scale) return *r.scale;
  if (!r.width && !r.height) return otherwise;
  return std::max(r.width ? static_cast<double>(*r.width) / width : 0,
                  r.height ? static_cast<double>(*r.height) / height : 0);
}

[[noreturn]] void refuse_size(int width, int height, double scale) {
  fail(ErrorCode::kUsage,
       "{}x{} would become {:.0f}x{:.0f} on the way: pictures have at most {} pixels a side and {} in all; take a "
       "smaller scale or fewer repeats",
       width, height, width * scale, height * scale, kMaxPictureSide, kMaxPicturePixels);
}

/// A method, ready to run.
struct Ready {
  std::unique_ptr<Upscaler> network;  ///< null: resampling alone
  UpscaleSizes sizes = {};
  std::vector<UpscalePlan> passes = {};
};

Image cropped(const Image& image, int width, int height) {
  width = std::min(width, image.width), height = std::min(height, image.height);
  const int left = (image.width - width) / 2, top = (image.height - height) / 2;
  Image part{width, height, image.channels, {}};
  for (int y = top; y < top + height; ++y) {
    const auto from = image.pixels.begin() + (int64_t{y} * image.width + left) * image.channels;
    part.pixels.insert(part.pixels.end(), from, from + int64_t{width} * image.channels);
  }
  return part;
}

/// `top` laid over `under` with that share.
Image blended(Image under, const Image& top, double share) {
  for (size_t i = 0; i < under.pixels.size(); ++i) {
    const double value = under.pixels[i] + share * (static_cast<double>(top.pixels[i]) - under.pixels[i]);
    under.pixels[i] = static_cast<uint8_t>(std::lround(value));
  }
  return under;
}

/// The work of one request.
class Job {
 public:
  Job(const UpscaleRequest& request, Device& device, DType compute, int64_t budget, const EventSink& sink,
      const CancelToken& cancel)
      : request_(request), device_(device), limits_{compute, budget, request.tile}, sink_(sink), cancel_(cancel) {
    methods_.push_back(&request.method);
    if (request.second) methods_.push_back(&*request.second);
    for (const UpscaleMethod* method : methods_) {
      Ready& ready = ready_.emplace_back();
      if (method->model.empty()) continue;
      sink_({.kind = Event::Kind::kStage, .stage = "load"});
      ready.network = std::make_unique<Upscaler>(method->model);
      for (const std::string& text : ready.network->messages()) sink_({.kind = Event::Kind::kMessage, .text = text});
    }
  }

  Picture run(const std::filesystem::path& path) {
    cancel_.check();
    const std::string file = read_file(path, kLargestPictureFile);
    const Image image = decode_image(file, quoted(path));
    const std::vector<UpscalePlan> passes = plan(image);
    UpscaleProgress progress(sink_, passes);
    Image result = enlarged(0, image, progress);
    if (request_.second) result = blended(std::move(result), enlarged(1, image, progress), request_.second_visibility);
    if (request_.crop) result = cropped(result, *request_.width, *request_.height);
    Picture picture{.width = result.width, .height = result.height, .channels = result.channels};
    if (request_.metadata) {
      const double scale = wanted_scale(request_, image.width, image.height, own_scale());
      PictureInfo info = upscaled_info(file, request_, result.width, result.height, scale);
      picture.parameters = std::move(info.parameters);
      picture.request_json = std::move(info.request_json);
    }
    picture.pixels = std::move(result.pixels);
    return picture;
  }

 private:
  /// Of the first method: what its network makes by itself.
  double own_scale() const {
    const Ready& first = ready_.front();
    return first.network ? std::pow(first.network->scale(), first.sizes.passes) : 1;
  }

  /// Sizes and plans of both methods; the passes in the order in which they run.
  std::vector<UpscalePlan> plan(const Image& image) {
    std::vector<UpscalePlan> all;
    for (size_t k = 0; k < ready_.size(); ++k) {
      Ready& ready = ready_[k];
      ready.passes.clear();
      ready.sizes = upscale_sizes(request_, image.width, image.height, ready.network ? ready.network->scale() : 1);
      if (k > 0) ready.sizes.width = ready_[0].sizes.width, ready.sizes.height = ready_[0].sizes.height;
      int width = image.width, height = image.height;
      for (int pass = 0; ready.network && pass < ready.sizes.passes; ++pass) {
        ready.passes.push_back(ready.network->plan(width, height, limits_));
        width = ready.passes.back().width, height = ready.passes.back().height;
      }
      all.insert(all.end(), ready.passes.begin(), ready.passes.end());
    }
    return all;
  }

  Image enlarged(size_t k, const Image& image, UpscaleProgress& progress) {
    const Ready& ready = ready_[k];
    Image result = image;
    for (size_t pass = 0; pass < ready.passes.size(); ++pass) {
      cancel_.check();
      result = ready.network->upscale(device_, result, limits_, progress);
    }
    if (ready.network && ready_.size() > 1) ready.network->release();  // the plan counts those of one network
    cancel_.check();
    if (!ready.network && methods_[k]->filter == "nearest")
      return repeated(result, ready.sizes.width, ready.sizes.height);
    return resized(result, ready.sizes.width, ready.sizes.height);
  }

  const UpscaleRequest& request_;
  Device& device_;
  UpscaleLimits limits_;
  const EventSink& sink_;
  const CancelToken& cancel_;
  std::vector<const UpscaleMethod*> methods_;
  std::vector<Ready> ready_;
};

}  // namespace

UpscaleSizes upscale_sizes(const UpscaleRequest& request, int width, int height, int scale) {
  UpscaleSizes sizes{.passes = std::max(1, request.repeats)};
  const double wanted = wanted_scale(request, width, height, std::pow(scale, sizes.passes));
  if (request.repeats == 0)
    while (scale > 1 && sizes.passes < kMostPasses && std::pow(scale, sizes.passes) < wanted - 1e-9 &&
           within_limits(width * std::pow(scale, sizes.passes + 1), height * std::pow(scale, sizes.passes + 1)))
      ++sizes.passes;
  for (const double each : {std::pow(scale, sizes.passes), wanted})
    if (!within_limits(std::round(width * each), std::round(height * each))) refuse_size(width, height, each);
  sizes.width = std::max(1, static_cast<int>(std::lround(width * wanted)));
  sizes.height = std::max(1, static_cast<int>(std::lround(height * wanted)));
  return sizes;
}

std::vector<Picture> upscale_pictures(const UpscaleRequest& request, Device& device, DType compute, int64_t budget,
                                      const EventSink& sink, const CancelToken& cancel) {
  Job job(request, device, compute, budget, sink, cancel);
  std::vector<Picture> pictures;
  for (const std::filesystem::path& input : request.inputs) pictures.push_back(job.run(input));
  return pictures;
}

}  // namespace gesso
