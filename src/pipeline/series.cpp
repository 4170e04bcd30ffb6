#include "pipeline/series.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "media/parameters.h"
#include "pipeline/grid.h"
#include "pipeline/request_fields.h"
#include "pipeline/wildcards.h"

namespace gesso {
namespace {

/// The request as the engine takes it: wildcards filled in.
Request filled(Request request) {
  if (request.wildcards.empty()) return request;
  request.prompt = fill_wildcards(request.prompt, request.wildcards, request.seed);
  request.negative_prompt = fill_wildcards(request.negative_prompt, request.wildcards, request.seed);
  request.wildcards.clear();
  return request_from_json(request_to_json(request));  // what was filled in is checked as what is typed
}

/// Seeds drawn once for all.
Request with_seeds(Request request) {
  request.seed = resolve_seed(request.seed);
  if (request.subseed_strength.value_or(0) > 0) request.subseed = resolve_seed(request.subseed);
  return request;
}

struct Grid {
  std::vector<GridAxis> axes;
  std::vector<Request> cells;
};

Grid grid_of(const Request& request) {
  if (request.batch_count != 1)
    fail(ErrorCode::kUsage, "a grid has one picture a cell: leave out batch_count, or make seed an axis of the grid");
  Grid grid{.axes = parse_grid(request.grid), .cells = {}};
  size_t count = 1;
  for (const GridAxis& axis : grid.axes) count *= axis.values.size();
  for (size_t i = 0; i < count; ++i) {
    std::vector<size_t> indices;
    for (size_t rest = i; const GridAxis& axis : grid.axes) {
      indices.push_back(rest % axis.values.size());
      rest /= axis.values.size();
    }
    grid.cells.push_back(filled(grid_cell(request, grid.axes, indices)));
  }
  return grid;
}

/// One request for each picture.
std::vector<Request> batch_of(const Request& request) {
  std::vector<Request> all;
  for (int k = 0; k < request.batch_count; ++k) {
    Request one = request;
    const Seeds seeds = seeds_of(request, k);
    one.seed = seeds.seed;
    one.subseed = seeds.subseed;
    one.batch_count = 1;
    // In variations of one seed each picture still has words of its own.
    const Request words = filled([&] {
      Request by_number = one;
      by_number.seed = request.seed + k;
      return by_number;
    }());
    one.prompt = words.prompt;
    one.negative_prompt = words.negative_prompt;
    one.wildcards.clear();
    all.push_back(std::move(one));
  }
  return all;
}

/// Paints them in an order in which models are loaded as rarely as may be; the results are in the order given.
std::vector<GenerateResult> paint_all(Engine& engine, const std::vector<Request>& requests, const EventSink& sink,
                                      const CancelToken& cancel) {
  const auto files = [](const Request& request) {
    std::vector<std::string> names;
    for (const Field& field : request_fields())
      if (const auto* member = std::get_if<std::string Request::*>(&field.member);
          member && field.role == FieldRole::kFile)
        names.push_back(request.**member);
    return names;
  };
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return files(requests[a]) < files(requests[b]); });
  const EventSink inner = [&](const Event& event) {
    if (event.kind != Event::Kind::kDone) sink(event);
  };
  std::vector<GenerateResult> results(requests.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sink({.kind = Event::Kind::kMessage, .text = fmt::format("picture {} of {}", i + 1, order.size())});
    results[order[i]] = engine.generate(requests[order[i]], inner, cancel);
  }
  sink({.kind = Event::Kind::kDone});
  return results;
}

/// What the grid says of itself: the first cell's text and the axes, under A1111's names.
std::string grid_parameters(const std::string& first, const std::vector<GridAxis>& axes) {
  Parameters text = parse_parameters(first);
  text.fields.emplace_back("Script", "X/Y/Z plot");
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string letter(1, static_cast<char>('X' + i));
    text.fields.emplace_back(letter + " Type", axes[i].name);
    text.fields.emplace_back(letter + " Values", fmt::format("{}", fmt::join(axes[i].values, ", ")));
  }
  return format_parameters(text);
}

GenerateResult paint_grid(Engine& engine, const Request& request, const EventSink& sink, const CancelToken& cancel) {
  const Grid grid = grid_of(request);
  std::vector<GenerateResult> painted = paint_all(engine, grid.cells, sink, cancel);
  std::vector<Image> images;
  for (const GenerateResult& result : painted) {
    const Picture& picture = result.pictures.at(0);
    images.push_back(to_rgb({picture.width, picture.height, picture.channels, picture.pixels}));
  }
  Image image = compose_grid(grid.axes, images);
  Picture whole{.width = image.width, .height = image.height, .pixels = std::move(image.pixels), .seed = request.seed};
  if (request.metadata) {
    whole.parameters = grid_parameters(painted[0].pictures[0].parameters, grid.axes);
    whole.request_json = to_text(recipe_to_json(request, 0));
  }
  GenerateResult result{.resolved = request};
  result.pictures.push_back(std::move(whole));
  if (request.grid_cells)
    for (GenerateResult& cell : painted) result.pictures.push_back(std::move(cell.pictures[0]));
  return result;
}

/// The first of the requests that this one stands for.
Request first_of(const Request& request) {
  if (!request.grid.empty()) return grid_of(request).cells[0];
  return filled(request);
}

}  // namespace

GenerateResult paint_series(Engine& engine, const Request& request, const EventSink& sink, const CancelToken& cancel) {
  if (!request.grid.empty()) return paint_grid(engine, with_seeds(request), sink, cancel);
  if (request.wildcards.empty()) return engine.generate(request, sink, cancel);
  std::vector<GenerateResult> painted = paint_all(engine, batch_of(with_seeds(request)), sink, cancel);
  GenerateResult result{.resolved = painted[0].resolved};
  result.resolved.batch_count = request.batch_count;
  for (GenerateResult& one : painted) result.pictures.push_back(std::move(one.pictures[0]));
  return result;
}

Plan plan_series(Engine& engine, const Request& request) {
  Plan plan = engine.plan(first_of(with_seeds(request)));
  if (request.grid.empty()) return plan;
  const size_t cells = grid_of(with_seeds(request)).cells.size();
  plan.text = fmt::format("a grid of {} pictures, of which each is as the first:\n{}", cells, plan.text);
  plan.json["grid_cells"] = cells;
  return plan;
}

std::string explain_series(Engine& engine, const Request& request) {
  return engine.explain(first_of(with_seeds(request)));
}

}  // namespace gesso
