//===- Decoder.h - Decompresses weights -------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_DECODER_H
#define NNV12_RUNTIME_DECODER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"
#include "runtime/system/Memory.h"

namespace nnv12::runtime {

/// Loads libzstd when the first plan that needs it comes: bundles without
/// compressed weights run where it is missing. False, with a fault, when there
/// is none.
[[nodiscard]] bool loadZstd(artifact::Fault &fault);

/// The memory and state that one thread needs to decode.
class Decoder {
public:
  ~Decoder();

  /// Allocates all that decode() needs; `split` is the size of the largest
  /// result whose bytes come in planes. After loadZstd().
  [[nodiscard]] bool create(uint64_t split, artifact::Fault &fault);

  /// Fills [target, target + size), which does not overlap the source. False
  /// when the source is damaged; the target's contents are undefined then.
  bool decode(bundle::Codec codec, unsigned planes, uint8_t *target,
              size_t size, const uint8_t *source, size_t sourceSize);

  /// Returns the memory of planes to the system.
  void release() { split_.release(); }

private:
  void *context_ = nullptr;
  Pages split_;
};

/// Puts bytes that were split into `planes` planes of `size` / `planes` bytes
/// back together: byte b of element i comes from planes[b][i].
void joinPlanes(unsigned planes, uint8_t *target, const uint8_t *source,
                size_t size);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_DECODER_H
