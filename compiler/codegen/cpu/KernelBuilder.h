//===- KernelBuilder.h - Writes kernels for a CPU ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
#define NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H

#include "compiler/codegen/common/BuilderBase.h"
#include "compiler/codegen/cpu/Target.h"

namespace nnv12::codegen {

/// On the function that holds a kernel's body: the symbol of its entry point.
constexpr llvm::StringLiteral kernelEntryAttribute = "entry";
constexpr llvm::StringLiteral kernelBodySuffix = ".body";

/// Builds the kernels of one target: vectors in part, micro-kernels, entry
/// points.
class KernelBuilder : public BuilderBase {
public:
  KernelBuilder(mlir::MLIRContext &context, const Target &target);

  const Target &target;

  /// The first `count` of `lanes`; the others are zero / untouched in memory.
  mlir::Value loadPart(mlir::Value memory, Index offset, int64_t lanes,
                       int64_t count);
  void storePart(mlir::Value x, mlir::Value memory, Index offset,
                 int64_t count);
  /// The first `count` lanes of x, and zeros.
  mlir::Value keepLanes(mlir::Value x, Index count);
  void prefetch(mlir::Value memory, Index offset);
  /// 0 <= x < limit.
  mlir::Value within(Index x, int64_t limit);

  /// Calls a micro-kernel: internal, never inlined, shared by name. Its
  /// arguments are the memories, then the indices. `body` runs only if no
  /// function of this name exists yet.
  void callMicroKernel(llvm::StringRef name, mlir::ValueRange memories,
                       llvm::ArrayRef<Index> indices,
                       llvm::function_ref<void(mlir::ValueRange)> body);

  /// An entry point with the signature of artifact::KernelFn. `memories` are
  /// the element types of its operands; the body gets one memref for each, then
  /// a memref<f32> of scratch, and the tile range. Do not rely on operands
  /// being distinct memory: an output may be an input (in place).
  using KernelBody =
      llvm::function_ref<void(mlir::ValueRange operands, mlir::Value scratch,
                              mlir::Value begin, mlir::Value end)>;
  void kernel(llvm::StringRef name, llvm::ArrayRef<mlir::Type> memories,
              KernelBody body);
  /// One whose operands are the layer's results, then its operands.
  void kernel(llvm::StringRef name, mlir::Operation *layer, KernelBody body);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
