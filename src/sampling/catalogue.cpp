#include "sampling/catalogue.h"

#include <fmt/ranges.h>

#include "sampling/extra_args.h"
#include "sampling/guidance.h"
#include "sampling/noise.h"
#include "sampling/prediction.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"

namespace gesso {
namespace {

/// A cell's text: other names, or nothing.
std::string listed(const std::vector<std::string_view>& names) {
  return names.empty() ? "" : fmt::format("`{}`", fmt::join(names, "`, `"));
}

std::string evaluations_of(const Sampler& sampler) {
  if (sampler.adaptive) return "as needed";
  std::string text = fmt::format("{}", sampler.evaluations_per_step);
  if (sampler.extra_evaluations > 0) text += fmt::format(", first step {} more", sampler.extra_evaluations);
  return text;
}

std::string remarks_of(const Sampler& sampler) {
  std::vector<std::string> remarks;
  if (sampler.takes_eta) remarks.push_back(fmt::format("eta {}", sampler.eta));
  if (sampler.eta > 0) remarks.push_back("random");
  if (sampler.needs_uncond) remarks.push_back("evaluates the negative prompt at any CFG scale");
  if (!sampler.schedule.empty()) remarks.push_back(fmt::format("made for `{}`", sampler.schedule));
  return fmt::format("{}", fmt::join(remarks, "; "));
}

std::string_view models_of(ScheduleFor models) {
  switch (models) {
    case ScheduleFor::kDiffusion:
      return "no flow models";
    case ScheduleFor::kFlow:
      return "flow models";
    default:
      return "all";
  }
}

template <typename Row>
void append_plain(std::string& text, std::string_view heading, const std::vector<Row>& rows) {
  text += fmt::format("\n## {}\n\n| name | also called | |\n| --- | --- | --- |\n", heading);
  for (const Row& row : rows)
    text += fmt::format("| `{}` | {} | {} |\n", row.name, listed(row.aliases), row.description);
}

}  // namespace

std::string sampling_catalogue() {
  std::string text =
      "# Samplers, schedules, guidance\n\n"
      "Made from the program's own tables. Names may be written as other programs do: letter case, spaces, `_`, `-` "
      "and\n"
      "`++` for `pp` make no difference, and a sampler may be followed by a schedule: `DPM++ 2M Karras`.\n"
      "\n## Samplers\n\n"
      "Evaluations are of the network, per step; a step to sigma 0 takes one. The eta named is what an absent one "
      "means.\n"
      "\n| name | also called | | evaluations | |\n| --- | --- | --- | --- | --- |\n";
  for (const Sampler& row : samplers())
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, listed(row.aliases), row.description,
                        evaluations_of(row), remarks_of(row));
  text +=
      "\n## Schedules\n\nAs many steps as asked for, except that `ddim_uniform` can take more and `beta` fewer.\n"
      "\n| name | also called | | for |\n| --- | --- | --- | --- |\n";
  for (const Schedule& row : schedules())
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", row.name, listed(row.aliases), row.description, models_of(row.models));
  append_plain(text, "Predictions", predictions());
  append_plain(text, "Guidance", guidances());
  append_plain(text, "Noise", noise_sources());
  text +=
      "\n## Extra arguments\n\n`--extra-sample-args name=value,name=value`\n\n| name | also called | | for |\n"
      "| --- | --- | --- | --- |\n";
  for (const ExtraArg& row : extra_args())
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, listed(row.aliases), row.description,
                        row.users.empty() ? "all" : listed(row.users));
  return text;
}

}  // namespace gesso
