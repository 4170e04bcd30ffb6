#include "server/job_json.h"

#include "server/base64.h"
#include "server/json.h"

namespace server {
namespace {

Json progress_of(const JobView& job) {
  Json progress = {{"stage", job.progress.stage},
                   {"step", job.progress.step},
                   {"steps", job.progress.steps},
                   {"fraction", job.progress.fraction}};
  progress["eta_seconds"] = job.progress.eta < 0 ? Json() : Json(job.progress.eta);
  return progress;
}

Json time(double seconds) {
  return seconds > 0 ? Json(seconds) : Json();
}

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kRunning:
      return "running";
    case JobState::kCompleted:
      return "completed";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string job_json(const JobView& job) {
  Json out = {{"id", job.id},           {"state", to_string(job.state)}, {"api", job.api},
              {"created", job.created}, {"started", time(job.started)},  {"ended", time(job.ended)}};
  if (job.state == JobState::kQueued) out["position"] = job.position;
  out["progress"] = progress_of(job);
  out["request"] = parse_json(job.request);
  out["format"] = job.format;
  if (job.state == JobState::kFailed || job.state == JobState::kCancelled)
    out["error"] = {{"code", job.error_code},
                    {"message", job.error},
                    {"field", job.error_field.empty() ? Json() : Json(job.error_field)}};
  out["pictures"] = Json::array();
  if (!job.pictures || !job.kept) return dumped(out);
  for (size_t i = 0; i < job.pictures->size(); ++i) {
    const PictureFile& picture = (*job.pictures)[i];
    out["pictures"].push_back({{"url", "/api/v1/jobs/" + job.id + "/pictures/" + std::to_string(i)},
                               {"width", picture.width},
                               {"height", picture.height},
                               {"seed", picture.seed},
                               {"bytes", picture.bytes.size()},
                               {"parameters", picture.parameters}});
  }
  return dumped(out);
}

std::string public_request(const std::string& request, const std::vector<std::pair<std::string, std::string>>& names) {
  Json out = parse_json(request);
  for (const auto& [field, name] : names)
    if (out.is_object() && out.contains(field)) out[field] = name;
  return dumped(out);
}

std::string job_event(const std::string& name, const std::string& data) {
  return "event: " + name + "\ndata: " + data + "\n\n";
}

std::string progress_json(const JobView& job) {
  Json out = progress_of(job);
  out["state"] = to_string(job.state);
  out["position"] = job.position;
  return dumped(out);
}

std::string data_url(const PreviewFile& preview) {
  return "data:image/" + std::string(preview.format == "jpg" ? "jpeg" : preview.format) + ";base64," +
         base64_encode(preview.bytes);
}

std::string preview_json(const PreviewFile& preview) {
  return dumped({{"picture", preview.picture},
                 {"step", preview.step},
                 {"steps", preview.steps},
                 {"width", preview.width},
                 {"height", preview.height},
                 {"image", data_url(preview)}});
}

}  // namespace server
