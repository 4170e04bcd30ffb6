#include "pipeline/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "media/label.h"
#include "pipeline/request_fields.h"
#include "text/words.h"

namespace gesso {
namespace {

constexpr std::string_view kExample = "steps=10,20;cfg=3,7";
constexpr int kGap = 4;  // pixels between cells

/// What stands between separators: a text, or one in quotes taken as it is.
struct Item {
  std::string text;
  bool quoted = false;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char next() { return text_[at_++]; }

  /// Up to one of the separators, which stays.
  Item item(std::string_view separators) {
    Item item;
    at_ = skip_space(text_, at_);
    if (!at_end() && text_[at_] == '"') {
      item.quoted = true;
      for (++at_;; ++at_) {
        if (at_end()) fail(ErrorCode::kUsage, "grid: a quote is not closed in '{}'", shown());
        if (text_[at_] != '"') {
          item.text += text_[at_];
        } else if (text_.substr(at_ + 1).starts_with('"')) {
          item.text += text_[at_++];
        } else {
          break;
        }
      }
      at_ = skip_space(text_, at_ + 1);
      if (!at_end() && separators.find(text_[at_]) == separators.npos)
        fail(ErrorCode::kUsage, "grid: there is text behind the quotes of \"{}\"", item.text.substr(0, 80));
      return item;
    }
    const size_t end = std::min(text_.find_first_of(separators, at_), text_.size());
    item.text = trimmed(text_.substr(at_, end - at_));
    at_ = end;
    return item;
  }

  std::string_view shown() const { return text_.substr(0, 80); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

std::optional<double> number_at(std::string_view text, size_t& at) {
  at = skip_space(text, at);
  if (at < text.size() && text[at] == '+') ++at;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data() + at, text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  at = skip_space(text, static_cast<size_t>(end - text.data()));
  return value;
}

/// The numbers of "1-5", "1-9 (+4)" or "0-1 [5]"; nothing when the text is no range.
std::optional<std::vector<double>> range_of(std::string_view text, bool whole) {
  size_t at = 0;
  const auto first = number_at(text, at);
  if (!first || at >= text.size() || text[at] != '-') return std::nullopt;
  const auto last = number_at(text, ++at);
  if (!last) return std::nullopt;
  std::vector<double> values;
  double step = 1;
  if (at < text.size()) {
    const char open = text[at++];
    const auto number = number_at(text, at);
    if (!number || (open != '(' && open != '[') || at + 1 != text.size() || text[at] != (open == '(' ? ')' : ']'))
      return std::nullopt;
    if (open == '[') {
      const double count = *number;
      if (!(count >= 1 && count <= static_cast<double>(kMaxGridCells)) || count != std::floor(count))
        return std::nullopt;
      for (int i = 0; i < static_cast<int>(count); ++i) {
        const double value = count == 1 ? *first : *first + (*last - *first) * i / (count - 1);
        values.push_back(whole ? std::trunc(value) : value);
      }
      return values;
    }
    step = *number;
  }
  if (step == 0 || (*last - *first) / step > static_cast<double>(kMaxGridCells)) return std::nullopt;
  const double end = *last + std::copysign(1e-9, step);  // with the last, however the sum is rounded
  for (double value = *first; step > 0 ? value <= end : value >= end;
       value = *first + step * static_cast<double>(values.size()))
    values.push_back(value);
  return values;
}

bool is_number_field(const Field& field) {
  return !std::holds_alternative<std::string Request::*>(field.member) &&
         !std::holds_alternative<std::optional<std::string> Request::*>(field.member) &&
         !std::holds_alternative<bool Request::*>(field.member);
}

/// The field of that name or of what others call it.
const Field& field_of(const std::string& name) {
  std::string wanted = name;
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  std::replace(wanted.begin(), wanted.end(), ' ', '_');
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  const auto among = [&](std::string_view names) {
    return (" " + std::string(names) + " ").find(" " + wanted + " ") != std::string::npos;
  };
  for (const Field& field : request_fields()) {
    if (field.name != wanted && !among(field.other_names)) continue;
    if (field.name == "grid" || field.name == "grid_cells" || field.name == "batch_count" ||
        field.role == FieldRole::kMachine || field.memory)
      fail(ErrorCode::kUsage, "grid: {} can be no axis", field.name);
    return field;
  }
  fail(ErrorCode::kUsage, "grid: there is no field '{}'; the nearest is '{}'", name.substr(0, 80),
       nearest_field(wanted));
}

void add_value(GridAxis& axis, const Field* field, const Item& item) {
  if (item.text.empty() && !item.quoted) fail(ErrorCode::kUsage, "grid: a value of {} is empty", axis.name);
  const bool number = field && is_number_field(*field) && !item.quoted;
  const bool whole = number && !std::holds_alternative<std::optional<double> Request::*>(field->member);
  if (const auto range = number ? range_of(item.text, whole) : std::nullopt) {
    for (const double value : *range)
      axis.values.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value));
  } else {
    axis.values.push_back(item.text);
  }
}

Json json_of(const Field& field, const std::string& value) {
  if (std::holds_alternative<bool Request::*>(field.member) && (value == "true" || value == "false"))
    return value == "true";
  if (is_number_field(field)) {
    size_t at = 0;
    int64_t whole = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), whole);
    if (error == std::errc() && end == value.data() + value.size()) return whole;
    if (const auto number = number_at(value, at); number && at == value.size()) return *number;
  }
  return value;  // the check of the field says what is wrong with it
}

bool replace_all(std::string& text, const std::string& from, const std::string& to) {
  bool found = false;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    found = true;
  }
  return found;
}

void paste(Image& onto, const Image& image, int x, int y) {
  for (int row = 0; row < image.height; ++row)
    std::copy_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(row) * image.width * 3, image.width * 3,
                onto.pixels.begin() + (static_cast<std::ptrdiff_t>(y + row) * onto.width + x) * 3);
}

}  // namespace

std::vector<GridAxis> parse_grid(std::string_view text) {
  Reader reader(text);
  std::vector<GridAxis> axes;
  size_t cells = 1;
  while (!reader.at_end()) {
    GridAxis axis{.name = reader.item("=;").text, .field = {}, .values = {}};
    if (reader.at_end() || reader.next() != '=')
      fail(ErrorCode::kUsage, "grid: wanted a field and its values, such as {}, found '{}'", kExample, reader.shown());
    const Field* field = nullptr;
    if (axis.name != "sr" && axis.name != "prompt_sr") {
      field = &field_of(axis.name);
      axis.field = field->name;
    }
    for (bool more = true; more;) {
      add_value(axis, field, reader.item(",;"));
      more = !reader.at_end() && reader.next() == ',';
    }
    cells *= axis.values.size();
    axes.push_back(std::move(axis));
    if (cells > kMaxGridCells) fail(ErrorCode::kUsage, "grid: it has more than {} pictures", kMaxGridCells);
    if (axes.size() > 3) fail(ErrorCode::kUsage, "grid: there are more than three axes");
    for (size_t i = 0; i + 1 < axes.size(); ++i)
      if (axes[i].field == axes.back().field && !axes[i].field.empty())
        fail(ErrorCode::kUsage, "grid: {} is given twice", axes[i].field);
  }
  if (axes.empty()) fail(ErrorCode::kUsage, "grid: wanted fields and their values, such as {}", kExample);
  return axes;
}

Request grid_cell(const Request& request, const std::vector<GridAxis>& axes, const std::vector<size_t>& indices) {
  Request cell = request;
  cell.grid.clear();
  cell.grid_cells = false;
  for (size_t i = 0; i < axes.size(); ++i) {  // words first: a prompt that is an axis too replaces them
    if (!axes[i].field.empty()) continue;
    const std::string &from = axes[i].values[0], &to = axes[i].values[indices[i]];
    const bool in_prompt = replace_all(cell.prompt, from, to),
               in_negative = replace_all(cell.negative_prompt, from, to);
    if (from.empty() || (!in_prompt && !in_negative))
      fail(ErrorCode::kUsage, "grid: '{}', which {} replaces, is not in the prompt", from.substr(0, 80), axes[i].name);
  }
  Json document = request_to_json(cell);
  for (size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].field.empty())
      document[axes[i].field] = json_of(*find_field(axes[i].field), axes[i].values[indices[i]]);
  return request_from_json(document);
}

Image compose_grid(const std::vector<GridAxis>& axes, const std::vector<Image>& cells) {
  const auto count = [&](size_t axis) { return axis < axes.size() ? static_cast<int>(axes[axis].values.size()) : 1; };
  const auto label = [&](size_t axis, int value) {
    return axes[axis].name + ": " + axes[axis].values[static_cast<size_t>(value)];
  };
  int width = 1, height = 1;
  for (const Image& cell : cells) width = std::max(width, cell.width), height = std::max(height, cell.height);
  const int scale = std::max(1, width / 256), line = kLabelHeight * scale, margin = 4 * scale;
  const int columns = width / (kLabelWidth * scale);
  constexpr int kRows = 3;
  const int top = kRows * line + 2 * margin, left = axes.size() > 1 ? 20 * kLabelWidth * scale + 2 * margin : 0;
  const int title = axes.size() > 2 ? line + 2 * margin : 0;
  const int64_t one = title + top + static_cast<int64_t>(count(1)) * (height + kGap);
  const int64_t whole_width = left + static_cast<int64_t>(count(0)) * (width + kGap), whole_height = one * count(2);
  check_picture_size(whole_width, whole_height, "the grid");
  Image grid{static_cast<int>(whole_width), static_cast<int>(whole_height), 3, {}};
  grid.pixels.assign(static_cast<size_t>(whole_width) * static_cast<size_t>(whole_height) * 3, 255);

  const auto write = [&](const std::vector<std::string>& lines, int x, int y) {
    for (const std::string& text : lines) draw_label(grid, x, y, text, scale), y += line;
  };
  for (int z = 0; z < count(2); ++z) {
    const int y0 = static_cast<int>(one) * z;
    if (title > 0) write(label_lines(label(2, z), grid.width / (kLabelWidth * scale), 1), margin, y0 + margin);
    for (int x = 0; x < count(0); ++x)
      write(label_lines(label(0, x), columns, kRows), left + x * (width + kGap), y0 + title + margin);
    for (int y = 0; y < count(1); ++y) {
      const int row = y0 + title + top + y * (height + kGap);
      if (left > 0) write(label_lines(label(1, y), 20, std::max(1, height / line)), margin, row);
      for (int x = 0; x < count(0); ++x)
        paste(grid, cells[static_cast<size_t>((z * count(1) + y) * count(0) + x)], left + x * (width + kGap), row);
    }
  }
  return grid;
}

}  // namespace gesso
