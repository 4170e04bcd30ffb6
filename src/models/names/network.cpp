#include "models/names/network.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace gesso {
namespace {

/// A block's rest ("norm1.weight") cut into layer and parameter.
struct LayerName {
  std::string_view layer, parameter;
};

LayerName split_layer(std::string_view rest) {
  const size_t dot = rest.rfind('.');
  if (dot == std::string_view::npos) return {"", rest};
  return {rest.substr(0, dot), rest.substr(dot + 1)};
}

bool takes(const Leaf& leaf, std::string_view parameter) {
  return parameter == "weight" || (leaf.bias && parameter == "bias");
}

std::string join(std::string_view block, std::string_view layer, std::string_view parameter) {
  std::string name(block);
  name += layer;
  if (!layer.empty()) name += '.';
  name += parameter;
  return name;
}

/// `text` with its `#` (one at most) replaced.
std::string with_number(std::string_view text, std::optional<int> number) {
  const size_t at = text.find('#');
  if (at == std::string_view::npos || !number) return std::string(text);
  return std::string(text.substr(0, at)) + std::to_string(*number) + std::string(text.substr(at + 1));
}

std::optional<std::string> fill_slots(std::string_view to, const Numbers& numbers, const Slot& slot) {
  std::string text;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != '$' || i + 1 == to.size()) {
      text += to[i];
      continue;
    }
    const char key = to[++i];
    std::optional<int> value;
    if (key >= '1' && key <= '9') {
      const auto index = static_cast<size_t>(key - '1');
      if (index < numbers.size()) value = numbers[index];
    } else if (slot) {
      value = slot(key, numbers);
    }
    if (!value) return std::nullopt;
    text += std::to_string(*value);
  }
  return text;
}

/// A name of the grammar, taken apart.
struct Parsed {
  size_t site = 0;
  std::string block;          ///< "input_blocks.3.1."
  std::optional<int> number;  ///< of the layer's slot
  std::string pattern;        ///< of block and layer together
};

std::optional<Parsed> parse(std::span<const Site> sites, std::string_view name) {
  for (size_t i = 0; i < sites.size(); ++i) {
    const auto block = match_prefix(sites[i].pattern, name);
    if (!block) continue;
    const LayerName rest = split_layer(name.substr(*block));
    for (const Leaf& leaf : sites[i].leaves) {
      Numbers numbers;
      if (!takes(leaf, rest.parameter) || !match(leaf.ours, rest.layer, &numbers)) continue;
      return Parsed{i, std::string(name.substr(0, *block)),
                    numbers.empty() ? std::nullopt : std::optional(numbers.front()),
                    std::string(sites[i].pattern) + std::string(leaf.ours)};
    }
  }
  return std::nullopt;
}

/// The stacks of the names: what stands before a number, and the numbers that follow it.
using Stacks = std::map<std::string, std::set<int>>;

void add_stacks(std::string_view pattern, std::string_view text, Stacks& stacks) {
  for (size_t at = pattern.find('#'); at != std::string_view::npos; at = pattern.find('#', at + 1)) {
    const auto before = match_prefix(pattern.substr(0, at), text);
    Numbers numbers;
    if (before && match_prefix(pattern.substr(0, at + 1), text, &numbers))
      stacks[std::string(text.substr(0, *before))].insert(numbers.back());
  }
}

void add_gaps(const Stacks& stacks, std::vector<std::string>& missing) {
  for (const auto& [before, numbers] : stacks) {
    int expected = 0;
    for (const int number : numbers) {
      if (number != expected) break;
      ++expected;
    }
    if (static_cast<size_t>(expected) < numbers.size()) missing.push_back(before + std::to_string(expected) + ".*");
  }
}

/// A block that is there, and the numbers of its numbered layers.
using Blocks = std::map<std::pair<size_t, std::string>, std::set<int>>;

void add_missing_layers(const Site& site, const std::string& block, const std::set<int>& numbers,
                        const std::set<std::string>& names, std::vector<std::string>& missing) {
  const auto check = [&](const Leaf& leaf, std::optional<int> number) {
    const std::string layer = with_number(leaf.ours, number);
    const std::string weight = join(block, layer, "weight"), bias = join(block, layer, "bias");
    const bool has_weight = names.contains(weight), has_bias = names.contains(bias);
    if (leaf.optional && !has_weight && !has_bias) return;
    if (!has_weight) missing.push_back(weight);
    if (leaf.bias && !has_bias) missing.push_back(bias);
  };
  for (const Leaf& leaf : site.leaves) {
    if (leaf.ours.find('#') == std::string_view::npos) {
      check(leaf, std::nullopt);
    } else {
      for (const int number : numbers) check(leaf, number);
    }
  }
}

bool any_begins(const std::set<std::string>& names, std::string_view prefix) {
  const auto at = names.lower_bound(std::string(prefix));
  return at != names.end() && at->starts_with(prefix);
}

}  // namespace

std::vector<Placement> place_as_is(std::span<const Site> sites, std::string_view name) {
  if (!parse(sites, name)) return {};
  return {{.name = std::string(name)}};
}

std::vector<Placement> place_by_rules(std::span<const Rule> rules, std::string_view name, const Slot& slot) {
  for (const Rule& rule : rules) {
    Numbers numbers;
    const auto block = match_prefix(rule.from, name, &numbers);
    if (!block) continue;
    const LayerName rest = split_layer(name.substr(*block));
    for (const Leaf& leaf : rule.leaves) {
      Numbers layer_numbers;
      if (leaf.theirs.empty() && !leaf.ours.empty()) continue;
      if (!takes(leaf, rest.parameter) || !match(leaf.theirs, rest.layer, &layer_numbers)) continue;
      const auto to = fill_slots(rule.to, numbers, slot);
      if (!to) return {};
      const auto number = layer_numbers.empty() ? std::nullopt : std::optional(layer_numbers.front());
      return {{.name = join(*to, with_number(leaf.ours, number), rest.parameter)}};
    }
  }
  return {};
}

std::vector<Placement> place_fused(std::span<const Fused> rows, std::string_view name) {
  for (const Fused& row : rows) {
    Numbers numbers;
    const auto length = match_prefix(row.from, name, &numbers);
    if (!length) continue;
    const std::string_view parameter = name.substr(*length);
    const auto block = fill_slots(row.to, numbers, {});
    if ((parameter != "weight" && parameter != "bias") || !block) return {};
    int parts = 0;
    for (const Part& part : row.parts) parts += part.height;
    std::vector<Placement> placements;
    int first = 0;
    for (const Part& part : row.parts) {
      placements.push_back(
          {.name = join(*block, part.layer, parameter), .part = first, .parts = parts, .span = part.height});
      first += part.height;
    }
    return placements;
  }
  return {};
}

std::vector<Placement> place_renamed(std::string_view from, std::string_view to, std::string_view name) {
  Numbers numbers;
  if (!match(from, name, &numbers)) return {};
  const auto renamed = fill_slots(to, numbers, {});
  if (!renamed) return {};
  return {{.name = *renamed}};
}

bool is_sensitive(const Network& network, std::string_view name) {
  return std::ranges::any_of(network.sensitive, [&](std::string_view p) { return match_prefix(p, name).has_value(); });
}

std::vector<std::string> missing_names(const Network& network, const std::set<std::string>& names) {
  Stacks stacks;
  Blocks blocks;
  for (const std::string& name : names) {
    const auto parsed = parse(network.sites, name);
    if (!parsed) continue;
    std::set<int>& numbers = blocks[{parsed->site, parsed->block}];
    if (parsed->number) numbers.insert(*parsed->number);
    for (const Site& site : network.sites) add_stacks(site.pattern, name, stacks);
    add_stacks(parsed->pattern, name, stacks);  // the layers' own
  }
  for (size_t i = 0; i < network.sites.size(); ++i)
    if (const Site& site = network.sites[i]; !site.needed_with.empty() && any_begins(names, site.needed_with))
      blocks[{i, std::string(site.pattern)}];  // there or not, its layers are wanted
  std::vector<std::string> missing;
  for (const auto& [block, numbers] : blocks)
    add_missing_layers(network.sites[block.first], block.second, numbers, names, missing);
  add_gaps(stacks, missing);
  if (network.also_missing) std::ranges::move(network.also_missing(names), std::back_inserter(missing));
  return missing;
}

}  // namespace gesso
