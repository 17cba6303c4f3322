//===- GpuSample.h - A sample bundle with an overlay for a GPU --*- C++ -*-===//
//
// PlannedSample of two rounds, whose executes are
//   0, 2  add       sum = x + a, sum = product + a
//   1, 3  multiply  product = sum * b
//   4     copy      y = product
// The GPU can take over all of it, the first two executes, or the last three.
// Its memories:
//   arena     [0, 256) x  [256, 512) product  [512, 768) y  [768, 1024) sums
//             [1024, 1280) products that the CPU does not see
//   prepared  [0, 256) a, then b of each round
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_GPUSAMPLE_H
#define NNV12_TEST_UNIT_SAMPLE_GPUSAMPLE_H

#include "test/unit/sample/PlannedSample.h"

#include <cstdint>
#include <vector>

namespace nnv12::test {

class GpuSample : public PlannedSample {
public:
  /// Every tensor has 256 bytes, as places that a GPU uses are aligned.
  explicit GpuSample(unsigned lanes = 3);

  /// The program's GPU preparations; names them behind its 8 preparations.
  enum Preparation : uint32_t {
    Device,
    Arithmetic, ///< makes pipelines 0 (add) and 1 (multiply)
    Copy,       ///< makes pipeline 2
    UploadFirst,
    UploadSecond,
    RecordAll,
    RecordBegin,
    RecordRest
  };
  static artifact::OperationId id(Preparation preparation) {
    return {artifact::LaneKind::Prepare, 8 + preparation};
  }

  /// Has the kernel that adds bind so many buffers, and read the first three.
  void bindMore(uint32_t buffers);

private:
  void addOverlay(artifact::Program &program);

  std::vector<uint32_t> modules[3];
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_GPUSAMPLE_H
