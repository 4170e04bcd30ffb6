#include "pipeline/text_memory.h"

#include <algorithm>

namespace gesso {

std::optional<TextMemory::States> TextMemory::find(DType asked, const std::string& text, const PromptOptions& options) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& e) { return e.asked == asked && e.text == text && e.options == options; });
  if (found == entries_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().states;
}

void TextMemory::keep(DType asked, const std::string& text, const PromptOptions& options, const States& states) {
  entries_.push_front({asked, text, options, states});
  if (entries_.size() > kMost) entries_.pop_back();
}

}  // namespace gesso
