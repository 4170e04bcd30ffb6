#pragma once
// What the sources of convert_files() share.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/tensor_writer.h"
#include "pipeline/convert.h"
#include "pipeline/model_files.h"
#include "weights/scaling.h"

namespace gesso {

/// Elements of a tensor that are read: all, or the rows of one part of it.
struct ConvertSource {
  const TensorFile* file;
  const TensorInfo* tensor;
  std::shared_ptr<const Scaling> scaling = nullptr;  ///< what is applied to it on the way; null: nothing
  int64_t begin = 0, count = 0;
  Shape turned = {};  ///< when it is to be transposed, its stored shape [rows, columns]

  uint64_t bytes() const;  ///< of these elements, about
};

/// A tensor that is written.
struct ConvertItem {
  std::vector<ConvertSource> sources;  ///< what it holds, one below the other
  TensorInfo to;                       ///< name, type and shape
  std::string reason = {};             ///< why it is not of the type that was asked for
  std::vector<float> importance = {};  ///< of its columns; empty: all are alike

  std::vector<std::string> ours = {};  ///< what our name of it is, or of its parts, with the prefix of its role

  uint64_t bytes() const;  ///< that are read
  DType from() const { return sources.front().tensor->dtype; }
  /// Whether it is written as its bytes are stored.
  bool is_copied() const;
};

struct ConvertWork {
  std::vector<ModelFile> files;
  std::vector<ConvertItem> items;
  std::map<std::string, const TensorFile*> owners;  ///< of the names of the items
  std::map<std::string, std::string> metadata;
  std::vector<std::string> notes;
};

/// Opens the inputs, and decides on the names and types of what is in them.
ConvertWork plan_conversion(const ConvertRequest& request);

/// Chooses the type of an item whose `to.dtype` is the one that it counts as, and appends it. Throws kUsage when there
/// is one of its name.
void add_item(const ConvertRequest& request, ConvertItem item, bool sensitive, ConvertWork& work);

/// What becomes of the weights of a file that have scales in tensors beside them: all keep them, or all get the values.
struct ScaledWeights {
  std::map<size_t, std::shared_ptr<const Scaling>> applied;  ///< by the index of the weight; empty: all are copied
  std::set<size_t> left;  ///< companions and markers that say nothing once the scales are applied

  /// The whole tensor as a source, and the type that it counts as: F16 where scales are applied.
  std::pair<ConvertSource, DType> source(const ModelFile& file, size_t tensor) const;
};
/// `renamed`: the names in the output differ from those in the file. Notes what is applied.
ScaledWeights plan_scaled_weights(const ConvertRequest& request, const ModelFile& file, bool renamed,
                                  ConvertWork& work);

/// Adds the file's metadata but for what describes the file itself; notes where they differ from those before.
void carry_metadata(const ModelFile& file, bool with_scales, ConvertWork& work);

/// The items of the files' components under the names of `request.names`. What belongs to no component stays under its
/// name; what is ignored and says nothing about the model is left out, and noted. Throws kUnsupported where something
/// has no name in that layout.
void add_renamed_items(const ConvertRequest& request, ConvertWork& work);

/// Reads what a tensor is made of, and writes it as what it becomes; kNumeric for values that the type cannot hold.
void write_converted(const ConvertItem& item, TensorWriter& writer);

/// How far written values are from those that were read, over tensors of one pair of types.
class Deviation {
 public:
  void add(const float* a, const float* b, int64_t n);
  double rmse() const;
  double largest() const { return largest_; }
  double cosine() const;

 private:
  double squares_ = 0, largest_ = 0, aa_ = 0, bb_ = 0, ab_ = 0, count_ = 0;
};

/// Adds what a tensor of `written` deviates from what it was made of. Throws kIo when bytes that should be the same
/// are not, kNumeric when finite values are no longer finite.
void measure_converted(const ConvertItem& item, const TensorFile& written, const TensorInfo& tensor,
                       Deviation& deviation);

}  // namespace gesso
