//===- Options.h - What a plan is for ---------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_OPTIONS_H
#define NNV12_COMPILER_SELECT_OPTIONS_H

#include "compiler/search/Search.h"

#include <optional>

namespace nnv12 {

enum class Mode {
  Cold, ///< one inference after start
  /// The same first inference; routines that are faster later take over where
  /// they gain what their memory costs.
  Auto,
  /// Many: weights are kept so that the fastest routine of each layer can take
  /// over (NNV12, section 3.5).
  Continuous
};

/// What a session may take of memory that is its own.
enum class Memory {
  /// Weights are used where the file is mapped, and no routine takes over.
  Least,
  Default, ///< what gains more than it costs by the device profile
  Most     ///< routines take over wherever they gain
};

/// What of NNV12 is in use, for ablation (Figure 13).
enum class Parts {
  None, ///< warm routines, weights as in the model, prepared before the first
        ///< execute
  K,    ///< routines chosen for the first inference
  KC,   ///< and weights stored in any form
  KCP   ///< and preparation on lanes beside the execute lane
};

struct PlanOptions {
  /// Of the execute lane; 0: one for each big core of the device.
  unsigned threads = 0;
  /// Preparation lanes at most; nothing: see device::searchDevice().
  std::optional<unsigned> lanes = std::nullopt;
  Mode mode = Mode::Cold;
  Memory memory = Memory::Default;
  Parts parts = Parts::KCP;
};

inline search::Options searchOptions(const PlanOptions &plan) {
  search::Options options;
  options.selectKernels = plan.parts != Parts::None;
  options.storedForms = plan.parts == Parts::KC || plan.parts == Parts::KCP;
  options.pipeline = plan.parts == Parts::KCP;
  options.continuous = plan.mode == Mode::Continuous;
  options.mappedWeights = plan.memory == Memory::Least;
  return options;
}

/// Whether routines may take over later.
inline bool switches(const PlanOptions &plan) {
  return plan.mode != Mode::Cold && plan.memory != Memory::Least;
}

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_OPTIONS_H
