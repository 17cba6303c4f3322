//===- PipelineCacheFile.h - Keeps a driver's compiled code -----*- C++ -*-===//
//
// This file keeps the code that the driver has compiled for one bundle on one
// device. It lies in a folder of the user's, apart from bundles. Drivers trust
// the bytes that they are given there, and may crash on damaged ones. So a file
// counts as missing if anything could be wrong: another driver, device or
// version, another owner, a file that others can write, a link, a digest that
// does not match. No failure is an error: pipelines are made anew then.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_PIPELINECACHEFILE_H
#define NNV12_RUNTIME_GPU_PIPELINECACHEFILE_H

#include "artifact/Array.h"
#include "artifact/Digest.h"
#include "runtime/gpu/CachePath.h"

namespace nnv12::runtime {

class PipelineCacheFile {
public:
  /// Reads the file in `folder`, as CachePath::begin takes it; empty: nothing
  /// is read or written. `modules` names the pipelines' modules.
  void open(const char *folder, const CacheKey &device,
            const artifact::Digest &modules);

  /// The bytes that were found, for vkCreatePipelineCache; size 0: there were
  /// none.
  const void *data() const { return bytes_.data() + sizeof(Header); }
  size_t size() const {
    return bytes_.size() ? bytes_.size() - sizeof(Header) : 0;
  }
  /// Forgets the bytes that were found.
  void forget() { bytes_.reset(); }
  bool isOff() const { return !*path_.text; }

  /// Room for `size` bytes of the driver; null without memory.
  void *room(size_t size);
  /// Writes the first `size` bytes of that room, so that others find the file
  /// whole or not at all. Whether that worked.
  bool write(size_t size);

  static constexpr size_t mostBytes = 16 << 20;

private:
  struct Header {
    char magic[8];
    artifact::Digest digest; ///< of all that follows
    uint32_t version, pointerBytes;
    uint64_t size; ///< of the bytes behind the header
    artifact::Digest modules;
    CacheKey device;
  };

  bool read();
  bool isGood() const;

  Header expected_ = {}; ///< but for digest and size
  CachePath path_;
  artifact::Array<uint8_t> bytes_; ///< header and blob, as they were read
  artifact::Array<uint8_t> next_;  ///< to be written
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_PIPELINECACHEFILE_H
