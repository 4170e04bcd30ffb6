#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "pipeline/preview.h"
#include "pipeline/request.h"
#include "pipeline/tiles.h"

namespace gesso {

/// What one stage takes, from a run of its forward on the meta device.
struct StagePlan {
  std::string name;                           ///< "text", "denoise", "decode"
  int64_t repeats = 1;                        ///< network evaluations
  int64_t flops = 0;                          ///< of all repeats
  int64_t weights = 0;                        ///< bytes, as prepared for the processor
  int64_t largest = 0;                        ///< bytes of the largest weight
  int64_t activations = 0;                    ///< most bytes alive at once
  bool with_next = false;                     ///< runs between the passes of the next stage: both keep their weights
  std::vector<const WeightData*> order = {};  ///< its weights, in the order of their first use
};

/// How long weights stay in memory.
enum class Residency {
  kResident,  ///< all of them, for the next request too
  kStaged,    ///< those of one stage at a time
  kStreamed,  ///< those of one stage that there is room for; the others one operation at a time, prepared anew for each
};

struct WorkPlan {
  std::vector<StagePlan> stages;
  Residency residency = Residency::kResident;
  int64_t budget = 0;                 ///< bytes
  int64_t weights = 0;                ///< bytes of all stages together
  int64_t peak = 0;                   ///< bytes, expected under that residency
  std::optional<Tiling> tiling = {};  ///< chosen because the whole picture did not fit
  /// When streamed: the weights that stay for their stage, and how many bytes that is in the stage with the most
  /// weights.
  std::unordered_set<const WeightData*> kept = {};
  int64_t kept_bytes = 0;
  int64_t flops() const;
  /// Those of a stage that are streamed, in the order of use; empty when none are.
  std::vector<const WeightData*> streamed(const StagePlan& stage) const;
  /// "streamed, but for 1.2 GiB of 4.8 GiB"
  std::string weights_text() const;
};

/// Runs every stage on the meta device and chooses the fastest residency within the budget. `request` is resolved;
/// `codec` makes its pictures and `preview` its previews, if not null. Where nothing fits and the codec does not cut,
/// it is made to: the largest of fallback_tile_sides() that fits is the plan's tiling. Throws kOutOfMemory, naming the
/// stage and the least that would do, when none fits.
WorkPlan make_plan(LatentDiffusion& model, const LatentCodec& codec, const Request& request, DType compute,
                   int64_t budget, const Preview* preview = nullptr);

/// Bytes that the system could give this process now.
int64_t available_memory();

/// "1.5 GiB"
std::string bytes_text(int64_t bytes);
const char* to_string(Residency residency);

}  // namespace gesso
