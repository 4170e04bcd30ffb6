#pragma once
#include "models/names/network.h"

namespace gesso {

/// The encoder of T5, under transformers' names.
const Network& t5_network();

}  // namespace gesso
