//===- TemporaryFolder.h - A folder for files between programs --*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H
#define NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"

#include <string>
#include <system_error>

namespace nnv12 {

/// A folder of its own below `parent`, or below the system's for temporary
/// files where that is "" (TMPDIR). It is gone with this. Nobody else can look
/// into it or replace its files: code runs from there. So there is none where
/// others may rename files of `parent`.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &parent = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  /// The path of the file with this name.
  std::string inside(llvm::StringRef name) const;
  /// The path of a file that exists from now on, empty at first, for this user
  /// alone. A program that replaces or overwrites it leaves its permissions.
  std::string file(llvm::StringRef name) const;
  /// Why there is none, if so: a line that names the folder.
  std::string error;

  /// Removes all that exist, for a process that ends without destructors. For
  /// handlers of signals as well: takes no memory.
  static void removeAll();

private:
  llvm::SmallString<128> path;
  TemporaryFolder *previous = nullptr, *next = nullptr;
};

/// Writes a file of such a folder.
std::error_code writeTemporary(llvm::StringRef path, llvm::StringRef bytes);

} // namespace nnv12

#endif // NNV12_COMPILER_CODEGEN_COMMON_TEMPORARYFOLDER_H
