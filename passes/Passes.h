//===- Passes.h - Passes on nn layers ---------------------------*- C++ -*-===//
#ifndef NNV12_PASSES_PASSES_H
#define NNV12_PASSES_PASSES_H

#include "compiler/plan/PlanOptions.h"
#include "compiler/weights/Rounding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace nnv12 {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace nnv12

#endif // NNV12_PASSES_PASSES_H
