//===- Widen.h - Packed weights of those in fewer bits ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_WIDEN_H
#define NNV12_COMPILER_CODEGEN_CPU_WIDEN_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "dialects/plan/PlanDialect.h"

namespace nnv12::codegen {

/// Emits the kernel that makes packed f32 weights, operand 0, of the narrow
/// ones that lie as compiler/weights/Narrow.h says, operand 1: the floats that
/// they were made of, bit for bit. `packed` has a narrow grid.
KernelInfo emitWiden(KernelBuilder &k, mlir::RankedTensorType packed,
                     plan::Narrowing narrowing, StringRef symbol);

/// The facts that the time of that kernel depends on.
KernelFacts widenFacts(mlir::RankedTensorType packed, plan::Narrowing narrowing,
                       StringRef target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_WIDEN_H
