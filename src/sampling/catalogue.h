#pragma once
#include <string>

namespace gesso {

/// docs/samplers.md: the tables of samplers, schedules, predictions, guidances, noise and extra arguments, as Markdown.
std::string sampling_catalogue();

}  // namespace gesso
