//===- RunInTurns.h - Measures two bundles, run by run ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_RUNINTURNS_H
#define NNV12_TOOLS_NNV12_PROF_RUNINTURNS_H

#include "runtime/include/nnv12.hpp"
#include "tools/nnv12-prof/Comparison.h"

namespace nnv12::prof {

/// One of the two.
struct Side {
  std::string path;
  const Bundle *bundle;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

/// The times of warm runs, block by block.
struct Turns {
  Series run;
  /// By name, those of the first side first. Operations of one layer are added
  /// up.
  std::vector<Series> layers;
  unsigned runs = 0; ///< of each side, in all
};

/// Runs both for about so many seconds in all, in so many blocks. Ends the
/// process when a run fails.
Turns runInTurns(const Side &before, const Side &after,
                 const SessionOptions &options, unsigned blocks,
                 double seconds);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_RUNINTURNS_H
