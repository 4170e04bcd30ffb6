// What the server is and how it does: capabilities, health, metrics, the description of its routes.
#include <fmt/format.h>

#include "server/request_decoder.h"
#include "server/service.h"

namespace server {
namespace {

void send_capabilities(const Service& service, const Call& call) {
  const Options& options = service.options;
  call.send_json(dumped({{"version", gesso_version()},
                         {"samplers", schema_choices("sampling_method")},
                         {"schedulers", schema_choices("scheduler")},
                         {"formats", {"png", "jpeg", "webp"}},
                         {"limits",
                          {{"pixels", options.limits.pixels},
                           {"steps", options.limits.steps},
                           {"batch_count", options.limits.batch},
                           {"queue", options.queue},
                           {"body_bytes", options.http.body_bytes}}},
                         {"features",
                          {{"cancel", true},
                           {"progress", true},
                           {"previews", true},
                           {"image_to_image", true},
                           {"inpainting", true},
                           {"upscaling", false}}},
                         {"key_needed", service.access.has_keys()}}));
}

void send_health(const Service& service, const Call& call) {
  const Painter::Counters counters = service.painter.counters();
  call.send_json(dumped(
      {{"status", "ok"}, {"version", gesso_version()}, {"running", counters.running}, {"queued", counters.queued}}));
}

void send_metrics(const Service& service, const Call& call) {
  const Painter::Counters c = service.painter.counters();
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, auto value) {
    text += fmt::format("# HELP gesso_{0} {2}\n# TYPE gesso_{0} {1}\ngesso_{0} {3}\n", name, type, help, value);
  };
  add("jobs_completed_total", "counter", "Jobs painted.", c.completed);
  add("jobs_failed_total", "counter", "Jobs that failed.", c.failed);
  add("jobs_cancelled_total", "counter", "Jobs cancelled.", c.cancelled);
  add("jobs_refused_total", "counter", "Jobs refused because the queue was full.", c.refused);
  add("pictures_total", "counter", "Pictures painted.", c.pictures);
  add("painting_seconds_total", "counter", "Time spent painting.", c.seconds);
  add("jobs_queued", "gauge", "Jobs that wait.", c.queued);
  add("jobs_running", "gauge", "Jobs that are being painted.", c.running ? 1 : 0);
  const std::unique_ptr<char, decltype(&gesso_free)> models(gesso_models(service.engine, nullptr), gesso_free);
  int64_t bytes = 0;
  const Json loaded = models ? parse_json(models.get()) : Json::array();
  for (const Json& model : loaded) bytes += model["bytes"].get<int64_t>();
  add("models_loaded", "gauge", "Models kept open.", loaded.size());
  add("models_bytes", "gauge", "Bytes of prepared weights that they keep in memory.", bytes);
  add("results_stored", "gauge", "Jobs kept on disk.", service.results.count());
  call.send({.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = text});
}

}  // namespace

void add_status_routes(Router& router, const Service& service) {
  const auto with = [&service](void (*handle)(const Service&, const Call&)) {
    return [&service, handle](const Call& call) { handle(service, call); };
  };
  router.add({"GET", "/api/v1/capabilities", "Samplers, schedulers, limits, features", with(send_capabilities)});
  router.add(
      {"GET", "/api/v1/schema", "JSON schema of a request", [](const Call& call) { call.send_json(gesso_schema()); }});
  for (const char* path : {"/api/v1/health", "/health"})
    router.add({"GET", path, "Whether the server lives", with(send_health), Body::kNone, false});
  for (const char* path : {"/api/v1/metrics", "/metrics"})
    router.add({"GET", path, "Counters for Prometheus", with(send_metrics)});
}

}  // namespace server
