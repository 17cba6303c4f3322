//===- PipelineCacheFile.h - What a driver made, for next time --*- C++ -*-===//
//
// A file beside none of ours, in a folder of the user's: what the driver has
// compiled for one bundle on one device. Drivers trust what they are given
// there, and may crash on what is damaged, so all that could be wrong makes it
// as if there were no file: another driver, device or version, another owner,
// a file that others can write, a link, a digest that does not match. No
// failure is an error: pipelines are made anew then.
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
  /// In `folder`, as CachePath::begin has it; empty: nothing is read or
  /// written. `modules` names what pipelines are made of.
  void open(const char *folder, const CacheKey &device,
            const artifact::Digest &modules);

  /// Of what was found, for vkCreatePipelineCache; size 0: nothing was.
  const void *data() const { return bytes.data() + sizeof(Header); }
  size_t size() const {
    return bytes.size() ? bytes.size() - sizeof(Header) : 0;
  }
  /// Forgets what was found.
  void forget();
  bool isOff() const { return !*path.text; }

  /// Room for `size` bytes that the driver has to say; null without memory.
  void *room(size_t size);
  /// Writes the first `size` bytes of what was put there, so that others find
  /// the file whole or not at all. Whether that worked.
  bool write(size_t size);

  static constexpr size_t mostBytes = 16 << 20;

private:
  struct Header {
    char magic[8];
    artifact::Digest digest; ///< of all that follows
    uint32_t version, pointerBytes;
    uint64_t size; ///< of what follows the header
    artifact::Digest modules;
    CacheKey device;
  };

  bool read();
  bool isGood() const;

  Header expected = {}; ///< but for digest and size
  CachePath path;
  artifact::Array<uint8_t> bytes; ///< header and blob, as they were read
  artifact::Array<uint8_t> next;  ///< to be written
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_PIPELINECACHEFILE_H
