#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "server/http.h"

namespace server {

/// What requests may ask for.
struct RequestLimits {
  int64_t pixels = 4 << 20;  ///< of one picture
  int64_t steps = 200;
  int64_t batch = 16;  ///< pictures of one request
};

/// What `gesso serve` was asked to do.
struct Options {
  std::string host = "127.0.0.1";
  uint16_t port = 7860;
  std::optional<std::filesystem::path> models;  ///< folder whose files requests may name
  std::optional<std::filesystem::path> model;   ///< of requests that name none
  std::filesystem::path outputs = "outputs";
  std::vector<std::string> keys;     ///< empty: everybody may ask
  std::vector<std::string> hosts;    ///< names in the header Host that are allowed besides localhost and addresses
  std::vector<std::string> origins;  ///< of other pages that may call ("https://example.org"); "*": any
  int queue = 64;                    ///< jobs that wait
  int queue_per_client = 0;          ///< of one client; 0: as many as the queue takes
  int drain_seconds = 30;            ///< what is running may take so long after SIGTERM
  double idle_unload_minutes = 0;    ///< a model that is not used for so long is closed; 0: never
  int threads = 0;                   ///< 0: every physical core
  std::string memory = "0";          ///< as in a request
  RequestLimits limits;
  HttpLimits http;
};

}  // namespace server
