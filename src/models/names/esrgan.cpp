#include "models/names/esrgan.h"

#include <fmt/format.h>

namespace gesso {
namespace {

constexpr Leaf kSingle[] = {{"", ""}};
constexpr Leaf kSlope[] = {{"", "", false}};
constexpr Leaf kBlock[] = {
    {"rdb1.conv1", "rdb1.conv1"},
    {"rdb1.conv2", "rdb1.conv2"},
    {"rdb1.conv3", "rdb1.conv3"},
    {"rdb1.conv4", "rdb1.conv4"},
    {"rdb1.conv5", "rdb1.conv5"},
    {"rdb2.conv1", "rdb2.conv1"},
    {"rdb2.conv2", "rdb2.conv2"},
    {"rdb2.conv3", "rdb2.conv3"},
    {"rdb2.conv4", "rdb2.conv4"},
    {"rdb2.conv5", "rdb2.conv5"},
    {"rdb3.conv1", "rdb3.conv1"},
    {"rdb3.conv2", "rdb3.conv2"},
    {"rdb3.conv3", "rdb3.conv3"},
    {"rdb3.conv4", "rdb3.conv4"},
    {"rdb3.conv5", "rdb3.conv5"},
    {.theirs = "rdb1.conv1x1", .ours = "rdb1.conv1x1", .bias = false, .optional = true},
    {.theirs = "rdb2.conv1x1", .ours = "rdb2.conv1x1", .bias = false, .optional = true},
    {.theirs = "rdb3.conv1x1", .ours = "rdb3.conv1x1", .bias = false, .optional = true},
};

// BasicSR's networks double at least twice, whatever their scale.
constexpr Site kSites[] = {
    {"conv_first.", kSingle, "body."}, {"body.#.", kBlock},
    {"conv_body.", kSingle, "body."},  {"conv_up1.", kSingle, "body."},
    {"conv_up2.", kSingle, "body."},   {"conv_up3.", kSingle},
    {"conv_hr.", kSingle, "body."},    {"conv_last.", kSingle, "body."},
};
constexpr Site kOldSites[] = {
    {"conv_first.", kSingle, "body."}, {"body.#.", kBlock},
    {"conv_body.", kSingle, "body."},  {"conv_up+.", kSingle},
    {"conv_hr.", kSingle, "body."},    {"conv_last.", kSingle, "body."},
};
constexpr Site kCompactSites[] = {{"convs.#.", kSingle}, {"slopes.#.", kSlope}};

Place as_is(const Names&) {
  return [](std::string_view name) { return place_as_is(kSites, name); };
}

/// The layer that is number `n` of the old sequence, whose last is number `last`: 0, the body (1), for each doubling
/// three of which the second is a layer with weights, then two layers with one without weights between.
std::string layer_of(int n, int last) {
  if (n == 0) return "conv_first";
  if (n == last) return "conv_last";
  if (n == last - 2) return "conv_hr";
  return n > 1 && n % 3 == 0 ? fmt::format("conv_up{}", n / 3) : "";
}

Place from_old(const Names& names) {
  const int last = names.count("model.#.", 0) - 1;
  return [last](std::string_view name) -> std::vector<Placement> {
    constexpr std::string_view kBlocks[][2] = {
        {"model.1.sub.#.RDB#.conv#.0.weight", "body.$1.rdb$2.conv$3.weight"},
        {"model.1.sub.#.RDB#.conv#.0.bias", "body.$1.rdb$2.conv$3.bias"},
        {"model.1.sub.#.RDB#.conv1x1.weight", "body.$1.rdb$2.conv1x1.weight"},
        {"model.1.sub.#.weight", "conv_body.weight"},  // behind the blocks, in their sequence
        {"model.1.sub.#.bias", "conv_body.bias"},
    };
    for (const auto& [from, to] : kBlocks)
      if (auto placed = place_renamed(from, to, name); !placed.empty()) return placed;
    Numbers numbers;
    const auto block = match_prefix("model.#.", name, &numbers);
    if (!block || (last - 4) % 3 != 0) return {};
    const std::string layer = layer_of(numbers.front(), last);
    const std::string_view parameter = name.substr(*block);
    if (layer.empty() || (parameter != "weight" && parameter != "bias")) return {};
    return {{.name = fmt::format("{}.{}", layer, parameter)}};
  };
}

Place from_compact(const Names&) {
  return [](std::string_view name) -> std::vector<Placement> {
    Numbers numbers;
    const auto block = match_prefix("body.#.", name, &numbers);
    if (!block) return {};
    const std::string_view parameter = name.substr(*block);
    const bool slope = numbers.front() % 2 == 1;
    if (parameter != "weight" && (slope || parameter != "bias")) return {};
    return {{.name = fmt::format("{}.{}.{}", slope ? "slopes" : "convs", numbers.front() / 2, parameter)}};
  };
}

/// Slopes stand between convolutions, so that the last layer is a convolution.
std::vector<std::string> missing_of_compact(const std::set<std::string>& names) {
  int slopes = 0;
  while (names.contains(fmt::format("slopes.{}.weight", slopes))) ++slopes;
  std::vector<std::string> missing;
  if (!names.contains(fmt::format("convs.{}.weight", slopes)))
    missing.push_back(fmt::format("convs.{}.weight", slopes));
  if (names.contains(fmt::format("convs.{}.weight", slopes + 1)))
    missing.push_back(fmt::format("slopes.{}.weight", slopes));
  return missing;
}

}  // namespace

const Network& rrdb_network() {
  static const Network network{
      .name = "RRDBNet",
      .sites = kSites,
      .namings = {{"Real-ESRGAN", {"conv_first.weight", "body.#.rdb1.conv1.weight"}, as_is}},
      .sensitive = {"conv_first.", "conv_last."},
  };
  return network;
}

const Network& old_rrdb_network() {
  static const Network network{
      .name = "RRDBNet",
      .sites = kOldSites,
      .namings = {{"ESRGAN", {"model.0.weight", "model.1.sub.#.RDB1.conv1.0.weight"}, from_old}},
      .sensitive = {"conv_first.", "conv_last."},
  };
  return network;
}

const Network& compact_network() {
  static const Network network{
      .name = "SRVGGNetCompact",
      .sites = kCompactSites,
      .namings = {{"SRVGGNetCompact", {"body.0.weight", "body.1.weight", "body.2.weight"}, from_compact}},
      .also_missing = missing_of_compact,
  };
  return network;
}

}  // namespace gesso
