//===- Widen.h - Packed weights of those in fewer bits ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_WIDEN_H
#define NNV12_COMPILER_CODEGEN_CPU_WIDEN_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "dialects/plan/StoredForm.h"

namespace nnv12::codegen {

/// Emits the kernel that makes packed f32 weights, operand 0, of the narrow
/// ones that lie as compiler/weights/Narrow.h says, operand 1: the floats that
/// they were made of, bit for bit. `packed` has a narrow grid.
KernelInfo emitWiden(KernelBuilder &k, mlir::RankedTensorType packed,
                     plan::Narrowing narrowing, StringRef symbol);

/// Inside of a kernel: makes the packed elements [first, first + count) in
/// `to`, from element `start` on. They are whole vectors of 16, and whole units
/// of the narrow grid where that has scales. `from` has all narrow weights.
void emitWidened(KernelBuilder &k, mlir::RankedTensorType packed,
                 plan::Narrowing narrowing, Value from, Index first,
                 int64_t count, Value to, Index start);

/// The difference of a variant that reads such weights, for docs/routines.md.
StringRef narrowSummary(plan::Narrowing narrowing);
/// The form of operand 1 for such a variant; none where `narrow` is none.
std::optional<WeightForm> narrowForm(Operation *layer,
                                     std::optional<plan::Narrowing> narrow);

/// The facts that the time of that kernel depends on.
KernelFacts widenFacts(mlir::RankedTensorType packed, plan::Narrowing narrowing,
                       StringRef target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_WIDEN_H
