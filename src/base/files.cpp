#include "base/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace gesso {
namespace {

[[noreturn]] void fail_errno(const char* verb, const std::filesystem::path& path, int error) {
  if (error == ENOENT || error == ENOTDIR) fail(ErrorCode::kNotFound, "file not found: {}", quoted(path));
  fail(ErrorCode::kIo, "cannot {} {}: {}", verb, quoted(path), std::strerror(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

size_t open_size(const Descriptor& file, const std::filesystem::path& path) {
  if (file.get() < 0) fail_errno("read", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) fail_errno("read", path, errno);
  if (S_ISDIR(info.st_mode)) fail(ErrorCode::kIo, "cannot read {}: it is a folder", quoted(path));
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::kIo, "cannot read {}: not a regular file", quoted(path));
  return static_cast<size_t>(info.st_size);
}

/// For file systems without hard links (exFAT, as on USB sticks): creating the target decides who owns the name.
bool rename_into_new(const std::filesystem::path& from, const std::filesystem::path& target) {
  const Descriptor claim(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (claim.get() < 0) return false;
  if (::rename(from.c_str(), target.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(target.c_str());
  errno = error;
  return false;
}

}  // namespace

std::string quoted(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a FIFO named as a model must be refused, not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const size_t size = open_size(file, path);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) fail_errno("map", path, errno);
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

void MappedFile::forget(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void MappedFile::will_need(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data()) + part.size();
  if (!part.empty()) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_WILLNEED);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_file(const std::filesystem::path& path, size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const size_t size = open_size(file, path);
  if (size > limit)
    fail(ErrorCode::kBadFile, "{} is too large: {} bytes where at most {} are expected", quoted(path), size, limit);
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.get(), text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno("read", path, errno);
    if (got == 0) break;  // the file shrank meanwhile
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  static std::atomic<unsigned> counter{0};  // names must differ between threads of this process
  if (target_.has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(target_.parent_path(), error);
    if (error) fail(ErrorCode::kIo, "cannot create the folder {}: {}", quoted(target_.parent_path()), error.message());
  }
  temporary_ = target_.parent_path() / fmt::format(".gesso-{}-{}.part", ::getpid(), counter++);
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0) fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
}

void AtomicFile::commit(bool replace) {
  if (::fsync(fd_) != 0 && errno != EINVAL)
    fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
  if (replace) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0)
      fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
  } else {
    // link() fails when the target exists, where rename() would replace it
    if (::link(temporary_.c_str(), target_.c_str()) == 0)
      ::unlink(temporary_.c_str());
    else if (errno == EEXIST || !rename_into_new(temporary_, target_))
      fail(ErrorCode::kIo, "cannot write {}: {}", quoted(target_), std::strerror(errno));
  }
  ::close(fd_);
  fd_ = -1;
}

}  // namespace gesso
