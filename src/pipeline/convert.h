#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/tensor_file.h"
#include "models/output_names.h"
#include "pipeline/engine.h"

namespace gesso {

/// A type for the tensors whose names the expression finds.
struct TypeRule {
  std::function<bool(const std::string& name)> finds;
  DType type;
};

struct ConvertRequest {
  std::vector<std::filesystem::path> inputs;  ///< files, shard indexes or folders, as for `inspect`
  std::filesystem::path output;               ///< *.gguf or *.safetensors
  std::optional<DType> type;                  ///< of what no rule names; nothing: as it is stored
  std::vector<TypeRule> rules;                ///< later ones go before earlier ones
  bool verify = true;
  std::optional<Layout> names = {};                 ///< nothing: as they are
  std::vector<std::filesystem::path> imatrix = {};  ///< importance matrices, merged; none: all columns are alike
};

/// Reads {"inputs": [...], "output": "...", "type": "q4_K", "tensor_type_rules": "REGEX=TYPE,REGEX=TYPE", "verify":
/// true, "names": "ldm" or "diffusers", "imatrix": FILE or [FILE, ...]}. Names of types are those of dtype.h, in any
/// case; expressions are those of ECMAScript, at most 256 characters long. Throws kUsage naming the field.
ConvertRequest parse_convert_request(std::string_view json);

/// The type that a tensor is written as, and why it is not the one that was asked for (empty: it is).
struct ChosenType {
  DType type;
  std::string reason;
};

/// What a tensor becomes that will have the name and has the type and shape of `tensor`.
///
/// - The last rule that finds the name decides; without one `type` does, without that the stored type.
/// - Integers and truths stay as they are. Without a rule, a type in blocks is for matrices and kernels only, and not
/// for
///   a `sensitive` one (see Network::sensitive): those keep their type.
/// - A row that is no whole number of blocks takes the nearest type with blocks of 32 (Q5_0 for Q4_K, say). Where that
///   does not fit either, it stays F16 or BF16 when it is, and becomes F16 otherwise.
/// - What the format cannot hold becomes F16: blocks in safetensors, 8-bit floats in GGUF (exact for the latter).
///
/// Throws kUnsupported for a type that the format needs and nothing can be turned into, and for a name too long to be
/// searched.
ChosenType choose_type(const ConvertRequest& request, const TensorInfo& tensor, bool sensitive);

/// Copies tensors from files into one, each turned into its chosen type (weights with scales in tensors beside them
/// with these applied, unless all of them are copied); one tensor is in memory at a time. Several files' tensors get
/// the prefix of their component where they have none. The output appears when it is whole, and with `verify` it is
/// read back and measured; it is the same bytes for the same inputs, whatever the number of threads.
///
/// Events: stages "convert" and "verify", a step a tensor. Returns {"output", "bytes", "tensors", "types": [{"from",
/// "to", "tensors", "rmse", "max", "cosine"}], "changed": [{"tensor", "to", "reason"}], "text"}. Throws kUsage, kIo
/// (with the bytes needed when the disk is full), kNumeric for values that the type cannot hold, and
/// what opening files throws.
Json convert_files(const ConvertRequest& request, const EventSink& sink, const CancelToken& cancel);

}  // namespace gesso
