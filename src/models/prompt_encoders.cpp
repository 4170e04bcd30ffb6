#include "models/prompt_encoders.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/ops.h"
#include "text/emphasis.h"
#include "text/explain.h"

namespace gesso {
namespace {

ClipEncoder::Config config_of(const WeightStore& store, const ClipText::Traits& traits) {
  const std::string act = store.metadata("clip_hidden_act").value_or(traits.quick_gelu ? "quick_gelu" : "gelu");
  return {static_cast<int>(store.metadata_int(traits.heads_key, 0, 0, 4096)),
          act == "quick_gelu" ? Activation::kQuickGelu : Activation::kGelu};
}

bool is_weighted(std::span<const float> weights) {
  return std::ranges::any_of(weights, [](float w) { return w != 1.f; });
}

bool is_weighted(const std::vector<PromptChunk>& chunks) {
  return std::ranges::any_of(chunks, [](const PromptChunk& c) { return is_weighted(c.weights); });
}

}  // namespace

ClipText::ClipText(WeightStore& store, const Traits& traits)
    : traits_(traits), encoder_(WeightScope(store), config_of(store, traits)) {
  if (encoder_.tokens() != static_cast<int64_t>(PromptChunk::kLength))
    fail(ErrorCode::kBadFile, "the {} takes {} tokens where {} are wanted", traits.role, encoder_.tokens(),
         PromptChunk::kLength);
}

ClipText::States ClipText::encode(const ClipTokenizer& tokenizer, Device& device, DType compute, const Prompt& prompt,
                                  int clip_skip, bool pooled, Length length) const {
  std::vector<PromptChunk> chunks = chunk_prompt(tokenizer, prompt, {.pad = traits_.pad});
  if (length == Length::kFirstChunk) chunks.resize(1);
  const size_t used = chunks.size();
  const bool from_empty = prompt.syntax == PromptSyntax::kComfyUi && is_weighted(chunks);
  if (from_empty) chunks.push_back(chunk_prompt(tokenizer, {}, {.pad = traits_.pad})[0]);
  std::vector<int32_t> ids;
  std::vector<int> ends;
  for (const PromptChunk& chunk : chunks) {
    ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end());
    ends.push_back(chunk.eos);
  }
  // OpenCLIP-H files saved by transformers leave out the last of its 24 layers, which SD 2.x never uses.
  const bool trimmed = encoder_.layers() == 23;
  const auto output = encoder_(
      device, compute, ids, ends,
      {.skip = std::max(1, clip_skip - (trimmed ? 1 : 0)), .final_norm = traits_.final_norm, .pooled = pooled});
  std::vector<float> states = to_values(output.hidden);
  const size_t chunk_size = states.size() / chunks.size();
  const auto states_of = [&](size_t c) { return std::span(states).subspan(c * chunk_size, chunk_size); };
  for (size_t c = 0; c < used; ++c)
    if (from_empty)
      emphasise_from_empty(states_of(c), states_of(used), chunks[c].weights);
    else if (prompt.syntax == PromptSyntax::kA1111)
      emphasise(states_of(c), chunks[c].weights);
  states.resize(used * chunk_size);
  const auto tokens = static_cast<int64_t>(used * PromptChunk::kLength);
  return {from_values(device, states, {1, tokens, encoder_.width()}), pooled ? output.pooled.slice(0, 1) : Tensor()};
}

std::string ClipText::explain(const ClipTokenizer& tokenizer, const Prompt& prompt) const {
  return fmt::format("{}\n{}", traits_.role, explain_prompt(tokenizer, prompt, {.pad = traits_.pad}));
}

TextLength ClipText::measure(const ClipTokenizer& tokenizer, const Prompt& prompt) const {
  TextLength length{.encoder = traits_.role, .room = PromptChunk::kRoom, .chunks = 0};
  for (const PromptChunk& chunk : chunk_prompt(tokenizer, prompt, {.pad = traits_.pad})) {
    length.tokens += static_cast<size_t>(chunk.tokens);
    ++length.chunks;
  }
  return length;
}

T5Text::T5Text(WeightStore& store) : tokenizer_(t5_vocabulary()), encoder_(WeightScope(store)) {}

Tensor T5Text::encode(Device& device, DType compute, const Prompt& prompt, size_t tokens, std::string& notice) const {
  auto [ids, weights] = weighted_ids(tokenizer_, prompt);
  if (ids.size() + 1 > tokens) {
    notice = fmt::format("the prompt has {} tokens for T5, of which the first {} are used", ids.size(), tokens - 1);
    ids.resize(tokens - 1);
  }
  ids.push_back(UnigramTokenizer::kEos);
  ids.resize(tokens, UnigramTokenizer::kPad);
  weights.resize(std::min(weights.size(), tokens - 1));
  weights.resize(tokens, 1.f);
  std::vector<float> states = to_values(encoder_(device, compute, ids));
  if (prompt.syntax == PromptSyntax::kA1111) {
    emphasise(states, weights);
  } else if (is_weighted(weights)) {
    std::vector<int32_t> none(tokens, UnigramTokenizer::kPad);
    none[0] = UnigramTokenizer::kEos;
    emphasise_from_empty(states, to_values(encoder_(device, compute, none)), weights);
  }
  return from_values(device, states, {1, static_cast<int64_t>(tokens), encoder_.width()});
}

std::string T5Text::explain(const Prompt& prompt, size_t tokens) const {
  return "t5\n" + explain_prompt(tokenizer_, prompt, tokens);
}

TextLength T5Text::measure(const Prompt& prompt, size_t tokens) const {
  return {.encoder = "t5", .tokens = weighted_ids(tokenizer_, prompt).ids.size(), .room = tokens - 1};
}

}  // namespace gesso
