//===- Report.h - Plans for people ------------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_REPORT_H
#define NNV12_COMPILER_PLAN_REPORT_H

#include "compiler/plan/Selection.h"
#include "dialects/plan/PlanDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12::plan {

/// Every routine of every layer with what its stages cost, and the one that is
/// chosen: NNV12, Table 2. For `nnv12c --routines`.
void printRoutines(const Selection &selection,
                   const device::DeviceProfile &profile, llvm::raw_ostream &os);

/// A few lines: what was chosen for how many layers, bytes, lanes, times.
/// `fileBytes` is the size of the weights in the bundle. Without lanes in
/// `program`, nothing is said of them.
void printSummary(mlir::func::FuncOp main, ProgramOp program,
                  const device::DeviceProfile &profile, double fileBytes,
                  llvm::raw_ostream &os);

/// Where the numbers come from, in one line.
std::string costSource(const device::DeviceProfile &profile);

} // namespace nnv12::plan

#endif // NNV12_COMPILER_PLAN_REPORT_H
