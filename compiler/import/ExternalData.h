//===- ExternalData.h - Elements of tensors in other files ------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_EXTERNALDATA_H
#define NNV12_COMPILER_IMPORT_EXTERNALDATA_H

#include "artifact/MappedFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <memory>
#include <string>
#include <vector>

namespace onnx {
class TensorProto;
} // namespace onnx

namespace nnv12::artifact {
class InputFiles;
} // namespace nnv12::artifact

namespace nnv12::importer {

/// The files that hold elements of a model's tensors. A model comes from
/// anywhere, and the files that it names go into the bundle. So they must lie
/// below its folder, below that of the file to which its own name is a link, or
/// below a folder that the user allows. Links are followed as long as they end
/// there.
class ExternalData {
public:
  /// Elements of one tensor, which stay as long as this lives: weights must not
  /// take memory twice for longer than it takes to copy them.
  struct Slice {
    std::unique_ptr<artifact::MappedFile> file;
    llvm::ArrayRef<char> bytes;
  };

  /// Takes a fault: "found X, expected Y".
  using Refuse = llvm::function_ref<void(const llvm::Twine &found,
                                         const llvm::Twine &expected)>;

  /// Notes in `inputs`, unless null, what it opens.
  ExternalData(llvm::StringRef model, const std::vector<std::string> &allowed,
               artifact::InputFiles *inputs);

  /// The tensor's `bytes` bytes; no file after a fault.
  Slice find(const onnx::TensorProto &tensor, uint64_t bytes, Refuse refuse);

private:
  std::unique_ptr<artifact::MappedFile> open(const std::string &location,
                                             Refuse refuse);
  /// Whether a canonical path lies below a folder that may be read.
  bool isAllowed(llvm::StringRef path) const;

  std::string directory_;          ///< the model's, as its path says it
  std::vector<std::string> roots_; ///< canonical paths of the folders
  artifact::InputFiles *inputs_;
  llvm::StringMap<uint64_t> used_; ///< sum of the slices of a file
};

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_EXTERNALDATA_H
