#include "server/service.h"

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
    answer.send(error_response(answer.request.path, status, job.error_code, job.error));
  };
  const std::string id = service.painter.submit(std::move(order), listener).id;
  call.reply->on_disconnect([painter = &service.painter, id] { painter->cancel(id); });
}

}  // namespace server
