//===- Options.h - What a plan is for ---------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_OPTIONS_H
#define NNV12_COMPILER_SELECT_OPTIONS_H

#include "compiler/search/Search.h"

namespace nnv12 {

enum class Mode {
  Cold,      ///< one inference after start
  Continuous ///< many: warm routines take over from the second on (NNV12,
             ///< section 3.5)
};

/// What of NNV12 is in use, for ablation (Figure 13).
enum class Parts {
  None, ///< warm routines, weights as in the model, prepared before the first
        ///< execute
  K,    ///< routines chosen for the first inference
  KC,   ///< and weights stored in any form
  KCP   ///< and preparation on lanes beside the execute lane
};

inline search::Options searchOptions(Mode mode, Parts parts) {
  search::Options options;
  options.selectKernels = parts != Parts::None;
  options.storedForms = parts == Parts::KC || parts == Parts::KCP;
  options.pipeline = parts == Parts::KCP;
  options.continuous = mode == Mode::Continuous;
  return options;
}

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_OPTIONS_H
