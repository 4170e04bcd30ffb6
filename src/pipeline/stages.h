#pragma once
#include <functional>
#include <string>

#include "models/latent_diffusion.h"
#include "pipeline/canvas.h"
#include "pipeline/engine.h"
#include "pipeline/latent_codec.h"
#include "pipeline/preview.h"
#include "pipeline/prompts.h"
#include "pipeline/text_memory.h"
#include "sampling/latent.h"

namespace gesso {

/// What the stages of one request share.
struct Work {
  LatentDiffusion& model;
  Device& device;
  const Request& request;  ///< resolved
  DType compute;           ///< of activations: f32 or bf16
  const EventSink& sink;
  LatentCodec codec{model};  ///< of the pictures
  const Preview* preview = nullptr;
  TextMemory* texts = nullptr;  ///< where encoded texts are kept; null: nowhere

  void message(const std::string& text) const { sink({.kind = Event::Kind::kMessage, .text = text}); }
};

/// The prompts, encoded.
struct TextStates {
  PromptPlan plan;
  std::vector<Conditioning> states;  ///< of plan.texts
};

/// A picture to paint over, as the denoiser works with it.
struct StartingPoint {
  Latent picture = {};           ///< empty: there is none
  std::vector<float> mask = {};  ///< for each pixel of the latent, 1 where it is painted anew; empty: everywhere
  Latent extra = {};             ///< the channels that extra_input() asks for; empty when none
};

// Each stage checks that its result is finite. Where bf16 fails, it says so and computes again in f32; where f32 fails
// too, it throws kNumeric naming itself. Nothing unfinished is returned.

/// "text": each text of the prompts through the text encoders.
TextStates encode_text(const Work& work);
/// "encode": the canvas, if there is one, through the autoencoder; and what the network wants to see besides.
StartingPoint encode_canvas(const Work& work, const Canvas* canvas);
/// "denoise": noise of the seeds to a latent. Over a picture, the last strength * steps steps of the schedule run (see
/// steps_for_strength), from the picture with noise; where its mask is 0 it is put back before and after every
/// evaluation, unless the network sees the mask itself.
Latent denoise(const Work& work, const TextStates& text, const StartingPoint& start, const Seeds& seeds);
/// "decode": a latent to rows of RGB pixels, width * height * 3 bytes.
std::vector<uint8_t> decode(const Work& work, const Latent& latent);

}  // namespace gesso
