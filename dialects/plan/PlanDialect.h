//===- PlanDialect.h - The plan dialect -------------------------*- C++ -*-===//
#ifndef NNV12_DIALECTS_PLAN_PLANDIALECT_H
#define NNV12_DIALECTS_PLAN_PLANDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/plan/StoredForm.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.h.inc"

namespace nnv12::plan {

/// When an operation is planned to begin and to end, in nanoseconds from
/// opening the bundle. Operations for later inferences alone have no times.
std::optional<std::pair<int64_t, int64_t>> timesOf(mlir::Operation *op);
void setTimes(mlir::Operation *op, int64_t start, int64_t end);

} // namespace nnv12::plan

#endif // NNV12_DIALECTS_PLAN_PLANDIALECT_H
