// How far a quantised model's pictures are from those of the model it was made of, before the decoder: the PSNR of the
// latents over many prompts, in decibels, with the reference's largest magnitude as the peak.
//   latent_psnr PROMPTS.txt REFERENCE MODEL...
#include <fmt/format.h>

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

/// The latents that the model paints of each prompt with its own settings, prompt k with the seed k; in f32.
std::vector<Latent> paint(const std::string& path, const std::vector<std::string>& prompts) {
  CpuDevice cpu;
  Request request;
  request.model = path;
  const LoadedModel loaded = load_model(request);
  const Defaults& defaults = loaded.model->defaults();
  request.width = defaults.width;
  request.height = defaults.height;
  request.steps = defaults.steps;
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

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    std::fputs("usage: latent_psnr PROMPTS.txt REFERENCE MODEL...\n", stderr);
    return 2;
  }
  try {
    const std::vector<std::string> prompts = read_prompts(arguments[1]);
    const std::vector<Latent> reference = paint(arguments[2], prompts);
    for (int m = 3; m < count; ++m) {
      const std::vector<Latent> latents = paint(arguments[m], prompts);
      double sum = 0, squares = 0;
      for (size_t k = 0; k < prompts.size(); ++k) {
        const double value = psnr(reference[k], latents[k]);
        sum += value;
        squares += value * value;
      }
      const double n = static_cast<double>(prompts.size()), mean = sum / n;
      const double error = std::sqrt(std::max(0., squares / n - mean * mean) / n);
      fmt::print("{}: {:.2f} dB (standard error {:.2f}) over {} prompts\n", arguments[m], mean, error, prompts.size());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "latent_psnr: {}\n", error.what());
    return 1;
  }
  return 0;
}
