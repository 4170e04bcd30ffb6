#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "media/image.h"
#include "pipeline/request.h"

namespace gesso {

/// One axis of a grid: a field of the request and the values that it takes.
struct GridAxis {
  std::string name;                 ///< as it was given
  std::string field;                ///< of the request; empty: words of the prompt are replaced
  std::vector<std::string> values;  ///< as labels show them
};

/// The most pictures of one grid.
inline constexpr size_t kMaxGridCells = 400;

/// Reads "steps=10,20;cfg=3,7": axes apart by ;, at most three, from left to right across (x), down (y), and one grid
/// below the other (z). A name is a field's or what other programs call it; "sr" replaces the first of its values in
/// prompt and negative prompt by each of them (A1111's Prompt S/R). Values are apart by commas; one in double quotes
/// may have , ; and blanks at its ends, "" being a quote. Of numbers, 1-5 is 1,2,3,4,5; 1-9 (+4) is 1,5,9; 0-1 [5] is
/// five numbers from 0 to 1. Throws kUsage naming what is wrong.
std::vector<GridAxis> parse_grid(std::string_view text);

/// The request of the cell with the `indices`-th value on each axis: no grid itself, one picture. Throws kUsage as
/// parse_request does, and when words that are to be replaced are in neither prompt.
Request grid_cell(const Request& request, const std::vector<GridAxis>& axes, const std::vector<size_t>& indices);

/// The cells' pictures (RGB, of any sizes; the first axis changes fastest) with the axes' values written beside. Throws
/// kUnsupported when the result is larger than pictures may be.
Image compose_grid(const std::vector<GridAxis>& axes, const std::vector<Image>& cells);

}  // namespace gesso
