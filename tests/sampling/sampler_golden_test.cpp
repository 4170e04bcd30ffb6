// Every sampler against the runs of samplers.safetensors; tools/golden/samplers.py says whose they are.
#include <gtest/gtest.h>

#include <charconv>
#include <set>

#include "sampling/golden_file.h"
#include "sampling/helpers.h"
#include "sampling/samplers.h"

namespace gesso {
namespace {

/// Runs are f64 there and f32 here: each step rounds once or twice, and a few samplers divide differences.
constexpr double kSamplerTolerance = 1e-5;

Estimate formula(const Latent& x, double sigma) {
  Latent denoised = x;
  for (float& v : denoised.values) v = static_cast<float>(0.7 * v / (1 + sigma) + 0.1 * std::tanh(v));
  return {std::move(denoised), scaled(0.5 / (1 + sigma), x)};
}

/// The draws of the golden, one after the other.
class RecordedNoise final : public Noise {
 public:
  explicit RecordedNoise(const std::vector<float>& values) : values_(values) {}
  void fill(std::span<float> out) override {
    ASSERT_LE(at_ + out.size(), values_.size()) << "more noise than the reference draws";
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(at_), out.size(), out.begin());
    at_ += out.size();
  }

 private:
  const std::vector<float>& values_;
  size_t at_ = 0;
};

/// "name@eta.schedule.steps", the parts of a case.
struct SamplerCase {
  std::string sampler, schedule, sigmas;
  std::optional<double> eta;
};

std::optional<SamplerCase> sampler_case(const std::string& name) {
  const size_t last = name.rfind('.');
  if (last == name.npos || name.starts_with("sigmas.")) return std::nullopt;
  const size_t middle = name.rfind('.', last - 1);
  SamplerCase c{name.substr(0, middle), name.substr(middle + 1, last - middle - 1), "sigmas" + name.substr(middle), {}};
  if (const size_t at = c.sampler.find('@'); at != c.sampler.npos) {
    c.eta = std::stod(c.sampler.substr(at + 1));
    c.sampler.resize(at);
  }
  return c;
}

TEST(SamplerGoldens, EveryRunEqualsItsReferenceStepByStep) {
  const GoldenFile golden("samplers");
  for (const auto& [name, want] : golden.all()) {
    const std::optional<SamplerCase> c = sampler_case(name);
    if (!c) continue;
    const std::vector<double> sigmas = golden.doubles(c->sigmas);
    RecordedNoise noise(golden.at("noise"));
    Latent start{4, 2, 2, golden.at("x")};
    for (float& value : start.values) value *= static_cast<float>(sigmas[0]);
    std::vector<float> got;
    SamplerContext context{.sigmas = sigmas, .noise = noise, .options = {.eta = c->eta}, .flow = c->schedule == "flow"};
    context.table = &stable_diffusion_table();
    context.seed = 7;
    const bool whole_run = want.size() == start.size() * (sigmas.size() - 1);
    context.on_step = [&](int, int, const Latent& x, const Latent&) {
      if (whole_run) got.insert(got.end(), x.values.begin(), x.values.end());
    };
    const Latent end = sample(*find_sampler(c->sampler).sampler, formula, start, context);
    if (!whole_run) got = end.values;
    expect_close(got, want, kSamplerTolerance, name);
  }
}

TEST(SamplerGoldens, EverySamplerHasThem) {
  const GoldenFile golden("samplers");
  std::set<std::string, std::less<>> covered;
  for (const auto& [name, values] : golden.all())
    if (const std::optional<SamplerCase> c = sampler_case(name)) covered.insert(c->sampler);
  for (const Sampler& sampler : samplers()) EXPECT_TRUE(covered.contains(sampler.name)) << sampler.name;
}

}  // namespace
}  // namespace gesso
