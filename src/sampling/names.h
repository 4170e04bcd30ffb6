#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gesso {

/// A name as it is compared: ASCII letters lower-cased, '+' as 'p', everything but letters and digits dropped, so that
/// "DPM++ 2M", "dpm++2m" and "dpmpp_2m" are one name.
std::string folded_name(std::string_view name);

/// Whether `name` is the row's own name or one of its aliases.
template <typename Row>
bool is_called(const Row& row, std::string_view name) {
  const std::string wanted = folded_name(name);
  if (folded_name(row.name) == wanted) return true;
  for (std::string_view alias : row.aliases)
    if (folded_name(alias) == wanted) return true;
  return false;
}

/// The row called `name`, or null.
template <typename Row>
const Row* match_row(const std::vector<Row>& rows, std::string_view name) {
  for (const Row& row : rows)
    if (is_called(row, name)) return &row;
  return nullptr;
}

/// Throws kUsage: "unknown `kind` `name`", the nearest of `known` if one is near, and all of `known`.
[[noreturn]] void fail_unknown_name(std::string_view kind, std::string_view name,
                                    const std::vector<std::string_view>& known);

template <typename Row>
std::vector<std::string_view> names_of(const std::vector<Row>& rows) {
  std::vector<std::string_view> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

/// The row called `name` in a table of rows with `name` and `aliases`. Throws as fail_unknown_name does.
template <typename Row>
const Row& find_row(const std::vector<Row>& rows, std::string_view kind, std::string_view name) {
  if (const Row* row = match_row(rows, name)) return *row;
  fail_unknown_name(kind, name, names_of(rows));
}

}  // namespace gesso
