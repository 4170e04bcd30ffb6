// /api/v1: jobs and what became of them.
#include <algorithm>
#include <functional>
#include <map>

#include "server/job_json.h"
#include "server/request_decoder.h"
#include "server/service.h"

namespace server {
namespace {

ApiError no_job() {
  return {404, "not_found", "there is no such job; /api/v1/jobs lists those that there are", "id"};
}

/// A job that waits, runs or ended, as JSON.
std::string find_job(const Service& service, const std::string& id) {
  if (auto stored = service.results.job(id)) return *stored;
  const auto job = service.painter.find(id);
  if (!job || (job->kept && job->state == JobState::kCompleted)) throw no_job();
  return job_json(*job);
}

void post_job(const Service& service, const Call& call) {
  expect_json(call.request);
  const Decoded decoded =
      decode_native(call.request.body, call.request.parameter("format"), call.request.parameter("quality"));
  const JobView job = service.painter.submit(order_of(service, call, decoded, "native"));
  call.send({.status = 202, .body = job_json(job), .headers = {{"Location", "/api/v1/jobs/" + job.id}}});
}

void list_jobs(const Service& service, const Call& call) {
  constexpr int64_t kMost = 500;
  Json query = Json::object();
  for (const auto& [name, value] : call.request.query) query[name] = value;
  Fields fields(query);
  const auto limit = static_cast<size_t>(fields.integer("limit", 1, kMost).value_or(50));
  const std::string before = fields.text("before").value_or("");
  if (const auto unknown = fields.unknown(); !unknown.empty())
    throw bad_field(unknown.front(), "unknown; limit and before are known");

  std::vector<std::string> ids = service.results.list(limit + 1, before);
  std::map<std::string, std::string> failed;  // ended without a result
  for (const JobView& job : service.painter.ended()) {
    if (!before.empty() && job.id >= before) continue;
    ids.push_back(job.id);
    failed.emplace(job.id, job_json(job));
  }
  std::ranges::sort(ids, std::greater());  // an id begins with its time
  const bool more = ids.size() > limit;
  if (more) ids.resize(limit);

  std::string list;
  const auto add = [&](const std::string& job) { list += (list.empty() ? "" : ",") + job; };
  if (before.empty())
    for (const JobView& job : service.painter.active()) add(job_json(job));
  for (const std::string& id : ids) {
    const auto without_result = failed.find(id);
    if (without_result != failed.end())
      add(without_result->second);
    else if (const auto job = service.results.job(id))
      add(*job);
  }
  call.send_json("{\"jobs\":[" + list + "],\"stored\":" + std::to_string(service.results.count()) +
                 ",\"next\":" + (more ? "\"" + ids.back() + "\"" : "null") + "}");
}

void send_events(const Service& service, const Call& call) {
  const std::string id = call.values.at("id");
  const ReplyPointer reply = call.reply;
  Response head{.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}};
  head.headers.insert(head.headers.end(), call.headers.begin(), call.headers.end());
  if (const auto stored = service.results.job(id)) {
    head.body = job_event("completed", *stored);
    reply->begin(std::move(head));
    return reply->end();
  }
  if (!service.painter.find(id)) throw no_job();
  reply->begin(std::move(head));
  const auto listener = [reply](JobEvent event, const JobView& job, const std::string& text) {
    switch (event) {
      case JobEvent::kPosition:
        return reply->write(job_event("queued", progress_json(job)));
      case JobEvent::kProgress:
        return reply->write(job_event("progress", progress_json(job)));
      case JobEvent::kPreview:
        return reply->write(job_event("preview", preview_json(*job.preview)));
      case JobEvent::kMessage:
        return reply->write(job_event("message", dumped({{"text", text}})));
      case JobEvent::kEnd:
        reply->write(job_event(std::string(to_string(job.state)), job_json(job)));
        reply->end();
    }
  };
  const uint64_t number = service.painter.listen(id, listener);
  if (number == 0) return reply->end();
  reply->on_disconnect([painter = &service.painter, id, number] { painter->unlisten(id, number); });
}

void delete_job(const Service& service, const Call& call) {
  const std::string& id = call.values.at("id");
  if (service.painter.cancel(id)) return call.send_json("{\"id\":" + dumped(id) + ",\"state\":\"cancelling\"}", 202);
  const bool forgotten = service.painter.forget(id);
  if (!service.results.remove(id) && !forgotten) throw no_job();
  call.send({.status = 204, .content_type = ""});
}

void send_picture(const Service& service, const Call& call) {
  const std::string& text = call.values.at("index");
  const bool number =
      !text.empty() && text.size() < 6 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const auto file =
      number ? service.results.picture(call.values.at("id"), static_cast<size_t>(std::stoi(text))) : std::nullopt;
  if (!file) throw ApiError(404, "not_found", "there is no such picture", number ? "id" : "index");
  call.send({.content_type = std::string(content_type_of(file->format)),
             .body = file->bytes,
             .headers = {{"Cache-Control", "private, max-age=31536000, immutable"}}});
}

/// What a picture file says about itself: the page takes settings from it, whichever program painted it.
void picture_info(const Call& call) {
  expect_json(call.request);
  const Json body = parse_object(call.request.body);
  Fields fields(body);
  const Json* image = fields.find("image");
  if (!image) throw bad_field("image", "missing; it holds the picture in base64");
  if (const auto unknown = fields.unknown(); !unknown.empty())
    throw bad_field(unknown.front().substr(0, 100), "unknown; image is known");
  const std::string bytes = picture_of("image", *image);
  gesso_error error = {};
  const std::unique_ptr<char, decltype(&gesso_free)> found(
      gesso_picture_info(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &error), gesso_free);
  if (!found) throw bad_field("image", error.message);
  call.send_json(found.get());
}

}  // namespace

void add_native_routes(Router& router, const Service& service) {
  const auto with = [&service](void (*handle)(const Service&, const Call&)) {
    return [&service, handle](const Call& call) { handle(service, call); };
  };
  router.add({"POST", "/api/v1/jobs", "Queue a request", with(post_job), Body::kPicture});
  router.add({"GET", "/api/v1/jobs", "Jobs: running, waiting, ended, newest first", with(list_jobs)});
  router.add({"GET", "/api/v1/jobs/{id}", "One job",
              [&service](const Call& call) { call.send_json(find_job(service, call.values.at("id"))); }});
  router.add({"DELETE", "/api/v1/jobs/{id}", "Cancel a job, or delete its result", with(delete_job)});
  router.add({"GET", "/api/v1/jobs/{id}/events", "What happens to a job, as server-sent events", with(send_events)});
  // without a key: whoever knows the id, which nobody guesses, may look, as a page's <img> does
  router.add({"GET", "/api/v1/jobs/{id}/pictures/{index}", "A picture", with(send_picture), Body::kNone, false});
  router.add({"POST", "/api/v1/pictures/info", "What a picture file says about itself", picture_info, Body::kPicture});
}

}  // namespace server
