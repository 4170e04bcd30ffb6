#include "pipeline/request_fields.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sampling/guidance.h"
#include "sampling/names.h"
#include "sampling/noise.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"

namespace gesso {
namespace {

std::vector<std::string_view> sampling_methods() {
  return names_of(samplers());
}
std::vector<std::string_view> scheduler_names() {
  return names_of(schedules());
}
std::vector<std::string_view> rngs() {
  return names_of(noise_sources());
}
std::vector<std::string_view> guidance_names() {
  return names_of(guidances());
}
std::vector<std::string_view> prediction_names() {
  std::vector<std::string_view> names = names_of(predictions());
  names.insert(names.begin(), "auto");
  return names;
}
std::vector<std::string_view> mask_channels() {
  return {"luminance", "alpha"};
}

std::vector<std::string_view> prompt_syntaxes() {
  return {"a1111", "comfyui"};
}
std::vector<std::string_view> resize_modes() {
  return {"fill", "fit", "stretch"};
}
std::vector<std::string_view> inpaint_areas() {
  return {"whole", "masked"};
}
std::vector<std::string_view> preview_ways() {
  return {"none", "proj", "tae", "vae"};
}
std::vector<std::string_view> precisions() {
  return {"auto", "f32", "bf16"};
}

/// "DPM++ 2M Karras" names a schedule too, which holds unless another one is given.
std::string choose_sampler(Request& request, std::string_view name) {
  const SamplerChoice choice = find_sampler(name);
  if (choice.schedule && !request.scheduler) request.scheduler = choice.schedule->name;
  return std::string(choice.sampler->name);
}
std::string choose_scheduler(Request&, std::string_view name) {
  return std::string(find_schedule(name).name);
}
std::string choose_rng(Request&, std::string_view name) {
  return std::string(find_noise_source(name).name);
}
std::string choose_guidance(Request&, std::string_view name) {
  return std::string(find_guidance(name).name);
}
std::string choose_prediction(Request&, std::string_view name) {
  return name == "auto" ? "auto" : std::string(find_prediction(name).name);
}

constexpr std::string_view kModelDecides = "the model decides";

// clang-format off
const Field kFields[] = {
    {.name = "model", .member = &Request::model, .options = "-m,--model", .placeholder = "FILE", .group = "Model",
     .description = "checkpoint file, or folder of a model saved by diffusers", .other_names = "ckpt checkpoint",
     .role = FieldRole::kFile, .common = true},
    {.name = "diffusion_model", .member = &Request::diffusion_model, .options = "--diffusion-model",
     .placeholder = "FILE", .group = "Model", .description = "the denoising network alone",
     .other_names = "unet transformer", .role = FieldRole::kFile, .component = Role::kDiffusionModel},
    {.name = "vae", .member = &Request::vae, .options = "--vae", .placeholder = "FILE", .group = "Model",
     .description = "autoencoder, in place of the checkpoint's own", .role = FieldRole::kFile,
     .component = Role::kVae},
    {.name = "taesd", .member = &Request::taesd, .options = "--taesd,--tae", .placeholder = "FILE", .group = "Model",
     .description = "tiny autoencoder, which takes the place of the other one: faster, and not quite as exact",
     .other_names = "tae tiny_vae", .role = FieldRole::kFile, .component = Role::kTinyVae},
    {.name = "taesd_preview_only", .member = &Request::taesd_preview_only, .options = "--taesd-preview-only",
     .placeholder = "", .group = "Model", .description = "take the tiny autoencoder for previews alone",
     .other_names = "tae_preview_only"},
    {.name = "clip_l", .member = &Request::clip_l, .options = "--clip_l", .placeholder = "FILE", .group = "Model",
     .description = "text encoder CLIP-L", .other_names = "text_encoder clip", .role = FieldRole::kFile,
     .component = Role::kClipL},
    {.name = "clip_g", .member = &Request::clip_g, .options = "--clip_g", .placeholder = "FILE", .group = "Model",
     .description = "text encoder OpenCLIP-G", .other_names = "text_encoder_2", .role = FieldRole::kFile,
     .component = Role::kClipG},
    {.name = "clip_h", .member = &Request::clip_h, .options = "--clip_h", .placeholder = "FILE", .group = "Model",
     .description = "text encoder OpenCLIP-H", .role = FieldRole::kFile, .component = Role::kClipH},
    {.name = "t5xxl", .member = &Request::t5xxl, .options = "--t5xxl", .placeholder = "FILE", .group = "Model",
     .description = "text encoder T5", .other_names = "t5 text_encoder_3", .role = FieldRole::kFile,
     .component = Role::kT5},

    {.name = "prompt", .member = &Request::prompt, .options = "-p,--prompt", .placeholder = "TEXT", .group = "Prompt",
     .description = "what the picture shows", .other_names = "text positive_prompt", .common = true, .required = true},
    {.name = "negative_prompt", .member = &Request::negative_prompt, .options = "-n,--negative-prompt",
     .placeholder = "TEXT", .group = "Prompt", .description = "what it must not show", .other_names = "negative",
     .common = true},
    {.name = "prompt_syntax", .member = &Request::prompt_syntax, .options = "--prompt-syntax", .placeholder = "NAME",
     .group = "Prompt",
     .description = "whose reading of brackets and weights; a1111 has prompt editing, AND and BREAK too",
     .choices = prompt_syntaxes, .other_names = "parser emphasis"},

    {.name = "wildcards", .member = &Request::wildcards, .options = "--wildcards", .placeholder = "DIR",
     .group = "Prompt",
     .description = "folder of text files: __name__ in a prompt becomes a line of name.txt, which the seed chooses",
     .other_names = "wildcard_dir wildcards_dir", .role = FieldRole::kFolder},

    {.name = "width", .member = &Request::width, .options = "-W,--width", .placeholder = "PX", .group = "Picture",
     .description = "width in pixels", .absent = kModelDecides, .minimum = 64, .maximum = 8192, .multiple = 8,
     .other_names = "w", .common = true},
    {.name = "height", .member = &Request::height, .options = "-H,--height", .placeholder = "PX", .group = "Picture",
     .description = "height in pixels", .absent = kModelDecides, .minimum = 64, .maximum = 8192, .multiple = 8,
     .other_names = "h", .common = true},
    {.name = "seed", .member = &Request::seed, .options = "-s,--seed", .placeholder = "N", .group = "Picture",
     .description = "start of the noise; the same seed paints the same picture, a negative one is drawn at random",
     .common = true},
    {.name = "subseed", .member = &Request::subseed, .options = "--subseed", .placeholder = "N", .group = "Picture",
     .description = "seed of the noise that a variation goes towards; a negative one is drawn at random",
     .other_names = "variation_seed"},
    {.name = "subseed_strength", .member = &Request::subseed_strength, .options = "--subseed-strength",
     .placeholder = "X", .group = "Picture",
     .description = "how far; above 0, the pictures of a batch vary one seed, and picture k has the subseed plus k",
     .absent = "0", .minimum = 0, .maximum = 1, .other_names = "variation_strength"},
    {.name = "batch_count", .member = &Request::batch_count, .options = "-b,--batch-count", .placeholder = "N",
     .group = "Picture", .description = "number of pictures; picture k has the seed plus k", .minimum = 1,
     .maximum = 10000, .other_names = "n_iter n count batch_size num_images", .common = true},
    {.name = "circular_x", .member = &Request::circular_x, .options = "--circularx", .placeholder = "",
     .group = "Picture", .description = "paint pictures that go on seamlessly to the left and right",
     .other_names = "tiling seamless"},
    {.name = "circular_y", .member = &Request::circular_y, .options = "--circulary", .placeholder = "",
     .group = "Picture", .description = "and above and below", .other_names = "tiling seamless"},
    {.name = "grid", .member = &Request::grid, .options = "--grid", .placeholder = "AXES", .group = "Picture",
     .description = "one picture for each combination of values, in a table, such as \"steps=10,20;cfg=3,7\"; ranges 1-5, "
                    "1-9 (+4) and 0-1 [5]; sr=red,blue replaces words of the prompt",
     .other_names = "xyz_plot xyz_grid xy_plot"},
    {.name = "grid_cells", .member = &Request::grid_cells, .options = "--grid-cells", .placeholder = "",
     .group = "Picture", .description = "write the pictures of a grid by themselves too"},
    {.name = "metadata", .member = &Request::metadata, .options = "!--disable-image-metadata", .placeholder = "",
     .group = "Picture", .description = "write the recipe into the picture", .other_names = "embed_metadata"},

    {.name = "init_image", .member = &Request::init_image, .options = "-i,--init-img", .placeholder = "FILE",
     .group = "Painting over", .description = "picture to paint over; PNG, JPEG or WebP",
     .other_names = "init_img init_images image", .role = FieldRole::kInput, .common = true},
    {.name = "strength", .member = &Request::strength, .options = "--strength", .placeholder = "X",
     .group = "Painting over", .description = "how much of it is painted anew: of n steps, the last strength * n run",
     .absent = "0.75; 1 for models made for inpainting, and for outpainting", .minimum = 0, .maximum = 1,
     .other_names = "denoising_strength denoise", .common = true},
    {.name = "mask_image", .member = &Request::mask_image, .options = "--mask", .placeholder = "FILE",
     .group = "Painting over", .description = "picture whose white part is painted anew; no other pixel changes",
     .other_names = "mask", .role = FieldRole::kInput},
    {.name = "mask_channel", .member = &Request::mask_channel, .options = "--mask-channel", .placeholder = "NAME",
     .group = "Painting over",
     .description = "what of the mask counts: its luminance, or its alpha, whose transparent part is painted anew",
     .choices = mask_channels},
    {.name = "mask_invert", .member = &Request::mask_invert, .options = "--mask-invert", .placeholder = "",
     .group = "Painting over", .description = "paint the black part of the mask anew",
     .other_names = "inpainting_mask_invert"},
    {.name = "mask_blur", .member = &Request::mask_blur, .options = "--mask-blur", .placeholder = "PX",
     .group = "Painting over", .description = "soften the mask's edge, inwards", .minimum = 0, .maximum = 256},
    {.name = "inpaint_area", .member = &Request::inpaint_area, .options = "--inpaint-area", .placeholder = "NAME",
     .group = "Painting over",
     .description = "paint the whole picture, or only the mask's surroundings, at the full width and height",
     .choices = inpaint_areas, .other_names = "inpaint_full_res"},
    {.name = "inpaint_padding", .member = &Request::inpaint_padding, .options = "--inpaint-padding",
     .placeholder = "PX", .group = "Painting over",
     .description = "how much around the mask is looked at when only its surroundings are painted", .minimum = 0,
     .maximum = 4096, .other_names = "inpaint_full_res_padding"},
    {.name = "resize_mode", .member = &Request::resize_mode, .options = "--resize-mode", .placeholder = "NAME",
     .group = "Painting over",
     .description = "bring the picture to size by cutting (fill), by repeating its border (fit) or by stretching",
     .choices = resize_modes},
    {.name = "outpaint_left", .member = &Request::outpaint_left, .options = "--outpaint-left", .placeholder = "PX",
     .group = "Painting over", .description = "continue the picture by that many of its pixels to the left; nothing of it changes", .minimum = 0, .maximum = 4096,
     .other_names = "outpaint pad_left"},
    {.name = "outpaint_top", .member = &Request::outpaint_top, .options = "--outpaint-top", .placeholder = "PX",
     .group = "Painting over", .description = "and above", .minimum = 0, .maximum = 4096,
     .other_names = "pad_top"},
    {.name = "outpaint_right", .member = &Request::outpaint_right, .options = "--outpaint-right", .placeholder = "PX",
     .group = "Painting over", .description = "and to the right", .minimum = 0, .maximum = 4096,
     .other_names = "pad_right"},
    {.name = "outpaint_bottom", .member = &Request::outpaint_bottom, .options = "--outpaint-bottom", .placeholder = "PX",
     .group = "Painting over", .description = "and below", .minimum = 0, .maximum = 4096,
     .other_names = "pad_bottom"},

    {.name = "steps", .member = &Request::steps, .options = "--steps", .placeholder = "N", .group = "Sampling",
     .description = "denoising steps", .absent = kModelDecides, .minimum = 1, .maximum = 10000,
     .other_names = "num_inference_steps sample_steps", .common = true},
    {.name = "cfg_scale", .member = &Request::cfg_scale, .options = "--cfg-scale", .placeholder = "X",
     .group = "Sampling", .description = "how closely to follow the prompt; 1 switches guidance off",
     .absent = kModelDecides, .minimum = 0, .maximum = 1000, .other_names = "cfg guidance_scale txt_cfg",
     .common = true},
    {.name = "guidance", .member = &Request::guidance, .options = "--guidance", .placeholder = "X",
     .group = "Sampling", .description = "distilled guidance, which models that were trained with it are told",
     .absent = kModelDecides, .minimum = 0, .maximum = 100, .other_names = "distilled_guidance"},
    {.name = "sampling_method", .member = &Request::sampling_method, .options = "--sampling-method",
     .placeholder = "NAME", .group = "Sampling", .description = "sampler", .absent = kModelDecides,
     .choices = sampling_methods, .choose = choose_sampler, .other_names = "sampler sampler_name sample_method"},
    {.name = "scheduler", .member = &Request::scheduler, .options = "--scheduler", .placeholder = "NAME",
     .group = "Sampling", .description = "how the noise levels are spaced", .absent = kModelDecides,
     .choices = scheduler_names, .choose = choose_scheduler, .other_names = "schedule"},
    {.name = "sigmas", .member = &Request::sigmas, .options = "--sigmas", .placeholder = "LIST", .group = "Sampling",
     .description = "noise levels in place of steps and scheduler, falling and apart by commas, such as 14.6,7,3,0",
     .other_names = "custom_sigmas"},
    {.name = "flow_shift", .member = &Request::flow_shift, .options = "--flow-shift", .placeholder = "X",
     .group = "Sampling",
     .description = "of models that flow: how far their times are shifted towards noise; mu where the model gives it so",
     .absent = kModelDecides, .minimum = 0.01, .maximum = 50},
    {.name = "eta", .member = &Request::eta, .options = "--eta", .placeholder = "X", .group = "Sampling",
     .description = "noise that samplers with randomness add again at each step", .absent = "the sampler decides",
     .minimum = 0, .maximum = 10},
    {.name = "guidance_method", .member = &Request::guidance_method, .options = "--guidance-method",
     .placeholder = "NAME", .group = "Sampling", .description = "how the prompt and the negative prompt are weighed",
     .choices = guidance_names, .choose = choose_guidance, .other_names = "guider"},
    {.name = "guidance_rescale", .member = &Request::guidance_rescale, .options = "--guidance-rescale",
     .placeholder = "X", .group = "Sampling",
     .description = "how far guidance keeps the contrast of the prompt's own picture", .absent = "0", .minimum = 0,
     .maximum = 1, .other_names = "cfg_rescale rescale_cfg"},
    {.name = "guidance_start", .member = &Request::guidance_start, .options = "--guidance-start", .placeholder = "X",
     .group = "Sampling", .description = "share of the steps before which there is no guidance", .absent = "0",
     .minimum = 0, .maximum = 1, .other_names = "cfg_start"},
    {.name = "guidance_end", .member = &Request::guidance_end, .options = "--guidance-end", .placeholder = "X",
     .group = "Sampling", .description = "share of the steps after which there is no guidance", .absent = "1",
     .minimum = 0, .maximum = 1, .other_names = "cfg_end"},
    {.name = "extra_sample_args", .member = &Request::extra_sample_args, .options = "--extra-sample-args",
     .placeholder = "ARGS", .group = "Sampling",
     .description = "options of a few samplers, schedules and guidances, such as order=3,s_noise=1.01"},
    {.name = "clip_skip", .member = &Request::clip_skip, .options = "--clip-skip", .placeholder = "N",
     .group = "Sampling", .description = "take the text encoder's layer this far from its end; 1 is the last",
     .absent = kModelDecides, .minimum = -1, .maximum = 64, .below_one_is_absent = true},
    {.name = "rng", .member = &Request::rng, .options = "--rng,--sampler-rng", .placeholder = "NAME",
     .group = "Sampling", .description = "whose random numbers the noise repeats: torch on a GPU or on the CPU",
     .choices = rngs, .choose = choose_rng},
    {.name = "prediction", .member = &Request::prediction, .options = "--prediction", .placeholder = "NAME",
     .group = "Sampling", .description = "what the network predicts: the noise (eps), the velocity (v), or as others are trained",
     .choices = prediction_names, .choose = choose_prediction, .other_names = "prediction_type"},

    {.name = "vae_tiling", .member = &Request::vae_tiling, .options = "--vae-tiling", .placeholder = "",
     .group = "Autoencoder",
     .description = "decode and encode in tiles, in less memory; done by itself where memory is too small otherwise",
     .other_names = "tiled_vae vae_tiling_params"},
    {.name = "vae_tile_size", .member = &Request::vae_tile_size, .options = "--vae-tile-size", .placeholder = "WxH",
     .group = "Autoencoder", .description = "size of a tile in latents (mostly 8 pixels each), from 8 on; one number is both",
     .absent = "64x64", .other_names = "tile_size"},
    {.name = "vae_relative_tile_size", .member = &Request::vae_relative_tile_size,
     .options = "--vae-relative-tile-size", .placeholder = "WxH", .group = "Autoencoder",
     .description = "in place of the size: a share of the picture's, up to 1, or beyond, how many tiles there are"},
    {.name = "vae_tile_overlap", .member = &Request::vae_tile_overlap, .options = "--vae-tile-overlap",
     .placeholder = "X", .group = "Autoencoder",
     .description = "how much of a tile its neighbour shares, where one fades into the other", .absent = "0.25",
     .minimum = 0, .maximum = 0.5, .other_names = "tile_overlap target_overlap"},

    {.name = "preview", .member = &Request::preview, .options = "--preview", .placeholder = "NAME", .group = "Previews",
     .description = "show the picture while it is painted: a quick guess at its colours (proj), or decoded by the tiny "
                    "autoencoder (tae) or by the model's own (vae)",
     .choices = preview_ways, .other_names = "preview_method live_preview", .role = FieldRole::kMachine},
    {.name = "preview_interval", .member = &Request::preview_interval, .options = "--preview-interval",
     .placeholder = "N", .group = "Previews", .description = "steps from one preview to the next", .minimum = 1,
     .maximum = 10000, .role = FieldRole::kMachine},
    {.name = "preview_noisy", .member = &Request::preview_noisy, .options = "--preview-noisy", .placeholder = "",
     .group = "Previews", .description = "show the noise that is left too, not what the model takes for the picture",
     .role = FieldRole::kMachine},

    {.name = "precision", .member = &Request::precision, .options = "--precision", .placeholder = "NAME",
     .group = "Machine", .description = "arithmetic of the network; auto takes bf16 where the processor has it",
     .choices = precisions, .other_names = "dtype"},
    {.name = "threads", .member = &Request::threads, .options = "-t,--threads", .placeholder = "N",
     .group = "Machine", .description = "threads; 0 takes every physical core", .minimum = -1, .maximum = 1000000,
     .other_names = "n_threads", .role = FieldRole::kMachine, .below_one_is_absent = true},
    {.name = "memory", .member = &Request::memory, .options = "--memory", .placeholder = "SIZE", .group = "Machine",
     .description = "memory the work may take, such as 8GiB; 0 takes what is free", .minimum = 0, .maximum = 1ll << 50,
     .other_names = "max_memory ram", .role = FieldRole::kMachine, .memory = true},
};
// clang-format on

/// Levenshtein distance: insertions, deletions and substitutions of one byte each.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Distance of an unknown name to a known one, small where one is a part of the other ("cfg" and "cfg_scale").
size_t name_distance(std::string_view unknown, std::string_view known) {
  const bool part = unknown.size() >= 3 && known.size() >= 3 &&
                    (known.find(unknown) != known.npos || unknown.find(known) != unknown.npos);
  return part ? 1 : edit_distance(unknown, known);
}

}  // namespace

std::span<const Field> request_fields() {
  return kFields;
}

const Field* find_field(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &Field::name);
  return found == std::end(kFields) ? nullptr : &*found;
}

std::string_view nearest_field(std::string_view unknown) {
  unknown = unknown.substr(0, 64);  // a hostile key must not cost time
  std::string_view best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  const auto consider = [&](std::string_view known, std::string_view field) {
    const size_t distance = name_distance(unknown, known);
    if (distance < best_distance) best = field, best_distance = distance;
  };
  for (const Field& field : kFields) {
    consider(field.name, field.name);
    for (std::string_view rest = field.other_names; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      consider(rest.substr(0, end), field.name);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return best;
}

}  // namespace gesso
