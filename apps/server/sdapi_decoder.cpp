// POST /sdapi/v1/txt2img as AUTOMATIC1111's stable-diffusion-webui has it (modules/api/models.py names the fields).
#include <fmt/format.h>

#include <cstdint>

#include "server/request_decoder.h"

namespace server {
namespace {

/// Fields whose feature the engine lacks. Where the value asks for it, `refuse` says whether the picture would be
/// another one, so that the request fails, or would only lack something, so that a warning is enough.
struct Feature {
  const char* field;
  bool refuse;
  const char* meaning;
};
constexpr Feature kFeatures[] = {{"enable_hr", true, "the second pass at a higher resolution"},
                                 {"restore_faces", true, "restoring faces"},
                                 {"tiling", true, "pictures that tile"},
                                 {"script_name", true, "scripts"},
                                 {"firstpass_image", true, "a picture to start from"},
                                 {"subseed_strength", true, "variation seeds"},
                                 {"styles", false, "stored styles"},
                                 {"refiner_checkpoint", true, "a refiner"}};

/// Fields that only matter together with a feature above, or that ask for what is done anyway.
constexpr const char* kWithoutEffect[] = {"subseed",
                                          "seed_resize_from_h",
                                          "seed_resize_from_w",
                                          "seed_enable_extras",
                                          "denoising_strength",
                                          "s_min_uncond",
                                          "s_churn",
                                          "s_tmax",
                                          "s_tmin",
                                          "s_noise",
                                          "override_settings_restore_afterwards",
                                          "refiner_switch_at",
                                          "disable_extra_networks",
                                          "firstphase_width",
                                          "firstphase_height",
                                          "hr_scale",
                                          "hr_upscaler",
                                          "hr_second_pass_steps",
                                          "hr_resize_x",
                                          "hr_resize_y",
                                          "hr_checkpoint_name",
                                          "hr_sampler_name",
                                          "hr_scheduler",
                                          "hr_prompt",
                                          "hr_negative_prompt",
                                          "hr_cfg",
                                          "hr_additional_modules",
                                          "distilled_cfg_scale",
                                          "script_args",
                                          "force_task_id",
                                          "infotext",
                                          "comments",
                                          "do_not_save_samples",
                                          "do_not_save_grid"};

bool asks(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() > 0;
  if (value.is_string()) return value != "" && value != "None";
  return !value.is_null() && !value.empty();
}

void read_features(Fields& in, Decoded& out) {
  for (const Feature& feature : kFeatures) {
    const Json* value = in.find(feature.field);
    if (!value || !asks(*value)) continue;
    const std::string message = fmt::format("{}: {} are not supported yet", feature.field, feature.meaning);
    if (feature.refuse) throw ApiError(501, "unsupported", message, feature.field);
    out.warnings.push_back(message);
  }
  for (const char* name : kWithoutEffect) in.find(name);
}

/// "override_settings": the options that count for this request alone.
void read_settings(Fields& in, Decoded& out) {
  const Json* settings = in.find("override_settings");
  if (!settings) return;
  if (!settings->is_object()) throw bad_field("override_settings", "wanted an object, found " + shown(*settings));
  Fields each(*settings);
  if (const auto model = each.text("sd_model_checkpoint"); model && !model->empty()) out.fields["model"] = *model;
  if (const auto vae = each.text("sd_vae"); vae && *vae != "" && *vae != "Automatic" && *vae != "None")
    out.fields["vae"] = *vae;
  if (const auto skip = each.integer("CLIP_stop_at_last_layers", 1, 12)) out.fields["clip_skip"] = *skip;
  for (const std::string& name : each.unknown())
    out.warnings.push_back("override_settings." + name + ": has no effect here");
}

/// Extensions' settings: reported, since a client may send them with every request.
void read_scripts(Fields& in, Decoded& out) {
  const Json* scripts = in.find("alwayson_scripts");
  if (!scripts) return;
  if (!scripts->is_object()) throw bad_field("alwayson_scripts", "wanted an object, found " + shown(*scripts));
  for (const auto& script : scripts->items())
    out.warnings.push_back("alwayson_scripts." + script.key().substr(0, 100) + ": no such script here");
}

/// Clients write "Automatic" in either case where A1111 is to choose; here the model does.
bool names_one(const std::optional<std::string>& name) {
  return name && !name->empty() && *name != "Automatic" && *name != "automatic";
}

void read_sampling(Fields& in, Decoded& out) {
  // sampler_name is the newer one and wins, whether or not the other has its default
  const auto index = in.text("sampler_index"), name = in.text("sampler_name");
  const std::string sampler = name && !name->empty() ? *name : index.value_or("");
  if (names_one(sampler)) out.fields["sampling_method"] = sampler;
  if (const auto scheduler = in.text("scheduler"); names_one(scheduler)) out.fields["scheduler"] = *scheduler;
  if (const auto steps = in.integer("steps", 1, 10000)) out.fields["steps"] = *steps;
  if (const auto cfg = in.number("cfg_scale", 0, 1000)) out.fields["cfg_scale"] = *cfg;
  if (const auto eta = in.number("eta", 0, 10)) out.fields["eta"] = *eta;
}

}  // namespace

Decoded decode_sdapi(std::string_view body) {
  Decoded out{.original = parse_object(body)};
  Fields in(out.original);
  out.fields["prompt"] = in.text("prompt").value_or("");
  if (const auto negative = in.text("negative_prompt")) out.fields["negative_prompt"] = *negative;
  for (const char* name : {"width", "height"})
    if (const auto size = in.integer(name, 64, 8192)) out.fields[name] = *size;
  out.fields["seed"] = in.integer("seed", -1, INT64_MAX).value_or(-1);
  const int64_t batch = in.integer("batch_size", 1, 10000).value_or(1) * in.integer("n_iter", 1, 10000).value_or(1);
  out.fields["batch_count"] = batch;
  read_sampling(in, out);
  read_features(in, out);
  read_settings(in, out);
  read_scripts(in, out);
  out.send = in.boolean("send_images").value_or(true);
  out.save = in.boolean("save_images").value_or(false);
  for (const std::string& name : in.unknown()) out.warnings.push_back(name.substr(0, 100) + ": unknown, has no effect");
  return out;
}

}  // namespace server
