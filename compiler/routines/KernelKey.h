//===- KernelKey.h - What makes two kernels the same ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_KERNELKEY_H
#define NNV12_COMPILER_ROUTINES_KERNELKEY_H

#include "compiler/routines/RoutineSet.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace nnv12 {

/// The routine and everything that it may look at, as text: layers of equal
/// texts share a kernel.
std::string kernelText(mlir::Operation *layer, const Routine &routine);

/// Names the kernel across models, compiles and machines, 32 hexadecimal
/// digits: kernels of equal keys are the same code as long as the code
/// generator is. What profiles know measured times by. `target` is the name of
/// what code is generated for.
std::string kernelKey(mlir::Operation *layer, const Routine &routine,
                      llvm::StringRef target);
/// Of the kernel that makes the routine's weight form.
std::string transformKey(mlir::Operation *layer, const Routine &routine,
                         llvm::StringRef target);
/// Of the kernel that makes packed weights of narrow ones, of which `text`
/// names the bits.
std::string widenKey(mlir::RankedTensorType packed, llvm::StringRef text,
                     llvm::StringRef target);

/// What the time of a kernel depends on that computes the layer, or that makes
/// the routine's weight form. Without its tiles, which the kernel has once it
/// is emitted.
KernelFacts kernelFacts(mlir::Operation *layer, const Routine &routine,
                        llvm::StringRef target);
KernelFacts transformFacts(mlir::Operation *layer, const Routine &routine,
                           llvm::StringRef target);
/// Of the kernel that makes packed weights of raw ones (PackLayer).
KernelFacts packFacts(mlir::RankedTensorType packed, const RoutineSet &routines,
                      llvm::StringRef target);

/// The layer that makes packed weights of raw ones, on its own: an nn.adapt
/// from dense to the layout that `packed` names. A session runs it where a plan
/// stores weights as they are in the model.
class PackLayer {
public:
  explicit PackLayer(mlir::RankedTensorType packed);
  mlir::Operation *layer() { return &block.front(); }

private:
  mlir::Block block;
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_KERNELKEY_H
