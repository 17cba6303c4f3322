//===- ProgramWriter.h - A plan as a plan.program ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_PROGRAMWRITER_H
#define NNV12_COMPILER_PLAN_PROGRAMWRITER_H

#include "compiler/plan/ModelPlan.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12 {

/// Writes the plan at the end of `module`: the stages of every layer, a GPU's
/// part, and lanes. The stages of a layer are a read of constants
/// that no earlier layer has read, a decode where they are compressed, a
/// transform for each step from the form in the file to the form that the
/// routine reads, and the execute; those of the routine that takes over later
/// come behind, with a switch. Fails with a diagnostic of the plan dialect's
/// verifier, which finds faults of the compiler.
mlir::FailureOr<plan::ProgramOp> writeProgram(const ModelPlan &plan,
                                              mlir::ModuleOp module);

/// Writes a GPU's part at the end of a program that has the stages.
void writeOverlay(const ModelPlan &plan, plan::ProgramOp program);

/// As the plan dialect counts time. Absurd numbers of a profile give absurd
/// times: thirty years stand for all that is longer, or else they would be no
/// integers.
int64_t planTime(double milliseconds);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_PROGRAMWRITER_H
