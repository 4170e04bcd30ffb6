#include "server/server.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "server/json.h"
#include "server/service.h"

namespace server {
namespace {

constexpr std::chrono::seconds kAnswerTime{5};  // for the answers that are still on their way at the end

struct EngineDeleter {
  void operator()(gesso_engine* engine) const { gesso_close(engine); }
};
using EnginePointer = std::unique_ptr<gesso_engine, EngineDeleter>;

EnginePointer open_engine(const Options& options) {
  const std::string config = dumped({{"threads", options.threads}, {"memory", options.memory}});
  gesso_error error = {};
  EnginePointer engine(gesso_open(config.c_str(), &error));
  if (!engine) throw std::runtime_error(error.message);
  return engine;
}

std::string minutes_text(double minutes) {
  std::string number = std::to_string(minutes);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number + (minutes == 1 ? " minute" : " minutes");
}

Painter::Limits painter_limits(const Options& options) {
  return {static_cast<size_t>(options.queue), static_cast<size_t>(options.queue_per_client)};
}

}  // namespace

struct Server::Parts {
  explicit Parts(const Options& given)
      : options(given),
        engine(open_engine(options)),
        models(options.models, options.model, [this](const std::filesystem::path& path) { return kind_of(path); }),
        results(options.outputs),
        painter(engine.get(), results, painter_limits(options)),
        access(options.keys, options.hosts, options.origins),
        http(options.host, options.port, options.http, handler()) {
    add_web_routes(router);
    add_status_routes(router, service);
    add_native_routes(router, service);
    add_model_routes(router, service);
    add_openai_routes(router, service);
    add_sdapi_routes(router, service);
    add_description_routes(router, service);
  }
  ~Parts() {
    if (watchdog.joinable()) watchdog.join();
  }

  HttpHandler handler();
  std::string kind_of(const std::filesystem::path& path) const;
  std::function<void()> regular_chore() const;
  bool refuse(const Request& request, Response& refusal);
  void handle(Request request, ReplyPointer reply);
  void stop();
  void end();

  const Options options;
  const EnginePointer engine;
  ModelList models;
  ResultStore results;
  UploadStore uploads{results.folder() / ".uploads"};  // whose folder the store of results holds for this process
  Painter painter;
  const Access access;
  Router router;
  Chores chores{regular_chore()};
  const Service service{options, engine.get(), models, results, painter, access, router, uploads, chores};
  HttpServer http;  // before the painter it goes, so that clients it turns away can still be cancelled

  std::mutex mutex;
  std::condition_variable ended_changed;
  bool stopping = false;  ///< guarded by mutex
  bool ended = false;     ///< guarded by mutex
  std::thread watchdog;
};

HttpHandler Server::Parts::handler() {
  return {.refuse = [this](const Request& request, Response& refusal) { return refuse(request, refusal); },
          .body_limit =
              [this](const Request& request) {
                if (request.method == "OPTIONS") return size_t{0};
                std::map<std::string, std::string> values;
                const Body body = router.match(request, values).body;
                return body == Body::kPicture ? options.http.picture_bytes : options.http.body_bytes;
              },
          .handle = [this](Request request, ReplyPointer reply) { handle(std::move(request), std::move(reply)); },
          .error =
              [](int status, const std::string& message) {
                const char* code = status == 408   ? "timeout"
                                   : status == 413 ? "too_large"
                                   : status == 503 ? "busy"
                                                   : "usage";
                return error_response("/", status, code, message, {}, status == 503 ? 1 : 0);
              }};
}

/// Everything that can be said before the body is read: who asks, and for what.
bool Server::Parts::refuse(const Request& request, Response& refusal) {
  try {
    if (request.method == "OPTIONS") {
      static_cast<void>(access.check(request, false));
      return false;
    }
    std::map<std::string, std::string> values;
    const Route* route = nullptr;
    static_cast<void>(access.check(request, false));
    try {
      route = &router.match(request, values);
    } catch (const ApiError&) {
      static_cast<void>(access.check(request, true));  // without a key one does not learn what exists
      throw;
    }
    static_cast<void>(access.check(request, route->needs_key));
    return false;
  } catch (const ApiError& error) {
    refusal = error_response(request.path, error);
  }
  const auto cors = access.cors_headers(request);
  refusal.headers.insert(refusal.headers.end(), cors.begin(), cors.end());
  return true;
}

void Server::Parts::handle(Request request, ReplyPointer reply) {
  Call call{.request = std::move(request), .reply = std::move(reply)};
  call.headers = access.cors_headers(call.request);
  if (call.request.method == "OPTIONS") return call.send({.status = 204, .content_type = ""});
  answer(call, [&](const Call&) {
    const Route& route = router.match(call.request, call.values);
    call.client = access.check(call.request, route.needs_key);
    route.handle(call);
  });
}

/// What a model file is for, by what it holds.
std::string Server::Parts::kind_of(const std::filesystem::path& path) const {
  const std::string name = path.string();
  const char* names[] = {name.c_str()};
  const std::unique_ptr<char, decltype(&gesso_free)> found(gesso_inspect(engine.get(), names, 1, nullptr), gesso_free);
  if (!found) return "unknown";
  Json report = parse_json(found.get());
  std::string kind = "unknown";
  for (Json& file : report["files"])
    for (const Json& component : file["components"]) {
      const std::string role = component.value("role", "");
      if (role == "diffusion_model") return "checkpoint";
      kind = role;
    }
  return kind;
}

/// What is done while nothing else is: models that nobody used for a while are closed.
std::function<void()> Server::Parts::regular_chore() const {
  if (options.idle_unload_minutes <= 0) return {};
  return [engine = engine.get(), seconds = options.idle_unload_minutes * 60] {
    gesso_unload(engine, nullptr, seconds, nullptr);
  };
}

void Server::Parts::end() {
  {
    const std::lock_guard lock(mutex);
    ended = true;
  }
  ended_changed.notify_all();
  http.stop(kAnswerTime);
}

void Server::Parts::stop() {
  {
    const std::lock_guard lock(mutex);
    if (std::exchange(stopping, true)) return painter.cancel_running();
    watchdog = std::thread([this] {
      std::unique_lock waiting(mutex);
      if (!ended_changed.wait_for(waiting, std::chrono::seconds(options.drain_seconds), [this] { return ended; })) {
        waiting.unlock();
        painter.cancel_running();
      }
    });
  }
  http.close_listener();
  painter.drain([this] { end(); });
}

Server::Server(const Options& options) : parts_(std::make_unique<Parts>(options)) {}
Server::~Server() = default;

uint16_t Server::port() const {
  return parts_->http.port();
}

std::string Server::address() const {
  const std::string& host = parts_->options.host;
  return "http://" + (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port()) + "/";
}

std::string Server::description() const {
  const Options& o = parts_->options;
  const auto chosen = parts_->models.chosen();
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text.append("  ").append(name).append(std::string(12 - std::string_view(name).size(), ' ')).append(value) += '\n';
  };
  add("model", chosen ? chosen->name : "none: requests must name one, and there is none");
  add("models", (o.models ? "'" + o.models->string() + "', " : std::string()) +
                    std::to_string(parts_->models.entries().size()) + " to choose from");
  add("outputs",
      "'" + parts_->results.folder().string() + "', " + std::to_string(parts_->results.count()) + " results");
  add("queue", std::to_string(o.queue) + " jobs" +
                   (o.queue_per_client ? ", " + std::to_string(o.queue_per_client) + " of one client" : ""));
  add("limits", std::to_string(o.limits.pixels) + " pixels, " + std::to_string(o.limits.steps) + " steps, " +
                    std::to_string(o.limits.batch) + " pictures a request");
  add("models stay", o.idle_unload_minutes > 0 ? "until they are unused for " + minutes_text(o.idle_unload_minutes)
                                               : "as long as memory allows");
  add("keys", o.keys.empty() ? "none: everybody who reaches this address may paint" : std::to_string(o.keys.size()));
  return text;
}

void Server::run(bool signals) {
  if (signals) parts_->http.on_signal([this] { parts_->stop(); });
  parts_->http.run();
}

void Server::stop() {
  parts_->stop();
}

}  // namespace server
