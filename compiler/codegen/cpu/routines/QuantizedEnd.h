//===- QuantizedEnd.h - The steps behind a sum of integers ------*- C++ -*-===//
//
//   y = activation(f32(sum + bias + rows) * scale + shift)
//   result = round(y / out_scale) + out_zero, saturated
//
// With a step the result goes on. Absent parts are skipped; see NNQuantOps.td.
// The element-by-element form of these steps is in codegen/common: both give
// the same bytes.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/routines/LinearMemory.h"
#include "mlir/IR/TypeUtilities.h"

namespace nnv12::codegen {

struct QuantizedEnd {
  bool padding = false; ///< whether padding has a value: of qconv alone
  bool bias = false, rows = false, scale = false, shift = false;
  bool outScale = false, outZero = false;
  bool step = false, offset = false, residual = false, residualZero = false,
       finalScale = false, finalZero = false;
  nn::FunctionAttr activation;      ///< may be null
  nn::FunctionAttr finalActivation; ///< may be null
  Type result;                      ///< the element type: i32, f32, i8 or ui8
  Type middle;       ///< of the out_zero: i8 or ui8; null without one
  Type residualType; ///< i8, ui8 or f32; null without a residual

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
    e.step = bool(op.getStep());
    e.offset = bool(op.getOffset());
    e.residual = bool(op.getResidual());
    e.residualZero = bool(op.getResidualZero());
    e.finalScale = bool(op.getFinalScale());
    e.finalZero = bool(op.getFinalZero());
    e.finalActivation = op.getFinalActivationAttr();
    if (e.outZero)
      e.middle = op.getOutZero().getType().getElementType();
    if (e.residual)
      e.residualType = getElementTypeOrSelf(op.getResidual().getType());
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
    Value zero; ///< of the result: a scalar of i32; null where that is f32
    // Vectors of f32; null where there are none. `least` and `most` limit the
    // rounded y that goes on.
    Value outScale, least, most, residualScale, residualZero, finalScale;
  };
  Shared shared(KernelBuilder &k, const LinearMemory &memory) const;

  /// The columns' vectors of f32; null where there are none.
  struct Columns {
    Value scale, shift, step, offset;
  };
  /// Loads them by `load`.
  Columns columns(const LinearMemory &memory,
                  llvm::function_ref<Value(Value memory)> load) const;

  /// A vector of i32 sums that have bias and rows, and where its results go.
  struct Piece {
    Value sum;
    Columns columns;
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
  /// z of y / out_scale.
  Value goOn(KernelBuilder &k, Value y, const Piece &piece,
             const LinearMemory &memory, const Shared &shared) const;
  /// Four vectors of y as bytes, one behind the other.
  Value bytesOf(KernelBuilder &k, ArrayRef<Value> y,
                const Shared &shared) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QUANTIZEDEND_H
