#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/family.h"
#include "pipeline/request.h"

namespace gesso {

/// What a field is about, beyond its type.
enum class FieldRole {
  kPicture,  ///< decides what the picture looks like
  kFile,     ///< path of a model file; only its base name is kept in a picture's recipe
  kInput,    ///< path of a picture; as kFile
  kFolder,   ///< path of a folder that is read; not part of a recipe
  kMachine,  ///< how this computer does the work; not part of a recipe
};

/// One row of the table of request fields.
struct Field {
  using Member =
      std::variant<std::string Request::*, std::optional<std::string> Request::*, bool Request::*, int Request::*,
                   std::optional<int> Request::*, int64_t Request::*, std::optional<double> Request::*>;

  std::string_view name;
  Member member;
  std::string_view options;      ///< names on the command line: "-W,--width"; a leading "!" is a flag that means false
  std::string_view placeholder;  ///< of the value in help: FILE, TEXT, N
  std::string_view group;        ///< heading in the complete help
  std::string_view description;  ///< one sentence without a full stop
  std::string_view absent = {};  ///< what happens when an optional field is not given
  double minimum = 0, maximum = 0;  ///< inclusive, for numbers; equal: no limit
  int multiple = 1;                 ///< integers must be a multiple of this
  std::vector<std::string_view> (*choices)() = nullptr;
  /// The choice that a name or alias means; may set a field that the name implies. Throws kUsage for an unknown one.
  std::string (*choose)(Request& request, std::string_view name) = nullptr;
  std::string_view other_names = {};  ///< what other programs call it, space-separated; for suggestions only
  FieldRole role = FieldRole::kPicture;
  std::optional<Role> component = {};  ///< of a kFile field: what its file is for; nothing: whatever it holds
  bool common = false;                 ///< shown in the short help
  bool required = false;               ///< must be given and not blank
  bool below_one_is_absent = false;    ///< 0 and -1 mean "not given", as on the command lines of other programs
  bool memory = false;                 ///< an int64_t of bytes, in JSON also "8GiB"
};

/// The table, in the order of documents and help.
std::span<const Field> request_fields();

/// The field of this name, or nullptr.
const Field* find_field(std::string_view name);

/// The known field whose name (or other programs' name for it) is nearest to an unknown one.
std::string_view nearest_field(std::string_view unknown);

}  // namespace gesso
