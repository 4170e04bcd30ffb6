#pragma once
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/names/network.h"

namespace gesso {

/// The names that the rows give some meaning to, with numbers from 0 to `most` in their slots. Throws
/// kUnsupported for numbers that would make too many of them.
std::vector<std::string> candidates(std::span<const Rule> rows, int most);
std::vector<std::string> candidates(std::span<const Fused> rows, int most);

/// The largest number that stands between dots in any of the names; 0 when there is none.
int largest_number(const std::set<std::string>& names);

/// Those of the candidates that `place` puts wholly among `ours`, with what they hold. Where two hold the same, the
/// first one counts. Their order is that of the candidates.
std::vector<Renamed> invert(const Place& place, const std::vector<std::string>& candidates,
                            const std::set<std::string>& ours);

/// Each name as itself.
std::vector<Renamed> same_names(const std::set<std::string>& ours);

}  // namespace gesso
