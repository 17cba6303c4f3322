//===- PlannedSample.h - A sample bundle with lanes -------------*- C++ -*-===//
//
// The sample's y = (x + a) * b, several rounds of it. In each round `b` is
// stored as a zstd frame of byte planes, decoded, and brought into another
// place by a transform; the frame has uncompressed blocks, so that writing it
// needs no library. A switch replaces each multiplication by one with c = b
// / 2.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_PLANNEDSAMPLE_H
#define NNV12_TEST_UNIT_SAMPLE_PLANNEDSAMPLE_H

#include "runtime/include/nnv12.h"
#include "test/unit/sample/SampleBundle.h"

namespace nnv12::test {

/// SessionOptions::preparationThreads: the threads of lanes prepare alone.
constexpr uint32_t noPreparation = NNV12_NO_PREPARATION_THREADS;

/// `data` as a zstd frame.
std::vector<unsigned char> storedFrame(const std::vector<unsigned char> &data);

/// The bytes of elements of `planes` bytes, split into planes.
std::vector<unsigned char> splitPlanes(const void *data, size_t size,
                                       unsigned planes);

class PlannedSample : public Sample {
public:
  /// Preparations go round over `lanes` lanes, lane 0 included.
  PlannedSample(size_t tiles, unsigned lanes, unsigned rounds);

  /// The right result of run for element `i` of an input `x`, before and after
  /// all switches.
  float expectedRun(size_t i, float x, bool switched) const;

  /// Damages the frame, so that decoding fails.
  void damage() { frame[frame.size() / 2] = frame[4] = 0xff; }

  /// The two decodes of a round: for its execute, or for its switch.
  enum class Decode { First, Later };
  /// Gives one decode of `round` a damaged frame of its own; the others stay
  /// good. Once for a sample.
  void damage(unsigned round, Decode which);

private:
  void plan(artifact::Program &program, unsigned lanes, unsigned rounds);

  std::vector<float> c;
  std::vector<unsigned char> frame, split, damagedFrame;
  unsigned rounds;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_PLANNEDSAMPLE_H
