#pragma once
#include "sampling/guidance.h"

namespace gesso {

// The functions of the table of guidances that have a file of their own.

Latent apg_combine(const GuidanceOptions& options, const GuidanceStep& step);
std::vector<Branch> perp_neg_branches(const GuidanceOptions& options, double scale);
Latent perp_neg_combine(const GuidanceOptions& options, const GuidanceStep& step);
Latent thresholding_combine(const GuidanceOptions& options, const GuidanceStep& step);

/// The guided output with its deviation brought back towards that of cond as far as options.rescale says.
Latent rescaled(const GuidanceOptions& options, const Latent& cond, Latent guided);

/// Of all values (not of a sample); 0 for none.
double standard_deviation(std::span<const float> values);

}  // namespace gesso
