//===- GpuCandidates.h - How a GPU can compute layers -----------*- C++ -*-===//
//
// From layers and the `gpu` of a device profile to the GPU's part of
// search::Problem.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SELECT_GPUCANDIDATES_H
#define NNV12_COMPILER_SELECT_GPUCANDIDATES_H

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/device/CostModel.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/select/ChosenPlan.h"
#include "compiler/select/GpuHalf.h"

namespace nnv12 {

/// One way to compute a layer on the GPU.
struct GpuCandidate {
  const codegen::GpuRoutine *routine = nullptr;
  /// Keys of its kernels; with tensors in f16 as where all layers are on the
  /// GPU.
  std::vector<std::string> kernels;
  std::vector<KernelFacts> steps; ///< of each dispatch
  std::vector<double> stepTimes;  ///< milliseconds, the same
  double temporaries = 0;         ///< bytes that they hand over to each other
  search::GpuCandidate costs;
  bool measured = false; ///< all its dispatches are in the profile
};

/// What a GPU can do of a model.
class GpuCandidates {
public:
  /// Of layers with what was chosen for the CPUs: their weights in the file are
  /// what the GPU reads, too. Adds candidates, pipelines, tensors and the
  /// device to `problem`, whose layers are these. `half`: with tensors in f16
  /// where they may be, whose kernels have the keys of those without.
  GpuCandidates(mlir::func::FuncOp main, llvm::ArrayRef<ChosenCandidate> layers,
                const device::GpuProfile &profile,
                const codegen::GpuTarget &target, search::Problem &problem,
                bool half = false);

  /// By layer, in the order of search::Layer::gpu; none: the CPUs compute it.
  llvm::ArrayRef<GpuCandidate> of(size_t layer) const { return found[layer]; }
  /// Keys of kernels, in the order of search::Problem::pipelines.
  llvm::ArrayRef<std::string> kernels() const { return kernels_; }
  const ExecutionOrder &executionOrder() const { return order; }
  /// Why the GPU computes a layer not; "" where it does.
  const std::string &refusal(size_t layer) const { return refusals[layer]; }

private:
  void addTensors(llvm::ArrayRef<ChosenCandidate> layers);
  double weightsOf(llvm::ArrayRef<ChosenCandidate> layers) const;
  double activations() const;
  std::string refusalOf(const ChosenCandidate &layer) const;
  /// All but what it takes.
  std::optional<GpuCandidate> candidate(const ChosenCandidate &layer,
                                        codegen::HalfTensors half,
                                        const codegen::GpuRoutine &routine,
                                        std::string &reason);
  /// `fromMemory`: when a layer's turn comes its weights are no longer in the
  /// GPU's cache.
  void price(GpuCandidate &way, bool fromMemory) const;
  uint32_t pipeline(const std::string &kernel);

  ExecutionOrder order;
  const device::GpuProfile &profile;
  const codegen::GpuTarget &target;
  search::Problem &problem;
  std::vector<std::vector<GpuCandidate>> found;
  std::vector<std::string> refusals;
  std::vector<std::string> kernels_;
  llvm::StringMap<uint32_t> numbers;
};

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_GPUCANDIDATES_H
