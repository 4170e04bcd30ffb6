#include "models/names/tiny_vae.h"

namespace gesso {
namespace {

constexpr Leaf kEnds[] = {{"", "conv_in"}, {"", "conv_out"}};
constexpr Leaf kConvolutions[] = {{"conv.0", "conv.0"}, {"conv.2", "conv.1"}, {"conv.4", "conv.2"}};
constexpr Leaf kResample[] = {{.theirs = "", .ours = "", .bias = false}};

constexpr Site kSites[] = {
    {"encoder.", kEnds, "encoder."},
    {"encoder.level.#.block.#.", kConvolutions},
    {"encoder.level.#.resample.", kResample},
    {"decoder.", kEnds, "decoder."},
    {"decoder.level.#.block.#.", kConvolutions},
    {"decoder.level.#.resample.", kResample},
};

constexpr int kLevels = 4;

/// Blocks of a level: the finest one has a single block.
constexpr int blocks_of(bool decoder, int level) {
  return level == (decoder ? kLevels - 1 : 0) ? 1 : 3;
}
/// Whether a level has a convolution between it and its finer neighbour.
constexpr bool resamples(bool decoder, int level) {
  return level != (decoder ? kLevels - 1 : 0);
}

struct Layer {
  std::string name;  ///< ours: "decoder.level.0.block.2."
  enum class Kind { kConvolution, kBlock, kWithoutBias } kind = Kind::kConvolution;
};

/// The numbered layers of a side in the order of madebyollin's nn.Sequential; nothing where it has no weights.
std::vector<std::optional<Layer>> layers_of(bool decoder) {
  const std::string side = decoder ? "decoder." : "encoder.";
  std::vector<std::optional<Layer>> layers;
  if (decoder) layers.emplace_back();  // the clamp
  layers.push_back(Layer{side + "conv_in."});
  if (decoder) layers.emplace_back();  // the activation
  for (int level = 0; level < kLevels; ++level) {
    const std::string place = side + "level." + std::to_string(level) + ".";
    const auto resample = [&] {
      if (decoder) layers.emplace_back();  // nearest neighbours, twice the size
      layers.push_back(Layer{place + "resample.", Layer::Kind::kWithoutBias});
    };
    if (!decoder && resamples(decoder, level)) resample();
    for (int block = 0; block < blocks_of(decoder, level); ++block)
      layers.push_back(Layer{place + "block." + std::to_string(block) + ".", Layer::Kind::kBlock});
    if (decoder && resamples(decoder, level)) resample();
  }
  layers.push_back(Layer{side + "conv_out."});
  return layers;
}

/// The placement of a numbered layer's parameter: `name` is "3.conv.0.weight", `first` what layer 0 is called.
std::vector<Placement> place_numbered(const std::vector<std::optional<Layer>>& layers, int first,
                                      std::string_view name) {
  Numbers numbers;
  const auto covered = match_prefix("#.", name, &numbers);
  if (!covered) return {};
  const int index = numbers.front() - first;
  if (index < 0 || index >= static_cast<int>(layers.size()) || !layers[static_cast<size_t>(index)]) return {};
  const Layer& layer = *layers[static_cast<size_t>(index)];
  const std::string_view parameter = name.substr(*covered);
  switch (layer.kind) {
    case Layer::Kind::kConvolution:
      if (parameter == "weight" || parameter == "bias") return {{.name = layer.name + std::string(parameter)}};
      return {};
    case Layer::Kind::kWithoutBias:
      if (parameter == "weight") return {{.name = layer.name + "weight"}};
      return {};
    case Layer::Kind::kBlock:
      for (const Leaf& leaf : kConvolutions)
        for (const char* last : {".weight", ".bias"})
          if (parameter == std::string(leaf.theirs) + last)
            return {{.name = layer.name + std::string(leaf.ours) + last}};
      return {};
  }
  return {};
}

/// Names with a side before the number. diffusers does not count the clamp.
Place sides(std::string prefix, std::string between, int decoder_first) {
  return [prefix = std::move(prefix), between = std::move(between), decoder_first, encoder = layers_of(false),
          decoder = layers_of(true)](std::string_view name) -> std::vector<Placement> {
    if (!name.starts_with(prefix)) return {};
    name.remove_prefix(prefix.size());
    for (const bool is_decoder : {false, true}) {
      const std::string side = (is_decoder ? "decoder." : "encoder.") + between;
      if (name.starts_with(side))
        return place_numbered(is_decoder ? decoder : encoder, is_decoder ? decoder_first : 0, name.substr(side.size()));
    }
    return {};
  };
}

template <bool kDecoder>
Place one_side(const Names&) {
  return [layers = layers_of(kDecoder)](std::string_view name) { return place_numbered(layers, 0, name); };
}
Place both_sides(const Names&) {
  return sides("", "", 0);
}
Place comfy_sides(const Names&) {
  return sides("taesd_", "", 0);
}
Place diffusers_sides(const Names&) {
  return sides("", "layers.", -1);
}
Place as_is(const Names&) {
  return [](std::string_view name) { return place_as_is(kSites, name); };
}

/// What the sites cannot say: how many levels and blocks there must be.
std::vector<std::string> missing_layers(const std::set<std::string>& names) {
  std::vector<std::string> missing;
  for (const bool decoder : {false, true}) {
    const std::string side = decoder ? "decoder." : "encoder.";
    const auto at = names.lower_bound(side);
    if (at == names.end() || !at->starts_with(side)) continue;
    for (const auto& layer : layers_of(decoder)) {
      if (!layer || layer->kind == Layer::Kind::kConvolution) continue;
      const std::string first = layer->name + (layer->kind == Layer::Kind::kBlock ? "conv.0.weight" : "weight");
      if (!names.contains(first)) missing.push_back(layer->name + "*");
    }
  }
  return missing;
}

}  // namespace

const Network& tiny_vae_network() {
  static const Network network{
      .name = "tiny autoencoder",
      .sites = kSites,
      .namings = {{"Gesso", {"decoder.level.0.block.0.conv.0.weight"}, as_is},
                  {"Gesso", {"encoder.level.0.block.0.conv.0.weight"}, as_is},
                  {"diffusers", {"decoder.layers.2.conv.0.weight"}, diffusers_sides},
                  {"diffusers", {"encoder.layers.1.conv.0.weight"}, diffusers_sides},
                  {"ComfyUI", {"taesd_decoder.3.conv.0.weight"}, comfy_sides},
                  {"ComfyUI", {"taesd_encoder.1.conv.0.weight"}, comfy_sides},
                  {"TAESD", {"decoder.1.weight", "decoder.3.conv.0.weight"}, both_sides},
                  {"TAESD", {"encoder.0.weight", "encoder.1.conv.0.weight"}, both_sides},
                  {"TAESD", {"1.weight", "3.conv.0.weight"}, one_side<true>},
                  {"TAESD", {"0.weight", "1.conv.0.weight"}, one_side<false>}},
      .also_missing = missing_layers,
      // all of it: it is small, and its errors are seen as they are
      .sensitive = {""},
  };
  return network;
}

}  // namespace gesso
