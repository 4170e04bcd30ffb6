#include "serve.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>

#include "library.h"
#include "models.h"
#include "server/server.h"
#include "text_file.h"

namespace cli {
namespace {

constexpr size_t kShortestKey = 16;

/// One key a line; blank lines and those that begin with # are none.
std::vector<std::string> read_keys(const std::string& path) {
  std::vector<std::string> keys;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t\r"));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.size() < kShortestKey)
      throw usage(fmt::format("--api-key-file: a key in '{}' is shorter than {} characters", path, kShortestKey));
    keys.push_back(line);
  }
  if (keys.empty()) throw usage(fmt::format("--api-key-file: '{}' holds no key", path));
  return keys;
}

/// What has to be made of the words of the command line.
struct Words {
  std::string models, model, outputs = "outputs", key_file;
  double header_seconds = 10, body_seconds = 60, idle_seconds = 60, write_seconds = 30;
  bool no_model = false;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

void declare(CLI::App& app, server::Options& options, Words& words) {
  const auto whole = [&](const char* name, auto& target, int64_t least, int64_t most, const char* text) {
    app.add_option(name, target, text)->check(CLI::Range(least, most))->capture_default_str();
  };
  const auto seconds = [&](const char* name, double& target, const char* text) {
    app.add_option(name, target, text)->check(CLI::Range(0.05, 86400.0))->capture_default_str();
  };
  app.add_option("--host", options.host, "address to listen on; 0.0.0.0 is everywhere")->capture_default_str();
  whole("--port", options.port, 0, 65535, "port to listen on; 0 takes a free one");
  app.add_option("-m,--model", words.model, "model of requests that name none [the model that ships with Gesso]");
  app.add_option("--models", words.models, "folder of models that requests may name");
  app.add_flag("--no-model", words.no_model, "do not offer the model that ships with Gesso");
  app.add_option("--outputs", words.outputs, "folder in which results are kept")->capture_default_str();
  app.add_option("--api-key-file", words.key_file, "file of keys, one a line; without it everybody may ask");
  app.add_option("--allow-host", options.hosts, "name under which clients reach this server");
  app.add_option("--allow-origin", options.origins, "origin whose pages may call (https://example.org)");
  whole("--queue", options.queue, 1, 100000, "jobs that may wait");
  whole("--queue-per-client", options.queue_per_client, 0, 100000, "jobs of one client that may wait; 0: as many");
  whole("--max-pixels", options.limits.pixels, 4096, 67108864, "pixels of one picture");
  whole("--max-steps", options.limits.steps, 1, 10000, "steps of one request");
  whole("--max-batch", options.limits.batch, 1, 10000, "pictures of one request");
  whole("--max-connections", options.http.connections, 1, 10000, "clients at once");
  whole("--max-body", options.http.body_bytes, 1024, 1 << 20, "bytes of a request without pictures");
  app.add_option("--idle-unload", options.idle_unload_minutes,
                 "minutes after which a model that nobody uses gives its memory back; 0: never")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  whole("--drain", options.drain_seconds, 0, 86400, "seconds that running work may take after SIGTERM");
  seconds("--header-time", words.header_seconds, "seconds in which a request's header must arrive");
  seconds("--body-time", words.body_seconds, "seconds in which a request's body must arrive");
  seconds("--idle-time", words.idle_seconds, "seconds that a connection may stay unused");
  seconds("--write-time", words.write_seconds, "seconds in which a client must take each part of its answer");
  whole("-t,--threads", options.threads, 0, 1000000, "threads; 0 takes every physical core");
  app.add_option("--memory", options.memory, "memory the work may take, such as 8GiB; 0 takes what is free")
      ->capture_default_str();
}

void choose_model(server::Options& options, const Words& words) {
  if (!words.models.empty()) options.models = words.models;
  if (!words.model.empty())
    options.model = words.model;
  else if (!words.no_model)
    options.model = find_demo_model();
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

int serve(const std::vector<std::string>& arguments) {
  server::Options options;
  Words words;
  CLI::App app("Serves pictures over HTTP: a page, the native API, and those of OpenAI and AUTOMATIC1111.",
               "gesso serve");
  declare(app, options, words);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return std::fputs(app.help().c_str(), stdout) < 0;
  } catch (const CLI::ParseError& error) {
    throw usage(std::string("serve: ") + error.what());
  }
  choose_model(options, words);
  options.outputs = words.outputs;
  if (!words.key_file.empty()) options.keys = read_keys(words.key_file);
  options.http.header_time = milliseconds(words.header_seconds);
  options.http.body_time = milliseconds(words.body_seconds);
  options.http.idle_time = milliseconds(words.idle_seconds);
  options.http.write_time = milliseconds(words.write_seconds);

  server::Server server(options);
  std::fputs(fmt::format("gesso {} serves {}\n{}", gesso_version(), server.address(), server.description()).c_str(),
             stdout);
  std::fflush(stdout);
  if (!is_loopback(options.host) && options.keys.empty())
    std::fputs("gesso: anybody who reaches this address can paint; --api-key-file asks for keys\n", stderr);
  server.run(true);
  return 0;
}

}  // namespace cli
