//===- Forks.h - Work on several CPUs, by files -----------------*- C++ -*-===//
//
// MLIR and LLVM compile a module on one thread. Where several bundles are
// wanted, copies of this process make them at the same time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_FORKS_H
#define NNV12_TOOLS_NNV12C_FORKS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace nnv12 {

/// Does tasks 0 to `count` - 1, a task a CPU at a time: some in this process,
/// others in copies of it, of which only files are left. `task` returns whether
/// it was done. A copy is silent. If one fails, its tasks are done again in
/// this process, which tells their faults. Returns by task whether it is done.
std::vector<bool> doInForks(unsigned count,
                            llvm::function_ref<bool(unsigned)> task);

/// Writes files 0 to `count` - 1 so. `write` fails with a diagnostic, or
/// returns "" or a line that says why the file cannot be written; so does this
/// for the first file that was not written.
mlir::FailureOr<std::string>
writeInForks(unsigned count,
             llvm::function_ref<mlir::FailureOr<std::string>(unsigned)> write);

/// The CPUs of this machine that the process may use, at least one.
unsigned usableCpus();

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_FORKS_H
