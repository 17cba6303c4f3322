//===- TryingMarker.h - That a driver is being tried ------------*- C++ -*-===//
//
// A driver that crashes while it makes a device or pipelines takes the process
// along, and would do so each time. So before a process tries, it writes a file
// beside the pipeline cache, and removes it when the driver has returned. If a
// process finds a file that nobody holds, the process before it died there.
// That process may have been killed, so the file counts these deaths: after
// three in a row this driver is not used until it is another one, or until the
// file has been removed.
//
// The process that tries holds a lock on the file, which the system takes away
// however the process ends. So a living process does not count as dead; another
// one that comes meanwhile tries without a file. A process that ends in order,
// by exit(), removes its file. A file that differs from our markers in any
// byte, or that others can write, counts as none.
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_TRYINGMARKER_H
#define NNV12_RUNTIME_GPU_TRYINGMARKER_H

#include "artifact/Fault.h"
#include "artifact/NonCopyable.h"
#include "runtime/gpu/CachePath.h"

namespace nnv12::runtime {

class TryingMarker : artifact::NonCopyable {
public:
  /// Marks the beginning of calls that may crash, in `folder` as
  /// CachePath::begin takes it. Any thread, also while others are between
  /// begin() and end(). False, with a line, where a process has died there;
  /// then nothing is to be ended.
  [[nodiscard]] bool begin(const char *folder, const CacheKey &device,
                           const char *name, artifact::Fault &fault);
  /// `isAll`: nothing is left to try, and all went well.
  void end(bool isAll = false);

  /// Removes all markers at the end of the process.
  static void endAll();

  /// All that the file holds.
  struct Record {
    char magic[8];
    artifact::Digest driver; ///< and device: of the CacheKey
    uint32_t deaths;         ///< before this try
    uint32_t isTrying;       ///< 1; 0 between tries
  };

private:
  void remove();

  uint32_t tries_ = 0; ///< under way
  int file_ = -1;      ///< open and locked, or none
  bool isProven_ = false;
  Record record_ = {};
  CachePath path_;
  TryingMarker *next_ = nullptr; ///< of those that have a file
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_TRYINGMARKER_H
