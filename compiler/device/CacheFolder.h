//===- CacheFolder.h - A folder whose files are this user's -----*- C++ -*-===//
//
// The compiler believes the measurements in that folder, and writes files under
// names that anybody could know. So a folder that others can write
// is as good as none.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_CACHEFOLDER_H
#define NNV12_COMPILER_DEVICE_CACHEFOLDER_H

#include <string>

namespace nnv12::device {

/// Makes the folder, and those above it that are missing, for this user alone.
/// Returns a line that names it where it cannot be made, or others can write it
/// or move a folder above it. It may be one that this user can only read.
std::string makeCacheFolder(const std::string &folder);

/// Whether there is a file of this name. One that is a link or no plain file,
/// or that others than this user and root can write, is none, and `error`
/// becomes a line that says so.
bool isCacheFile(const std::string &path, std::string &error);

/// Writes a file for this user alone, whole or not at all. A link of this name
/// is replaced, not followed. Returns "" or a line.
std::string writeCacheFile(const std::string &path, const std::string &text);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_CACHEFOLDER_H
