#include "sampling/samplers.h"

#include <gtest/gtest.h>

#include <limits>

#include "sampling/denoiser.h"
#include "sampling/golden.h"
#include "sampling/helpers.h"

namespace gesso {
namespace {

/// The estimate for pictures of which every pixel is 1 or -1.
Estimate two_values(Latent x, double sigma) {
  for (float& value : x.values) value = static_cast<float>(std::tanh(value / (sigma * sigma)));
  return {x, x};
}

/// Model of make_golden.py.
std::vector<Latent> formula_model(double slope, const Latent& x, double timestep) {
  Latent cond = x, uncond = x;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = x.values[i], base = slope * value * timestep / 1000;
    uncond.values[i] = static_cast<float>(base);
    cond.values[i] = static_cast<float>(base + 0.05 * std::sin(3 * value + timestep / 500));
  }
  return {cond, uncond};
}

Denoise formula_denoiser(std::string_view prediction) {
  const double slope = prediction == "eps" ? 1 : -0.3;
  return make_denoiser([slope](const Latent& x, double t, auto) { return formula_model(slope, x, t); },
                       find_prediction(prediction), stable_diffusion_table(), find_guidance("cfg"),
                       {.scale = 5, .needs_uncond = true});
}

Latent start(Noise& noise, double sigma) {
  const Latent blank = zero_latent(4, 2, 2);
  return noised(find_prediction("eps"), blank, noise_like(noise, blank), sigma);
}

TEST(Samplers, EqualKDiffusionWithAModelOfTimesteps) {
  for (const golden::SamplerCase& want : golden::kSamplers) {
    const std::vector<double> sigmas = find_schedule(want.schedule).sigmas(stable_diffusion_table(), want.steps);
    const auto noise = find_noise_source("cpu").make(3);
    const Latent x = start(*noise, sigmas[0]);
    const SamplerContext context{.sigmas = sigmas, .noise = *noise, .options = {.eta = 0.8, .s_noise = 1.05}};
    const Latent result = sample(*find_sampler(want.sampler).sampler, formula_denoiser(want.prediction), x, context);
    expect_close(result.values, want.latent, 1e-5,
                 fmt::format("{} {} {} {}", want.prediction, want.schedule, want.steps, want.sampler));
  }
}

TEST(Samplers, SameInputGivesTheSameBits) {
  const std::vector<double> sigmas = find_schedule("karras").sigmas(stable_diffusion_table(), 7);
  for (const Sampler& sampler : samplers()) {
    std::vector<float> first;
    for (int run = 0; run < 10; ++run) {
      const auto noise = find_noise_source("cpu").make(5);
      const Latent x = sample(sampler, formula_denoiser("eps"), start(*noise, sigmas[0]),
                              {.sigmas = sigmas, .noise = *noise, .table = &stable_diffusion_table()});
      if (run == 0) first = x.values;
      ASSERT_EQ(x.values, first) << sampler.name << " run " << run;
    }
  }
}

/// A stream that only counts.
class CountingNoise final : public Noise {
 public:
  void fill(std::span<float> values) override {
    std::fill(values.begin(), values.end(), 1.0f);
    ++calls;
  }
  int calls = 0;
};

TEST(Samplers, DrawNoiseOnlyWhereTheTableSaysSo) {
  const std::vector<double> sigmas = find_schedule("discrete").sigmas(stable_diffusion_table(), 5);
  for (const Sampler& sampler : samplers()) {
    CountingNoise noise;
    sample(sampler, two_values, {1, 1, 1, {3}}, {.sigmas = sigmas, .noise = noise, .table = &stable_diffusion_table()});
    const int draws = sampler.name == "dpm++sde" ? 8 : 4;
    EXPECT_EQ(noise.calls, sampler.eta > 0 && !sampler.brownian ? draws : 0) << sampler.name;
    if (!sampler.takes_eta) continue;
    noise.calls = 0;
    sample(sampler, two_values, {1, 1, 1, {3}},
           {.sigmas = sigmas, .noise = noise, .options = {.eta = 0}, .table = &stable_diffusion_table()});
    EXPECT_EQ(noise.calls, 0) << sampler.name;
  }
}

TEST(Samplers, ChurnAddsNoiseBeforeTheStepsItNames) {
  const std::vector<double> sigmas = {8, 4, 2, 1, 0};
  for (const char* name : {"euler", "heun", "dpm2"}) {
    CountingNoise noise;
    sample(*find_sampler(name).sampler, two_values, {1, 1, 1, {3}},
           {.sigmas = sigmas, .noise = noise, .options = {.s_churn = 1, .s_tmin = 1.5, .s_tmax = 5}});
    EXPECT_EQ(noise.calls, 2) << name;
  }
}

TEST(Samplers, EqualSigmasMakeNoStep) {
  CountingNoise noise;
  const std::vector<double> repeated = {8, 8, 4, 4, 4, 1, 0}, plain = {8, 4, 1, 0};
  for (const Sampler& sampler : samplers()) {
    const Latent x{1, 1, 2, {8, -20}};
    const auto run = [&](std::span<const double> sigmas) {
      return sample(sampler, two_values, x, {.sigmas = sigmas, .noise = noise, .table = &stable_diffusion_table()});
    };
    EXPECT_EQ(run(repeated).values, run(plain).values) << sampler.name;
    EXPECT_EQ(evaluations(sampler, repeated), evaluations(sampler, plain)) << sampler.name;
  }
}

TEST(Samplers, AncestralWithoutEtaIsEuler) {
  const std::vector<double> sigmas = find_schedule("karras").sigmas(stable_diffusion_table(), 6);
  CountingNoise noise;
  const Latent x{1, 1, 2, {8, -20}};
  const SamplerContext context{.sigmas = sigmas, .noise = noise, .options = {.eta = 0.0}};
  EXPECT_EQ(sample(*find_sampler("euler_a").sampler, two_values, x, context).values,
            sample(*find_sampler("euler").sampler, two_values, x, context).values);
}

TEST(Samplers, StrengthRunsTheStepsItReports) {
  CountingNoise noise;
  const Latent image{1, 1, 2, {0.25, -0.5}}, unit{1, 1, 2, {1, 1}};
  for (const Sampler& sampler : samplers())
    for (double strength : {0.0, 0.01, 0.05, 0.5, 0.9999, 1.0}) {
      const std::vector<double> all = find_schedule("discrete").sigmas(stable_diffusion_table(), 15);
      const int steps = steps_for_strength(15, strength);
      const std::span<const double> sigmas = last_steps(all, steps);
      int reported = 0;
      SamplerContext context{.sigmas = sigmas, .noise = noise, .table = &stable_diffusion_table()};
      context.on_step = [&](int, int of, const Latent&, const Latent&) {
        EXPECT_EQ(of, steps);
        ++reported;
      };
      const Latent x = noised(find_prediction("eps"), image, unit, sigmas[0]);
      const Latent result = sample(sampler, two_values, x, context);
      EXPECT_EQ(reported, steps) << sampler.name << " " << strength;
      if (steps == 0) {
        EXPECT_EQ(result.values, image.values) << sampler.name << " " << strength;
      }
    }
}

TEST(Samplers, EndAboveZeroForASchedulePart) {
  const std::vector<double> sigmas = {10, 5, 2};
  CountingNoise noise;
  for (const Sampler& sampler : samplers()) {
    int evaluated = 0;
    const Denoise denoise = [&](const Latent& x, double sigma) {
      ++evaluated;
      return two_values(x, sigma);
    };
    const Latent x = sample(sampler, denoise, {1, 1, 1, {9}},
                            {.sigmas = sigmas, .noise = noise, .table = &stable_diffusion_table()});
    EXPECT_TRUE(all_finite(x));
    if (sampler.adaptive) continue;
    EXPECT_EQ(evaluated, evaluations(sampler, sigmas)) << sampler.name;
    EXPECT_EQ(evaluated, 2 * sampler.evaluations_per_step + sampler.extra_evaluations) << sampler.name;
  }
}

TEST(Samplers, RefuseContextsOutOfRange) {
  CountingNoise noise;
  const std::vector<double> rising = {1, 2, 0}, good = {1, 0};
  for (const Sampler& sampler : samplers()) {
    const auto run = [&](const SamplerContext& context) { sample(sampler, two_values, {1, 1, 1, {1}}, context); };
    expect_error(ErrorCode::kUsage, "must not rise",
                 [&] { run({.sigmas = rising, .noise = noise, .table = &stable_diffusion_table()}); });
    expect_error(ErrorCode::kUsage, "at least one sigma",
                 [&] { run({.sigmas = {}, .noise = noise, .table = &stable_diffusion_table()}); });
    expect_error(ErrorCode::kUsage, "eta",
                 [&] { run({.sigmas = good, .noise = noise, .options = {.eta = std::nan("")}}); });
    expect_error(ErrorCode::kUsage, "s_noise",
                 [&] { run({.sigmas = good, .noise = noise, .options = {.s_noise = -1}}); });
    expect_error(ErrorCode::kUsage, "s_churn",
                 [&] { run({.sigmas = good, .noise = noise, .options = {.s_churn = std::nan("")}}); });
    expect_error(ErrorCode::kUsage, "order", [&] { run({.sigmas = good, .noise = noise, .options = {.order = 5}}); });
    const std::vector<double> above_one = {2, 0};
    expect_error(ErrorCode::kUsage, "1 at most", [&] { run({.sigmas = above_one, .noise = noise, .flow = true}); });
  }
}

TEST(Samplers, StopWhenTheModelGivesNan) {
  CountingNoise noise;
  const std::vector<double> sigmas = {4, 2, 0};
  const Denoise denoise = [](Latent x, double sigma) -> Estimate {
    if (sigma < 2.001) x.values[0] = static_cast<float>(std::nan(""));
    return {x, x};
  };
  for (const Sampler& sampler : samplers())
    expect_error(ErrorCode::kNumeric, "has NaN", [&] {
      sample(sampler, denoise, {1, 1, 1, {1}}, {.sigmas = sigmas, .noise = noise, .table = &stable_diffusion_table()});
    });
}

TEST(FindSampler, UnderstandsTheNamesOfOtherPrograms) {
  struct Case {
    const char *name, *sampler, *schedule;
  };
  const Case cases[] = {
      {"euler", "euler", nullptr},
      {"Euler", "euler", nullptr},
      {"Euler a", "euler_a", nullptr},
      {"k_euler_a", "euler_a", nullptr},
      {"euler_ancestral", "euler_a", nullptr},
      {"EulerAncestralDiscreteScheduler", "euler_a", nullptr},
      {"EulerDiscreteScheduler", "euler", nullptr},
      {"Euler a Karras", "euler_a", "karras"},
      {"Euler SGM Uniform", "euler", "sgm_uniform"},
      {"Heun Simple", "heun", "simple"},
      {"DPM++ 2M", "dpm++2m", nullptr},
      {"DPM++ 2M Karras", "dpm++2m", "karras"},
      {"dpmpp_2m", "dpm++2m", nullptr},
      {"k_dpmpp_2m_ka", "dpm++2m", "karras"},
      {"DPMSolverMultistepScheduler", "dpm++2m", nullptr},
      {"DPM++ 2M SDE Karras", "dpm++2m_sde", "karras"},
      {"DPM++ 3M SDE Exponential", "dpm++3m_sde", "exponential"},
      {"DPM++ 2S a", "dpm++2s_a", nullptr},
      {"DPM++ SDE", "dpm++sde", nullptr},
      {"DPM2 a Karras", "dpm2_a", "karras"},
      {"DPM fast", "dpm_fast", nullptr},
      {"DPM adaptive", "dpm_adaptive", nullptr},
      {"k_dpm_2_a", "dpm2_a", nullptr},
      {"k_lms_ka", "lms", "karras"},
      {"LMS Karras", "lms", "karras"},
      {"PLMS", "plms", nullptr},
      {"UniPC", "uni_pc", nullptr},
      {"uni_pc_bh2", "uni_pc_bh2", nullptr},
      {"UniPCMultistepScheduler", "uni_pc", nullptr},
      {"DDIM", "ddim", nullptr},
      {"dpmpp_2s_ancestral", "dpm++2s_a", nullptr},
      {"gradient_estimation", "euler_ge", nullptr},
      {"euler_ancestral_cfg_pp", "euler_a_cfg_pp", nullptr},
      {"LCM", "lcm", nullptr},
      {"dpm++2mv2", "dpm++2mv2", nullptr},
  };
  for (const Case& want : cases) {
    const SamplerChoice choice = find_sampler(want.name);
    EXPECT_EQ(choice.sampler->name, want.sampler) << want.name;
    ASSERT_EQ(choice.schedule == nullptr, want.schedule == nullptr) << want.name;
    if (want.schedule) {
      EXPECT_EQ(choice.schedule->name, want.schedule) << want.name;
    }
  }
}

TEST(FindSampler, DoesNotTakeOneSamplerForAnother) {
  for (const char* name : {"", "DPM++ 4M", "Euler b", "Karras", "DDIM CFG++", "dpm++2mv3"})
    expect_error(ErrorCode::kUsage, "unknown sampler", [&] { find_sampler(name); });
  expect_error(ErrorCode::kUsage, "unknown sampler 'Eular a' (did you mean 'euler_a'?); known: euler, euler_a",
               [] { find_sampler("Eular a"); });
}

TEST(FindSampler, EveryTableNameIsFoundAsItself) {
  for (const Sampler& sampler : samplers()) {
    EXPECT_EQ(find_sampler(sampler.name).sampler, &sampler);
    for (std::string_view alias : sampler.aliases) EXPECT_EQ(find_sampler(alias).sampler, &sampler) << alias;
  }
}

}  // namespace
}  // namespace gesso
