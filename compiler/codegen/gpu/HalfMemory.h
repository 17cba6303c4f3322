//===- HalfMemory.h - Tensors that a GPU stores in f16 ----------*- C++ -*-===//
//
// Layers of f32 can have tensors in f16 in the GPU's memory, weights as well as
// values between layers: kernels read them as f32, compute in f32, and round
// their results. No routine knows of it: the kernels' bindings of such tensors
// are of f16, and the kernels' keys name them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_HALFMEMORY_H
#define NNV12_COMPILER_CODEGEN_GPU_HALFMEMORY_H

#include "compiler/codegen/gpu/GpuStep.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace nnv12::codegen {

class GpuRoutine;

/// Which tensors of a layer are so: bit i the i-th of its results, then
/// operands. All of them are tensors of f32.
struct HalfTensors {
  uint64_t bits = 0;
  static constexpr unsigned most = 64;

  static HalfTensors result(unsigned i) { return {uint64_t(1) << i}; }
  static HalfTensors operand(mlir::Operation *layer, unsigned i) {
    return result(layer->getNumResults() + i);
  }
  bool has(HalfTensors other) const { return (bits & other.bits) != 0; }
  void add(HalfTensors other) { bits |= other.bits; }
  bool empty() const { return bits == 0; }
};

/// A kernel of a routine with memory of f16.
struct HalfKernel {
  unsigned kernel = 0; ///< of the routine's steps
  uint32_t half = 0;   ///< a bit a binding
};

/// Behind the key of a kernel without such memory; then its bindings, in bits.
inline constexpr llvm::StringLiteral halfSuffix = " f16:";

/// `steps`, which are the routine's, with such tensors; their kernels are
/// `kernels`: one that has them elsewhere in another step becomes two, and one
/// that no step dispatches is none. Temporaries, and weights in a form of the
/// routine, are of f32.
GpuSteps stepsInHalf(GpuSteps steps, mlir::Operation *layer,
                     const GpuRoutine &routine, HalfTensors half,
                     llvm::SmallVectorImpl<HalfKernel> &kernels);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_HALFMEMORY_H
