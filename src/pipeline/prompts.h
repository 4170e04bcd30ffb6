#pragma once
#include <optional>
#include <string>
#include <vector>

#include "models/latent_diffusion.h"
#include "pipeline/sampling_setup.h"

namespace gesso {

/// What the prompts of a request say at each step of its run. Texts are numbered: each is encoded once, however many
/// steps and parts it stands in.
struct PromptPlan {
  /// The text of each step, from the first that runs; at least one.
  using Steps = std::vector<size_t>;
  struct Part {
    Steps steps;
    double weight = 1;
  };
  std::vector<std::string> texts;  ///< in the grammar of parse_prompt
  std::vector<Part> cond;          ///< one, or those of AND
  Steps uncond;                    ///< empty when no evaluation takes it
  std::optional<size_t> empty;     ///< the empty prompt, where the guidance asks for it

  /// Whether the prompt's output takes that of the negative prompt too: parts whose weights do not add to 1.
  bool cond_takes_uncond() const;
};

/// Prompt editing and AND as in text/prompt_schedule.h; in ComfyUI's syntax a prompt is one text. The negative prompt
/// may be edited, and AND is text there. Throws kUsage as that does.
PromptPlan plan_prompts(const Request& resolved, const SamplingSetup& setup);

PromptSyntax prompt_syntax(const Request& request);
PromptOptions prompt_options(const Request& resolved);

/// How the prompts are read, for a person: which text holds in which steps, and how the model's encoders read each.
std::string explain_prompts(const LatentDiffusion& model, const Request& resolved);

/// How long a prompt is for each text encoder: of its texts, the longest. The negative prompt is no different.
std::vector<TextLength> measure_prompt(const LatentDiffusion& model, const Request& resolved,
                                       const std::string& prompt);

}  // namespace gesso
