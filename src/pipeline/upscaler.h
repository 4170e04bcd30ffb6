#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "media/image.h"
#include "pipeline/engine.h"
#include "pipeline/model_files.h"
#include "upscale/upscale_network.h"
#include "weights/weight_store.h"

namespace gesso {

/// What upscaling a picture once takes.
struct UpscalePlan {
  int width = 0, height = 0;  ///< of the result
  int tile = 0;               ///< the most pixels of the picture, along a side, that go through the network at once
  size_t tiles = 0;
  int tile_width = 0, tile_height = 0;  ///< what they are
  int64_t peak = 0;                     ///< bytes: weights, activations of a tile, and the result
  int64_t flops = 0;
};

/// How much memory, and at what precision.
struct UpscaleLimits {
  DType compute = DType::kF32;  ///< of activations: f32 or bf16
  int64_t budget = 0;           ///< bytes
  int tile = 0;                 ///< as UpscalePlan::tile; 0: the largest usual one that the budget allows
};

/// Tells how far upscaling is: a stage "upscale", and a step for each tile, with what remains at the pace so far.
class UpscaleProgress {
 public:
  /// `passes` that follow each other.
  UpscaleProgress(const EventSink& sink, const std::vector<UpscalePlan>& passes);
  void tile_done(const UpscalePlan& pass);
  void message(const std::string& text) const { sink_({.kind = Event::Kind::kMessage, .text = text}); }
  const EventSink& sink() const { return sink_; }

 private:
  using Clock = std::chrono::steady_clock;
  const EventSink& sink_;
  double all_ = 0, done_ = 0;  ///< operations
  int step_ = 0, steps_ = 0;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

/// A network that makes pictures larger, from its file.
///
/// Pictures larger than a tile go through it in tiles that overlap. A pixel at the border of a tile lacks what lies
/// beyond; how far that shows depends on the network: not at all from UpscaleNetwork::reach() on, which is hundreds of
/// pixels for deep ones, whose result differs by a few 255ths some 30 pixels away. So tiles overlap by 64 pixels (twice
/// the reach where that is less), of which the outer 24 do not count and the inner 16 pass from one tile to the other:
/// where two tiles disagree, there is no step to be seen.
class Upscaler {
 public:
  /// Throws kUsage for a file that holds no upscaler, kUnsupported for one that this version cannot run, kBadFile for
  /// one that is incomplete or contradicts itself, and as open_tensor_files() does.
  explicit Upscaler(const std::filesystem::path& path);
  /// The same of one file that is already open.
  explicit Upscaler(std::shared_ptr<const TensorFile> file);

  const std::string& name() const { return name_; }  ///< of the file, without folder and ending
  int scale() const { return network_->scale(); }
  const UpscaleNetwork& network() const { return *network_; }
  /// What the user should know: tensors that nothing explains.
  const std::vector<std::string>& messages() const { return messages_; }
  /// The plan for a picture of that size. Throws kUsage for a tile that is too small for the network, kOutOfMemory
  /// when no tile fits the budget, with what the least takes.
  UpscalePlan plan(int width, int height, const UpscaleLimits& limits) const;
  /// The picture, scale() times as large. Alpha is resampled by itself (see media/resize.h), gray stays gray. Colours
  /// below full transparency, which are anything, become those nearest by. The device may throw kCancelled; kNumeric
  /// where the network gives NaN or infinity in f32 too.
  Image upscale(Device& device, const Image& image, const UpscaleLimits& limits, UpscaleProgress& progress) const;
  /// The same with a stage of its own.
  Image upscale(Device& device, const Image& image, const UpscaleLimits& limits, const EventSink& sink) const;
  /// Drops what devices prepared from the weights.
  void release() const { store_->release(); }

 private:
  void build(const std::vector<ModelFile>& files);
  Image upscale_rgb(Device& device, const Image& image, const UpscalePlan& plan, DType compute,
                    UpscaleProgress& progress) const;
  UpscalePlan plan_with(int width, int height, int tile, DType compute) const;
  int margin() const;
  int fade() const;

  std::string name_;
  std::unique_ptr<WeightStore> store_;
  std::unique_ptr<UpscaleNetwork> network_;
  std::vector<std::string> messages_;
};

}  // namespace gesso
