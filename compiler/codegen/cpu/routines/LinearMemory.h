//===- LinearMemory.h - The operands of sums of products --------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_LINEARMEMORY_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_LINEARMEMORY_H

#include "compiler/codegen/common/Epilogue.h"

namespace nnv12::codegen {

/// The first of `args`, which loses it; null, and nothing lost, where the
/// operand is not there.
inline Value takeIf(ValueRange &args, bool isThere) {
  Value memory = isThere ? args.front() : Value();
  args = args.drop_front(isThere);
  return memory;
}

/// Memory of a conv, conv_transpose or matmul, in the order of a micro-kernel's
/// arguments.
struct LinearMemory {
  Value in, weights, out, bias, residual; ///< the last two may be null
  /// Floats that sums are multiplied by: a micro-kernel's alone, or an operand
  /// of a quantised product. May be null.
  Value scale = {};
  // A quantised product alone has these (QuantizedEnd.h). Each may be null.
  Value rows = {}, shift = {}, outScale = {}, outZero = {}, step = {},
        offset = {}, residualScale = {}, residualZero = {}, finalScale = {},
        finalZero = {};
  Value padding = {}; ///< not a micro-kernel's
  /// Bytes that ArmProducts prepares: a micro-kernel's alone. May be null.
  Value prepared = {};

  /// From the operands of a kernel: out, in, weights, then bias and residual
  /// where the epilogue has them.
  static LinearMemory of(ValueRange operands, const Epilogue &epilogue);
  /// From the arguments of a micro-kernel, which are `args` from there on.
  static LinearMemory take(ValueRange &args, const Epilogue &epilogue,
                           bool hasScale = false);
  /// Those that are there.
  Values arguments() const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_LINEARMEMORY_H
