//===- TryingMarker.h - That a driver is being tried ------------*- C++ -*-===//
//
// A driver that crashes while it makes a device or pipelines takes the process
// along, and would do so each time. A file beside the pipeline cache says that
// a process is about to try, and is removed when it has come back. Who finds
// one that nobody holds has a process before it that died there. That may have
// been killed, so the file counts them: after three in a row this driver is not
// used until it is another one, or the file has been removed.
//
// The process that tries holds a lock on the file, which the system takes away
// when it ends, in whatever way. So one that is alive does not count as dead;
// who comes meanwhile tries without a file. One that ends in order, by exit(),
// takes its file along. What is no marker of ours in every byte, or a file that
// others can write, is as good as none.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_TRYINGMARKER_H
#define NNV12_RUNTIME_GPU_TRYINGMARKER_H

#include "artifact/Fault.h"
#include "runtime/gpu/CachePath.h"

namespace nnv12::runtime {

class TryingMarker {
public:
  TryingMarker() = default;
  TryingMarker(const TryingMarker &) = delete;
  TryingMarker &operator=(const TryingMarker &) = delete;

  /// Before calls that may crash, in `folder` as CachePath::begin has it. Any
  /// thread, also while others are between begin() and end(). False, with a
  /// line, where a process has died there; then nothing is to be ended.
  [[nodiscard]] bool begin(const char *folder, const CacheKey &device,
                           const char *name, artifact::Fault &fault);
  /// `isAll`: nothing is left to try, and all went well.
  void end(bool isAll = false);

  /// At the end of the process: takes away all that there are.
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

  uint32_t tries = 0; ///< under way
  int file = -1;      ///< open and locked, or none
  bool isProven = false;
  Record record = {};
  CachePath path;
  TryingMarker *next = nullptr; ///< of those that have a file
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_TRYINGMARKER_H
