//===- PlanOptions.h - Purpose and limits of a plan -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_PLANOPTIONS_H
#define NNV12_COMPILER_PLAN_PLANOPTIONS_H

#include "compiler/search/Net.h"
#include "compiler/search/Search.h"

#include <optional>
#include <string>

namespace nnv12 {

enum class Mode {
  Cold, ///< one inference after start
  /// The same first inference; routines that are faster later take over where
  /// they gain as much as their memory costs.
  Auto,
  /// Many: weights are kept so that the fastest routine of each layer can take
  /// over (NNV12, section 3.5).
  Continuous
};

/// How much memory of its own a session may take.
enum class Memory {
  /// Weights are used where the file is mapped, and no routine takes over.
  Least,
  Default, ///< routines that gain more than they cost by the device profile
  Most     ///< routines take over wherever they gain
};

/// The parts of NNV12 that are in use, for ablation (Figure 13).
enum class Parts {
  None, ///< warm routines, weights as in the model, prepared before the first
        ///< execute
  K,    ///< routines chosen for the first inference
  KC,   ///< and weights stored in any form
  KCP   ///< and preparation on lanes beside the execute lane
};

/// How the layouts of a model's layers are selected.
enum class Layouts {
  First,   ///< those of each layer's preferred routine
  Greedy,  ///< each layer in turn takes its cheapest ones
  Uniform, ///< one layout for as many layers as can have it
  Net,     ///< those of the cheapest net
  Random   ///< by chance, for tests
};

/// Whether CPU and GPU compute layers together.
enum class Split {
  Auto, ///< where a profile knows what both lose by it, and a plan gains
  Off,
  Force ///< wherever a layer can be cut, for tests
};

/// All that a user may ask of a plan, from nnv12c's options to the search.
struct PlanOptions {
  /// Threads of the execute lane; 0: one for each big core of the device.
  unsigned threads = 0;
  /// Preparation lanes at most; nothing: see device::searchDevice().
  std::optional<unsigned> lanes = std::nullopt;
  Mode mode = Mode::Cold;
  Memory memory = Memory::Default;
  Parts parts = Parts::KCP;
  Layouts layouts = Layouts::First;
  unsigned layoutSeed = 0; ///< of random layouts
  /// The least gain for which layouts of a net are taken, as a part of the
  /// time. Not set: 0.05 by predicted times, 0.02 by measured ones.
  std::optional<double> layoutMargin = std::nullopt;
  search::NetLimits layoutLimits = {}; ///< of exact answers of the net

  /// Weights that fewer bits hold stay in them in the file, whatever would be
  /// ready sooner: they were rounded for that.
  bool keepsNarrow = false;

  /// For measuring: each layer is computed by its fastest routine but so many,
  /// or by its slowest where it has fewer.
  std::optional<unsigned> rank = std::nullopt;

  /// The GPU that may take over stretches, as codegen::GpuTarget::byName takes
  /// it; empty: none.
  std::string gpu = {};
  /// Every layer from `gpuForceFrom` on that the GPU can compute is its own.
  bool gpuForce = false;
  unsigned gpuForceFrom = 0;
  /// The GPU may round numbers to integers, which it does not always do as the
  /// CPUs do: else it takes no layer that makes or multiplies quantised
  /// numbers.
  bool gpuRounds = false;
  bool gpuHalf = false; ///< tensors of f32 are in f16 in the GPU's memory
  bool gpuCache = true; ///< the driver's cache has all pipelines

  Split split = Split::Auto;
  /// With Split::Force: the dimension that is cut, else any; and the part of
  /// it that the GPU computes.
  std::optional<unsigned> splitDim = std::nullopt;
  double splitPercent = 50;
  /// The cost of later runs where a GPU may take over. Energy needs a profile
  /// with `gpu.power`.
  search::Objective objective = {};

  /// Simulated events that the search may take; see search::Options::steps.
  uint64_t steps = search::Options().steps;
};

inline search::Options searchOptions(const PlanOptions &plan) {
  search::Options options;
  options.selectKernels = plan.parts != Parts::None;
  options.storedForms = plan.parts == Parts::KC || plan.parts == Parts::KCP;
  options.pipeline = plan.parts == Parts::KCP;
  options.continuous = plan.mode == Mode::Continuous;
  options.mappedWeights = plan.memory == Memory::Least;
  options.pipelineCache = plan.gpuCache;
  options.splits = plan.split == Split::Force  ? search::Splits::Forced
                   : plan.split == Split::Auto ? search::Splits::WherePays
                                               : search::Splits::Never;
  options.forcedDim = plan.splitDim;
  options.forcedPercent = plan.splitPercent;
  options.objective = plan.objective;
  options.steps = plan.steps;
  return options;
}

/// Whether routines may take over later.
inline bool switches(const PlanOptions &plan) {
  return plan.mode != Mode::Cold && plan.memory != Memory::Least;
}

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_PLANOPTIONS_H
