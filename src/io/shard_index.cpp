#include "io/shard_index.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "io/printable.h"

namespace gesso {
namespace {

constexpr size_t kMaxIndexBytes = size_t{64} << 20;
constexpr size_t kMaxTensors = 1'000'000;
constexpr int kMaxDepth = 16;

/// Keeps only the weight_map of the index; the rest is skipped without being stored.
class IndexJson final : public nlohmann::json_sax<Json> {
 public:
  std::map<std::string, std::string> weight_map;
  bool found = false;
  std::string error;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool number_integer(number_integer_t) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool binary(binary_t&) override { return other("binary data"); }
  bool string(string_t& value) override {
    if (!in_map_) return other("a string");
    if (weight_map.size() == kMaxTensors) return refuse(fmt::format("weight_map has over {} tensors", kMaxTensors));
    const auto [entry, fresh] = weight_map.emplace(std::move(key_), std::move(value));
    return fresh || refuse("weight_map has " + printable(entry->first) + " twice");
  }
  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (found) return refuse("weight_map stands there twice");
      found = in_map_ = true;
    } else if (depth_ > 0 && !other("an object")) {
      return false;
    }
    return deeper();
  }
  bool key(string_t& name) override {
    if (depth_ == 1 || in_map_) key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    --depth_;
    in_map_ = false;
    return true;
  }
  bool start_array(size_t) override { return other("an array") && deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("no valid JSON at byte {}", position));
  }

 private:
  bool refuse(std::string why) {
    if (error.empty()) error = std::move(why);
    return false;
  }
  bool other(const char* kind) {
    if (depth_ == 0) return refuse(fmt::format("it is {} where an object belongs", kind));
    if (depth_ == 1 && key_ == "weight_map") return refuse(fmt::format("weight_map is {}, not an object", kind));
    return !in_map_ || refuse(fmt::format("weight_map has {} for {}", kind, printable(key_)));
  }
  bool deeper() { return ++depth_ <= kMaxDepth || refuse("nested too deep"); }

  std::string key_;
  int depth_ = 0;
  bool in_map_ = false;
};

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

}  // namespace

ShardIndex read_shard_index(const std::filesystem::path& path) {
  const std::string text = read_file(path, kMaxIndexBytes);
  IndexJson json;
  if (!Json::sax_parse(text, &json)) fail(ErrorCode::kBadFile, "{} is no shard index: {}", quoted(path), json.error);
  if (!json.found) fail(ErrorCode::kBadFile, "{} is no shard index: it has no weight_map", quoted(path));
  if (json.weight_map.empty()) fail(ErrorCode::kBadFile, "{}: weight_map is empty", quoted(path));

  ShardIndex index;
  for (const auto& [tensor, shard] : json.weight_map) {
    if (!is_plain_name(shard))
      fail(ErrorCode::kBadFile, "{}: the shard {} of tensor {} is not a plain file name; shards lie beside the index",
           quoted(path), printable(shard), printable(tensor));
    index.shards.push_back(shard);
  }
  std::sort(index.shards.begin(), index.shards.end());
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  for (auto& [tensor, shard] : json.weight_map) {
    const auto place = std::lower_bound(index.shards.begin(), index.shards.end(), shard);
    index.weight_map.emplace(tensor, static_cast<size_t>(place - index.shards.begin()));
  }
  return index;
}

}  // namespace gesso
