//===- Report.h - Plans for people ------------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_REPORT_H
#define NNV12_COMPILER_PLAN_REPORT_H

#include "compiler/plan/ModelPlan.h"
#include "dialects/plan/PlanDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12 {

/// A few words on each layer, for people.
using LayerNotes = llvm::DenseMap<mlir::Operation *, std::string>;

/// Every routine of every layer with the cost of its stages, and the one that
/// is chosen: NNV12, Table 2. For `nnv12c --routines`. `layouts` are notes on
/// those of each layer; there may be none.
void printRoutines(const ModelPlan &plan, const LayerNotes &layouts,
                   llvm::raw_ostream &os);

/// Each layer on the CPU, on the GPU and on both at once, and why it is not
/// split, where the plan has looked for splits. For `nnv12c --routines`.
void printSplits(const ModelPlan &plan, llvm::raw_ostream &os);

/// Bytes of all constants as they are in the model.
double modelWeightBytes(mlir::func::FuncOp main);

/// A few lines: routines by their numbers of layers, bytes, lanes, times.
/// `fileBytes` is the size of the weights in the bundle.
void printSummary(mlir::func::FuncOp main, const ModelPlan &plan,
                  plan::ProgramOp program, double fileBytes,
                  llvm::raw_ostream &os);

/// One or two lines more: a GPU's part. `bytes` are those of its modules.
void printGpuSummary(plan::GpuOp overlay, const device::DeviceProfile &profile,
                     size_t pipelines, uint64_t bytes, llvm::raw_ostream &os);

/// Where the numbers come from, in one line.
std::string costSource(const device::DeviceProfile &profile);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_REPORT_H
