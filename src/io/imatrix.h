#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gesso {

/// How much each input column of a matrix matters: sums of the squares of what it was multiplied by.
struct Importance {
  std::vector<double> sums;  ///< one for each column
  int64_t rows = 0;          ///< of inputs that were summed
  int64_t calls = 0;         ///< products that they came in

  /// The mean squares, as the quantisers take them. Empty when nothing was summed.
  std::vector<float> means() const;
};

/// An importance matrix ("imatrix"): what quantising a model is weighed by, per tensor name.
struct Imatrix {
  std::map<std::string, Importance> entries;

  /// Adds what another one has seen. Throws kBadFile naming the tensor when two have different numbers of columns.
  void merge(const Imatrix& other);
};

/// Reads either layout of llama.cpp, told by the content: the older binary one (count, then for each entry its name,
/// calls and sums divided by rows times calls) and GGUF (tensors NAME.in_sum2 and NAME.counts). Throws what opening
/// files throws, and kBadFile naming the place: lengths beyond the file, values that are negative or not finite.
Imatrix read_imatrix(const std::filesystem::path& path);

/// The older layout, whose content is `file`; `path` is for messages.
Imatrix parse_imatrix(std::span<const std::byte> file, const std::filesystem::path& path);

/// Writes it as GGUF when the name ends so, else in the older layout. The file appears when it is whole.
void write_imatrix(const std::filesystem::path& path, const Imatrix& imatrix);

}  // namespace gesso
