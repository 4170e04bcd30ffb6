#include "server/service.h"

#include <new>

#include "server/request_decoder.h"

namespace server {

void expect_json(const Request& request) {
  const std::string_view type = request.header("content-type");
  if (type.empty() || type.starts_with("application/json")) return;
  throw ApiError(415, "unsupported_media_type", "the body must be application/json");
}

JobOrder order_of(const Service& service, const Call& call, const Decoded& decoded, const std::string& api) {
  JobOrder order = make_order({service.models, service.options.limits, service.uploads}, decoded);
  order.client = call.client;
  order.api = api;
  return order;
}

void answer(const Call& call, const std::function<void(const Call&)>& handle) {
  const std::string& path = call.request.path;
  try {
    handle(call);
  } catch (const ApiError& error) {
    call.send(error_response(path, error));
  } catch (const std::bad_alloc&) {
    call.send(error_response(path, 503, "out_of_memory", "out of memory", {}, 5));
  } catch (const std::exception& error) {
    call.send(error_response(path, 500, "internal", error.what()));
  }
}

void later(const Service& service, const Call& call, std::function<void(const Call&)> handle) {
  Call waiting = call;
  waiting.request.body.clear();
  if (!service.chores.add([waiting, handle = std::move(handle)] { answer(waiting, handle); }))
    throw ApiError(503, "busy", "too many requests of this kind wait", {}, 1);
}

void with_kinds(const Service& service, const Call& call, std::function<void(const Call&)> handle) {
  if (service.models.kinds_are_known()) return handle(call);
  later(service, call, [&service, handle = std::move(handle)](const Call& waiting) {
    service.models.learn_kinds();
    handle(waiting);
  });
}

int http_status(gesso_status status) {
  switch (status) {
    case GESSO_USAGE:
      return 400;
    case GESSO_NOT_FOUND:
      return 404;
    case GESSO_UNSUPPORTED:
      return 501;
    case GESSO_OUT_OF_MEMORY:
      return 503;
    default:
      return 500;
  }
}

std::string client_field(const std::string& api, const std::string& field) {
  if (field == "init_image") return api == "sdapi" ? "init_images" : api == "openai" ? "image" : field;
  if (field == "mask_image") return api == "native" ? field : "mask";
  return field;
}

std::string with_name(std::string text, const std::string& path, const std::string& name) {
  for (size_t at = 0; (at = text.find(path, at)) != text.npos; at += name.size()) text.replace(at, path.size(), name);
  return text;
}

std::string without_paths(std::string text, const std::string& request,
                          const std::vector<std::pair<std::string, std::string>>& names) {
  const Json fields = parse_json(request);
  for (const auto& [field, name] : names) {
    const auto path = fields.find(field);
    if (path == fields.end() || !path->is_string() || *path == "") continue;
    text = with_name(std::move(text), path->get_ref<const std::string&>(), name);
  }
  return text;
}

void paint_for(const Service& service, const Call& call, JobOrder order, const std::vector<std::string>& warnings,
               std::function<void(const Call&, const JobView&)> ended) {
  Call answer = call;
  answer.request.body.clear();
  std::string joined;
  for (const std::string& warning : warnings) joined += (joined.empty() ? "" : "; ") + warning.substr(0, 200);
  if (!joined.empty()) answer.headers.emplace_back("X-Gesso-Warnings", joined.substr(0, 2000));
  const auto listener = [answer, ended = std::move(ended)](JobEvent event, const JobView& job, const std::string&) {
    if (event != JobEvent::kEnd) return;
    if (job.state == JobState::kCompleted) return ended(answer, job);
    const int status = job.state == JobState::kCancelled ? 503 : job.error_status;
    answer.send(
        error_response(answer.request.path, status, job.error_code, job.error, client_field(job.api, job.error_field)));
  };
  const std::string id = service.painter.submit(std::move(order), listener).id;
  call.reply->on_disconnect([painter = &service.painter, id] { painter->cancel(id); });
}

}  // namespace server
