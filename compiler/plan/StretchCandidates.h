//===- StretchCandidates.h - How a GPU can compute layers -------*- C++ -*-===//
//
// From layers and the `gpu` of a device profile to the coprocessor's part of
// search::Problem.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PLAN_STRETCHCANDIDATES_H
#define NNV12_COMPILER_PLAN_STRETCHCANDIDATES_H

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/device/CostModel.h"
#include "compiler/plan/StretchHalves.h"

namespace nnv12 {

/// One way to compute a layer in a stretch.
struct StretchCandidate {
  const codegen::GpuRoutine *routine = nullptr;
  /// Keys of its kernels; with tensors in f16 as where all layers are on the
  /// GPU.
  std::vector<std::string> kernels;
  std::vector<KernelFacts> steps; ///< of each dispatch
  std::vector<double> stepTimes;  ///< milliseconds, the same
  double temporaries = 0;         ///< bytes that they hand over to each other
  search::Candidate costs;
};

/// An operand that lies in a tensor of search::Problem, or of which a part
/// does.
struct TensorRead {
  uint32_t tensor;
  mlir::Value value; ///< the tensor
  uint32_t layer;
  unsigned operand;
};

/// The layers of a model that a GPU can compute.
struct StretchCandidates {
  /// By layer, in the order of search::Layer::inStretch; none: the CPUs compute
  /// it.
  std::vector<std::vector<StretchCandidate>> layers;
  /// Keys of kernels, in the order of search::Problem::pipelines.
  std::vector<std::string> kernels;
  std::vector<TensorRead> reads;
};

/// Finds them for layers with the CPUs' chosen routines: the GPU reads the same
/// weights in the file. Adds candidates, pipelines, tensors and the
/// coprocessor to `problem`, whose layers are these. `half`: with tensors in
/// f16 where they may be, whose kernels have the keys of those without.
/// `profile` has a GPU. `rounds`: layers that roundsNumbers() are among them.
StretchCandidates stretchCandidates(const ExecutionOrder &order,
                                    llvm::ArrayRef<PlannedLayer> layers,
                                    const device::DeviceProfile &profile,
                                    const codegen::GpuTarget &target,
                                    search::Problem &problem, HalfUse halves,
                                    bool rounds);

/// Whether the layer makes quantised numbers, or multiplies them.
bool roundsNumbers(mlir::Operation *layer);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_STRETCHCANDIDATES_H
