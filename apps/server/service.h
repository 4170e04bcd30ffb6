#pragma once
#include <string>

#include "server/access.h"
#include "server/chores.h"
#include "server/model_list.h"
#include "server/options.h"
#include "server/painter.h"
#include "server/results.h"
#include "server/router.h"

namespace server {

struct Decoded;

/// What the routes work with.
struct Service {
  const Options& options;
  gesso_engine* engine;
  ModelList& models;
  ResultStore& results;
  Painter& painter;
  const Access& access;
  const Router& router;
  const UploadStore& uploads;
  Chores& chores;
};

void add_native_routes(Router& router, const Service& service);
void add_model_routes(Router& router, const Service& service);
void add_status_routes(Router& router, const Service& service);
void add_openai_routes(Router& router, const Service& service);
void add_sdapi_routes(Router& router, const Service& service);
void add_description_routes(Router& router, const Service& service);
void add_web_routes(Router& router);

/// The job of a decoded request, checked. Throws ApiError.
JobOrder order_of(const Service& service, const Call& call, const Decoded& decoded, const std::string& api);

/// Queues a job whose client waits for its end: `ended` answers, on the painting thread. When the client leaves, the
/// job is cancelled. What failed is answered as an error. `warnings` go into the header X-Gesso-Warnings. Throws
/// ApiError.
void paint_for(const Service& service, const Call& call, JobOrder order, const std::vector<std::string>& warnings,
               std::function<void(const Call&, const JobView&)> ended);

/// Calls `handle`, and answers with what it throws.
void answer(const Call& call, const std::function<void(const Call&)>& handle);
/// The same on the thread of chores. Throws ApiError 503 when too many wait.
void later(const Service& service, const Call& call, std::function<void(const Call&)> handle);
/// Calls `handle` once it is known what each model file is for: at once, or after a look into new files.
void with_kinds(const Service& service, const Call& call, std::function<void(const Call&)> handle);
/// Opens a model. Takes a while. Throws ApiError.
void load_model(const Service& service, const ModelList::Entry& entry);

/// The HTTP status that a failure of the library stands for.
int http_status(gesso_status status);
/// A text with the name that clients know in place of a path: the folders of this computer are nobody's business.
std::string with_name(std::string text, const std::string& path, const std::string& name);
/// A message without paths of this computer: the names of files that clients know stand for them.
std::string without_paths(std::string text, const std::string& request,
                          const std::vector<std::pair<std::string, std::string>>& names);

/// How the clients of an API call a field of the request.
std::string client_field(const std::string& api, const std::string& field);

/// Throws ApiError 415 unless the body says that it is JSON, or nothing.
void expect_json(const Request& request);

}  // namespace server
