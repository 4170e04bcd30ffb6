#pragma once
#include <string>
#include <utility>
#include <vector>

#include "server/job.h"

namespace server {

/// A job as the native API shows it, as text.
std::string job_json(const JobView& job);

/// A request without paths of this computer: file fields by the names that clients know, or by their base names.
std::string public_request(const std::string& request, const std::vector<std::pair<std::string, std::string>>& names);

/// The line of an event stream: "event: NAME\ndata: {...}\n\n".
std::string job_event(const std::string& name, const std::string& data);
/// What a listener says on: position and progress as JSON.
std::string progress_json(const JobView& job);
/// "data:image/png;base64,..."
std::string data_url(const PreviewFile& preview);
/// A preview as JSON: which picture and step it shows, its size and, as "image", its data URL.
std::string preview_json(const PreviewFile& preview);

}  // namespace server
