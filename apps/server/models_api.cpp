// /api/v1/models: what there is, what it holds, what is loaded; and how long prompts are for a model.
#include "server/request_decoder.h"
#include "server/service.h"

namespace server {
namespace {

using Text = std::unique_ptr<char, decltype(&gesso_free)>;

/// The models that the engine keeps open, by their files.
std::map<std::string, Json> loaded_models(const Service& service) {
  std::map<std::string, Json> models;
  const Text list(gesso_models(service.engine, nullptr), gesso_free);
  if (!list) return models;
  for (const Json& model : parse_json(list.get()))
    for (const Json& file : model["files"]) models.emplace(file.get<std::string>(), model);
  return models;
}

Json model_json(const ModelList::Entry& entry, bool is_default, const std::map<std::string, Json>& loaded) {
  Json out = {{"name", entry.name},
              {"kind", entry.kind},
              {"bytes", entry.bytes},
              {"modified", entry.modified},
              {"default", is_default}};
  const auto found = loaded.find(entry.path.string());
  out["loaded"] = found != loaded.end();
  out["memory_bytes"] = found == loaded.end() ? Json(0) : found->second["bytes"];
  out["idle_seconds"] = found == loaded.end() ? Json() : found->second["idle_seconds"];
  return out;
}

void send_list(const Service& service, const Call& call) {
  const auto chosen = service.models.chosen();
  const auto loaded = loaded_models(service);
  Json list = Json::array();
  for (const ModelList::Entry& entry : service.models.entries())
    list.push_back(model_json(entry, chosen && chosen->name == entry.name, loaded));
  call.send_json(dumped({{"models", std::move(list)}}));
}

void list_models(const Service& service, const Call& call) {
  with_kinds(service, call, [&service](const Call& later) { send_list(service, later); });
}

ApiError refusal(const gesso_error& error, const ModelList::Entry& entry, const std::string& field) {
  return {http_status(error.code), gesso_status_name(error.code),
          with_name(error.message, entry.path.string(), entry.name), field};
}

void inspect_model(const Service& service, const Call& call) {
  const ModelList::Entry entry = service.models.find("name", std::string(call.request.parameter("name")));
  later(service, call, [&service, entry](const Call& waiting) {
    const std::string path = entry.path.string();
    const char* paths[] = {path.c_str()};
    gesso_error error = {};
    const Text found(gesso_inspect(service.engine, paths, 1, &error), gesso_free);
    if (!found) throw refusal(error, entry, "name");
    waiting.send_json(with_name(found.get(), path, entry.name));
  });
}

/// One entry, as it is after something was done to it.
void send_one(const Service& service, const Call& call, const ModelList::Entry& entry) {
  const auto chosen = service.models.chosen();
  call.send_json(dumped(model_json(entry, chosen && chosen->name == entry.name, loaded_models(service))));
}

void load(const Service& service, const Call& call) {
  const ModelList::Entry entry = service.models.find("name", call.values.at("name"));
  later(service, call, [&service, entry](const Call& waiting) {
    load_model(service, entry);
    send_one(service, waiting, entry);
  });
}

void unload(const Service& service, const Call& call) {
  const ModelList::Entry entry = service.models.find("name", call.values.at("name"));
  later(service, call, [&service, entry](const Call& waiting) {
    gesso_unload(service.engine, entry.path.string().c_str(), 0, nullptr);
    send_one(service, waiting, entry);
  });
}

/// How many tokens the prompts have for the model; the page asks while somebody types.
void count_tokens(const Service& service, const Call& call) {
  expect_json(call.request);
  const Json body = parse_object(call.request.body);
  Fields in(body);
  Json fields = Json::object();
  for (const char* name : {"prompt", "negative_prompt", "prompt_syntax"})
    if (const auto text = in.text(name)) fields[name] = *text;
  for (const auto& [name, property] : schema()["properties"].items())
    if (is_model_field(name))
      if (const auto text = in.text(name)) fields[name] = *text;
  if (const auto unknown = in.unknown(); !unknown.empty())
    throw bad_field(unknown.front().substr(0, 100),
                    "unknown; prompt, negative_prompt, prompt_syntax and models are known");
  const auto names = name_models(service.models, fields);
  later(service, call, [&service, fields, names](const Call& waiting) {
    gesso_error error = {};
    const std::string request = dumped(fields);
    const Text counts(gesso_count_tokens(service.engine, request.c_str(), &error), gesso_free);
    if (!counts)
      throw ApiError(http_status(error.code), gesso_status_name(error.code),
                     without_paths(error.message, request, names));
    waiting.send_json(counts.get());
  });
}

}  // namespace

void load_model(const Service& service, const ModelList::Entry& entry) {
  gesso_error error = {};
  const std::string request = dumped({{"model", entry.path.string()}});
  const Text loaded(gesso_load(service.engine, request.c_str(), &error), gesso_free);
  if (!loaded) throw refusal(error, entry, "name");
}

void add_model_routes(Router& router, const Service& service) {
  const auto with = [&service](void (*handle)(const Service&, const Call&)) {
    return [&service, handle](const Call& call) { handle(service, call); };
  };
  router.add({"GET", "/api/v1/models", "Models that requests may name", with(list_models)});
  router.add({"GET", "/api/v1/models/inspect", "What the model ?name= holds", with(inspect_model)});
  router.add({"POST", "/api/v1/models/refresh", "Look at the folder of models again", [&service](const Call& call) {
                service.models.refresh();
                list_models(service, call);
              }});
  router.add(
      {"POST", "/api/v1/models/{name...}/load", "Open a model, so that it is ready when it is asked for", with(load)});
  router.add({"POST", "/api/v1/models/{name...}/unload", "Give a model's memory back", with(unload)});
  router.add({"POST", "/api/v1/tokens", "How many tokens prompts have for a model", with(count_tokens), Body::kJson});
}

}  // namespace server
