#pragma once
#include "sampling/samplers.h"

namespace gesso {

/// Adds the noise that s_churn asks for before step i, and gives the sigma the latent then has (Karras et al. 2022,
/// algorithm 2). Without s_churn it draws nothing.
double churn(const SamplerContext& context, Latent& x, int i);

}  // namespace gesso
