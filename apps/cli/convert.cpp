#include "convert.h"

#include <algorithm>
#include <cstdio>

#include "job.h"
#include "json.h"
#include "library.h"

namespace cli {
namespace {

constexpr const char* kUsage =
    "usage: gesso convert IN... -o OUT.gguf|OUT.safetensors [--type TYPE] [--tensor-type-rules REGEX=TYPE,...] "
    "[--names ldm|diffusers] [--imatrix FILE] [--no-verify] [--json]";
constexpr const char* kHelp = R"(
  -o, --output FILE          what to write; its ending is the format
  --type TYPE                f32, f16, bf16, q8_0, q6_K, q5_K, q4_K, q3_K, q2_K, iq4_xs ...; without it as stored
  --tensor-type-rules RULES  types by name, later rules before earlier ones: "^vae\.=f16,attn=q8_0"
  --names LAYOUT             ldm or diffusers: name (fuse, cut) the tensors as those checkpoints do; without it as they are
  --imatrix FILE             what to weigh the columns of matrices by, from gesso generate --imatrix-out; may be repeated
  --no-verify                do not read the file back and measure it
  --json                     tell what was written as JSON

Types in blocks are for matrices: tensors of one dimension, embeddings, and the layers at both ends keep theirs unless
a rule names them. Rows that do not fit take a type with smaller blocks, or f16.
)";

struct Arguments {
  Json request{{"inputs", Json::array()}};
  bool json = false, help = false;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  bool options = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&](const char* name, const char* field) {
      if (!options || word != name) return false;
      if (++i == words.size()) throw usage(word + " needs a value; " + kUsage);
      if (arguments.request.contains(field)) throw usage(word + " is there twice");
      arguments.request[field] = words[i];
      return true;
    };
    if (value("-o", "output") || value("--output", "output") || value("--type", "type") ||
        value("--tensor-type-rules", "tensor_type_rules") || value("--names", "names"))
      continue;
    if (options && word == "--imatrix") {
      if (++i == words.size()) throw usage(word + " needs a value; " + kUsage);
      arguments.request["imatrix"].push_back(words[i]);
      continue;
    }
    if (options && word == "--")
      options = false;
    else if (options && (word == "-h" || word == "--help"))
      arguments.help = true;
    else if (options && word == "--json")
      arguments.json = true;
    else if (options && (word == "--no-verify" || word == "--verify"))
      arguments.request["verify"] = word == "--verify";
    else if (options && word.size() > 1 && word.starts_with('-'))
      throw usage("unknown option '" + word + "'; " + kUsage);
    else
      arguments.request["inputs"].push_back(word);
  }
  return arguments;
}

}  // namespace

int convert(const std::vector<std::string>& words) {
  const Arguments arguments = parse(words);
  if (arguments.help) {
    std::fputs((std::string(kUsage) + "\n" + kHelp).c_str(), stdout);
    return 0;
  }
  if (arguments.request["inputs"].empty()) throw usage(std::string("no file; ") + kUsage);
  if (!arguments.request.contains("output")) throw usage(std::string("no output: give -o FILE; ") + kUsage);
  if (!std::ranges::all_of(words, is_utf8)) throw usage("an argument is not UTF-8");
  const std::string request = to_text(arguments.request);

  Interrupt interrupt;
  const EnginePointer engine = open_engine();
  JobWatch watch(interrupt, engine.get(), false);
  gesso_error error = {};
  char* raw = gesso_convert(engine.get(), request.c_str(), JobWatch::on_event, &watch, &error);
  watch.clear();
  Json report = parse_json(take(raw, error));
  std::string text = report["text"];
  report.erase("text");
  if (arguments.json) text = to_text(report, 2) + "\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace cli
