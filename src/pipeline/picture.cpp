#include "pipeline/picture.h"

#include "media/parameters.h"

namespace gesso {
namespace {

/// The fields of A1111's last line, in its order and under its names; others follow.
std::string parameters_of(const Request& r, const Seeds& seeds, const std::string& model_name) {
  Parameters p;
  p.prompt = r.prompt;
  p.negative = r.negative_prompt;
  const auto add = [&](const char* name, std::string value) { p.fields.emplace_back(name, std::move(value)); };
  add("Steps", std::to_string(*r.steps));
  add("Sampler", *r.sampling_method);
  add("Schedule type", *r.scheduler);
  add("CFG scale", fmt::format("{}", *r.cfg_scale));
  add("Seed", std::to_string(seeds.seed));
  if (r.subseed_strength.value_or(0) > 0) {
    add("Variation seed", std::to_string(seeds.subseed));
    add("Variation seed strength", fmt::format("{}", *r.subseed_strength));
  }
  add("Size", fmt::format("{}x{}", *r.width, *r.height));  // of the part that was painted
  add("Model", model_name);
  add("Clip skip", std::to_string(*r.clip_skip));
  if (!r.init_image.empty()) add("Denoising strength", fmt::format("{}", *r.strength));
  if (!r.mask_image.empty()) add("Mask blur", std::to_string(r.mask_blur));
  if (r.circular_x || r.circular_y) add("Tiling", r.circular_x && r.circular_y ? "True" : r.circular_x ? "x" : "y");
  if (r.prompt_syntax != "a1111") add("Prompt syntax", r.prompt_syntax);
  if (r.eta) add("Eta", fmt::format("{}", *r.eta));
  add("RNG", r.rng);
  add("Version", fmt::format("Gesso {}", GESSO_VERSION));
  return format_parameters(p);
}

}  // namespace

Picture make_picture(const Request& resolved, int index, const std::string& model_name, Image image) {
  Picture picture{
      .width = image.width, .height = image.height, .channels = image.channels, .pixels = std::move(image.pixels)};
  const Seeds seeds = seeds_of(resolved, index);
  picture.seed = seeds.seed;
  if (resolved.metadata) {
    picture.parameters = parameters_of(resolved, seeds, model_name);
    picture.request_json = to_text(recipe_to_json(resolved, index));
  }
  return picture;
}

}  // namespace gesso
