//===- StretchMemory.h - Memory and barriers of a stretch -------*- C++ -*-===//
//
// The memory that a GPU's dispatches read and write decides where tensors lie
// in the GPU's arena, which dispatches wait for those before, and which bytes
// the CPU hands over and gets back. Pure: knows nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_EMIT_STRETCHMEMORY_H
#define NNV12_COMPILER_EMIT_STRETCHMEMORY_H

#include "artifact/Bundle.h"

#include <optional>
#include <vector>

namespace nnv12 {

/// Memory that dispatches work in: a tensor, or a layer's own memory between
/// its dispatches. Weights are none.
struct StretchBuffer {
  uint64_t size = 0; ///< bytes
  /// Where the CPU has it, if something outside of the stretch reads or writes
  /// it.
  std::optional<artifact::Operand> host = std::nullopt;
};

/// Bytes of a buffer.
struct BufferRange {
  uint32_t buffer = 0;
  uint64_t offset = 0, size = 0;
  uint64_t end() const { return offset + size; }
  bool operator==(const BufferRange &o) const {
    return buffer == o.buffer && offset == o.offset && size == o.size;
  }
};

/// The ranges that one dispatch touches.
struct StretchDispatch {
  std::vector<BufferRange> reads, writes;
};

struct StretchMemory {
  /// Each buffer's place in the GPU's arena: a multiple of 256. Buffers that
  /// are needed at a time do not overlap; those of the CPU's that are handed
  /// over are needed from the start, those that are handed back to the end.
  std::vector<uint64_t> places;
  uint64_t arenaSize = 0;
  /// Whether all before a dispatch must have finished, since one of them
  /// touches the same bytes, in the GPU's memory or in the CPU's, and one of
  /// both writes. None that is not needed.
  std::vector<bool> barriers;
  /// The CPU's bytes that are read before a dispatch has written them, and all
  /// that are written. By buffer, then offset; ranges of one buffer do not
  /// touch.
  std::vector<BufferRange> in, out;
};

/// Each range is inside of its buffer. A buffer that the CPU does not
/// have must be written before it is read.
StretchMemory placeStretch(const std::vector<StretchBuffer> &buffers,
                           const std::vector<StretchDispatch> &dispatches);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_STRETCHMEMORY_H
