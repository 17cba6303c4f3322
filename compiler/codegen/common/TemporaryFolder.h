//===- TemporaryFolder.h - A folder for files between programs --*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H
#define NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"

#include <string>
#include <system_error>

namespace nnv12 {

/// A folder of its own below `parent`, or below the system's for temporary
/// files where that is "". It is gone with this.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &parent = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(llvm::StringRef name) const;
  /// Why there is none, if so.
  std::error_code error;

  /// Removes all that exist, for a process that ends without destructors. For
  /// handlers of signals as well: takes no memory.
  static void removeAll();

private:
  llvm::SmallString<128> path;
  TemporaryFolder *previous = nullptr, *next = nullptr;
};

} // namespace nnv12

#endif // NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H
