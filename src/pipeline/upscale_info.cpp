#include "pipeline/upscale_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/origin.h"
#include "media/parameters.h"

namespace gesso {
namespace {

std::string name_of(const UpscaleMethod& method) {
  if (!method.model.empty()) return method.model.stem().string();
  return method.filter == "nearest" ? "Nearest" : "Lanczos";
}

void put(Parameters& parameters, const std::string& name, std::string value) {
  const auto found = std::ranges::find(parameters.fields, name, [](const auto& field) { return field.first; });
  if (found != parameters.fields.end())
    found->second = std::move(value);
  else
    parameters.fields.emplace_back(name, std::move(value));
}

}  // namespace

PictureInfo upscaled_info(std::string_view original, const UpscaleRequest& request, int width, int height,
                          double scale) {
  PictureInfo info = read_picture_info(original);
  Parameters parameters =
      info.parameters.empty() ? picture_origin(original).parameters : parse_parameters(info.parameters);
  if (request.width || request.height)
    put(parameters, "Postprocess upscale to", fmt::format("{}x{}", width, height));
  else
    put(parameters, "Postprocess upscale by", fmt::format("{}", scale));
  put(parameters, "Postprocess upscaler", name_of(request.method));
  if (request.second) {
    put(parameters, "Postprocess upscaler 2", name_of(*request.second));
    put(parameters, "Postprocess upscaler 2 visibility", fmt::format("{}", request.second_visibility));
  }
  // A reader takes the last line for fields when it has three.
  put(parameters, "Postprocess version", fmt::format("Gesso {}", GESSO_VERSION));
  info.parameters = format_parameters(parameters);
  return info;
}

}  // namespace gesso
