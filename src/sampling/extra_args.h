#pragma once
#include <string_view>
#include <vector>

#include "sampling/guidance.h"
#include "sampling/samplers.h"
#include "sampling/schedule.h"

namespace gesso {

/// What extra arguments are written to.
struct SamplingTargets {
  SamplerOptions& sampler;
  ScheduleOptions& schedule;
  GuidanceOptions& guidance;
};

/// An option of a few samplers, schedules or guidances: one row of a table.
struct ExtraArg {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view description;
  std::vector<std::string_view>
      users;  ///< names of the samplers, schedules and guidances that it has a meaning for; none: all
  void (*set)(const SamplingTargets& targets, std::string_view value);
};

const std::vector<ExtraArg>& extra_args();

/// An argument and the text of its value.
struct GivenArg {
  const ExtraArg* arg;
  std::string_view value;
};

/// Reads "order=3,s_noise=1.01". Throws kUsage for what is none, an unknown name (naming the known ones) or one given
/// twice. Values are read by apply_extra_args().
std::vector<GivenArg> parse_extra_args(std::string_view text);

/// Writes the arguments to where they belong. Throws kUsage for a value that is no number, and for an argument that has
/// no meaning for any of the three names.
void apply_extra_args(std::string_view text, std::string_view sampler, std::string_view schedule,
                      std::string_view guidance, const SamplingTargets& targets);

}  // namespace gesso
