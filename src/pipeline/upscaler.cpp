#include "pipeline/upscaler.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "device/meta/meta_device.h"
#include "media/resize.h"
#include "ops/ops.h"
#include "pipeline/guarded.h"
#include "pipeline/mosaic.h"
#include "pipeline/planner.h"
#include "pipeline/transparency.h"

namespace gesso {
namespace {

constexpr int kMargin = 24, kFade = 16;
/// Sides of tiles that are tried, the first that fits wins: few steps, so that the result hangs little on how much
/// memory happens to be free. Larger ones save little more of the work that overlaps cost.
constexpr int kSides[] = {512, 384, 256, 192, 128, 96};

/// Where a pixel beyond the border is taken from: mirrored at the last one.
int mirrored(int i, int length) {
  return i < length ? i : std::max(0, 2 * (length - 1) - i);
}

/// Part of a picture as the network takes it: [1, height, width, 3] in [0, 1].
Tensor part_of(Device& device, const Image& image, int x0, int y0, int width, int height) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (int y = y0; y < y0 + height; ++y)
    for (int x = x0; x < x0 + width; ++x) {
      const uint8_t* pixel =
          image.pixels.data() + 3 * (int64_t{mirrored(y, image.height)} * image.width + mirrored(x, image.width));
      for (int c = 0; c < 3; ++c) values.push_back(static_cast<float>(pixel[c]) / 255);
    }
  return from_values(device, values, {1, height, width, 3});
}

}  // namespace

UpscaleProgress::UpscaleProgress(const EventSink& sink, const std::vector<UpscalePlan>& passes) : sink_(sink) {
  for (const UpscalePlan& pass : passes) {
    all_ += static_cast<double>(pass.flops);
    steps_ += static_cast<int>(pass.tiles);
  }
  sink_({.kind = Event::Kind::kStage, .stage = "upscale", .steps = steps_});
}

void UpscaleProgress::tile_done(const UpscalePlan& pass) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  const Clock::time_point now = Clock::now();
  done_ += static_cast<double>(pass.flops) / static_cast<double>(pass.tiles);
  sink_({.kind = Event::Kind::kStep,
         .stage = "upscale",
         .step = ++step_,
         .steps = steps_,
         .seconds = seconds(now - last_),
         .eta = step_ < steps_ ? seconds(now - start_) * std::max(0.0, all_ / done_ - 1) : 0});
  last_ = now;
}

Upscaler::Upscaler(const std::filesystem::path& path) : name_(path.stem().string()) {
  build(open_model_files(nullptr, path));
}

Upscaler::Upscaler(std::shared_ptr<const TensorFile> file) : name_(file->path().stem().string()) {
  std::vector<ModelFile> files;
  files.push_back(recognise_file(std::move(file)));
  build(files);
}

void Upscaler::build(const std::vector<ModelFile>& files) {
  const std::string path = quoted(files.front().file->path());
  const ModelFile* file = nullptr;
  const Component* component = nullptr;
  for (const ModelFile& each : files)
    if (const Component* found = each.recognition.find(Role::kUpscaler)) file = &each, component = found;
  if (!component)
    fail(ErrorCode::kUsage, "wanted an upscaler, but {} holds {}; `gesso inspect FILE` tells more", path,
         contents_of(files.front().recognition));
  if (!component->supported || !component->kind->make_upscaler)
    fail(ErrorCode::kUnsupported, "{} is an upscaler ({}) that this version cannot run", path,
         component->family->title);
  if (component->complete == false)
    fail(ErrorCode::kBadFile, "the upscaler in {} is incomplete: it lacks {}{}", path, component->missing.front(),
         component->missing.size() > 1 ? " and more" : "");
  store_ = bind_weights(*file, *component);
  network_ = component->kind->make_upscaler(WeightScope(*store_));
  report_unknown(*file, messages_);
}

int Upscaler::margin() const {
  return std::min(network_->reach(), kMargin);
}

int Upscaler::fade() const {
  return network_->reach() > kMargin ? kFade : 0;
}

UpscalePlan Upscaler::plan_with(int width, int height, int tile, DType compute) const {
  const int unit = network_->unit(), scale = network_->scale();
  const TileLayout tiling =
      cut(rounded_up(width, unit), rounded_up(height, unit), rounded_up(tile, unit), unit, margin(), fade());
  MetaDevice meta;
  {
    const Tensor x = meta.empty({1, tiling.tile_height, tiling.tile_width, 3}, DType::kF32);
    (void)(*network_)(x, compute);
  }
  UpscalePlan plan{.width = width * scale,
                   .height = height * scale,
                   .tile = tile,
                   .tiles = tiling.count(),
                   .tile_width = tiling.tile_width,
                   .tile_height = tiling.tile_height,
                   .flops = meta.flops() * static_cast<int64_t>(tiling.count())};
  const int64_t tile_result = int64_t{tiling.tile_width} * tiling.tile_height * scale * scale;
  const int64_t band = int64_t{tiling.width} * tiling.tile_height * scale * scale;
  constexpr int64_t kBytes = 3, kFloats = 3 * sizeof(float);
  plan.peak = meta.weight_elements() * size_of(compute) + meta.peak_bytes() + tile_result * kFloats + band * kFloats +
              int64_t{plan.width} * plan.height * kBytes;
  return plan;
}

UpscalePlan Upscaler::plan(int width, int height, const UpscaleLimits& limits) const {
  const int least = smallest_side(network_->unit(), margin(), fade());
  if (limits.tile > 0 && limits.tile < least)
    fail(ErrorCode::kUsage, "tile: wanted at least {} for this network, found {}", least, limits.tile);
  UpscalePlan plan;
  for (const int side : limits.tile > 0 ? std::span(&limits.tile, 1) : std::span(kSides)) {
    plan = plan_with(width, height, std::max(side, least), limits.compute);
    if (plan.peak <= limits.budget) return plan;
  }
  fail(ErrorCode::kOutOfMemory,
       "upscaling {}x{} by {} in tiles of {} needs {} of memory and {} are to be had; {}or raise --memory", width,
       height, scale(), plan.tile, bytes_text(plan.peak), bytes_text(limits.budget),
       limits.tile > 0 ? "take smaller ones with --tile, " : "upscale a smaller picture, ");
}

Image Upscaler::upscale_rgb(Device& device, const Image& image, const UpscalePlan& plan, DType compute,
                            UpscaleProgress& progress) const {
  const int unit = network_->unit();
  const TileLayout tiling = cut(rounded_up(image.width, unit), rounded_up(image.height, unit),
                                rounded_up(plan.tile, unit), unit, margin(), fade());
  Mosaic mosaic(tiling, scale(), plan.width, plan.height);
  for (const int y : tiling.y)
    for (const int x : tiling.x) {
      const Tensor part = part_of(device, image, x, y, tiling.tile_width, tiling.tile_height);
      const Tensor result = guarded(
          progress.sink(), "upscale", compute, [&](DType dtype) { return (*network_)(part, dtype); },
          [](const Tensor& values) { return all_finite(values); });
      mosaic.add(std::span(result.data<float>(), static_cast<size_t>(result.elements())));
      progress.tile_done(plan);
    }
  return mosaic.take();
}

Image Upscaler::upscale(Device& device, const Image& image, const UpscaleLimits& limits,
                        UpscaleProgress& progress) const {
  const UpscalePlan plan = this->plan(image.width, image.height, limits);
  progress.message(fmt::format("{}: {}x{} -> {}x{} in {} tile{} of {}x{}, {} of memory", name_, image.width,
                               image.height, plan.width, plan.height, plan.tiles, plan.tiles == 1 ? "" : "s",
                               plan.tile_width, plan.tile_height, bytes_text(plan.peak)));
  const auto enlarged = [&](const Image& rgb) { return upscale_rgb(device, rgb, plan, limits.compute, progress); };
  if (image.channels == 1) return to_gray(enlarged(to_rgb(image)));
  if (image.channels == 3) return enlarged(image);
  const Image alpha = resized(alpha_of(image), plan.width, plan.height);
  return with_alpha(enlarged(visible_colours(image)), alpha);
}

Image Upscaler::upscale(Device& device, const Image& image, const UpscaleLimits& limits, const EventSink& sink) const {
  UpscaleProgress progress(sink, {plan(image.width, image.height, limits)});
  return upscale(device, image, limits, progress);
}

}  // namespace gesso
