#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace gesso::testing {

/// A fresh folder that goes away with the object. Its name holds what real paths hold: blanks, quotes, CJK, Cyrillic
/// and an emoji.
class TempFolder {
 public:
  TempFolder() {
    static int counter = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("gesso 'test' модель 模型 🎨 " + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path put(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

/// The file's bytes as safetensors has them: length of the header, the header, the data.
inline std::string safetensors(std::string_view header, std::string_view data = {}) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file.append(header).append(data);
}

/// Expects `statement` to throw an Error of that code whose message is one line and contains `text`.
#define EXPECT_REFUSED(statement, expected_code, text)                                                           \
  try {                                                                                                          \
    statement;                                                                                                   \
    ADD_FAILURE() << "accepted: " #statement;                                                                    \
  } catch (const ::gesso::Error& error) {                                                                        \
    EXPECT_EQ(::gesso::to_string(error.code()), std::string(::gesso::to_string(expected_code))) << error.what(); \
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "the message was: " << error.what();   \
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line";                  \
  }

}  // namespace gesso::testing
