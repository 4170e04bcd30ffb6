#pragma once
#include <string>

namespace gesso {

/// The merge rules of CLIP's vocabulary in order of rank, one "left right" a line, 48894 lines; from the file
/// bpe_simple_vocab_16e6.txt.gz that is built in.
std::string clip_merge_rules();

}  // namespace gesso
