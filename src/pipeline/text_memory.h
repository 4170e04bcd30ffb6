#pragma once
#include <list>
#include <optional>
#include <string>

#include "models/latent_diffusion.h"

namespace gesso {

/// The states of the texts that a model encoded last, so that a prompt that comes again costs nothing. What it gives
/// back is what was computed. Not thread-safe.
class TextMemory {
 public:
  struct States {
    Conditioning conditioning;
    DType computed;  ///< f32 where bf16 was asked for and gave no finite states
  };

  std::optional<States> find(DType asked, const std::string& text, const PromptOptions& options);
  void keep(DType asked, const std::string& text, const PromptOptions& options, const States& states);

 private:
  static constexpr size_t kMost = 8;  ///< texts; the states of one may take some megabytes
  struct Entry {
    DType asked;
    std::string text;
    PromptOptions options;
    States states;
  };
  std::list<Entry> entries_;  ///< used last first
};

}  // namespace gesso
