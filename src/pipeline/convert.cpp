#include "pipeline/convert.h"

#include <chrono>
#include <map>
#include <memory>

#include "base/error.h"
#include "io/gguf_writer.h"
#include "io/printable.h"
#include "io/safetensors_writer.h"
#include "pipeline/convert_work.h"

namespace gesso {
namespace {

using TypePair = std::pair<DType, DType>;

/// Announces a stage, and after each of its tensors how far it is.
class Progress {
 public:
  Progress(const EventSink& sink, std::string stage, const std::vector<ConvertItem>& items)
      : sink_(sink), stage_(std::move(stage)), steps_(static_cast<int>(items.size())) {
    for (const ConvertItem& item : items) total_ += item.bytes();
    sink_({.kind = Event::Kind::kStage, .stage = stage_, .steps = steps_});
  }
  void done(const ConvertItem& item) {
    using Seconds = std::chrono::duration<double>;
    const auto now = std::chrono::steady_clock::now();
    bytes_ += item.bytes();
    const double elapsed = Seconds(now - start_).count();
    const double rate = elapsed > 0 ? static_cast<double>(bytes_) / elapsed : 0;
    sink_({.kind = Event::Kind::kStep,
           .stage = stage_,
           .step = ++step_,
           .steps = steps_,
           .seconds = Seconds(now - last_).count(),
           .eta = rate > 0 ? static_cast<double>(total_ - bytes_) / rate : 0,
           .text = fmt::format("{:.0f} MB/s", rate / 1e6)});
    last_ = now;
  }

 private:
  const EventSink& sink_;
  std::string stage_;
  int step_ = 0, steps_;
  uint64_t bytes_ = 0, total_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

/// Reads the written file back and measures it.
std::map<TypePair, Deviation> verify(const std::filesystem::path& path, const ConvertWork& work, const EventSink& sink,
                                     const CancelToken& cancel) {
  Progress progress(sink, "verify", work.items);
  std::map<TypePair, Deviation> deviations;
  const auto written = open_tensor_file(path);
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& t : written->tensors()) by_name.emplace(t.name, &t);
  for (const ConvertItem& item : work.items) {
    cancel.check();
    const auto found = by_name.find(item.to.name);
    if (found == by_name.end() || !(found->second->shape == item.to.shape) || found->second->dtype != item.to.dtype)
      fail(ErrorCode::kInternal, "tensor {} is not there as it was written", printable(item.to.name));
    measure_converted(item, *written, *found->second, deviations[{item.from(), item.to.dtype}]);
    progress.done(item);
  }
  return deviations;
}

std::unique_ptr<TensorWriter> make_writer(const std::filesystem::path& path, const ConvertWork& work, bool gguf) {
  std::vector<TensorInfo> tensors;
  for (const ConvertItem& item : work.items) tensors.push_back(item.to);
  if (gguf)
    return std::make_unique<GgufWriter>(path, std::move(tensors),
                                        GgufMetadata(work.metadata.begin(), work.metadata.end()));
  return std::make_unique<SafetensorsWriter>(path, std::move(tensors), work.metadata);
}

Json report(const ConvertRequest& request, const ConvertWork& work, uint64_t bytes,
            const std::map<TypePair, Deviation>& errors) {
  std::map<TypePair, size_t> counts;
  std::map<std::pair<std::string, DType>, std::vector<std::string>> reasons;
  Json changed = Json::array(), types = Json::array();
  for (const ConvertItem& item : work.items) {
    ++counts[{item.from(), item.to.dtype}];
    if (item.reason.empty()) continue;
    reasons[{item.reason, item.to.dtype}].push_back(item.to.name);
    changed.push_back({{"tensor", item.to.name}, {"to", to_string(item.to.dtype)}, {"reason", item.reason}});
  }
  std::string text = fmt::format("{}: {} tensors, {} bytes\n", request.output.string(), work.items.size(), bytes);
  for (const auto& [pair, count] : counts) {
    Json row{{"from", to_string(pair.first)}, {"to", to_string(pair.second)}, {"tensors", count}};
    text += fmt::format("  {} -> {}: {} tensors", to_string(pair.first), to_string(pair.second), count);
    if (const auto error = errors.find(pair); error != errors.end() && pair.first != pair.second) {
      const Deviation& e = error->second;
      row["rmse"] = e.rmse();
      row["max"] = e.largest();
      row["cosine"] = e.cosine();
      text += fmt::format(", RMSE {:.3g}, largest error {:.3g}, cosine {:.6f}", e.rmse(), e.largest(), e.cosine());
    } else if (pair.first == pair.second) {
      text += ", unchanged";
    }
    text += "\n";
    types.push_back(std::move(row));
  }
  for (const auto& [reason, names] : reasons)
    text += fmt::format("  as {}, since {}: {}{}\n", to_string(reason.second), reason.first, printable(names.front()),
                        names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
  for (const std::string& note : work.notes) text += "  " + note + "\n";
  return {{"output", request.output.string()},
          {"bytes", bytes},
          {"tensors", work.items.size()},
          {"types", std::move(types)},
          {"changed", std::move(changed)},
          {"notes", work.notes},
          {"text", std::move(text)}};
}

}  // namespace

Json convert_files(const ConvertRequest& request, const EventSink& sink, const CancelToken& cancel) {
  const ConvertWork work = plan_conversion(request);
  const auto writer = make_writer(request.output, work, request.output.extension() == ".gguf");
  {
    Progress progress(sink, "convert", work.items);
    for (const ConvertItem& item : work.items) {
      cancel.check();
      write_converted(item, *writer);
      progress.done(item);
    }
  }
  cancel.check();
  std::map<TypePair, Deviation> deviations;
  // Before it gets its name, so that a file that had the name stays until then.
  if (request.verify) deviations = verify(writer->complete(), work, sink, cancel);
  writer->finish();
  sink({.kind = Event::Kind::kDone});
  return report(request, work, writer->file_bytes(), deviations);
}

}  // namespace gesso
