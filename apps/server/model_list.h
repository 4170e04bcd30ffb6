#pragma once
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace server {

/// The model files that requests may name: those in the folder of --models, and the one of -m. A request names an
/// entry; it never gives a path, so that no request reaches another file. Thread-safe.
class ModelList {
 public:
  struct Entry {
    std::string name;  ///< the path below the folder, with slashes
    std::filesystem::path path;
    uintmax_t bytes = 0;
    int64_t modified = 0;  ///< seconds since 1970
    /// "checkpoint", or the role of what else it holds ("vae", "lora", "clip_l" ...); "unknown"; empty: nobody looked.
    std::string kind = {};
  };
  /// Looks into a file and says its kind.
  using KindOf = std::function<std::string(const std::filesystem::path&)>;

  /// Throws std::runtime_error if the folder is none.
  ModelList(std::optional<std::filesystem::path> folder, std::optional<std::filesystem::path> chosen,
            KindOf kind_of = {});

  /// Looks at the folder again.
  void refresh();
  std::vector<Entry> entries() const;
  bool kinds_are_known() const;
  /// Looks into the files that nobody has looked into. Takes a while where there are many.
  void learn_kinds();
  /// The model of requests that name none: that of -m, else the only or first one of the folder.
  std::optional<Entry> chosen() const;
  void choose(const Entry& entry);
  /// The entry of this name: with or without ending, folder, or A1111's " [hash]"; case counts. Throws ApiError 404
  /// naming what there is, 400 when several fit.
  Entry find(const std::string& field, const std::string& name) const;

 private:
  const std::optional<std::filesystem::path> folder_;
  const std::optional<std::filesystem::path> given_;
  const KindOf kind_of_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::optional<std::string> chosen_;
};

}  // namespace server
