//===- BundleBuilder.h - Puts a bundle together -----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_BUNDLEBUILDER_H
#define NNV12_COMPILER_EMIT_BUNDLEBUILDER_H

#include "artifact/Bundle.h"
#include "compiler/codegen/cpu/CodeBlob.h"
#include "compiler/emit/GpuCode.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/emit/WeightTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace nnv12 {

/// A kernel as a bundle has it, with its entry in the code.
artifact::Kernel describeKernel(const KernelTable::Kernel &kernel,
                                const codegen::CodeBlob &code);

/// A bundle of one program a target, and of weights that they share.
class BundleBuilder {
public:
  /// `model` is the model's name; "" where it has none. The segment of weights
  /// follows the code of so many programs.
  BundleBuilder(std::string model, uint32_t programs);

  /// The writer's bundle; its segments are made by write().
  artifact::Bundle bundle;
  /// The constants of all programs.
  WeightTable weights;
  /// The code of GPUs of all programs, if any.
  std::optional<GpuCode> gpu;

  /// Names and types of `main`'s arguments and results. Fails, with a
  /// diagnostic, for a type that bundles do not have.
  mlir::LogicalResult describeTensors(mlir::func::FuncOp main);

  /// Adds `program`, which has its operations, with the kernels that they
  /// number and the code of these.
  void addProgram(const codegen::Target &target, artifact::Program program,
                  const KernelTable &kernels, codegen::CodeBlob code);

  /// Writes the file; more than once if need be. On failure a diagnostic has
  /// been emitted and nothing was written.
  mlir::LogicalResult write(mlir::MLIRContext &context, const std::string &path,
                            const std::string &signingKey);

private:
  std::vector<codegen::CodeBlob> blobs; ///< one a program
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_BUNDLEBUILDER_H
