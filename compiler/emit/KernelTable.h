//===- KernelTable.h - The kernels that a model needs -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_KERNELTABLE_H
#define NNV12_COMPILER_EMIT_KERNELTABLE_H

#include "compiler/codegen/cpu/Routine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace nnv12 {

/// The kernels of one target. Layers that are equal in kind, attributes, types
/// and in which operands are constant share one.
class KernelTable {
public:
  struct Kernel {
    std::string symbol;
    std::string name; ///< for people: the routine
    unsigned operands;
    unsigned outputs;
    codegen::KernelInfo info;
  };

  /// Emits the kernels of all layers of `main` (but constants
  /// and what is in place already) into `builder`'s module.
  static mlir::FailureOr<KernelTable> build(mlir::func::FuncOp main,
                                            codegen::KernelBuilder &builder);

  llvm::ArrayRef<Kernel> kernels() const { return kernels_; }
  /// Index of the kernel of a layer.
  unsigned of(mlir::Operation *layer) const { return index_.lookup(layer); }

private:
  std::vector<Kernel> kernels_;
  llvm::DenseMap<mlir::Operation *, unsigned> index_;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_KERNELTABLE_H
