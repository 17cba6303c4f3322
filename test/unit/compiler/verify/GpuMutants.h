//===- GpuMutants.h - Random faults in a GPU's part -------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_VERIFY_GPUMUTANTS_H
#define NNV12_TEST_UNIT_COMPILER_VERIFY_GPUMUTANTS_H

#include "artifact/Bundle.h"

#include <cstdint>
#include <random>
#include <vector>

namespace nnv12::test {

/// Numbers that are the same on every machine.
class Chance {
public:
  explicit Chance(uint64_t seed) : generator(seed) {}
  /// Below `end`, which is not 0.
  uint64_t below(uint64_t end) { return generator() % end; }
  template <typename T> T &among(std::vector<T> &list) {
    return list[below(list.size())];
  }

private:
  std::mt19937_64 generator;
};

/// A kind of fault. `apply` may leave all as it was, and says whether it did.
struct MutantKind {
  const char *name;
  bool (*apply)(artifact::ProgramGpu &gpu, Chance &chance);
};

/// All kinds.
const std::vector<MutantKind> &mutantKinds();

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_VERIFY_GPUMUTANTS_H
