//===- Idle.h - When threads did nothing of an operation --------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_IDLE_H
#define NNV12_TOOLS_NNV12_PROF_IDLE_H

#include "runtime/include/nnv12.hpp"

#include <vector>

namespace nnv12::prof {

/// The idle time of an operation in a run, nanoseconds of all threads that
/// compute together.
struct Idle {
  double late = 0;   ///< until the first tiles, and between tiles
  double tail = 0;   ///< after the last tiles
  double absent = 0; ///< of threads that took no tiles

  double sum() const { return late + tail + absent; }
};

/// Finds the idle time of the operation that was recorded as `execute`, with
/// all records of tiles of the same run, in any order. An operation without
/// tiles is the execute lane's alone.
Idle findIdle(const nnv12_record &execute,
              const std::vector<const nnv12_record *> &tiles,
              unsigned numThreads);

/// Stretches of time, from and to, which may overlap.
using Stretches = std::vector<std::pair<uint64_t, uint64_t>>;

/// How much time is in at least one of the stretches.
uint64_t lengthOf(Stretches stretches);
/// How much is in one of both at once.
uint64_t overlapOf(const Stretches &some, const Stretches &others);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_IDLE_H
