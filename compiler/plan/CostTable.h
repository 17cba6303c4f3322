//===- CostTable.h - Cost of each way to run a layer ------------*- C++ -*-===//
//
// From layers and a device profile to the numbers of search::Problem.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PLAN_COSTTABLE_H
#define NNV12_COMPILER_PLAN_COSTTABLE_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/CostModel.h"
#include "compiler/emit/Codec.h"
#include "compiler/plan/PlanOptions.h"
#include "compiler/plan/PlannedLayer.h"
#include "compiler/weights/WeightsKey.h"

#include <map>

namespace nnv12 {

class CostTable {
public:
  /// `profile` and `target` must outlive the table. `threads` is that of the
  /// execute lane.
  CostTable(const device::DeviceProfile &profile, const codegen::Target &target,
            unsigned threads);

  /// All ways to run `layer` that a plan may take. `storedForms` off (plans
  /// without C): weights are kept as they are in the model. `mappedWeights`:
  /// weights in more bits than are needed stay where no routine reads fewer:
  /// they can be used where the file is mapped. `readNarrow` off: routines
  /// widen no weights themselves, so that a GPU finds floats. `keepsNarrow`:
  /// see PlanOptions. Never empty.
  std::vector<CostedCandidate> candidates(const ExecutedLayer &layer,
                                          bool storedForms,
                                          bool mappedWeights = false,
                                          bool readNarrow = true,
                                          bool keepsNarrow = false);
  /// The same for a plan with these options.
  std::vector<CostedCandidate> candidates(const ExecutedLayer &layer,
                                          const PlanOptions &options);
  /// The costs of one of them.
  CostedCandidate cost(const ExecutedLayer &layer, const Candidate &candidate);
  /// Milliseconds that a preparation lane's core takes to make the weights of
  /// the routine that takes over from `first`, where they have another form.
  double laterTransform(const ExecutedLayer &layer, const Candidate &first,
                        const Routine &later);

  /// See device::searchDevice(). Without a pipeline there are no preparation
  /// lanes.
  search::Device device(const PlanOptions &options) const;
  /// Adds a layer, for which the search may take one of `candidates`, to a
  /// problem that has its device. The time of the first use of the layer's
  /// memory is the layer's, or, where only the thread of a preparation lane
  /// would have come before, a part of Device::aloneStart.
  void add(search::Problem &problem, const ExecutedLayer &layer,
           llvm::ArrayRef<CostedCandidate> candidates) const;
  /// Every kernel whose cost was asked for.
  const std::vector<KernelFacts> &kernels() const { return kernels_; }

private:
  struct Time {
    search::CoreTime core;
    bool measured;
  };
  Time oneCore(KernelFacts kernel);
  Time widen(const ExecutedLayer &layer, plan::Narrowing narrow);
  /// The cost of decode and transform beside their work: memory is supplied.
  search::CoreTime firstTouch(double bytes) const;
  /// The first use of memory, in pages as large as the runtime asks for, and in
  /// small ones.
  double fresh(double bytes, double smallBytes) const;
  search::CoreTime decodeTime(double bytes, bool repeats) const;
  /// Estimates the constant in the layout of its type, or its narrow form.
  Estimate estimate(mlir::Value constant,
                    std::optional<plan::Narrowing> narrow = std::nullopt);

  const device::DeviceProfile &profile;
  const codegen::Target &target;
  unsigned threads;
  /// How much longer a little core takes for work that is bound by memory.
  double littleMemory = 1;
  std::map<WeightsKey, Estimate> estimates;
  std::vector<KernelFacts> kernels_;
};

/// The default number of threads of the execute lane: one a big core.
unsigned defaultThreads(const device::DeviceProfile &profile);

/// The name of `routine`'s form of the layer's weights; "" where it reads them
/// packed.
std::string formName(mlir::Operation *layer, const Routine &routine);

/// Whether the routine reads the layer's weights in fewer bits.
bool readsNarrow(mlir::Operation *layer, const Routine &routine);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_COSTTABLE_H
