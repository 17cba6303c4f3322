//===- GpuEmitter.h - Writes the body of a kernel ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUEMITTER_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUEMITTER_H

#include "compiler/codegen/gpu/GpuBuilder.h"

namespace nnv12::codegen {

/// The base of classes that write a kernel: index arithmetic in values, all of
/// it unsigned.
class GpuEmitter {
public:
  explicit GpuEmitter(GpuBuilder &k) : k(k) {}

protected:
  using Dim = GpuBuilder::Dim;

  Value word(unsigned w) { return k.pushWord(w); }
  /// A word to divide by: with all words zero nothing may divide by one.
  Value atLeastOne(unsigned w) {
    return arith::MaxUIOp::create(k.b, word(w), k.constant(1));
  }
  Value add(Index x, Index y) { return k.val(k.add(x, y)); }
  Value sub(Index x, Index y) { return k.val(k.sub(x, y)); }
  Value mul(Index x, Index y) { return k.val(k.mul(x, y)); }
  Value div(Value x, int64_t y) { return k.val(k.div(x, y)); }
  Value rem(Value x, int64_t y) { return k.val(k.rem(x, y)); }
  Value div(Value x, Value y) { return arith::DivUIOp::create(k.b, x, y); }
  Value rem(Value x, Value y) { return arith::RemUIOp::create(k.b, x, y); }
  Value both(Value x, Value y) { return k.bitAnd(x, y); }
  /// condition ? x : y. SPIR-V 1.3 selects vectors by vectors.
  Value select(Value condition, Value x, Value y) {
    if (auto vector = mlir::dyn_cast<VectorType>(x.getType()))
      condition = k.broadcast(condition, vector.getNumElements());
    return k.select(condition, x, y);
  }

  GpuBuilder &k;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_GPUEMITTER_H
