#pragma once
// What the sources of convert_files() share.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/tensor_writer.h"
#include "pipeline/convert.h"
#include "pipeline/model_files.h"
#include "weights/scaling.h"

namespace gesso {

/// A tensor on its way.
struct ConvertItem {
  const TensorFile* file;
  const TensorInfo* from;
  TensorInfo to;                                     ///< name, type and shape
  std::string reason;                                ///< why it is not of the type that was asked for
  std::shared_ptr<const Scaling> scaling = nullptr;  ///< what is applied to it on the way; null: nothing
};

struct ConvertWork {
  std::vector<ModelFile> files;
  std::vector<ConvertItem> items;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> notes;
};

/// Opens the inputs, and decides on the names and types of what is in them.
ConvertWork plan_conversion(const ConvertRequest& request);

/// Reads a tensor, and writes it as what it becomes; kNumeric for values that the type cannot hold.
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

/// Adds what a tensor of `written` deviates from the one it was made of. Throws kIo when bytes that should be the same
/// are not, kNumeric when finite values are no longer finite.
void measure_converted(const ConvertItem& item, const TensorFile& written, const TensorInfo& tensor,
                       Deviation& deviation);

}  // namespace gesso
