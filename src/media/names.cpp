#include "media/names.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/files.h"
#include "media/unicode.h"

namespace gesso {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFileName = 255;

struct NumberField {
  size_t begin = 0, end = 0;
  int width = 0;
  bool zeros = false;
};

/// The first `%d`, `%4d` or `%04d` that is not part of `%%`.
std::optional<NumberField> find_number_field(std::string_view name) {
  for (size_t at = name.find('%'); at != name.npos; at = name.find('%', at)) {
    const size_t digits = at + 1;
    size_t end = digits;
    while (end < name.size() && end - digits < 3 && name[end] >= '0' && name[end] <= '9') ++end;
    if (end < name.size() && name[end] == 'd') {
      NumberField field{at, end + 1, 0, name[digits] == '0'};
      std::from_chars(name.data() + digits, name.data() + end, field.width);
      return field;
    }
    at = digits < name.size() && name[digits] == '%' ? digits + 1 : digits;
  }
  return std::nullopt;
}

std::string without_doubled_percent(std::string text) {
  for (size_t at = text.find("%%"); at != text.npos; at = text.find("%%", at + 1)) text.erase(at, 1);
  return text;
}

/// The path with its last part cut to what file systems take.
fs::path fitted(const fs::path& path) {
  return path.parent_path() / fitted_file_name(path.stem().string(), path.extension().string());
}

void put(const fs::path& path, std::string_view bytes, bool replace) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit(replace);
}

bool is_taken(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));  // false where it cannot be told: writing then says why
}

}  // namespace

PictureFormat picture_format(const fs::path& name) {
  std::string extension = name.extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (extension == ".png") return PictureFormat::kPng;
  if (extension == ".jpg" || extension == ".jpeg") return PictureFormat::kJpeg;
  if (extension == ".webp") return PictureFormat::kWebp;
  fail(ErrorCode::kUsage, "cannot tell the format of the picture {}: its name must end in .png, .jpg, .jpeg or .webp",
       quoted(name));
}

std::string fitted_file_name(std::string_view stem, std::string_view suffix) {
  if (stem.size() + suffix.size() > kMaxFileName) {
    size_t end = suffix.size() < kMaxFileName ? kMaxFileName - suffix.size() : 0;
    while (end > 0 && (stem[end] & 0xc0) == 0x80) --end;
    if (end == 0) fail(ErrorCode::kUsage, "a file name cannot end in {} bytes that are not to be cut", suffix.size());
    stem = stem.substr(0, end);
  }
  return std::string(stem).append(suffix);
}

std::string stem_from_text(std::string_view text) {
  std::string stem = valid_utf8(text);
  for (char& c : stem)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
        std::string_view("/\\:*?\"<>|%").find(c) != std::string_view::npos)
      c = '_';
  // neither hidden, nor an option, nor what Windows cannot name
  const size_t begin = stem.find_first_not_of(" .-"), end = stem.find_last_not_of(" .");
  return begin == stem.npos ? "_" : stem.substr(begin, end - begin + 1);
}

fs::path write_image(const fs::path& path, std::string_view bytes) {
  fs::path target = fitted(path);
  put(target, bytes, true);
  return target;
}

OutputNames::OutputNames(fs::path name, int count, std::optional<int64_t> first)
    : name_(std::move(name)), format_(picture_format(name_)) {
  if (first && *first < 0) fail(ErrorCode::kUsage, "pictures cannot be numbered from {}: expected 0 or more", *first);
  const std::string file = name_.filename().string();
  if (const auto field = find_number_field(file)) {
    before_ = without_doubled_percent(file.substr(0, field->begin));
    after_ = without_doubled_percent(file.substr(field->end));
    width_ = field->width;
    zeros_ = field->zeros;
    next_ = first.value_or(0);
  } else {
    plain_ = count == 1 && !first;
    before_ = name_.stem().string() + "_";
    after_ = name_.extension().string();
    width_ = 4;
    zeros_ = true;
    next_ = first.value_or(1);
  }
}

fs::path OutputNames::numbered(int64_t number) const {
  const std::string digits = zeros_ ? fmt::format("{:0{}}", number, width_) : fmt::format("{:{}}", number, width_);
  if (before_.empty()) return name_.parent_path() / (digits + after_);
  return name_.parent_path() / fitted_file_name(before_, digits + after_);
}

fs::path OutputNames::write(std::string_view bytes) {
  if (plain_) return write_image(name_, bytes);
  while (true) {
    fs::path path = numbered(next_++);
    if (is_taken(path)) continue;
    try {
      put(path, bytes, false);
      return path;
    } catch (const Error&) {
      // Somebody took the name between the look and the write: go on to the next number.
      if (!is_taken(path)) throw;
    }
  }
}

}  // namespace gesso
