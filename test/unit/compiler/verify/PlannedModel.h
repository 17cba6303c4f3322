//===- PlannedModel.h - A model with its plan -------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_VERIFY_PLANNEDMODEL_H
#define NNV12_TEST_UNIT_COMPILER_VERIFY_PLANNEDMODEL_H

#include "compiler/emit/BundleBuilder.h"
#include "compiler/emit/ProgramEmitter.h"
#include "compiler/plan/ModelPlan.h"
#include "compiler/plan/PlanOptions.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace nnv12::test {

/// A model for a CPU, and for the GPU that the options name, as nnv12c plans
/// and emits it.
class PlannedModel {
public:
  /// `model` is a path of an ONNX model or text of MLIR, which may have a
  /// plan.program of its own. With `alternatives` the plan also has parts of
  /// each stretch of a GPU as stretches of their own. Where anything fails
  /// `error` says why. `target`: the CPU's name; this machine's can run the
  /// bundle.
  PlannedModel(mlir::MLIRContext &context, const std::string &model,
               PlanOptions options, bool alternatives,
               const std::string &target = "host");

  /// Adds a part for video to the program; the fault, or nothing. Results of 8
  /// multiply-adds a value get check points. Executes from `tail` on are its
  /// tail.
  std::string addVideo(artifact::VideoReuse reuse = artifact::VideoReuse::Exact,
                       size_t tail = ~size_t(0));
  artifact::ProgramVideo withoutTail; ///< as it was when the tail was chosen

  /// The fault that the proofs find in a changed program, or nothing.
  std::string prove(const artifact::Program &program);
  /// Writes a bundle of it; the fault of the verifiers, or nothing.
  std::string write(const artifact::Program &program, const std::string &path);

  const KernelTable &table() const { return *kernels; }

  std::string error;
  artifact::Program program; ///< as it was emitted
  mlir::func::FuncOp main;
  std::vector<mlir::Operation *> layers; ///< by execute
  BundleBuilder builder{"test", /*programs=*/1};

private:
  mlir::LogicalResult load(const std::string &model);
  mlir::LogicalResult plan(const PlanOptions &options);
  mlir::LogicalResult emit(const PlanOptions &options, bool alternatives);
  void addAlternatives();
  /// The first diagnostic of `call`.
  std::string faultOf(llvm::function_ref<mlir::LogicalResult()> call);

  mlir::MLIRContext &context;
  codegen::Target target;
  mlir::OwningOpRef<mlir::ModuleOp> module, kernelModule;
  std::optional<ExecutionOrder> order;
  plan::ProgramOp planned;
  std::unique_ptr<codegen::KernelBuilder> kernelBuilder;
  std::unique_ptr<KernelTable> kernels, cells;
  EmittedProgram emitted;
  bool isWritable = false;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_VERIFY_PLANNEDMODEL_H
