#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "media/metadata.h"
#include "media/parameters.h"

namespace gesso {

/// What made a picture, and with what.
struct PictureOrigin {
  std::string program;             ///< "Gesso", "A1111", "ComfyUI", "InvokeAI", "NovelAI"; empty: nothing says so
  Parameters parameters;           ///< prompts and fields under A1111's names, as far as they are told
  std::vector<PictureText> texts;  ///< all there is, as read_picture_texts() gives it
};

/// Reads what programs leave in their pictures. Never throws for damaged metadata: what cannot be read is absent.
///   Gesso     its request, and A1111's text beside it
///   A1111     its text (PNG "parameters", EXIF UserComment), which many programs write
///   ComfyUI   the graph of nodes (PNG "prompt" and "workflow"; EXIF "prompt:..."): what the first sampler is fed
///   InvokeAI  "invokeai_metadata", and of its versions before 3 "sd-metadata" or "Dream"
///   NovelAI   "Description" and the JSON in "Comment" where "Software" is NovelAI
PictureOrigin picture_origin(std::string_view picture);

}  // namespace gesso
