#include "server/model_list.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "server/api_error.h"

namespace server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEndings[] = {".safetensors", ".gguf", ".ckpt", ".pt", ".pth"};
constexpr int kDepth = 6;
constexpr size_t kMostEntries = 10000, kMostNamed = 20;

bool is_model_file(const fs::path& path) {
  return std::ranges::find(kEndings, path.extension().string()) != std::end(kEndings);
}

/// Whether a path, with every link followed, lies in a folder.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return !error && std::mismatch(folder.begin(), folder.end(), real.begin(), real.end()).first == folder.end();
}

ModelList::Entry entry_of(const fs::path& path, std::string name) {
  std::error_code error;
  ModelList::Entry entry{.name = std::move(name), .path = path};
  if (fs::is_regular_file(path, error)) entry.bytes = fs::file_size(path, error);
  if (error) entry.bytes = 0;
  const auto time = fs::last_write_time(path, error);
  if (!error)
    entry.modified =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::file_clock::to_sys(time).time_since_epoch())
            .count();
  return entry;
}

std::vector<ModelList::Entry> entries_in(const fs::path& folder) {
  std::vector<ModelList::Entry> found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;  // links to folders are not followed
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const fs::path& path = entry->path();
    const bool folder_of_model = entry->is_directory(ignored) && fs::exists(path / "model_index.json", ignored);
    if (folder_of_model || entry.depth() >= kDepth) entry.disable_recursion_pending();
    if (!folder_of_model && !(entry->is_regular_file(ignored) && is_model_file(path))) continue;
    if (is_inside(path, folder)) found.push_back(entry_of(path, path.lexically_relative(folder).generic_string()));
    if (found.size() == kMostEntries) break;
  }
  return found;
}

bool fits(const ModelList::Entry& entry, const std::string& wanted) {
  const fs::path path(entry.name);
  const std::string base = path.filename().string();
  const std::string stem = is_model_file(path) ? path.stem().string() : base;
  const fs::path without = path.parent_path() / stem;
  return wanted == base || wanted == stem || wanted == without.generic_string();
}

/// "model.safetensors [31e35c80fc]" as A1111 names it.
std::string without_hash(const std::string& name) {
  const size_t bracket = name.rfind(" [");
  return bracket != name.npos && name.ends_with(']') ? name.substr(0, bracket) : name;
}

std::string listed(const std::vector<ModelList::Entry>& entries) {
  std::string text;
  for (size_t i = 0; i < std::min(entries.size(), kMostNamed); ++i) text += (i ? ", " : "") + entries[i].name;
  if (entries.size() > kMostNamed) text += " and " + std::to_string(entries.size() - kMostNamed) + " more";
  return text.empty() ? "nothing" : text;
}

}  // namespace

ModelList::ModelList(std::optional<fs::path> folder, std::optional<fs::path> chosen, KindOf kind_of)
    : folder_(folder ? std::optional(fs::absolute(*folder)) : std::nullopt),
      given_(std::move(chosen)),
      kind_of_(std::move(kind_of)) {
  std::error_code error;
  if (folder_ && !fs::is_directory(*folder_, error))
    throw std::runtime_error("--models: '" + folder_->string() + "' is not a folder");
  if (given_ && !fs::exists(*given_, error)) throw std::runtime_error("-m: file not found: '" + given_->string() + "'");
  refresh();
}

void ModelList::refresh() {
  std::vector<Entry> found;
  std::error_code error;
  if (folder_)
    if (const fs::path real = fs::canonical(*folder_, error); !error) found = entries_in(real);
  std::ranges::sort(found, {}, &Entry::name);
  const std::lock_guard lock(mutex_);
  if (given_) {
    const auto known = std::ranges::find_if(found, [&](const Entry& e) {
      std::error_code ignored;
      return fs::equivalent(e.path, *given_, ignored);
    });
    std::string name = known == found.end() ? given_->filename().string() : known->name;
    if (name.empty()) name = given_->parent_path().filename().string();  // a folder with a slash at its end
    if (known == found.end()) {
      std::erase_if(found, [&](const Entry& e) { return e.name == name; });
      found.insert(found.begin(), entry_of(fs::absolute(*given_), name));
    }
    if (!chosen_) chosen_ = name;
  }
  for (Entry& entry : found)
    if (const auto before = std::ranges::find(entries_, entry.name, &Entry::name);
        before != entries_.end() && before->modified == entry.modified && before->bytes == entry.bytes)
      entry.kind = before->kind;
  entries_ = std::move(found);
  if (chosen_ && std::ranges::find(entries_, *chosen_, &Entry::name) == entries_.end()) chosen_.reset();
  if (!chosen_ && !entries_.empty()) chosen_ = entries_.front().name;
}

std::vector<ModelList::Entry> ModelList::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

bool ModelList::kinds_are_known() const {
  if (!kind_of_) return true;
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(entries_, [](const Entry& entry) { return entry.kind.empty(); });
}

void ModelList::learn_kinds() {
  if (!kind_of_) return;
  for (const Entry& entry : entries()) {
    if (!entry.kind.empty()) continue;
    const std::string kind = kind_of_(entry.path);
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(entries_, entry.name, &Entry::name);
    if (found != entries_.end() && found->modified == entry.modified) found->kind = kind;
  }
}

std::optional<ModelList::Entry> ModelList::chosen() const {
  const std::lock_guard lock(mutex_);
  if (!chosen_) return std::nullopt;
  return *std::ranges::find(entries_, *chosen_, &Entry::name);
}

void ModelList::choose(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(entries_, entry.name, &Entry::name) != entries_.end()) chosen_ = entry.name;
}

ModelList::Entry ModelList::find(const std::string& field, const std::string& name) const {
  const std::vector<Entry> all = entries();
  const std::string wanted = without_hash(name);
  for (const std::string& exact : {name, wanted})
    if (const auto entry = std::ranges::find(all, exact, &Entry::name); entry != all.end()) return *entry;
  std::vector<Entry> fitting;
  std::ranges::copy_if(all, std::back_inserter(fitting), [&](const Entry& entry) { return fits(entry, wanted); });
  if (fitting.size() == 1) return fitting.front();
  if (!fitting.empty()) throw bad_field(field, "several models are called '" + wanted + "': " + listed(fitting));
  throw ApiError(404, "not_found",
                 field + ": there is no model '" + wanted.substr(0, 200) + "'; there is: " + listed(all), field);
}

}  // namespace server
