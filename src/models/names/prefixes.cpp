#include "models/names/prefixes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/names/pattern.h"

namespace gesso {
namespace {

// `*` stands for one part of a name (no dots). Longer prefixes before those they begin with.
constexpr std::string_view kPrefixes[] = {
    "model.diffusion_model.",
    "diffusion_model.",
    "control_model.",
    "first_stage_model.",
    "cond_stage_model.transformer.",
    "cond_stage_model.model.",
    "conditioner.embedders.#.transformer.",
    "conditioner.embedders.#.model.",
    "text_encoders.*.transformer.",
    "text_encoders.*.",
    "text_encoder_2.",
    "text_encoder_3.",
    "text_encoder.",
    "depth_model.model.",
    "audio_vae.",
    "vae.",
    "unet.",
    "transformer.",
    "te1.",
    "te2.",
    "te.",
    "clip_l.",
    "clip_g.",
    "net.",
    "module.",
    "params_ema.",
    "params.",
    "model.",
    "",
};

/// How long the prefix is in this name.
std::optional<size_t> prefix_length(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return match_prefix(pattern, name);
  const auto before = match_prefix(pattern.substr(0, star), name);
  if (!before) return std::nullopt;
  const size_t dot = name.find('.', *before);
  if (dot == std::string_view::npos || dot == *before) return std::nullopt;
  const auto after = match_prefix(pattern.substr(star + 1), name.substr(dot));
  return after ? std::optional(dot + *after) : std::nullopt;
}

}  // namespace

std::vector<std::string> prefixes_of(const std::vector<std::string_view>& names) {
  std::set<std::pair<size_t, std::string>> found;
  constexpr size_t kMost = 64;  // a file with more is made up; the rest of it is reported as unknown
  for (const std::string_view name : names)
    for (size_t i = 0; i < std::size(kPrefixes) && found.size() < kMost; ++i)
      if (const auto length = prefix_length(kPrefixes[i], name)) found.emplace(i, name.substr(0, *length));
  found.emplace(std::size(kPrefixes) - 1, "");
  std::vector<std::string> prefixes;
  for (const auto& [order, prefix] : found) prefixes.push_back(prefix);
  return prefixes;
}

}  // namespace gesso
