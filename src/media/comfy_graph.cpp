#include "media/comfy_graph.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <initializer_list>
#include <map>
#include <set>

namespace gesso {
namespace {

using Keys = std::initializer_list<const char*>;

class Graph {
 public:
  explicit Graph(const Json& nodes) {
    for (const auto& [id, node] : nodes.items()) {
      if (!node.is_object()) continue;
      const auto inputs = node.find("inputs");
      if (inputs == node.end() || !inputs->is_object()) continue;
      inputs_.emplace(id, &*inputs);
      const auto type = node.find("class_type");
      const bool samples = type != node.end() && type->is_string() && inputs->contains("latent_image") &&
                           type->get_ref<const std::string&>().find("Sampler") != std::string::npos;
      if (samples && sampler_.empty()) sampler_ = id;
    }
  }

  /// The first node that is a sampler, and so has a latent to begin with; empty without one.
  const std::string& sampler() const { return sampler_; }

  /// The node that a link names; empty for what is no link.
  static std::string linked(const Json& value) {
    return value.is_array() && value.size() == 2 && value[0].is_string() ? value[0].get<std::string>() : "";
  }

  /// The nearest node, from `start` along links, with a link under one of the keys: the node linked there.
  std::string link(const std::string& start, Keys keys) const {
    std::string found;
    walk(start, [&](const Json& in) {
      for (const char* key : keys)
        if (in.contains(key) && found.empty()) found = linked(in[key]);
      return !found.empty();
    });
    return found;
  }

  /// The nearest value, from `start` along links, under one of the keys.
  std::string value(const std::string& start, Keys keys) const {
    std::string found;
    walk(start, [&](const Json& in) {
      for (const char* key : keys)
        if (in.contains(key) && found.empty()) found = plain_text(in[key]);
      return !found.empty();
    });
    return found;
  }

 private:
  template <typename Visit>
  void walk(const std::string& start, const Visit& visit) const {
    std::deque<std::string> next{start};
    std::set<std::string> seen{start};
    while (!next.empty()) {
      const auto found = inputs_.find(next.front());
      next.pop_front();
      if (found == inputs_.end()) continue;
      if (visit(*found->second)) return;
      for (const Json& value : *found->second)
        if (const std::string id = linked(value); !id.empty() && seen.insert(id).second) next.push_back(id);
    }
  }

  std::map<std::string, const Json*, std::less<>> inputs_;  ///< of each node
  std::string sampler_;
};

}  // namespace

std::string plain_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return to_text(value);
  if (!value.is_number_float()) return {};
  const double number = value.get<double>();
  if (number == std::floor(number) && std::abs(number) < 1e15) return fmt::format("{:.0f}", number);
  return fmt::format("{:.6g}", number);
}

Parameters read_comfy_graph(const Json& nodes) {
  Parameters parameters;
  if (!nodes.is_object()) return parameters;
  const Graph graph(nodes);
  const std::string sampler = graph.sampler();
  if (sampler.empty()) return parameters;
  const Keys texts = {"text", "text_g", "t5xxl", "clip_l", "prompt", "string", "value"};
  if (const std::string from = graph.link(sampler, {"positive", "conditioning"}); !from.empty())
    parameters.prompt = graph.value(from, texts);
  if (const std::string from = graph.link(sampler, {"negative"}); !from.empty())
    parameters.negative = graph.value(from, texts);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) parameters.fields.emplace_back(name, value);
  };
  add("Steps", graph.value(sampler, {"steps"}));
  add("Sampler", graph.value(sampler, {"sampler_name"}));
  add("Schedule type", graph.value(sampler, {"scheduler"}));
  add("CFG scale", graph.value(sampler, {"cfg"}));
  add("Seed", graph.value(sampler, {"seed", "noise_seed"}));
  const std::string latent = graph.link(sampler, {"latent_image"});
  const std::string width = graph.value(latent, {"width"}), height = graph.value(latent, {"height"});
  if (!width.empty() && !height.empty()) add("Size", width + "x" + height);
  add("Model", graph.value(sampler, {"ckpt_name", "unet_name", "model_name"}));
  const std::string denoise = graph.value(sampler, {"denoise"});
  if (denoise != "1") add("Denoising strength", denoise);
  return parameters;
}

}  // namespace gesso
