//===- MeasurePairs.h - CPUs and a GPU at once ------------------*- C++ -*-===//
//
// Layers that both compute (CoDL) take longer than each part alone: both share
// memory, turbo and heat. So kernels of the GPU run beside kernels of the CPUs,
// and each by itself.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_TUNE_MEASUREPAIRS_H
#define NNV12_TOOLS_NNV12_TUNE_MEASUREPAIRS_H

#include "tools/nnv12-tune/Kernels.h"
#include "tools/nnv12-tune/MeasureOneByOne.h"

namespace nnv12::tune {

/// Up to ten pairs of large kernels, those of the CPUs on `threads` of them.
/// Fewer where no kernel of the CPUs is over before the GPU has run one as
/// often as it can be told to at once.
std::vector<PairTime> measurePairs(OneByOne &gpu, Kernels &cpu,
                                   unsigned threads);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_MEASUREPAIRS_H
