#include "sampling/guidance.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "sampling/guidance_functions.h"
#include "sampling/names.h"

namespace gesso {
namespace {

std::vector<Branch> two_branches(const GuidanceOptions&, double scale) {
  if (scale == 1) return {Branch::kCond};
  return {Branch::kCond, Branch::kUncond};
}

Latent cfg_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = *step.output(Branch::kCond);
  if (step.scale == 1) return cond;
  return rescaled(options, cond, weighted_sum(step.scale, cond, 1 - step.scale, *step.output(Branch::kUncond)));
}

std::vector<Branch> image_branches(const GuidanceOptions& options, double scale) {
  if (scale == 1 && options.image_scale == 1) return {Branch::kCond};
  if (options.image_scale == 1) return {Branch::kCond, Branch::kUncond};
  if (scale == options.image_scale) return {Branch::kCond, Branch::kNoPicture};  // uncond falls out of the sum
  return {Branch::kCond, Branch::kUncond, Branch::kNoPicture};
}

Latent image_combine(const GuidanceOptions& options, const GuidanceStep& step) {
  const Latent& cond = *step.output(Branch::kCond);
  const Latent* uncond = step.output(Branch::kUncond);
  const Latent* no_picture = step.output(Branch::kNoPicture);
  const double image = options.image_scale;
  if (image == 1) return cfg_combine(options, step);
  if (!uncond || step.scale == image) return rescaled(options, cond, weighted_sum(image, cond, 1 - image, *no_picture));
  Latent guided = sum_of({{step.scale, cond}, {image - step.scale, *uncond}, {1 - image, *no_picture}});
  return rescaled(options, cond, std::move(guided));
}

bool skips_layers(const GuidanceOptions& options, double sigma) {
  if (options.skip_scale == 0 || options.sigmas.size() < 2) return false;
  const auto steps = static_cast<double>(options.sigmas.size() - 1);
  const int step = guidance_step(options, sigma) + 1;
  return step > static_cast<int>(options.skip_start * steps) && step < static_cast<int>(options.skip_end * steps);
}

}  // namespace

const std::vector<Guidance>& guidances() {
  static const std::vector<Guidance> rows = {
      {"cfg",
       {"classifier_free"},
       "classifier-free guidance, away from the negative prompt",
       two_branches,
       cfg_combine},
      {"apg",
       {"adaptive_projected"},
       "adaptive projected guidance: less saturated at high scales",
       two_branches,
       apg_combine},
      {"perp_neg",
       {"perpendicular_negative"},
       "away from the negative prompt only across the prompt",
       perp_neg_branches,
       perp_neg_combine},
      {"dynamic_thresholding",
       {"dynthres", "mimic"},
       "a high scale with the range of values of a low one",
       two_branches,
       thresholding_combine},
      {"image", {"img_cfg", "three_way"}, "prompt and picture with a scale each", image_branches, image_combine, true},
  };
  return rows;
}

const Guidance& find_guidance(std::string_view name) {
  return find_row(guidances(), "guidance", name);
}

const Latent* GuidanceStep::output(Branch branch) const {
  const auto found = std::find(branches.begin(), branches.end(), branch);
  return found == branches.end() ? nullptr : &outputs[static_cast<size_t>(found - branches.begin())];
}

Latent rescaled(const GuidanceOptions& options, const Latent& cond, Latent guided) {
  if (options.rescale == 0) return guided;
  const double deviation = standard_deviation(guided.values);
  if (!(deviation > 0)) return guided;
  const double factor = standard_deviation(cond.values) / deviation;
  return scaled(options.rescale * factor + 1 - options.rescale, std::move(guided));
}

void check_guidance(const GuidanceOptions& o) {
  if (!std::isfinite(o.scale)) fail(ErrorCode::kUsage, "CFG scale must be a finite number; it is {}", o.scale);
  for (double scale : o.schedule)
    if (!std::isfinite(scale)) fail(ErrorCode::kUsage, "CFG scales must be finite numbers; one is {}", scale);
  const auto within = [](std::string_view name, double value, double low, double high) {
    if (!(value >= low && value <= high))
      fail(ErrorCode::kUsage, "{} must be from {} to {}; it is {}", name, low, high, value);
  };
  constexpr double kMost = 1000;
  within("CFG rescale", o.rescale, 0, 1);
  within("guidance start", o.start, 0, 1);
  within("guidance end", o.end, 0, 1);
  within("apg_eta", o.apg_eta, -kMost, kMost);
  within("apg_momentum", o.apg_momentum, -0.99, 0.99);
  within("apg_norm_threshold", o.apg_norm_threshold, 0, 1e6);
  within("apg_norm_threshold_smoothing", o.apg_norm_threshold_smoothing, 0, 10);
  within("negative_scale", o.negative_scale, 0, kMost);
  within("mimic_scale", o.mimic_scale, 0, kMost);
  if (!(o.threshold_percentile > 0)) within("threshold_percentile", o.threshold_percentile, 0.01, 1);
  within("threshold_percentile", o.threshold_percentile, 0, 1);
  within("image CFG scale", o.image_scale, -kMost, kMost);
  within("skip layer scale", o.skip_scale, -kMost, kMost);
  within("skip layer start", o.skip_start, 0, 1);
  within("skip layer end", o.skip_end, 0, 1);
}

int guidance_step(const GuidanceOptions& options, double sigma) {
  const auto steps = static_cast<std::ptrdiff_t>(options.sigmas.size()) - 1;
  if (steps < 1) return 0;
  // sigmas[k] >= sigma > sigmas[k + 1], but for a hair, since a sampler may come to a sigma through its logarithm
  const auto after =
      std::find_if(options.sigmas.begin(), options.sigmas.end(), [&](double s) { return s < sigma * (1 - 1e-9); });
  const std::ptrdiff_t index = after - options.sigmas.begin() - 1;
  return static_cast<int>(std::clamp<std::ptrdiff_t>(index, 0, steps - 1));
}

double guidance_scale(const GuidanceOptions& options, double sigma) {
  if (options.schedule.empty() && options.start == 0 && options.end == 1) return options.scale;
  const int step = guidance_step(options, sigma);
  const auto steps = static_cast<double>(std::max<size_t>(options.sigmas.size(), 2) - 1);
  if (step < options.start * steps || step >= options.end * steps) return 1;
  const auto index = static_cast<size_t>(step);
  return index < options.schedule.size() ? options.schedule[index] : options.scale;
}

std::vector<Branch> guidance_branches(const Guidance& guidance, const GuidanceOptions& options, double sigma) {
  std::vector<Branch> branches = guidance.branches(options, guidance_scale(options, sigma));
  if (options.needs_uncond && std::find(branches.begin(), branches.end(), Branch::kUncond) == branches.end())
    branches.push_back(Branch::kUncond);
  if (skips_layers(options, sigma)) branches.push_back(Branch::kSkipLayers);
  return branches;
}

bool takes_branch(const Guidance& guidance, const GuidanceOptions& options, Branch branch) {
  const auto takes = [&](double sigma) {
    const std::vector<Branch> branches = guidance_branches(guidance, options, sigma);
    return std::find(branches.begin(), branches.end(), branch) != branches.end();
  };
  if (options.sigmas.size() < 2) return takes(1);
  return std::any_of(options.sigmas.begin(), options.sigmas.end() - 1, takes);
}

Latent guided_output(const Guidance& guidance, const GuidanceOptions& options, const GuidanceStep& step) {
  Latent guided = guidance.combine(options, step);
  const Latent* skipped = step.output(Branch::kSkipLayers);
  if (!skipped) return guided;
  return sum_of({{1, guided}, {options.skip_scale, *step.output(Branch::kCond)}, {-options.skip_scale, *skipped}});
}

std::vector<double> parse_guidance_schedule(std::string_view text) {
  constexpr size_t kMost = 10'000;
  std::vector<double> scales;
  while (!text.empty()) {
    const size_t plus = std::min(text.find('+'), text.size());
    const std::string_view part = text.substr(0, plus);
    double scale = 0;
    size_t count = 0;
    const char* const end = part.data() + part.size();
    const auto [x, scale_error] = std::from_chars(part.data(), end, scale);
    bool good = scale_error == std::errc() && x != end && *x == 'x' && std::isfinite(scale);
    if (good) {
      const auto [rest, count_error] = std::from_chars(x + 1, end, count);
      good = count_error == std::errc() && rest == end && count > 0;
    }
    if (!good || (plus < text.size() && plus + 1 == text.size()))
      fail(ErrorCode::kUsage, "a guidance schedule is scales and numbers of steps, such as 7x10+1x10; part {} is not",
           scales.size() + 1);
    if (count > kMost || scales.size() + count > kMost)
      fail(ErrorCode::kUsage, "a guidance schedule has {} steps at most", kMost);
    scales.insert(scales.end(), count, scale);
    text.remove_prefix(std::min(plus + 1, text.size()));
  }
  return scales;
}

}  // namespace gesso
