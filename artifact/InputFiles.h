//===- InputFiles.h - Files that no output may replace ----------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_INPUTFILES_H
#define NNV12_ARTIFACT_INPUTFILES_H

#include "artifact/Fault.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace nnv12::artifact {

/// The files that a process reads, told apart by device and inode: "./a", a
/// symbolic link to "a" and a hard link are the same file as "a".
class InputFiles {
public:
  /// A path that names nothing is left out: its reader will say so.
  void add(const std::string &path);
  /// Whether writing to `path` replaces none of them, else a fault.
  [[nodiscard]] bool allowsWriting(const std::string &path, Fault &fault) const;

private:
  struct File {
    std::string path;
    dev_t device;
    ino_t inode;
  };
  std::vector<File> files_;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_INPUTFILES_H
