#pragma once
#include <memory>
#include <stdexcept>
#include <string>

#include "gesso/gesso.h"

namespace cli {

inline constexpr int kExitFailure = 1, kExitUsage = 2, kExitInterrupted = 130;

/// Ends the command: main prints the message as one line and exits with the code.
class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  explicit Failure(const gesso_error& error) : Failure(exit_code_of(error.code), error.message) {}
  int exit_code() const { return exit_code_; }

 private:
  static int exit_code_of(gesso_status status) {
    if (status == GESSO_USAGE) return kExitUsage;
    return status == GESSO_CANCELLED ? kExitInterrupted : kExitFailure;
  }
  int exit_code_;
};

/// A mistake on the command line.
inline Failure usage(const std::string& message) {
  return Failure(kExitUsage, message);
}

struct Deleter {
  void operator()(gesso_engine* engine) const { gesso_close(engine); }
  void operator()(gesso_result* result) const { gesso_result_free(result); }
  void operator()(char* text) const { gesso_free(text); }
};
using EnginePointer = std::unique_ptr<gesso_engine, Deleter>;
using ResultPointer = std::unique_ptr<gesso_result, Deleter>;

/// Takes text that the library returned; NULL is the error's failure.
inline std::string take(char* text, const gesso_error& error) {
  if (!text) throw Failure(error);
  return std::unique_ptr<char, Deleter>(text).get();
}

/// `config_json` as gesso_open() takes it, or null.
inline EnginePointer open_engine(const char* config_json = nullptr) {
  gesso_error error = {};
  EnginePointer engine(gesso_open(config_json, &error));
  if (!engine) throw Failure(error);
  return engine;
}

}  // namespace cli
