#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/latent_projection.h"
#include "tensor/tensor.h"
#include "text/prompt.h"
#include "weights/weight_store.h"

namespace gesso {

/// What a denoiser is told about a picture.
struct Conditioning {
  Tensor context;        ///< [1, tokens, width]
  Tensor vector;         ///< [1, width], or empty
  std::string notice{};  ///< what the user should know: of a prompt that was cut, say; empty: nothing
};

/// How latents relate to pictures: the model works on (z - shift) * factor.
struct LatentFormat {
  int channels = 4;
  int scale = 8;  ///< pixels per latent along a side
  float factor = 1.f;
  float shift = 0.f;
  const LatentProjection* projection = nullptr;  ///< where one is published
  int patch = 1;  ///< latents along a side of what the network takes as one: width and height are multiples
};

/// What a family paints with when the request leaves it open.
struct Defaults {
  int width = 512, height = 512;
  int steps = 20;
  double cfg_scale = 7;
  double guidance = 0;  ///< distilled guidance, which the network is told; 0: it takes none
  int clip_skip = 1;
  std::string sampler = "euler_a", scheduler = "discrete";
};

/// What the network's output means, and the noise levels it was trained on.
struct Denoising {
  std::string prediction = "eps";  ///< "eps", "v" or "flow"
  bool zero_terminal_snr = false;
  double flow_shift = 1;         ///< of a flow: see sampling/flow_shift.h
  bool shift_by_tokens = false;  ///< mu_for_tokens() of the picture decides instead
};

/// What a denoising network sees besides the noisy latent, behind its channels.
enum class ExtraInput {
  kNone,
  /// For inpainting: one channel of the mask (1 is painted anew), then the latent of the picture with that part gray.
  kMaskAndPicture,
};

/// What besides the text conditions a picture.
struct PromptOptions {
  int clip_skip = 1;
  int width = 512, height = 512;  ///< of the picture, in pixels
  double guidance = 0;            ///< distilled guidance, for a network that takes it
  PromptSyntax syntax = PromptSyntax::kA1111;
  bool operator==(const PromptOptions&) const = default;
};

/// How much of a text encoder's room a text takes.
struct TextLength {
  std::string_view encoder;  ///< its role, for good: "clip_l"
  size_t tokens = 0;
  size_t room = 0;    ///< tokens of one chunk, or of all it sees
  size_t chunks = 1;  ///< in which the text is read
};

/// A built model that turns noise into a latent under a text, and latents into pictures. One request at a time.
class LatentDiffusion {
 public:
  virtual ~LatentDiffusion() = default;
  virtual const LatentFormat& latent_format() const = 0;
  virtual const Defaults& defaults() const = 0;
  virtual const Denoising& denoising() const = 0;
  /// Whether pictures may close at their borders (see Wrap): all that tells places apart is convolution.
  virtual bool can_wrap() const { return false; }
  virtual ExtraInput extra_input() const { return ExtraInput::kNone; }

  /// The states of a text in the grammar of parse_prompt.
  virtual Conditioning encode(Device& device, DType compute, std::string_view prompt, const PromptOptions& options) = 0;
  /// How each text encoder reads a text: chunks, ids and weights, for a person.
  virtual std::string explain(std::string_view prompt, const PromptOptions& options) const = 0;
  /// How long a text is for each text encoder. From any thread, while the model paints too.
  virtual std::vector<TextLength> measure(std::string_view prompt, const PromptOptions& options) const = 0;
  /// x [n, h, w, channels and those of extra_input()] (the latent already scaled for the network), timestep, context
  /// [n, tokens, width], vector [n, width] or empty -> the raw output [n, h, w, channels]
  virtual Tensor predict(const Tensor& x, float timestep, const Tensor& context, const Tensor& vector) = 0;
  /// Latents [n, h, w, channels] as the autoencoder knows them -> pictures [n, scale h, scale w, 3] in [-1, 1]. Throws
  /// kNotFound when no autoencoder was given.
  virtual Tensor decode(const Tensor& latents) = 0;
  /// Pictures [n, scale h, scale w, 3] in [-1, 1] -> latents [n, h, w, channels] as the autoencoder knows them, f32.
  /// Throws kUnsupported where the autoencoder can only decode, and as decode() does.
  virtual Tensor encode_picture(const Tensor& pictures) = 0;

  /// What the user should know of how the model was built: an optional part that is not there, say.
  virtual std::vector<std::string> notices() const { return {}; }

  /// The weights of the text encoders, the denoiser and the autoencoder, for reports and for giving memory back.
  virtual std::vector<WeightStore*> text_weights() = 0;
  virtual WeightStore& denoiser_weights() = 0;
  virtual WeightStore* decoder_weights() = 0;  ///< null: no autoencoder was given, and a tiny one has to do
};

/// Components by role, ready to build a model from: "diffusion_model", "vae", "clip_l", ...
using Components = std::map<std::string, std::unique_ptr<WeightStore>, std::less<>>;

}  // namespace gesso
