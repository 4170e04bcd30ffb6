#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace gesso {

/// What a user asks for. The table in request_fields.cpp holds each field's name, range, default and description; the
/// JSON schema, the checks, the command line's options and help are derived from it. An absent optional means that the
/// model's family decides; the engine fills it in and hands the resolved request back.
struct Request {
  // model files: UTF-8 paths, empty when not given
  std::string model;
  std::string diffusion_model;
  std::string vae;
  std::string taesd;                ///< tiny autoencoder
  bool taesd_preview_only = false;  ///< it paints previews, not the picture
  std::string clip_l;
  std::string clip_g;
  std::string clip_h;
  std::string t5xxl;

  std::string prompt;
  std::string negative_prompt;
  std::string prompt_syntax = "a1111";  ///< or "comfyui": whose reading of weights

  std::optional<int> width;   ///< pixels
  std::optional<int> height;  ///< pixels
  int64_t seed = 42;          ///< negative: drawn at random, see resolve_seed()
  int64_t subseed = -1;       ///< of a variation; negative: drawn at random
  std::optional<double> subseed_strength;
  int batch_count = 1;      ///< picture k has the seed `seed + k`; see seeds_of()
  bool circular_x = false;  ///< the right border goes on at the left one
  bool circular_y = false;  ///< the lower border goes on at the upper one

  std::string init_image;                  ///< UTF-8 path of the picture to paint over
  std::string mask_image;                  ///< UTF-8 path; white is painted anew
  std::string mask_channel = "luminance";  ///< or "alpha": what is transparent is painted anew
  bool mask_invert = false;                ///< black is painted anew
  int mask_blur = 4;                       ///< pixels over which the mask's edge is softened inwards
  std::string inpaint_area = "whole";
  int inpaint_padding = 32;  ///< pixels around the mask that are painted along, for inpaint_area "masked"
  std::string resize_mode = "fill";
  /// Pixels of the picture by which it is continued on each side; the new part is painted as if it were masked.
  int outpaint_left = 0, outpaint_top = 0, outpaint_right = 0, outpaint_bottom = 0;
  std::optional<double> strength;

  std::optional<int> steps;
  std::optional<double> cfg_scale;
  std::optional<double> guidance;  ///< distilled guidance
  std::optional<std::string> sampling_method;
  std::optional<std::string> scheduler;
  std::string sigmas;  ///< in place of steps and scheduler: falling numbers apart by commas
  std::optional<double> eta;
  std::optional<double> flow_shift;
  std::string guidance_method = "cfg";
  std::optional<double> guidance_rescale;
  std::optional<double> guidance_start, guidance_end;  ///< shares of the steps
  std::string extra_sample_args;                       ///< "name=value,..."; see sampling/extra_args.h
  std::optional<int> clip_skip;                        ///< 1: the encoder's last layer
  std::string rng = "cuda";
  std::string prediction = "auto";

  std::string wildcards;    ///< UTF-8 path of a folder; see pipeline/wildcards.h
  std::string grid;         ///< see pipeline/grid.h; empty: none
  bool grid_cells = false;  ///< hand the pictures of a grid back too

  bool vae_tiling = false;             ///< the autoencoder works in tiles
  std::string vae_tile_size;           ///< "WxH" in latents; see pipeline/tiling.h
  std::string vae_relative_tile_size;  ///< "WxH": shares of the picture, or how many tiles
  std::optional<double> vae_tile_overlap;

  std::string preview = "none";  ///< see pipeline/preview.h
  int preview_interval = 1;      ///< steps
  bool preview_noisy = false;

  bool metadata = true;  ///< write the recipe into the picture

  std::string precision = "auto";
  int threads = 0;     ///< 0: every physical core
  int64_t memory = 0;  ///< bytes that weights, activations and decoding may take together; 0: what is free
};

/// Whether the picture is continued on any side.
inline bool outpaints(const Request& r) {
  return r.outpaint_left + r.outpaint_top + r.outpaint_right + r.outpaint_bottom > 0;
}

/// The largest request document, in bytes.
inline constexpr size_t kRequestLimit = size_t{1} << 20;

/// Parses and checks a JSON document. Throws kUsage naming the field, the wanted range and the value found; for an
/// unknown field, the nearest known one; for a document that is not JSON, too large or too deep, what is wrong where.
Request parse_request(std::string_view json);

/// Checks a JSON object that is already parsed. Throws as parse_request does.
Request request_from_json(const Json& document);

/// Every field that is set, in the order of the table; request_from_json(request_to_json(r)) equals r.
Json request_to_json(const Request& request);

/// The request that repeats picture `index` of a resolved request alone: its own seed, batch_count 1, files by their
/// base names, and nothing of the machine (threads, memory). This is what a picture carries inside.
Json recipe_to_json(const Request& resolved, int index);

/// The seeds of one picture's noise.
struct Seeds {
  Seeds(int64_t main, int64_t of_variation = 0) : seed(main), subseed(of_variation) {}  // NOLINT: one is usual
  int64_t seed, subseed;
};

/// Those of picture `index` of a resolved request: its seed is `index` more than the request's, or, in variations of
/// one picture, its subseed is.
Seeds seeds_of(const Request& resolved, int index);

/// The seed itself, or, when it is negative, a random one in [0, 2^32).
int64_t resolve_seed(int64_t seed);

/// The JSON schema (draft 2020-12) of a request. The extension "x-cli" of a property holds what the command line needs:
/// option names, placeholder, group, and whether the short help shows it.
const Json& request_schema();

/// Bytes of "8GiB", "800 MB", "6G" (binary, as GiB) or "1000000"; nullopt when the text is no amount of memory.
std::optional<int64_t> parse_memory(std::string_view text);

}  // namespace gesso
