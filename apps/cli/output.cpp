#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "library.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace

std::string output_name(const std::optional<std::string>& given) {
  if (given) return *given;
  return is_there("output.png") ? "output_%04d.png" : "output.png";
}

std::string numbered(const std::string& name) {
  const size_t folder = name.rfind('/') + 1, dot = name.rfind('.');
  for (size_t at = name.find('%', folder); at != name.npos; at = name.find('%', at + 1)) {
    const size_t end = name.find_first_not_of("0123456789", at + 1);
    if (end != name.npos && name[end] == 'd') return name;
  }
  std::string before = name.substr(folder, dot - folder);
  for (size_t at = before.find('%'); at != before.npos; at = before.find('%', at + 2)) before.insert(at, 1, '%');
  return name.substr(0, folder) + before + "_%04d" + name.substr(dot);
}

void check_output(const std::string& name, const char* option) {
  gesso_error error = {};
  if (gesso_check_picture_name(name.c_str(), &error) != GESSO_OK)
    throw usage(fmt::format("{}: {}", option, error.message));
  const fs::path target(name);
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) throw usage(fmt::format("{}: '{}' is a folder", option, name));
  fs::path folder = fs::absolute(target, ignored).parent_path();
  while (!is_there(folder) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    throw usage(fmt::format("{}: '{}' is a file, not a folder", option, folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Failure(kExitFailure,
                  fmt::format("cannot write '{}': no permission in the folder '{}'", name, folder.string()));
}

}  // namespace cli
