#pragma once
#include <memory>
#include <string>

#include "server/options.h"

namespace server {

/// A server and everything behind it.
class Server {
 public:
  /// Opens the engine, the folders and the address. Throws std::runtime_error with the reason.
  explicit Server(const Options& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  /// "http://127.0.0.1:7860/"
  std::string address() const;
  /// Effective options for a person, one a line.
  std::string description() const;

  /// Serves until stop(), or SIGINT or SIGTERM with `signals`: takes no new work, lets what runs end (at most
  /// Options::drain_seconds), answers it, and returns. A second signal cancels what runs.
  void run(bool signals);
  /// As the first signal. From any thread.
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace server
