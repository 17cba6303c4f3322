//===- Interference.h - Costs of neighbours to each other -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_INTERFERENCE_H
#define NNV12_TOOLS_NNV12_TUNE_INTERFERENCE_H

#include "tools/nnv12-tune/Cores.h"
#include "tools/nnv12-tune/Kernels.h"
#include "tools/nnv12-tune/System.h"

namespace nnv12::tune {

/// How many times longer one takes while the other runs: at least 1.
struct Interference {
  double execute, prepare;
};

/// Kernels run on one big core while a thread on another core, a little one
/// where there is one, reads the file and writes to fresh memory as
/// preparations do. NNV12, section 3.3. Where there is one CPU alone: 1,
/// because there they take turns.
Interference measureInterference(Kernels &kernels, StorageFile &file,
                                 const Cores &cores, unsigned repeat);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_INTERFERENCE_H
