//===- SpirvSamples.h - Modules like those of kernels -----------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_SAMPLE_SPIRVSAMPLES_H
#define NNV12_TEST_UNIT_SAMPLE_SPIRVSAMPLES_H

#include "artifact/SpirvInterface.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::test {

struct SpirvSample {
  const char *name;
  const char *text; ///< for assembleSpirv()
  uint32_t version;
  artifact::SpirvInterface facts; ///< but for the words

  /// The facts with the words, which must live as long.
  artifact::SpirvInterface with(const std::vector<uint32_t> &words) const;
};

enum SpirvSampleNumber {
  KernelSample,
  SpecialisedSample,
  WidthsSample,
  OldestSample,
  numSpirvSamples
};

/// All of them are valid, and fit their facts.
extern const SpirvSample spirvSamples[numSpirvSamples];

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_SPIRVSAMPLES_H
