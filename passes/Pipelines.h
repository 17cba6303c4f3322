//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//
//
// From an imported model to a plan. nnv12c runs these; nnv12-opt has each as
// a flag. What lowers a kernel is codegen/cpu/Lowering.h's.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_PASSES_PIPELINES_H
#define NNV12_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

namespace nnv12 {

/// What makes a model simpler whatever it is compiled for (`--nn-simplify`).
void buildSimplifyPipeline(mlir::OpPassManager &pm);

/// Layouts and kernels of several layers (`--nn-layout`).
void buildLayoutPipeline(mlir::OpPassManager &pm);

struct PlanPipelineOptions : mlir::PassPipelineOptions<PlanPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("the CPU, as nnv12c's --target"),
                             llvm::cl::init("host")};
  Option<std::string> profile{*this, "profile",
                              llvm::cl::desc("device profile with the costs")};
  Option<unsigned> threads{*this, "threads",
                           llvm::cl::desc("threads of the execute lane"),
                           llvm::cl::init(0)};
  Option<int> lanes{*this, "lanes",
                    llvm::cl::desc("preparation lanes; -1: the profile's"),
                    llvm::cl::init(-1)};
  Option<std::string> gpu{
      *this, "gpu", llvm::cl::desc("the GPU, as nnv12c's --gpu; none: no GPU")};
  Option<bool> gpuForce{
      *this, "gpu-force",
      llvm::cl::desc("all layers on the GPU that it can compute"),
      llvm::cl::init(false)};
  Option<unsigned> gpuForceFrom{
      *this, "gpu-force-from",
      llvm::cl::desc("with gpu-force: of the layers from this one on"),
      llvm::cl::init(0)};
  Option<bool> gpuHalf{
      *this, "gpu-half",
      llvm::cl::desc("tensors of f32 in f16 in the GPU's memory"),
      llvm::cl::init(false)};
  // Set by the driver alone.
  Mode mode = Mode::Cold;
  Memory memory = Memory::Default;
  Parts parts = Parts::KCP;
  bool allowPredicted = false;
  bool pipelineCache = true;
};
/// A routine for each layer, stages and lanes, for one target (`--nn-plan`).
/// `costs`, if not null, stand in for option `profile`.
void buildPlanPipeline(mlir::OpPassManager &pm,
                       const PlanPipelineOptions &options,
                       const SharedProfile &costs = nullptr);

/// Registers the pipelines with mlir-opt style tools.
void registerPipelines();

} // namespace nnv12

#endif // NNV12_PASSES_PIPELINES_H
