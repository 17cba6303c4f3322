//===- WindowFront.h - Sizes of a front of a window's layer -----*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_WINDOWFRONT_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_WINDOWFRONT_H

#include "compiler/codegen/gpu/FrontMemory.h"
#include "compiler/routines/WindowShape.h"

namespace nnv12::codegen {

/// The sizes of the front of a layer with a window. `batch`, `outChannels` and
/// `outHeight` are the front's; the result lies where the whole layer has it.
struct WindowFront : WindowShape {
  int64_t wholeBatch, wholeChannels, wholeHeight; ///< of the result

  template <typename Op>
  WindowFront(Op op, Cut cut)
      : WindowShape(op), wholeBatch(batch), wholeChannels(outChannels),
        wholeHeight(outHeight) {
    if (isWholeCut(op, cut))
      return;
    (cut.dim == 0 ? batch : cut.dim == 1 ? outChannels : outHeight) = cut.at;
  }
  /// Pixels of a channel that are computed.
  int64_t outPixels() const { return outHeight * outWidth; }
  /// Pixels from a channel to the next one in memory.
  int64_t outPlane() const { return wholeHeight * outWidth; }
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_WINDOWFRONT_H
