#include "sampling/brownian_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sampling/noise.h"

namespace gesso {
namespace {

/// Rounded to six decimal places, by the exact decimal value as Python does: a node's halves meet there, so that a
/// neighbouring value would be another path.
double rounded(double value) {
  std::array<char, 400> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 6);
  std::from_chars(text.data(), written.ptr, value);
  return value;
}

void append_words(std::vector<uint32_t>& words, uint64_t value) {
  do {
    words.push_back(static_cast<uint32_t>(value));
    value >>= 32;
  } while (value != 0);
}

uint32_t folded(uint32_t value) {
  return value ^ (value >> 16);
}

/// A word scrambled with a constant that changes with every call.
class Hash {
 public:
  Hash(uint32_t start, uint32_t factor) : constant_(start), factor_(factor) {}
  uint32_t operator()(uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    return folded(value * constant_);
  }

 private:
  uint32_t constant_, factor_;
};

}  // namespace

std::vector<uint32_t> seed_sequence(uint64_t entropy, const std::vector<uint64_t>& spawn_key, size_t count) {
  constexpr size_t kPool = 24;
  std::vector<uint32_t> words;
  append_words(words, entropy);
  if (words.size() < kPool) words.resize(kPool, 0);
  for (uint64_t key : spawn_key) append_words(words, key);

  std::array<uint32_t, kPool> pool;
  Hash hash(0x43b0d7e5, 0x931e8875);
  const auto mix = [](uint32_t x, uint32_t y) { return folded(0xca01f9ddu * x - 0x4973f715u * y); };
  for (size_t i = 0; i < kPool; ++i) pool[i] = hash(words[i]);
  for (size_t from = 0; from < kPool; ++from)
    for (size_t to = 0; to < kPool; ++to)
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
  for (size_t from = kPool; from < words.size(); ++from)
    for (uint32_t& word : pool) word = mix(word, hash(words[from]));

  Hash output(0x8b51f9dd, 0x58f38ded);
  std::vector<uint32_t> state;
  for (size_t i = 0; i < count; ++i) state.push_back(output(pool[i % kPool]));
  return state;
}

BrownianTree::BrownianTree(const Latent& like, double low, double high, uint64_t seed) : zero_(like), seed_(seed) {
  std::fill(zero_.values.begin(), zero_.values.end(), 0.0f);
  Latent change = scaled(std::sqrt(high - low), normal(seed_sequence(seed, {}, 1)[0]));
  path_.push_back({rounded(static_cast<float>(low)), rounded(static_cast<float>(high)), zero_, std::move(change), 0});
}

Latent BrownianTree::normal(uint32_t seed) const {
  return noise_like(*find_noise_source("cpu").make(seed), zero_);
}

Latent BrownianTree::at(double sigma) {
  sigma = std::clamp(rounded(static_cast<float>(sigma)), path_.front().start, path_.front().end);
  while (path_.size() > 1 && (sigma < path_.back().start || sigma > path_.back().end)) path_.pop_back();
  for (;;) {
    const Node& node = path_.back();
    if (sigma == node.start) return node.before;
    if (sigma == node.end) return sum_of({{1, node.before}, {1, node.change}});
    const double middle = rounded((node.start + node.end) / 2), length = node.end - node.start;
    const uint32_t word = seed_sequence(seed_, {node.key, path_.size() - 1}, 1)[0];
    const double left = middle - node.start, right = node.end - middle;
    Latent first = sum_of({{left / length, node.change}, {std::sqrt(left * right / length), normal(word)}});
    if (sigma <= middle) {
      path_.push_back({node.start, middle, node.before, std::move(first), 2 * node.key});
    } else {
      Latent before = sum_of({{1, node.before}, {1, first}});
      path_.push_back({middle, node.end, std::move(before), sum_of({{1, node.change}, {-1, first}}), 2 * node.key + 1});
    }
  }
}

Latent BrownianTree::between(double from, double to) {
  const Latent start = at(from), end = at(to);
  const double length = std::abs(from - to);
  if (length == 0) return zero_;
  return weighted_sum(1 / std::sqrt(length), end, -1 / std::sqrt(length), start);
}

}  // namespace gesso
