#include "server/results.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".unfinished-";
constexpr const char* kFormats[] = {"png", "jpg", "webp"};

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw std::runtime_error("cannot " + what + " '" + path.string() + "': " + std::strerror(errno));
}

void flush_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) fail("open", folder);
  ::fsync(file);  // some file systems cannot flush a folder, and lose nothing by it
  ::close(file);
}

void write_file(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) fail("create", path);
  bool good = true;
  while (good && !bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) bytes.remove_prefix(static_cast<size_t>(written));
  }
  good = good && ::fsync(file) == 0;
  const int error = errno;
  good = ::close(file) == 0 && good;
  errno = error;
  if (!good) fail("write", path);
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void delete_folder(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

std::string new_job_id() {
  unsigned char bytes[12];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw std::runtime_error("the system has no random numbers");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  char id[64];
  size_t size = std::strftime(id, sizeof id, "%Y%m%d-%H%M%S-", &time);
  size +=
      static_cast<size_t>(std::snprintf(id + size, sizeof id - size, "%03d-", static_cast<int>(milliseconds % 1000)));
  for (const unsigned char byte : bytes)
    size += static_cast<size_t>(std::snprintf(id + size, sizeof id - size, "%02x", byte));
  return {id, size};
}

std::string_view content_type_of(std::string_view format) {
  if (format == "jpg") return "image/jpeg";
  return format == "webp" ? "image/webp" : "image/png";
}

ResultStore::ResultStore(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path lock = folder_ / ".lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) fail("use the folder of --outputs: cannot create", lock);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw std::runtime_error("another server keeps its results in '" + folder_.string() +
                             "'; give this one another folder with --outputs");
  }
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kTemporary))
      delete_folder(entry->path());
    else if (fs::exists(entry->path() / "job.json", error))
      ids_.insert(name);
  }
}

ResultStore::~ResultStore() {
  ::close(lock_);
}

void ResultStore::save(const std::string& id, const std::string& job_json, const PictureFiles& pictures,
                       const std::string& format) {
  const fs::path unfinished = folder_ / (std::string(kTemporary) + id), target = folder_ / id;
  try {
    if (!fs::create_directory(unfinished)) throw std::runtime_error("'" + unfinished.string() + "' is there already");
    for (size_t i = 0; i < pictures.size(); ++i)
      write_file(unfinished / (std::to_string(i) + "." + format), pictures[i].bytes);
    write_file(unfinished / "job.json", job_json);
    flush_folder(unfinished);
    if (std::rename(unfinished.c_str(), target.c_str()) != 0) fail("rename", unfinished);
    flush_folder(folder_);
  } catch (...) {
    delete_folder(unfinished);
    throw;
  }
  const std::lock_guard lock(mutex_);
  ids_.insert(id);
}

bool ResultStore::knows(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return ids_.contains(id);
}

size_t ResultStore::count() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

std::vector<std::string> ResultStore::list(size_t limit, const std::string& before) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  auto end = before.empty() ? ids_.end() : ids_.lower_bound(before);
  while (end != ids_.begin() && ids.size() < limit) ids.push_back(*--end);
  return ids;
}

std::optional<std::string> ResultStore::job(const std::string& id) const {
  if (!knows(id)) return std::nullopt;
  return read_file(folder_ / id / "job.json");
}

std::optional<ResultStore::File> ResultStore::picture(const std::string& id, size_t index) const {
  if (!knows(id)) return std::nullopt;
  for (const char* format : kFormats)
    if (auto bytes = read_file(folder_ / id / (std::to_string(index) + "." + format)))
      return File{std::move(*bytes), format};
  return std::nullopt;
}

bool ResultStore::remove(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    if (ids_.erase(id) == 0) return false;
  }
  const fs::path going = folder_ / (std::string(kTemporary) + id);
  if (std::rename((folder_ / id).c_str(), going.c_str()) != 0) fail("delete", folder_ / id);
  delete_folder(going);
  return true;
}

}  // namespace server
