//===- SplitSample.h - A sample bundle with split stretches -----*- C++ -*-===//
//
// GpuSample, whose stretches 1 and 2, those of later runs, are split: the GPU
// computes the first tiles of each execute, CPUs the others. The result of
// execute i lies at byte 256 * i of the arena, so that no two values share a
// place.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_SPLITSAMPLE_H
#define NNV12_TEST_UNIT_SAMPLE_SPLITSAMPLE_H

#include "test/unit/sample/GpuSample.h"

namespace nnv12::test {

class SplitSample : public GpuSample {
public:
  /// The GPU computes the first `at` of 4 tiles.
  explicit SplitSample(uint32_t at = 2);

private:
  void change(artifact::Program &program, uint32_t at);
};

/// Divides a stretch of SplitSample, of which the GPU computes all, after `at`
/// of 4 tiles.
void splitStretch(const artifact::Program &program, artifact::Stretch &stretch,
                  uint32_t at);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_SPLITSAMPLE_H
