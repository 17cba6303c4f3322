//===- ImportOptions.h - The user's options for a model ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_IMPORTOPTIONS_H
#define NNV12_COMPILER_IMPORT_IMPORTOPTIONS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nnv12::artifact {
class InputFiles;
} // namespace nnv12::artifact

namespace nnv12 {

/// How to import numbers that a model draws at random.
enum class RandomNumbers {
  Refused,
  Zero,
  /// An input of the compiled model for each, named like the tensor.
  Input
};

struct TensorNames;

struct ImportOptions {
  /// Shapes of graph inputs by name. A name that is no input but a dimension
  /// parameter of some input (`dim_param`), with one value, sets that
  /// dimension.
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  /// Graph inputs whose value is known when compiling: name and file, either
  /// .npy or a serialised TensorProto/SequenceProto/OptionalProto (.pb). Such
  /// an input is no input of the compiled model.
  std::vector<std::pair<std::string, std::string>> constants;
  /// Names of tensors of the model's graph that become its outputs. The graph's
  /// own outputs, and nodes that lead to none of these, are left out. Empty
  /// keeps the graph's own.
  std::vector<std::string> outputs;
  RandomNumbers random = RandomNumbers::Refused;
  /// Folders besides the model's own whose files tensors may have as external
  /// data.
  std::vector<std::string> externalData;
  /// No tensor may be larger.
  uint64_t maxTensorBytes = uint64_t(1) << 34;
  /// How many rows NonMaxSuppression of run-time boxes may have room for.
  int64_t mostBoxes = 1000000;
  /// Channels of a block of operators of com.microsoft.nchwc, 8 or 16, where
  /// the file does not tell; 0: not known.
  int64_t nchwcBlock = 0;
  /// How many nodes may be imported, counting those of inlined functions and of
  /// unrolled loops once for every time.
  uint64_t maxNodes = 1000000;
  /// Where to note the files with external data that were read, if at all.
  artifact::InputFiles *inputs = nullptr;
  /// If given, the importer notes the model's names of tensors there.
  TensorNames *names = nullptr;
};

} // namespace nnv12

#endif // NNV12_COMPILER_IMPORT_IMPORTOPTIONS_H
