//===- QuantizedEnd.h - The steps behind a sum of integers ------*- C++ -*-===//
//
//   y = activation(f32(sum + bias + rows) * scale + shift)
//   result = round(y / out_scale) + out_zero, saturated
//
// Then a residual is added. Absent parts are skipped; see NNQuantOps.td. The
// element-by-element form of these steps is in codegen/common: both give the
// same bytes.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/routines/LinearMemory.h"

namespace nnv12::codegen {

struct QuantizedEnd {
  bool padding = false; ///< whether padding has a value: of qconv alone
  bool bias = false, rows = false, scale = false, shift = false;
  bool outScale = false, outZero = false;
  bool residual = false, residualZero = false, finalZero = false;
  nn::FunctionAttr activation; ///< may be null
  Type result;                 ///< the element type: i32, f32, i8 or ui8

  /// The end of a qconv or qmatmul.
  template <typename Op> static QuantizedEnd of(Op op) {
    QuantizedEnd e;
    if constexpr (std::is_same_v<Op, nn::QConvOp>)
      e.padding = bool(op.getPadding());
    e.bias = bool(op.getBias());
    e.rows = bool(op.getRows());
    e.scale = bool(op.getScale());
    e.shift = bool(op.getShift());
    e.outScale = bool(op.getOutScale());
    e.outZero = bool(op.getOutZero());
    e.residual = bool(op.getResidual());
    e.residualZero = bool(op.getResidualZero());
    e.finalZero = bool(op.getFinalZero());
    e.activation = op.getActivationAttr();
    e.result = op.getType().getElementType();
    return e;
  }
  bool makesBytes() const { return result.isInteger(8); }
  int64_t resultSize() const { return makesBytes() ? 1 : 4; }
  /// Part of the name of a micro-kernel that ends so.
  std::string suffix() const;

  /// From the operands of a kernel: the result, then the layer's operands.
  LinearMemory memory(ValueRange operands) const;
  /// From the arguments of a micro-kernel, which are `args` from there on.
  LinearMemory take(ValueRange &args) const;

  /// The values of a call that all elements share.
  struct Shared {
    Value outScale; ///< a vector of f32; null without one
    Value zero;     ///< a scalar of i32
    // These are vectors of f32, and null without a residual. The first two
    // limit the rounded y; they are null where y is not rounded.
    Value least, most, step, residualScale, residualZero;
  };
  Shared shared(KernelBuilder &k, const LinearMemory &memory) const;

  /// A vector of i32 sums that have bias and rows, and where its results go.
  struct Piece {
    Value sum;
    Value scale, shift; ///< the columns'; null where there are none
    Index at;
    Index kept;     ///< lanes that count, others become zero
    int64_t stored; ///< lanes that lie in memory
  };
  /// Computes and stores them. Pieces that follow each other in memory are best
  /// in that order.
  void store(KernelBuilder &k, ArrayRef<Piece> pieces,
             const LinearMemory &memory, const Shared &shared) const;

private:
  /// The floats that are rounded to bytes; y, where the result is f32; the sum,
  /// where it is i32.
  Value apply(KernelBuilder &k, const Piece &piece, const LinearMemory &memory,
              const Shared &shared) const;
  /// z of y / out_scale and as many elements of the residual.
  Value addResidual(KernelBuilder &k, Value y, Value residual,
                    const Shared &shared) const;
  /// Four vectors of y as bytes, one behind the other.
  Value bytesOf(KernelBuilder &k, ArrayRef<Value> y,
                const Shared &shared) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H
