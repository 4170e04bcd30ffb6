#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sampling/schedule.h"
#include "sampling/sigma_table.h"

namespace gesso {

/// Each value within `tolerance` of what is wanted, relative to the largest value wanted.
template <typename Got, typename Want>
void expect_close(const Got& got, const Want& want, double tolerance, const std::string& what = "") {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0;
  for (double value : want) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance * largest) << what << " at " << i;
}

/// Runs `body`, which must throw an Error of that code whose message holds `text`.
inline void expect_error(ErrorCode code, const std::string& text, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "no error where '" << text << "' was expected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

inline const SigmaTable& stable_diffusion_table() {
  static const SigmaTable table = SigmaTable::from_alphas_cumprod(scaled_linear_alphas_cumprod());
  return table;
}

inline const SigmaTable& zsnr_table() {
  static const SigmaTable table = SigmaTable::from_alphas_cumprod(zero_terminal_snr(scaled_linear_alphas_cumprod()));
  return table;
}

inline const SigmaTable& flow_table() {
  static const SigmaTable table = SigmaTable::flow(3);
  return table;
}

/// Tables of models that a schedule is for.
inline std::vector<const SigmaTable*> tables_for(const Schedule& schedule) {
  switch (schedule.models) {
    case ScheduleFor::kDiffusion:
      return {&stable_diffusion_table(), &zsnr_table()};
    case ScheduleFor::kFlow:
      return {&flow_table()};
    default:
      return {&stable_diffusion_table(), &zsnr_table(), &flow_table()};
  }
}

}  // namespace gesso
