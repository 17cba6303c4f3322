//===- InventedPlan.h - Plans that no compiler would make -------*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_INVENTEDPLAN_H
#define NNV12_TEST_FUZZ_INVENTEDPLAN_H

#include "artifact/Bundle.h"
#include "test/fuzz/Choices.h"

namespace nnv12::test {

/// The segments of an invented bundle.
constexpr uint32_t codeSegment = 0, weightsSegment = 1;

/// Facts about the weights: a good zstd frame at their beginning.
struct InventedWeights {
  uint64_t size;
  uint64_t frameSize;   ///< stored
  uint64_t contentSize; ///< decoded
};

/// A bundle for this CPU whose plan is right: lanes, dependencies, parts of
/// grids, memory that is used again and switches as the choices have it; in
/// front of it there may be a program for newer readers. Segments are left out.
artifact::Bundle inventPlan(Choices &choices, const InventedWeights &weights,
                            uint64_t codeSize);

/// Makes one thing of it another, mostly a wrong one.
void damagePlan(Choices &choices, artifact::Bundle &bundle);

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_INVENTEDPLAN_H
