//===- AtomicFile.h - A file that appears whole or not at all ---*- C++ -*-===//
#ifndef NNV12_ARTIFACT_ATOMICFILE_H
#define NNV12_ARTIFACT_ATOMICFILE_H

#include "artifact/Fault.h"
#include "artifact/NonCopyable.h"

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace nnv12::artifact {

/// Until commit() has succeeded, the path names what it named before. Where the
/// file system knows O_TMPFILE, even a killed process leaves nothing behind.
class AtomicFile : NonCopyable {
public:
  ~AtomicFile();

  /// Refuses a path that names something other than a regular file; follows
  /// symbolic links. A file that is replaced leaves its permissions; a new one
  /// has `mode`, less the umask.
  [[nodiscard]] bool open(const char *path, Fault &fault, mode_t mode = 0666);
  [[nodiscard]] bool write(const void *data, size_t size, Fault &fault);
  /// Whether a power cut may still lose or empty the file after commit().
  enum class Durability { Full, None };
  /// Flushes to the disk, if so asked, and renames.
  [[nodiscard]] bool commit(Fault &fault,
                            Durability durability = Durability::Full);

private:
  std::string target_;
  std::string folder_;
  std::string temporary_; ///< empty while the file has no name
  int fd_ = -1;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_ATOMICFILE_H
