//===- KernelKey.h - The names of kernels -----------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_KERNELKEY_H
#define NNV12_COMPILER_ROUTINES_KERNELKEY_H

#include "compiler/routines/RoutineSet.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace nnv12 {

/// The routine and everything that it may look at, as text: layers of equal
/// texts share a kernel.
std::string kernelText(mlir::Operation *layer, const Routine &routine);

/// Names the kernel across models, compiles and machines, 32 hexadecimal
/// digits: kernels of equal keys are the same code as long as the code
/// generator is. Profiles know measured times by it. `target` is the name of
/// the target that code is generated for.
std::string kernelKey(mlir::Operation *layer, const Routine &routine,
                      llvm::StringRef target);
/// The key of the kernel that makes the routine's weight form.
std::string transformKey(mlir::Operation *layer, const Routine &routine,
                         llvm::StringRef target);
/// The key of the kernel that computes the layer in cells (Cells.h).
std::string cellsKey(mlir::Operation *layer, const Routine &routine,
                     llvm::StringRef target);
/// The key of the kernel that computes parts along dimension `dim` (Cut.h).
std::string partKey(mlir::Operation *layer, const Routine &routine,
                    unsigned dim, llvm::StringRef target);
/// The key of the kernel that makes packed weights of narrow ones, whose bits
/// `text` names.
std::string widenKey(mlir::RankedTensorType packed, llvm::StringRef text,
                     llvm::StringRef target);

/// The facts that a kernel's time depends on, if it computes the layer or makes
/// the routine's weight form. Without its tiles, which the kernel has once it
/// is emitted.
KernelFacts kernelFacts(mlir::Operation *layer, const Routine &routine,
                        llvm::StringRef target);
KernelFacts transformFacts(mlir::Operation *layer, const Routine &routine,
                           llvm::StringRef target);
/// The facts of the kernel that makes packed weights of raw ones (PackLayer).
KernelFacts packFacts(mlir::RankedTensorType packed, const RoutineSet &routines,
                      llvm::StringRef target);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_KERNELKEY_H
