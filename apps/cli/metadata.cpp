#include "metadata.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "json.h"
#include "library.h"

namespace cli {
namespace {

std::string read_picture(const std::string& path) {
  constexpr std::uintmax_t kLimit = std::uintmax_t{512} << 20;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw Failure(kExitFailure, fmt::format("file not found: '{}'", path));
  if (!std::filesystem::is_regular_file(path, error))
    throw Failure(kExitFailure, fmt::format("cannot read '{}': not a regular file", path));
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kLimit)
    throw Failure(kExitFailure, fmt::format("'{}' is too large: a picture file has at most 512 MiB", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(kExitFailure, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  std::string bytes(static_cast<size_t>(size), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

Json info_of(const std::string& path) {
  const std::string bytes = read_picture(path);
  gesso_error error = {};
  char* text = gesso_picture_info(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &error);
  if (!text) throw Failure(kExitFailure, fmt::format("'{}': {}", path, error.message));
  return parse_json(take(text, error));
}

/// A text of a stranger's picture on a terminal: nothing in it is an instruction to the terminal.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F ? '?' : c;
  return out;
}

std::string described(const std::string& path, const Json& info, bool raw) {
  const std::string program = info["program"];
  std::string text =
      fmt::format("{}: {}\n", path, program.empty() ? "nothing says what made it" : "made by " + program);
  for (const auto& [name, value] : info["fields"].items())
    if (value != "") text += fmt::format("{}: {}\n", name, value.get<std::string>());
  if (raw)
    for (const Json& entry : info["texts"])
      text += fmt::format("\n[{}]\n{}\n", entry["key"].get<std::string>(), entry["text"].get<std::string>());
  return printable(text);
}

}  // namespace

int metadata(const std::vector<std::string>& arguments) {
  constexpr const char* kUsage = "usage: gesso metadata [--json] [--raw] FILE...";
  bool json = false, raw = false, options = true;
  std::vector<std::string> paths;
  for (const std::string& argument : arguments) {
    if (options && (argument == "-h" || argument == "--help")) return std::puts(kUsage) < 0;
    if (options && argument == "--json")
      json = true;
    else if (options && argument == "--raw")
      raw = true;
    else if (options && argument == "--")
      options = false;
    else if (options && argument.starts_with('-'))
      throw usage("unknown option '" + argument + "'; " + kUsage);
    else
      paths.push_back(argument);
  }
  if (paths.empty()) throw usage(std::string("no file; ") + kUsage);

  Json all = Json::array();
  for (const std::string& path : paths) {
    Json info = info_of(path);
    if (json) {
      Json entry = {{"file", path}};
      entry.update(info);
      all.push_back(std::move(entry));
    } else {
      std::fputs(((path == paths.front() ? "" : "\n") + described(path, info, raw)).c_str(), stdout);
    }
  }
  if (json) std::puts(to_text(paths.size() == 1 ? all[0] : all, 2).c_str());
  return 0;
}

}  // namespace cli
