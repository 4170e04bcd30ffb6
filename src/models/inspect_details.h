#pragma once
// What the sources of describe() share.
#include <string>
#include <string_view>
#include <vector>

#include "models/inspect.h"

namespace gesso {

/// The text with control characters and broken UTF-8 replaced: names come from files that may be anything, and go to a
/// terminal and into JSON.
std::string shown_text(std::string_view text);

/// "1.6 GB"
std::string size_text(uint64_t bytes);

/// A vocabulary inside the file: in GGUF's metadata, or as a tensor of bytes.
void add_tokenizer(const RecognisedFile& file, ModelReport& report, Json& json);

/// What the file says about itself: all of it in JSON, long texts cut; the first of it in the lines.
void add_metadata(const RecognisedFile& file, ModelReport& report, Json& json);

/// How many modules an adapter touches, and with what ranks.
void add_adapter(const RecognisedFile& file, const Component& component, ModelReport& report);

}  // namespace gesso
