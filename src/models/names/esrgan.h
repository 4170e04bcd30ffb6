#pragma once
#include "models/names/network.h"

namespace gesso {

/// ESRGAN's generator in the names of BasicSR, which are ours.
const Network& rrdb_network();
/// The same in the names of the first release, which number the layers of one long sequence.
const Network& old_rrdb_network();
/// SRVGGNetCompact: convs.k and slopes.k are every second layer of its sequence.
const Network& compact_network();

}  // namespace gesso
