//===- ProgramCode.h - From a plan to a program and its code ----*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_PROGRAMCODE_H
#define NNV12_TOOLS_NNV12C_PROGRAMCODE_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/emit/BundleBuilder.h"
#include "compiler/emit/ProgramEmitter.h"
#include "compiler/plan/ModelPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/nnv12c/CompileOptions.h"

#include <map>
#include <memory>

namespace nnv12 {

/// The kernels of programs for one target, and their module.
struct ProgramKernels {
  ProgramKernels(mlir::MLIRContext &context, const codegen::Target &target,
                 bool checkBounds)
      : builder(context, target), module(builder.module),
        table(builder, checkBounds) {}

  codegen::KernelBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelTable table;
};

/// The machine code of kernels; their module is of no use afterwards. Fails
/// with a diagnostic.
mlir::FailureOr<codegen::CodeBlob> codeOf(mlir::ModuleOp kernels,
                                          const CompileOptions &options,
                                          const codegen::Target &target);

/// The kernels of several programs for one target, each compiled once: a bundle
/// with their code has the kernels of earlier programs, too.
class SharedCode {
public:
  SharedCode(mlir::MLIRContext &context, const CompileOptions &options,
             const codegen::Target &target)
      : kernels(context, target, options.checkBounds), target(target) {}

  /// To which programs add theirs.
  ProgramKernels kernels;
  /// Compiles the kernels that are new, and returns the code of all. Fails with
  /// a diagnostic.
  mlir::FailureOr<codegen::CodeBlob> compile(const CompileOptions &options);

private:
  codegen::Target target;
  codegen::CodeBlob code; ///< of the first `compiled` kernels
  size_t compiled = 0;
};

/// By names of targets.
using SharedCodes = std::map<std::string, std::unique_ptr<SharedCode>>;

/// A planned program on its way into a bundle.
struct Lowered {
  const ModelPlan &plan;
  plan::ProgramOp planned;
  ProgramKernels &kernels;
  EmittedProgram emitted = {};
  /// Kernels of the part for video, if there is one.
  std::unique_ptr<ProgramKernels> videoKernels = {};

  const codegen::Target &target() const { return plan.device.target; }
  mlir::func::FuncOp main() const;
};

/// Writes the plan at the end of its model, in place of that of another
/// target.
mlir::FailureOr<Lowered> lowerPlan(const ModelPlan &plan,
                                   mlir::func::FuncOp main,
                                   ProgramKernels &kernels);

/// Emits a planned program, with its part for a GPU if the plan has one, and
/// proves it.
mlir::LogicalResult emitLowered(const CompileOptions &options,
                                BundleBuilder &builder, Lowered &lowered);

/// Adds the emitted program with the code of its kernels to the bundle.
mlir::LogicalResult addLowered(const CompileOptions &options,
                               BundleBuilder &builder, Lowered &lowered,
                               codegen::CodeBlob code);

/// Prints lines for people on the part for video of a program, which is that of
/// `lowered` with its code.
void printVideo(const artifact::Program &program, const Lowered &lowered,
                llvm::raw_ostream &os);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PROGRAMCODE_H
