#include "io/imatrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "base/error.h"
#include "base/files.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"
#include "io/printable.h"

namespace gesso {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";
/// Rows that llama.cpp counts as one call; only ratios of sums and calls matter here.
constexpr uint32_t kChunk = 1;

/// Refuses what no sums of squares are.
void check(const std::filesystem::path& path, const std::string& name, std::span<const double> values, double rows) {
  const auto sound = [](double v) { return std::isfinite(v) && v >= 0; };
  if (!std::ranges::all_of(values, sound) || !sound(rows) || rows > 9e15)
    fail(ErrorCode::kBadFile, "{}: the importance of {} is negative or not finite; make the file anew", quoted(path),
         printable(name));
}

/// The older layout, value after value, each checked against the end of the file.
class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::filesystem::path& path) : file_(file), path_(path) {}

  std::span<const std::byte> take(uint64_t size) {
    if (size > file_.size() - at_)
      fail(ErrorCode::kBadFile,
           "{} is no importance matrix, or is cut off: wanted {} bytes at byte {} of {}; expected the .dat or GGUF "
           "layout of llama.cpp",
           quoted(path_), size, at_, file_.size());
    at_ += size;
    return file_.subspan(at_ - size, size);
  }
  /// A number that says how many of something follow.
  int64_t count(const char* what) {
    int32_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    if (value < 0)
      fail(ErrorCode::kBadFile, "{} is no importance matrix: {} {} at byte {}", quoted(path_), value, what, at_ - 4);
    return value;
  }

 private:
  std::span<const std::byte> file_;
  const std::filesystem::path& path_;
  size_t at_ = 0;
};

std::vector<double> values_of(const TensorFile& file, const TensorInfo& tensor) {
  if (tensor.dtype != DType::kF32)
    fail(ErrorCode::kBadFile, "{}: tensor {} is {}: wanted F32", quoted(file.path()), printable(tensor.name),
         to_string(tensor.dtype));
  std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
  convert_to_f32(tensor.dtype, file.read(tensor).data(), values.data(), tensor.shape.elements());
  return {values.begin(), values.end()};
}

Imatrix read_gguf(const std::filesystem::path& path) {
  const auto file = open_tensor_file(path);
  const auto type = file->metadata().find("general.type");
  if (type == file->metadata().end() || type->second != "imatrix")
    fail(ErrorCode::kBadFile, "{} is a GGUF file of another kind: wanted an importance matrix (general.type imatrix)",
         quoted(path));
  std::map<std::string, std::vector<double>> sums, counts;
  for (const TensorInfo& t : file->tensors()) {
    const bool is_sum = t.name.ends_with(kSums);
    if (!is_sum && !t.name.ends_with(kCounts)) continue;
    const size_t ending = is_sum ? kSums.size() : kCounts.size();
    (is_sum ? sums : counts)[t.name.substr(0, t.name.size() - ending)] = values_of(*file, t);
  }
  Imatrix result;
  for (auto& [name, values] : sums) {
    const auto count = counts.find(name);
    // Several counts are for the experts of a mixture, which no model here has.
    if (count == counts.end() || count->second.size() != 1)
      fail(ErrorCode::kBadFile, "{}: wanted one count for the sums of {}, found {}", quoted(path), printable(name),
           count == counts.end() ? 0 : count->second.size());
    check(path, name, values, count->second[0]);
    const auto rows = static_cast<int64_t>(count->second[0]);
    result.entries.emplace(name, Importance{std::move(values), rows, rows});
  }
  if (result.entries.empty()) fail(ErrorCode::kBadFile, "{} is an importance matrix without entries", quoted(path));
  return result;
}

void write_dat(const std::filesystem::path& path, const Imatrix& imatrix) {
  std::string text;
  const auto append = [&text](auto value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  append(static_cast<int32_t>(imatrix.entries.size()));
  int64_t most = 0;
  for (const auto& [name, importance] : imatrix.entries) {
    // Its readers divide by the calls, so that the sums are of means.
    const auto calls =
        static_cast<int32_t>(std::clamp<int64_t>(importance.calls, 0, std::numeric_limits<int32_t>::max()));
    const double scale = importance.rows > 0 ? static_cast<double>(calls) / static_cast<double>(importance.rows) : 0;
    append(static_cast<int32_t>(name.size()));
    text += name;
    append(calls);
    append(static_cast<int32_t>(importance.sums.size()));
    for (const double sum : importance.sums) append(static_cast<float>(sum * scale));
    most = std::max<int64_t>(most, calls);
  }
  append(static_cast<int32_t>(most));  // of the last call, and the name of the data
  append(int32_t{0});
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void write_gguf(const std::filesystem::path& path, const Imatrix& imatrix) {
  std::vector<TensorInfo> tensors;
  for (const auto& [name, importance] : imatrix.entries) {
    tensors.push_back(
        {name + std::string(kSums), DType::kF32, {1, static_cast<int64_t>(importance.sums.size())}, 0, 0});
    tensors.push_back({name + std::string(kCounts), DType::kF32, {1, 1}, 0, 0});
  }
  int64_t most = 0;
  for (const auto& [name, importance] : imatrix.entries) most = std::max(most, importance.calls);
  GgufWriter writer(path, std::move(tensors),
                    GgufMetadata{{"general.type", "imatrix"},
                                 {"imatrix.datasets", std::vector<std::string>{"prompts"}},
                                 {"imatrix.chunk_count", static_cast<uint32_t>(most)},
                                 {"imatrix.chunk_size", kChunk}});
  for (const auto& [name, importance] : imatrix.entries) {
    const std::vector<float> sums(importance.sums.begin(), importance.sums.end());
    const auto rows = static_cast<float>(importance.rows);
    writer.write(std::as_bytes(std::span(sums)));
    writer.write(std::as_bytes(std::span(&rows, 1)));
  }
  writer.finish();
}

}  // namespace

std::vector<float> Importance::means() const {
  std::vector<float> result;
  if (rows <= 0) return result;
  result.reserve(sums.size());
  for (const double sum : sums) result.push_back(static_cast<float>(sum / static_cast<double>(rows)));
  return result;
}

void Imatrix::merge(const Imatrix& other) {
  for (const auto& [name, added] : other.entries) {
    Importance& sum = entries.try_emplace(name, Importance{std::vector<double>(added.sums.size()), 0, 0}).first->second;
    if (sum.sums.size() != added.sums.size())
      fail(ErrorCode::kBadFile, "importance matrices of different models: {} has {} columns in one and {} in another",
           printable(name), sum.sums.size(), added.sums.size());
    for (size_t c = 0; c < sum.sums.size(); ++c) sum.sums[c] += added.sums[c];
    sum.rows += added.rows;
    sum.calls += added.calls;
  }
}

Imatrix parse_imatrix(std::span<const std::byte> file, const std::filesystem::path& path) {
  Reader in(file, path);
  Imatrix result;
  const int64_t entries = in.count("entries");
  if (entries == 0) fail(ErrorCode::kBadFile, "{} is an importance matrix without entries", quoted(path));
  for (int64_t i = 0; i < entries; ++i) {
    const auto name_bytes = in.take(static_cast<uint64_t>(in.count("bytes of a name")));
    const std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    Importance importance;
    importance.rows = importance.calls = in.count("calls");
    const int64_t columns = in.count("columns");
    const auto bytes = in.take(static_cast<uint64_t>(columns) * 4);
    importance.sums.resize(static_cast<size_t>(columns));
    for (size_t c = 0; c < importance.sums.size(); ++c) {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * c, 4);
      importance.sums[c] = value;
    }
    check(path, name, importance.sums, static_cast<double>(importance.rows));
    if (!result.entries.emplace(name, std::move(importance)).second)
      fail(ErrorCode::kBadFile, "{}: the entry {} is there twice", quoted(path), printable(name));
  }
  return result;
}

Imatrix read_imatrix(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const bool gguf = bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
  return gguf ? read_gguf(path) : parse_imatrix(bytes, path);
}

void write_imatrix(const std::filesystem::path& path, const Imatrix& imatrix) {
  if (path.extension() == ".gguf")
    write_gguf(path, imatrix);
  else
    write_dat(path, imatrix);
}

}  // namespace gesso
