//===- LinearMemory.h - The operands of sums of products --------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_LINEARMEMORY_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_LINEARMEMORY_H

#include "compiler/codegen/common/Epilogue.h"

namespace nnv12::codegen {

/// Memory of a conv, conv_transpose or matmul, in the order of a micro-kernel's
/// arguments.
struct LinearMemory {
  Value in, weights, out, bias, residual; ///< the last two may be null
  /// A micro-kernel's alone: floats that sums are multiplied by; may be null.
  Value scale = {};

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
