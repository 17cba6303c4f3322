//===- InputFiles.cpp - Files that no output may replace ------------------===//
#include "artifact/InputFiles.h"

#include <sys/stat.h>

namespace nnv12::artifact {

void InputFiles::add(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0)
    files_.push_back({path, info.st_dev, info.st_ino});
}

bool InputFiles::allowsWriting(const std::string &path, Fault &fault) const {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return true;
  for (const File &file : files_)
    if (file.device == info.st_dev && file.inode == info.st_ino)
      return fault.set(Fault::InvalidArgument,
                       "found the input '%s', expected another file to write",
                       file.path.c_str());
  return true;
}

} // namespace nnv12::artifact
