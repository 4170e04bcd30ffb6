#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "media/image.h"
#include "models/latent_diffusion.h"
#include "pipeline/request.h"

namespace gesso {

/// What happens while a request is painted.
struct Event {
  enum class Kind {
    kStage,    ///< `stage` begins, with `steps` steps (0: unknown)
    kStep,     ///< `step` of `steps` is done
    kMessage,  ///< something worth telling: `text`; what was asked for by name has a `stage`: "profile"
    kPreview,  ///< `preview` shows the picture after `step` of `steps`
    kDone,     ///< everything is painted
  };
  Kind kind = Kind::kMessage;
  std::string stage = {};  ///< "load", "text", "denoise", "decode", ...
  int step = 0;            ///< steps done, 1 after the first
  int steps = 0;
  double seconds = 0;  ///< of the last step
  double eta = 0;      ///< seconds until this stage ends
  std::string text = {};
  std::shared_ptr<const Image> preview = {};  ///< RGB
};

using EventSink = std::function<void(const Event&)>;

/// Asks running work to stop; copies share one state. Any thread may call cancel() at any time.
class CancelToken {
 public:
  void cancel() const { cancelled_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_->load(std::memory_order_relaxed); }
  /// Throws kCancelled once cancel() was called; stages call it at least once a step.
  void check() const {
    if (cancelled()) fail(ErrorCode::kCancelled, "cancelled");
  }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

/// A painted picture with its recipe.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<uint8_t> pixels =
      {};                         ///< rows from the top, interleaved gray, RGB or RGBA; width * height * channels bytes
  std::string parameters = {};    ///< the text that A1111 writes; empty when the request wants no metadata
  std::string request_json = {};  ///< recipe_to_json() of it; empty when the request wants no metadata
  int64_t seed = 0;
};

struct GenerateResult {
  std::vector<Picture> pictures = {};
  Request resolved;  ///< the request with every choice made
};

struct UpscaleRequest;

/// What painting would take, known before anything is allocated. `json` has the figures, `text` the same for a person.
struct Plan {
  Json json;
  std::string text;
};

/// What files hold. `json` has the facts, `text` the same for a person.
struct Inspection {
  Json json;
  std::string text;
};

/// A model that the engine keeps open.
struct LoadedModelInfo {
  std::string name = {};  ///< of its main file, without folder and ending
  std::string_view family = {};
  std::string variant = {};
  std::vector<std::string> files = {};  ///< as requests named them
  int64_t bytes = 0;                    ///< of prepared weights that stay in memory
  double idle_seconds = 0;              ///< since it was last used
  bool in_use = false;
};

struct EngineOptions {
  int threads = 0;     ///< for requests that do not say; 0: every physical core
  int64_t memory = 0;  ///< bytes, for requests that do not say; 0: what is free
  /// File that gets, after each request, the sums of squares of what each matrix was multiplied by, over all requests
  /// and the files of imatrix_in: see io/imatrix.h. Empty: none are made.
  std::string imatrix_out = {};
  std::vector<std::string> imatrix_in = {};
  std::string profile = {};  ///< file for the time of every operation, in Chrome's trace format; empty: none
};

/// Turns requests into pictures and keeps models loaded between them. Every function throws Error and may be called
/// from any thread; requests are painted one after another.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual GenerateResult generate(const Request& request, const EventSink& sink, const CancelToken& cancel) = 0;
  /// Makes pictures larger (see pipeline/upscale.h).
  virtual std::vector<Picture> upscale(const UpscaleRequest& request, const EventSink& sink,
                                       const CancelToken& cancel) = 0;
  /// What generate() would do, without doing it.
  virtual Plan plan(const Request& request) = 0;
  /// How the request's prompts are read: chunks, ids, weights, and what holds in which steps; for a person.
  virtual std::string explain(const Request& request) = 0;
  /// How long a prompt is for each of the model's text encoders; of one that changes from step to step, the longest
  /// text. As load() and unload(), it does not wait for what is being painted.
  virtual std::vector<TextLength> prompt_lengths(const Request& request, const std::string& prompt) = 0;
  /// Opens and checks the request's model, unless that is done. Its weights are prepared when it first paints.
  virtual LoadedModelInfo load(const Request& request) = 0;
  /// Forgets the models that have `file` among theirs (empty: any) and were not used for `idle_seconds`; one that is
  /// painting goes when it is done, unless `idle_seconds` is more than 0. Returns how many.
  virtual size_t unload(const std::string& file, double idle_seconds) = 0;
  /// Models that are open, the one used last first. When the memory budget asks for it, the others leave from behind.
  virtual std::vector<LoadedModelInfo> models() = 0;
  /// What these files are together: family, variant, components present and missing, and the command that runs them.
  virtual Inspection inspect(const std::vector<std::filesystem::path>& paths) = 0;
};

/// The engine of this library.
std::unique_ptr<Engine> make_engine(const EngineOptions& options);

}  // namespace gesso
