#pragma once
#include <string>
#include <vector>

#include "server/job.h"
#include "server/json.h"
#include "server/model_list.h"
#include "server/options.h"

namespace server {

/// What decoding needs to know.
struct DecoderContext {
  const ModelList& models;
  RequestLimits limits;
};

/// A decoded request of any API.
struct Decoded {
  Json fields = Json::object();            ///< of the request schema
  std::string format = "png";              ///< "png", "jpg", "webp"
  int quality = 0;                         ///< 0: the format's default
  bool stream = false;                     ///< OpenAI
  bool url = false;                        ///< OpenAI: the answer holds addresses, not bytes
  bool send = true;                        ///< A1111: the answer holds the pictures
  bool save = false;                       ///< A1111: keep them
  Json original = {};                      ///< A1111: as it was asked
  std::string size = {};                   ///< OpenAI: as it was asked
  std::vector<std::string> warnings = {};  ///< what was asked and is not done, where a picture is still of use
};

/// POST /api/v1/jobs: the request schema; the query may say ?format= and &quality=.
Decoded decode_native(std::string_view body, std::string_view format, std::string_view quality);
/// POST /v1/images/generations, with fields of the request schema besides.
Decoded decode_openai(std::string_view body);
/// POST /sdapi/v1/txt2img.
Decoded decode_sdapi(std::string_view body);

/// Checks the fields against the schema and the server's limits, and puts files in place of models' names. Throws
/// ApiError: 400 with the field, 404 with the models that there are, 501 for what the engine cannot do.
JobOrder make_order(const DecoderContext& context, const Decoded& decoded);

/// The schema's property of this name, or null.
const Json* schema_property(const std::string& name);
const Json& schema();
/// The names that a property may have, as an array.
Json schema_choices(const std::string& name);

/// "png", "jpg" or "webp" of the names that people use for them. Throws ApiError 400 naming the field.
std::string picture_format(const std::string& field, const std::string& name);

}  // namespace server
