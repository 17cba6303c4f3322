//===- FolderTrust.h - Whether others can exchange files --------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_FOLDERTRUST_H
#define NNV12_ARTIFACT_FOLDERTRUST_H

#include "artifact/Fault.h"

#include <string>

namespace nnv12::artifact {

/// The other users, root apart, who may make, rename and remove entries of a
/// folder.
enum class Others {
  Nobody,
  /// Others may write there, but not replace this user's files (the sticky bit,
  /// as /tmp has it).
  NotOurs
};

/// Whether no other user can replace this user's files in `folder`: neither
/// there nor by renaming one of the folders above it. A fault names the folder
/// that lets them, with its mode and its owner. A folder that does not exist is
/// a fault.
[[nodiscard]] bool isTrusted(const std::string &folder, Others allowed,
                             Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_FOLDERTRUST_H
