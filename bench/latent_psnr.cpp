// How far a quantised model's pictures are from those of the model it was made of, before the decoder: the PSNR of the
// latents over many prompts, in decibels, with the reference's largest magnitude as the peak; and what each model gains
// over the one named before it, prompt by prompt.
//   latent_psnr PROMPTS.txt REFERENCE MODEL...
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "device/cpu/cpu_device.h"
#include "pipeline/model_files.h"
#include "pipeline/stages.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"

namespace {

using namespace gesso;

std::vector<std::string> read_prompts(const char* path) {
  std::vector<std::string> prompts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) prompts.push_back(line);
  return prompts;
}

/// The latents that the model paints of each prompt with its own settings but ten steps, prompt k with the seed k; in
/// f32.
std::vector<Latent> paint(const std::string& path, const std::vector<std::string>& prompts) {
  CpuDevice cpu;
  Request request;
  request.model = path;
  const LoadedModel loaded = load_model(request);
  const Defaults& defaults = loaded.model->defaults();
  request.width = defaults.width;
  request.height = defaults.height;
  request.steps = 10;  // enough for this sampler
  request.cfg_scale = defaults.cfg_scale;
  request.guidance = defaults.guidance;
  request.clip_skip = defaults.clip_skip;
  request.sampling_method = "dpm++2m";
  request.scheduler = defaults.scheduler;
  request.prediction = loaded.model->denoising().prediction;
  const EventSink ignore = [](const Event&) {};
  std::vector<Latent> latents;
  for (size_t k = 0; k < prompts.size(); ++k) {
    request.prompt = prompts[k];
    request.seed = static_cast<int64_t>(k);
    const Work work{*loaded.model, cpu, request, DType::kF32, ignore};
    latents.push_back(denoise(work, encode_text(work), encode_canvas(work, nullptr), request.seed));
  }
  return latents;
}

double psnr(const Latent& reference, const Latent& other) {
  double squares = 0, peak = 0;
  for (size_t i = 0; i < reference.values.size(); ++i) {
    const double difference = static_cast<double>(reference.values[i]) - other.values[i];
    squares += difference * difference;
    peak = std::max(peak, std::fabs(static_cast<double>(reference.values[i])));
  }
  return 10 * std::log10(peak * peak * static_cast<double>(reference.values.size()) / squares);
}

/// "21.38 (standard error 0.44)"
std::string mean_text(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  const auto n = static_cast<double>(values.size());
  const double mean = sum / n;
  return fmt::format("{:.2f} (standard error {:.2f})", mean, std::sqrt(std::max(0., squares / n - mean * mean) / n));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fputs("usage: latent_psnr PROMPTS.txt REFERENCE MODEL...\n", stderr);
    return 2;
  }
  try {
    const std::vector<std::string> prompts = read_prompts(arguments[1]);
    const std::vector<Latent> reference = paint(arguments[2], prompts);
    std::vector<double> before;
    for (int m = 3; m < count; ++m) {
      const std::vector<Latent> latents = paint(arguments[m], prompts);
      std::vector<double> values, gains;
      for (size_t k = 0; k < prompts.size(); ++k) {
        values.push_back(psnr(reference[k], latents[k]));
        if (!before.empty()) gains.push_back(values[k] - before[k]);
      }
      fmt::print("{}: {} dB over {} prompts", arguments[m], mean_text(values), prompts.size());
      if (!gains.empty())
        fmt::print("; against the one before {} dB, better in {}", mean_text(gains),
                   std::ranges::count_if(gains, [](double g) { return g > 0; }));
      fmt::print("\n");
      std::fflush(stdout);
      before = std::move(values);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "latent_psnr: {}\n", error.what());
    return 1;
  }
  return 0;
}
