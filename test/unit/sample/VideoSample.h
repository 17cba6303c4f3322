//===- VideoSample.h - A sample bundle with a part for video ----*- C++ -*-===//
//
// PlannedSample of two rounds, each of whose values stays for the next frame.
// With an even number of tiles two of them share a row: the plane of all values
// has tiles / 2 rows of 32 columns, otherwise `tiles` rows of 16. Pixel i of a
// result depends on pixel i of its operands. Executes compute parts by
//   0  runs of 16 pixels, with the program's kernel
//   1  rows, and cells once its switch is taken, with a kernel of video
//   2  cells, with a kernel of video
//   3  no parts: all depends on any pixel
//   4  runs again
// All but execute 3 have check points, for bounded reuse, behind the values.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_VIDEOSAMPLE_H
#define NNV12_TEST_UNIT_SAMPLE_VIDEOSAMPLE_H

#include "test/unit/sample/PlannedSample.h"

namespace nnv12::test {

/// Adds a part for video to all programs of a sample: execute i computes parts
/// as execute i % 4 above.
void addVideo(artifact::Bundle &bundle);

/// Makes the executes from `first` on the tail of programs with a part for
/// video: they share a set, and hand over values in the programs' memory.
void joinTail(artifact::Bundle &bundle, uint32_t first);

class VideoSample : public PlannedSample {
public:
  explicit VideoSample(size_t tiles = 4, unsigned lanes = 3)
      : PlannedSample(tiles, lanes, 2) {
    addVideo(bundle);
  }
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_VIDEOSAMPLE_H
