#include "pipeline/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/prompt_schedule.h"

namespace gesso {
namespace {

class Planner {
 public:
  Planner(const Request& request, int steps)
      : editable_(prompt_syntax(request) == PromptSyntax::kA1111), steps_(std::max(1, steps)) {}

  size_t number_of(const std::string& text) {
    const size_t number = static_cast<size_t>(std::ranges::find(plan.texts, text) - plan.texts.begin());
    if (number == plan.texts.size()) plan.texts.push_back(text);
    return number;
  }

  PromptPlan::Steps steps_of(const std::string& text) {
    if (!editable_) return PromptPlan::Steps(static_cast<size_t>(steps_), number_of(text));
    const PromptSchedule schedule = schedule_prompt(text, steps_);
    std::vector<size_t> numbers;
    for (const std::string& one : schedule.texts) numbers.push_back(number_of(one));
    PromptPlan::Steps result;
    for (const size_t i : schedule.text_of_step) result.push_back(numbers[i]);
    return result;
  }

  std::vector<PromptPart> parts_of(const std::string& text) const {
    return editable_ ? split_prompt(text) : std::vector<PromptPart>{{text, 1}};
  }

  PromptPlan plan;

 private:
  bool editable_;
  int steps_;
};

/// "steps 1 to 10: a red house", a line for each stretch of one text.
void explain_steps(const PromptPlan& plan, const PromptPlan::Steps& steps, std::string& out) {
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    while (end < steps.size() && steps[end] == steps[begin]) ++end;
    fmt::format_to(std::back_inserter(out), "  {}: text {}: {}\n",
                   end == begin + 1 ? fmt::format("step {}", end) : fmt::format("steps {} to {}", begin + 1, end),
                   steps[begin] + 1, plan.texts[steps[begin]]);
    begin = end;
  }
}

}  // namespace

bool PromptPlan::cond_takes_uncond() const {
  double sum = 0;
  for (const Part& part : cond) sum += part.weight;
  return sum != 1;
}

PromptSyntax prompt_syntax(const Request& request) {
  return request.prompt_syntax == "comfyui" ? PromptSyntax::kComfyUi : PromptSyntax::kA1111;
}

PromptOptions prompt_options(const Request& r) {
  return {*r.clip_skip, *r.width, *r.height, *r.guidance, prompt_syntax(r)};
}

PromptPlan plan_prompts(const Request& request, const SamplingSetup& setup) {
  Planner planner(request, static_cast<int>(setup.sigmas.size()) - 1);
  for (const PromptPart& part : planner.parts_of(request.prompt))
    planner.plan.cond.push_back({planner.steps_of(part.text), part.weight});
  if (setup.takes(Branch::kUncond) || planner.plan.cond_takes_uncond())
    planner.plan.uncond = planner.steps_of(request.negative_prompt);
  if (setup.takes(Branch::kEmpty)) planner.plan.empty = planner.number_of("");
  return std::move(planner.plan);
}

std::string explain_prompts(const LatentDiffusion& model, const Request& request) {
  const PromptPlan plan = plan_prompts(request, sampling_setup(model, request));
  std::string out;
  for (size_t i = 0; i < plan.cond.size(); ++i) {
    out += plan.cond.size() == 1
               ? "prompt\n"
               : fmt::format("prompt, part {} of {}, weight {}\n", i + 1, plan.cond.size(), plan.cond[i].weight);
    explain_steps(plan, plan.cond[i].steps, out);
  }
  if (!plan.uncond.empty()) {
    out += "negative prompt\n";
    explain_steps(plan, plan.uncond, out);
  }
  for (size_t i = 0; i < plan.texts.size(); ++i)
    out +=
        fmt::format("\ntext {}: {}\n{}", i + 1, plan.texts[i], model.explain(plan.texts[i], prompt_options(request)));
  return out;
}

std::vector<TextLength> measure_prompt(const LatentDiffusion& model, const Request& request,
                                       const std::string& prompt) {
  Planner planner(request, *request.steps);
  for (const PromptPart& part : planner.parts_of(prompt)) (void)planner.steps_of(part.text);
  std::vector<TextLength> longest;
  for (const std::string& text : planner.plan.texts) {
    const std::vector<TextLength> lengths = model.measure(text, prompt_options(request));
    longest.resize(lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i)
      if (longest[i].room == 0 || lengths[i].tokens > longest[i].tokens) longest[i] = lengths[i];
  }
  return longest;
}

}  // namespace gesso
