#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/uploads.h"

namespace server {

enum class JobState { kQueued, kRunning, kCompleted, kFailed, kCancelled };
std::string_view to_string(JobState state);

/// A painted picture in its file's format.
struct PictureFile {
  std::string bytes = {};
  int width = 0;
  int height = 0;
  int64_t seed = 0;
  std::string parameters = {};  ///< A1111's text
  std::string request = {};     ///< JSON that repeats it alone; empty without metadata
};
using PictureFiles = std::vector<PictureFile>;

/// What is there of a picture while it is painted, in a file's format.
struct PreviewFile {
  std::string bytes = {};
  std::string format = {};  ///< "png" for a projected one, which is small; "jpg"
  int width = 0;
  int height = 0;
  int step = 0;
  int steps = 0;
  int picture = 0;  ///< of the job, from 0
};

/// What a client wants painted, checked.
struct JobOrder {
  std::string request = {};  ///< JSON, as the engine takes it
  /// File fields and the names under which clients know them: paths of this computer leave it to nobody.
  std::vector<std::pair<std::string, std::string>> names = {};
  std::string client = {};  ///< who waits in line: a key's number or an address
  std::string api = {};     ///< "native", "openai", "sdapi"
  std::string format = "png";
  int quality = 0;  ///< 0: the format's default
  int pictures = 1;
  bool keep = true;                         ///< store the result
  std::vector<UploadPointer> uploads = {};  ///< that the request names
};

struct JobProgress {
  std::string stage = {};  ///< "load", "text", "denoise", "decode"; empty before the first
  int step = 0;
  int steps = 0;        ///< 0: unknown
  double fraction = 0;  ///< of the whole job, 0 to 1
  double eta = -1;      ///< seconds to the end of the job; negative: unknown
};

/// A job at one moment.
struct JobView {
  std::string id = {};
  std::string api = {};
  std::string client = {};
  JobState state = JobState::kQueued;
  int position = 0;                            ///< jobs that will be painted before it, the running one counted
  double created = 0, started = 0, ended = 0;  ///< seconds since 1970; 0: not yet
  JobProgress progress = {};
  std::string format = {};
  std::string request = {};  ///< JSON with the clients' names of files; every choice made once it is completed
  bool kept = false;
  int error_status = 0;  ///< HTTP status of a failed job
  std::string error_code = {}, error = {};
  std::string error_field = {};  ///< of the request, that a failed job is about; empty: none, or unknown
  std::shared_ptr<const PictureFiles> pictures = {};  ///< when completed; only with its end event if the job is kept

  std::shared_ptr<const PreviewFile> preview = {};  ///< the last one, while it runs

  bool over() const { return state != JobState::kQueued && state != JobState::kRunning; }
};

enum class JobEvent { kPosition, kProgress, kPreview, kMessage, kEnd };

/// Told what happens to a job, on the thread where it happens, and must not block; `text` is that of a message.
using JobListener = std::function<void(JobEvent, const JobView&, const std::string& text)>;

}  // namespace server
