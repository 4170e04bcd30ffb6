#include "models/names/ignorable.h"

#include <span>

namespace gesso {
namespace {

enum class Where { kWhole, kPrefix, kSuffix };

struct Row {
  Where where;
  std::string_view text;
  Ignorable ignorable;
};

constexpr std::string_view kSchedule = "a table of the training schedule; it is computed";
constexpr std::string_view kMarker = "a marker, not a weight";
constexpr std::string_view kUnused = "used in training only";

constexpr Row kCopies[] = {
    {Where::kPrefix, "model_ema.", {"the moving average of a training run, beside the weights", ""}},
};

constexpr Row kRows[] = {
    {Where::kSuffix, "position_ids", {"counts the positions; it is computed", ""}},
    {Where::kSuffix, "rotary_emb.inv_freq", {"rotary frequencies; they are computed", ""}},
    {Where::kSuffix, "logit_scale", {"compares texts with pictures; painting has no use for it", ""}},
    {Where::kSuffix, "logit_bias", {"compares texts with pictures; painting has no use for it", ""}},
    {Where::kSuffix, "num_batches_tracked", {"a counter of the training run", ""}},
    {Where::kWhole, "alphas_cumprod", {kSchedule, "alphas_cumprod"}},
    {Where::kWhole, "alphas_cumprod_prev", {kSchedule, ""}},
    {Where::kWhole, "betas", {kSchedule, ""}},
    {Where::kWhole, "log_one_minus_alphas_cumprod", {kSchedule, ""}},
    {Where::kWhole, "posterior_log_variance_clipped", {kSchedule, ""}},
    {Where::kWhole, "posterior_mean_coef1", {kSchedule, ""}},
    {Where::kWhole, "posterior_mean_coef2", {kSchedule, ""}},
    {Where::kWhole, "posterior_variance", {kSchedule, ""}},
    {Where::kWhole, "sqrt_alphas_cumprod", {kSchedule, ""}},
    {Where::kWhole, "sqrt_one_minus_alphas_cumprod", {kSchedule, ""}},
    {Where::kWhole, "sqrt_recip_alphas_cumprod", {kSchedule, ""}},
    {Where::kWhole, "sqrt_recipm1_alphas_cumprod", {kSchedule, ""}},
    {Where::kWhole, "scale_factor", {"the scale of the latents; the family knows it", ""}},
    {Where::kSuffix, "denoiser.sigmas", {kSchedule, ""}},
    {Where::kSuffix, "model_sampling.sigmas", {kSchedule, ""}},
    {Where::kWhole, "v_pred", {kMarker, "v_pred"}},
    {Where::kWhole, "ztsnr", {kMarker, "ztsnr"}},
    {Where::kPrefix, "edm_vpred.", {kMarker, "edm_vpred"}},
    {Where::kSuffix, "scaled_fp8", {kMarker, "scaled_fp8"}},
    {Where::kPrefix, "first_stage_model.loss.", {kUnused, ""}},
    {Where::kPrefix, "loss.", {kUnused, ""}},
    {Where::kSuffix, "logvar", {kUnused, ""}},
};

bool applies(const Row& row, std::string_view name) {
  switch (row.where) {
    case Where::kWhole:
      return name == row.text;
    case Where::kPrefix:
      return name.starts_with(row.text);
    case Where::kSuffix:
      return name.ends_with(row.text) &&
             (name.size() == row.text.size() || name[name.size() - row.text.size() - 1] == '.');
  }
  return false;
}

const Ignorable* find(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows)
    if (applies(row, name)) return &row.ignorable;
  return nullptr;
}

}  // namespace

const Ignorable* find_copy(std::string_view name) {
  return find(kCopies, name);
}
const Ignorable* find_ignorable(std::string_view name) {
  return find(kRows, name);
}

}  // namespace gesso
