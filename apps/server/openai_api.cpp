// /v1: the images API of OpenAI.
#include <optional>

#include "server/base64.h"
#include "server/request_decoder.h"
#include "server/service.h"

namespace server {
namespace {

Json model_json(const ModelList::Entry& entry) {
  return {{"id", entry.name}, {"object", "model"}, {"created", entry.modified}, {"owned_by", "local"}};
}

void list_models(const Service& service, const Call& call) {
  Json list = Json::array();
  for (const ModelList::Entry& entry : service.models.entries()) list.push_back(model_json(entry));
  call.send_json(dumped({{"object", "list"}, {"data", std::move(list)}}));
}

std::string api_format(const std::string& format) {
  return format == "jpg" ? "jpeg" : format;
}

Json size_of(const PictureFile& picture) {
  return std::to_string(picture.width) + "x" + std::to_string(picture.height);
}

/// Where pictures are found, as the client called this server.
std::string base_url(const Request& request) {
  return "http://" + std::string(request.header("host"));
}

std::string answer(const Request& request, const JobView& job, bool url) {
  Json data = Json::array();
  for (size_t i = 0; i < job.pictures->size(); ++i) {
    if (url)
      data.push_back({{"url", base_url(request) + "/api/v1/jobs/" + job.id + "/pictures/" + std::to_string(i)}});
    else
      data.push_back({{"b64_json", base64_encode((*job.pictures)[i].bytes)}});
  }
  return dumped({{"created", static_cast<int64_t>(job.created)},
                 {"background", "opaque"},
                 {"output_format", api_format(job.format)},
                 {"size", size_of(job.pictures->front())},
                 {"data", std::move(data)}});
}

/// "image_generation" or "image_edit", which the names of a stream's events begin with.
std::string stream_kind(const Request& request) {
  return request.path.ends_with("/generations") ? "image_generation" : "image_edit";
}

std::string partial_event(const std::string& kind, const JobView& job, int index) {
  const PreviewFile& preview = *job.preview;
  const Json event = {{"type", kind + ".partial_image"},
                      {"b64_json", base64_encode(preview.bytes)},
                      {"partial_image_index", index},
                      {"created_at", static_cast<int64_t>(job.created)},
                      {"size", std::to_string(preview.width) + "x" + std::to_string(preview.height)},
                      {"quality", "auto"},
                      {"background", "opaque"},
                      {"output_format", api_format(preview.format)}};
  return "event: " + kind + ".partial_image\ndata: " + dumped(event) + "\n\n";
}

/// Chooses, of the previews of a picture, as many as were asked for, evenly over its steps.
class PartialImages {
 public:
  explicit PartialImages(int wanted) : wanted_(wanted) {}
  /// The number of the partial image that this preview is to be; nothing when it is none.
  std::optional<int> take(const PreviewFile& preview) {
    if (preview.picture != picture_) picture_ = preview.picture, sent_ = 0;
    if (sent_ == wanted_ || preview.step >= preview.steps) return std::nullopt;  // the last step is the picture itself
    if (preview.step * (wanted_ + 1) < (sent_ + 1) * preview.steps) return std::nullopt;
    return sent_++;
  }

 private:
  int wanted_, sent_ = 0, picture_ = 0;
};

std::string completed_event(const std::string& kind, const JobView& job, const PictureFile& picture) {
  const Json event = {{"type", kind + ".completed"},
                      {"b64_json", base64_encode(picture.bytes)},
                      {"created_at", static_cast<int64_t>(job.created)},
                      {"size", size_of(picture)},
                      {"quality", "auto"},
                      {"background", "opaque"},
                      {"output_format", api_format(job.format)},
                      {"usage",
                       {{"input_tokens", 0},
                        {"output_tokens", 0},
                        {"total_tokens", 0},
                        {"input_tokens_details", {{"image_tokens", 0}, {"text_tokens", 0}}}}}};
  return "event: " + kind + ".completed\ndata: " + dumped(event) + "\n\n";
}

/// The head goes out once the job is queued, so that errors found before have their status; later ones are an event.
void stream(const Service& service, const Call& call, JobOrder order, int partial_images) {
  const ReplyPointer reply = call.reply;
  Response head{.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}};
  head.headers.insert(head.headers.end(), call.headers.begin(), call.headers.end());
  const auto listener = [reply, head, kind = stream_kind(call.request), partial = PartialImages(partial_images)](
                            JobEvent event, const JobView& job, const std::string&) mutable {
    if (event == JobEvent::kPreview) {
      const std::optional<int> index = partial.take(*job.preview);
      if (!index) return;
      reply->begin(head);
      return reply->write(partial_event(kind, job, *index));
    }
    if (event != JobEvent::kEnd) return;
    reply->begin(head);  // a quick job ends before the line below begins the answer; the second beginning is ignored
    if (job.state == JobState::kCompleted) {
      for (const PictureFile& picture : *job.pictures) reply->write(completed_event(kind, job, picture));
    } else {
      const int status = job.state == JobState::kCancelled ? 503 : job.error_status;
      Json error = parse_json(
          error_response("/v1/", status, job.error_code, job.error, client_field(job.api, job.error_field)).body);
      error["type"] = "error";
      reply->write("event: error\ndata: " + dumped(error) + "\n\n");
    }
    reply->end();
  };
  const std::string id = service.painter.submit(std::move(order), listener).id;
  reply->begin(head);
  reply->on_disconnect([painter = &service.painter, id] { painter->cancel(id); });
}

void paint(const Service& service, const Call& call, const Decoded& decoded) {
  JobOrder order = order_of(service, call, decoded, "openai");
  if (decoded.stream) return stream(service, call, std::move(order), decoded.partial_images);
  paint_for(service, call, std::move(order), decoded.warnings,
            [url = decoded.url](const Call& waiting, const JobView& job) {
              waiting.send_json(answer(waiting.request, job, url));
            });
}

void generate(const Service& service, const Call& call) {
  expect_json(call.request);
  paint(service, call, decode_openai(call.request.body));
}

void edit(const Service& service, const Call& call) {
  paint(service, call, decode_openai_edit(call.request.header("content-type"), call.request.body));
}

void vary(const Service& service, const Call& call) {
  paint(service, call, decode_openai_variation(call.request.header("content-type"), call.request.body));
}

}  // namespace

void add_openai_routes(Router& router, const Service& service) {
  const auto with = [&service](void (*handle)(const Service&, const Call&)) {
    return [&service, handle](const Call& call) { handle(service, call); };
  };
  router.add({"GET", "/v1/models", "OpenAI: models", with(list_models)});
  router.add({"GET", "/v1/models/{model...}", "OpenAI: one model", [&service](const Call& call) {
                call.send_json(dumped(model_json(service.models.find("model", call.values.at("model")))));
              }});
  router.add({"POST", "/v1/images/generations", "OpenAI: paint", with(generate), Body::kJson});
  router.add({"POST", "/v1/images/edits", "OpenAI: paint over a picture", with(edit), Body::kPicture});
  router.add({"POST", "/v1/images/variations", "OpenAI: paint one like a picture", with(vary), Body::kPicture});
}

}  // namespace server
