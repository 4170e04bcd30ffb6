#pragma once
#include <optional>
#include <string>
#include <vector>

#include "json.h"

namespace cli {

/// What `gesso generate` was asked to do.
struct GenerateArguments {
  Json fields = Json::object();  ///< request fields that were given
  std::optional<std::string> output;
  std::optional<int> output_begin;
  std::optional<std::string> preview_path;
  std::optional<std::string> from_image;
  int quality = 0;
  std::optional<std::string> profile;
  std::optional<std::string> imatrix_out;
  std::vector<std::string> imatrix_in;
  std::optional<std::string> prompts;  ///< file of prompts, one a line
  bool dry_run = false;
  bool explain_prompt = false;
  bool verbose = false;
  bool help = false;
  bool help_all = false;
  std::vector<std::string> notes;  ///< what accepting options of other programs means here
};

/// Reads the options of `generate`: those that the schema names, the program's own, and those of other programs. Values
/// are passed on as they are; the library checks them. Throws Failure with what is wrong: an unknown option and the
/// nearest known one, a missing value, a feature that does not exist yet, text that is not UTF-8.
GenerateArguments parse_generate(const std::vector<std::string>& arguments, const Json& schema);

}  // namespace cli
