#pragma once
#include "pipeline/engine.h"

namespace gesso {

/// Paints a request that may stand for several: with `wildcards`, one for each picture of the batch, whose prompts are
/// filled in by its seed; with `grid`, one for each cell, and a picture of them all. Each is a plain request to the
/// engine; kMessage events say which one it is, and kDone comes once.
///
/// A grid's result is the grid, which carries the whole request, and, with grid_cells, the cells behind it. All cells
/// have one seed. Throws kUsage for a grid of batches.
GenerateResult paint_series(Engine& engine, const Request& request, const EventSink& sink, const CancelToken& cancel);

/// The plan and the explanation of the first of them.
Plan plan_series(Engine& engine, const Request& request);
std::string explain_series(Engine& engine, const Request& request);

}  // namespace gesso
