#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// A prompt that changes while the picture is painted.
struct PromptSchedule {
  std::vector<std::string> texts;    ///< the different ones, in order of first use, in the grammar of parse_prompt
  std::vector<size_t> text_of_step;  ///< for each step, from the first, which of them holds
};

/// The most different texts that a prompt may have over its steps.
constexpr size_t kMaxScheduledTexts = 256;

/// Reads the prompt editing of the AUTOMATIC1111 web UI (its wiki, "Prompt editing" and "Alternating Words"; the step
/// lists of modules/prompt_parser.py) for a run of `steps` steps, 1 or more:
///   [from:to:when]   `from` in steps 1 to `when`, then `to`
///   [to:when]        nothing, then `to`
///   [from::when]     `from`, then nothing
///   [a|b|...]        a in step 1, b in step 2, ..., and again from the front
/// `when` with a decimal point is a share of the steps (0.5: half of them, rounded down), without one a number of
/// steps. What is inside may be edited again. Square brackets that fit none of these, and those with a round bracket
/// inside that is not closed, are text. (There, a | outside of square brackets, or a backslash at the end, makes all
/// of the prompt text, and beside brackets without a partner an edit now and then is text too. There, too, the first
/// text of an edit lasts a step longer than its wiki says; here it is as the wiki says.) Throws kUsage for more than
/// kMaxScheduledTexts texts, or edits nested more than 64 deep.
PromptSchedule schedule_prompt(std::string_view text, int steps);

/// A part of a prompt of several, and how strongly it counts.
struct PromptPart {
  std::string text;
  double weight = 1;
  bool operator==(const PromptPart&) const = default;
};

/// Splits at AND, a word in capitals, without blanks around; a part may end in its weight: "a cat :1.2 AND a dog :0.8"
/// (Liu et al. 2022, as in the web UI). A prompt without AND is one part of weight 1, whatever its end. Throws kUsage
/// for a weight that is no finite number and for more than kMaxScheduledTexts parts.
std::vector<PromptPart> split_prompt(std::string_view text);

}  // namespace gesso
