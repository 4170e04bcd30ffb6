#include "io/tensor_file.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "io/checkpoint.h"
#include "io/gguf.h"
#include "io/safetensors.h"

namespace gesso {
namespace {

using Mapped = std::shared_ptr<const MappedFile>;

/// A kind of file, told by its first bytes. One that Gesso reads has `open`; the others are known so that the message
/// can say what the file is and what to do.
struct Format {
  bool (*matches)(std::string_view bytes);
  std::shared_ptr<const TensorFile> (*open)(Mapped file);
  ErrorCode code = ErrorCode::kUnsupported;
  std::string_view is = {}, remedy = {};
};

std::string_view first_word(std::string_view bytes) {
  const size_t start = bytes.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : bytes.substr(start, 64);
}

bool is_safetensors(std::string_view b) {  // a header below 4 GiB that starts as JSON objects do
  return b.size() > 8 && b[8] == '{' && b.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

bool is_damaged_safetensors(std::string_view b) {
  return b.size() == 8 || (b.size() > 8 && b[8] == '{');
}

template <size_t N>
bool begins(std::string_view b, const char (&magic)[N]) {
  return b.starts_with(std::string_view(magic, N - 1));
}

bool is_pickle(std::string_view b) {  // protocols 2 to 5; before them, the magic number of torch.save in digits
  return (b.size() > 1 && b[0] == '\x80' && b[1] >= 2 && b[1] <= 5) || begins(b, "L119547037146038801333356L");
}

bool is_text(std::string_view b) {  // no control characters and no byte that UTF-8 never has
  b = b.substr(0, 512);
  return !b.empty() && std::all_of(b.begin(), b.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20) return c == '\n' || c == '\r' || c == '\t' || c == '\f';
    return u != 0x7f && u != 0xc0 && u != 0xc1 && u < 0xf5;
  });
}

constexpr std::string_view kExpected = "a safetensors or GGUF file or a PyTorch checkpoint";
constexpr std::string_view kDownloadAgain = "download the model itself";
constexpr std::string_view kResave = "save it as safetensors";

// Tried in this order: the exact first, the guesses last.
const Format kFormats[] = {
    {is_safetensors, open_safetensors},
    {[](auto b) { return begins(b, "GGUF"); }, open_gguf},
    {[](auto b) { return begins(b, "PK\x03\x04") || begins(b, "PK\x05\x06"); }, open_zip_checkpoint},
    {is_pickle, open_legacy_checkpoint},
    {[](auto b) { return b.size() > 262 && b.substr(257, 5) == "ustar"; }, nullptr, ErrorCode::kUnsupported,
     "a tar archive (a PyTorch checkpoint of before 0.2?)", "unpack it, or save the model as safetensors"},
    {[](auto b) { return begins(b, "lmgg") || begins(b, "tjgg") || begins(b, "fmgg"); }, nullptr,
     ErrorCode::kUnsupported, "a GGML file, the predecessor of GGUF", kResave},
    {[](auto b) { return begins(b, "\x89HDF\r\n\x1a\n"); }, nullptr, ErrorCode::kUnsupported, "an HDF5 file", kResave},
    {[](auto b) { return begins(b, "\x1f\x8b") || begins(b, "7z\xbc\xaf") || begins(b, "Rar!"); }, nullptr,
     ErrorCode::kUnsupported, "a compressed archive", "unpack it first"},
    {[](auto b) { return begins(b, "\x89PNG\r\n") || begins(b, "\xff\xd8\xff") || begins(b, "RIFF"); }, nullptr,
     ErrorCode::kUnsupported, "a picture", "name the model file"},
    {[](auto b) { return begins(b, "version https://git-lfs"); }, nullptr, ErrorCode::kBadFile,
     "a git-LFS pointer, not the model", "run 'git lfs pull', or download the model itself"},
    {[](auto b) { return first_word(b).starts_with('<') && is_text(b); }, nullptr, ErrorCode::kBadFile,
     "a web page (HTML), perhaps an error page saved by a download", kDownloadAgain},
    {[](auto b) { return first_word(b).starts_with('{') && is_text(b); }, nullptr, ErrorCode::kBadFile, "JSON text",
     "name the weights, or the *.safetensors.index.json of a sharded model"},
    {is_text, nullptr, ErrorCode::kBadFile, "plain text", kDownloadAgain},
    {is_damaged_safetensors, open_safetensors},
};

}  // namespace

std::shared_ptr<const TensorFile> open_tensor_file(const std::filesystem::path& path) {
  const Mapped file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (bytes.empty()) fail(ErrorCode::kBadFile, "{} is empty: expected {}", quoted(path), kExpected);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Format& format : kFormats) {
    if (!format.matches(text)) continue;
    if (format.open) return format.open(file);
    fail(format.code, "{} is {}: expected {}; {}", quoted(path), format.is, kExpected, format.remedy);
  }
  fail(ErrorCode::kBadFile, "{} is no model file that Gesso knows: expected {}", quoted(path), kExpected);
}

}  // namespace gesso
