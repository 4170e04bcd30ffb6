#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// The longest prompt that is accepted, in bytes.
constexpr size_t kMaxPromptBytes = size_t{64} << 10;

/// Text whose tokens are weighted alike. The weight may be 0 or negative; it is always finite.
struct WeightedSegment {
  std::string text;
  float weight = 1;
  bool operator==(const WeightedSegment&) const = default;
};

/// A LoRA asked for in the prompt: <lora:name:w> sets both weights, <lora:name:w:w2> that of the text encoder and that
/// of the diffusion model, <lora:name> means 1.
struct LoraTag {
  std::string name;
  float text_encoder_weight = 1;
  float model_weight = 1;
  bool operator==(const LoraTag&) const = default;
};

/// Whose reading of brackets and weights a prompt has; what is made of the weights goes with it (text/emphasis.h).
enum class PromptSyntax { kA1111, kComfyUi };

/// A prompt as read: what BREAK separates (n BREAKs make n + 1 sections, each possibly empty), and the LoRA tags,
/// which are in no section's text.
struct Prompt {
  std::vector<std::vector<WeightedSegment>> sections{1};
  std::vector<LoraTag> loras;
  PromptSyntax syntax = PromptSyntax::kA1111;
  bool operator==(const Prompt&) const = default;
};

/// Reads the prompt grammar of the AUTOMATIC1111 web UI:
///   (x)        weight 1.1              [x]   weight 1/1.1; nested, weights multiply
///   (x:1.3)    that weight instead; a decimal number with a sign at most, 0 and negatives too
///   \( \) \[ \] \\   the character itself; any other backslash is dropped
///   BREAK      as a word in capitals, ends a section; white space around it is dropped
///   <lora:name:w[:w2]>   see LoraTag; "lyco" and capitals are read alike; the weights default to 1
/// What fits nothing of this is text: braces, a closing bracket too many, "[cat:0]"'s colon and number. Prompt editing
/// and AND are resolved before (text/prompt_schedule.h). A bracket left open is closed at the end. Neighbours of equal
/// weight are one segment; none is empty. Invalid UTF-8 becomes U+FFFD. Throws kUsage for more than kMaxPromptBytes,
/// for a weight that is no finite number, and for a malformed LoRA tag.
///
/// ComfyUI's grammar is smaller (its token_weights): (x) multiplies by 1.1, (x:1.3) is the weight 1.3 whatever is
/// around it, \( and \) are brackets; all else, square brackets, BREAK and backslashes too, is text in one section.
Prompt parse_prompt(std::string_view text, PromptSyntax syntax = PromptSyntax::kA1111);

/// A prompt text that parse_prompt reads as `prompt`, for any prompt in A1111's syntax that it returned.
std::string print_prompt(const Prompt& prompt);

}  // namespace gesso
