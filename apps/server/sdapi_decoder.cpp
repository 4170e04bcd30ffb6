// POST /sdapi/v1/txt2img and img2img as AUTOMATIC1111's stable-diffusion-webui has it (modules/api/models.py names the
// fields).
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
                                          "include_init_images",
                                          "initial_noise_multiplier",
                                          "image_cfg_scale",
                                          "mask_blur_x",
                                          "mask_blur_y",
                                          "mask_round",
                                          "latent_mask",
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

/// The pictures of img2img, and how they are painted over.
void read_pictures(Fields& in, Decoded& out) {
  const Json* pictures = in.find("init_images");
  if (!pictures || !pictures->is_array() || pictures->empty())
    throw bad_field("init_images", "wanted a list with the picture to paint over, in base64");
  if (pictures->size() > 1)
    throw ApiError(501, "unsupported", "init_images: this server paints over one picture at a time", "init_images");
  out.pictures["init_image"] = picture_of("init_images", pictures->front());
  if (const auto strength = in.number("denoising_strength", 0, 1)) out.fields["strength"] = *strength;
  constexpr const char* kResizeModes[] = {"stretch", "fill", "fit"};
  const int64_t mode = in.integer("resize_mode", 0, 3).value_or(0);
  if (mode == 3)
    throw ApiError(501, "unsupported", "resize_mode: 3, resizing the latent, is not supported yet", "resize_mode");
  out.fields["resize_mode"] = kResizeModes[mode];

  const Json* mask = in.find("mask");
  const bool invert = in.integer("inpainting_mask_invert", 0, 1).value_or(0) == 1;
  const bool masked_only = in.boolean("inpaint_full_res").value_or(true);
  const auto padding = in.integer("inpaint_full_res_padding", 0, 4096), blur = in.integer("mask_blur", 0, 256);
  const int64_t fill = in.integer("inpainting_fill", 0, 3).value_or(1);
  if (!mask || *mask == "") return;
  out.pictures["mask_image"] = picture_of("mask", *mask);
  out.fields["mask_invert"] = invert;
  out.fields["inpaint_area"] = masked_only ? "masked" : "whole";
  if (padding) out.fields["inpaint_padding"] = *padding;
  if (blur) out.fields["mask_blur"] = *blur;
  if (fill != 1)
    out.warnings.emplace_back("inpainting_fill: has no effect here; the masked part begins as it is in the picture");
}

Decoded decode(std::string_view body, bool over_a_picture) {
  Decoded out{.original = parse_object(body)};
  Fields in(out.original);
  if (over_a_picture) read_pictures(in, out);
  out.fields["prompt"] = in.text("prompt").value_or("");
  if (const auto negative = in.text("negative_prompt")) out.fields["negative_prompt"] = *negative;
  for (const char* name : {"width", "height"})
    if (const auto size = in.integer(name, 64, 8192)) out.fields[name] = *size;
  out.fields["seed"] = in.integer("seed", -1, INT64_MAX).value_or(-1);
  const int64_t batch = in.integer("batch_size", 1, 10000).value_or(1) * in.integer("n_iter", 1, 10000).value_or(1);
  out.fields["batch_count"] = batch;
  out.fields["preview"] = "proj";  // for /sdapi/v1/progress; it costs next to nothing
  read_sampling(in, out);
  read_features(in, out);
  read_settings(in, out);
  read_scripts(in, out);
  out.send = in.boolean("send_images").value_or(true);
  out.save = in.boolean("save_images").value_or(false);
  for (const std::string& name : in.unknown()) out.warnings.push_back(name.substr(0, 100) + ": unknown, has no effect");
  for (const char* name : {"init_images", "mask"}) out.original.erase(name);  // the answer repeats the rest
  return out;
}

}  // namespace

Decoded decode_sdapi(std::string_view body) {
  return decode(body, false);
}

Decoded decode_sdapi_over(std::string_view body) {
  return decode(body, true);
}

}  // namespace server
