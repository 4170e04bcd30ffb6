#include "upscale.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "job.h"
#include "json.h"
#include "library.h"
#include "output.h"

namespace cli {
namespace {

constexpr const char* kUsage = "usage: gesso upscale PICTURE... --upscale-model FILE [-o OUT] [options]\n";
constexpr const char* kShort = R"(
  gesso upscale photo.png --upscale-model RealESRGAN_x4plus.pth -o large.png
  gesso upscale a.png b.jpg --upscale-model RealESRGAN_x4plus.pth --scale 2 -o 'large_%d.webp'

      --upscale-model FILE    an upscaling network: ESRGAN, Real-ESRGAN, and its small one (SRVGGNetCompact)
      --scale N               size of the result, as 2 or 1.5; without it the network's own
  -o, --output FILE           .png, .jpg or .webp; several get numbers
      --help-all              every option
)";
constexpr const char* kRest = R"(
      --repeats N             how often the network runs, each time on its own result; 0: as often as the scale takes
                              (default 0). Where that is another size than asked for, resampling (Lanczos) meets it
      --tile N                the most pixels a side that go through the network at once; smaller takes less memory and
                              more time (default 0: 512, or what the memory allows)
      --memory SIZE           for weights and tiles, as 4GiB (default: what is free)
      --precision P           auto, f32 or bf16 (default auto)
  -t, --threads N             0: every physical core (default 0)
      --output-begin-idx N    the first number of several (default 1; 0 with %d)
      --quality N             of .jpg and .webp, 1 to 100 (100: lossless .webp)
      --no-metadata           do not write what the picture said of its making and what was done
  -v, --verbose               show messages
  -h, --help                  the options people use

Alpha is kept (resampled by itself), gray stays gray, orientation is applied. Ctrl-C stops within an operation and leaves
no half-written file; pictures that are finished stay.
)";

struct Arguments {
  Json request = Json::object();  ///< without inputs
  std::vector<std::string> inputs;
  std::optional<std::string> output;
  std::optional<int> output_begin;
  int quality = 0;
  bool no_metadata = false, verbose = false, help = false, help_all = false;
};

/// A number as the library takes it; what is none stays text, and the library says what it wanted.
Json number_or_text(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return text;
  return number;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments a;
  CLI::App app;
  app.set_help_flag();
  app.add_flag("-h,--help", a.help);
  app.add_flag("--help-all", a.help_all);
  app.add_flag("-v,--verbose", a.verbose);
  app.add_flag("--no-metadata", a.no_metadata);
  app.add_option("PICTURE", a.inputs);
  app.add_option("-o,--output", a.output);
  app.add_option("--output-begin-idx", a.output_begin)->check(CLI::Range(0, 1000000000));
  app.add_option("--quality", a.quality)->check(CLI::Range(1, 100));
  const auto field = [&](const char* names, const char* name, bool number) {
    app.add_option_function<std::string>(
           names, [&a, name, number](const std::string& v) { a.request[name] = number ? number_or_text(v) : Json(v); })
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  field("--upscale-model", "model", false);
  field("--scale", "scale", true);
  field("--repeats,--upscale-repeats", "repeats", true);
  field("--tile,--upscale-tile-size", "tile", true);
  field("--precision", "precision", false);
  field("-t,--threads", "threads", true);
  field("--memory", "memory", false);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw usage(std::string("upscale: ") + error.what());
  }
  return a;
}

/// Everything that can be known before the first picture is worked on.
void check(const Arguments& a, const std::string& name) {
  if (a.inputs.empty()) throw usage(std::string("upscale: no picture; gesso upscale --help"));
  if (!a.request.contains("model")) throw usage("upscale: no network: give one with --upscale-model FILE");
  check_output(name);
  Json request = a.request;
  request["inputs"] = a.inputs;
  gesso_error error = {};
  if (gesso_check_upscale_request(to_text(request).c_str(), &error) != GESSO_OK) throw Failure(error);
  for (const std::string& input : a.inputs) {
    std::error_code ignored;
    if (!std::filesystem::exists(input, ignored))
      throw Failure(kExitFailure, fmt::format("file not found: '{}'", input));
  }
}

void run_one(gesso_engine* engine, JobWatch& watch, const Arguments& a, const std::string& input,
             const std::string& name) {
  Json request = a.request;
  request["inputs"] = Json::array({input});
  gesso_result* raw = nullptr;
  gesso_error error = {};
  const gesso_status status = gesso_upscale(engine, to_text(request).c_str(), JobWatch::on_event, &watch, &raw, &error);
  const ResultPointer result(raw);
  watch.clear();
  if (status != GESSO_OK) throw Failure(error);
  watch.set_writing(true);
  const std::string names =
      take(gesso_save_pictures(result.get(), name.c_str(), a.output_begin.value_or(-1), a.quality, &error), error);
  watch.set_writing(false);
  for (const Json& one : parse_json(names)) std::puts(one.get_ref<const std::string&>().c_str());
}

}  // namespace

int upscale(const std::vector<std::string>& words) {
  if (!std::ranges::all_of(words, is_utf8)) throw usage("upscale: an argument is not UTF-8");
  Arguments a = parse(words);
  if (a.help || a.help_all) {
    std::fputs((std::string(kUsage) + kShort + (a.help_all ? kRest : "")).c_str(), stdout);
    return 0;
  }
  if (a.no_metadata) a.request["metadata"] = false;
  std::string name = output_name(a.output);
  check(a, name);
  if (a.inputs.size() > 1) {
    name = numbered(name);
    a.output_begin = a.output_begin.value_or(1);  // names that are taken are skipped
  }
  Interrupt interrupt;
  const EnginePointer engine = open_engine();
  JobWatch watch(interrupt, engine.get(), a.verbose);
  for (const std::string& input : a.inputs) run_one(engine.get(), watch, a, input, name);
  return 0;
}

}  // namespace cli
