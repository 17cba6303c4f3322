//===- Idle.cpp - When threads did nothing of an operation ----------------===//
#include "tools/nnv12-prof/Idle.h"

#include <algorithm>
#include <map>

namespace nnv12::prof {

Idle findIdle(const nnv12_record &execute,
              const std::vector<const nnv12_record *> &tiles,
              unsigned numThreads) {
  struct Part {
    double busy = 0;
    uint64_t last = 0;
  };
  uint64_t start = execute.start_ns, end = start + execute.duration_ns;
  std::map<uint8_t, Part> parts;
  for (const nnv12_record *record : tiles) {
    Part &part = parts[record->thread];
    part.busy += double(record->duration_ns);
    part.last = std::max(part.last, record->start_ns + record->duration_ns);
  }
  Idle idle;
  double time = double(end - start);
  for (const auto &[thread, part] : parts) {
    // Clocks are rounded: nothing is less than 0.
    double tail = part.last < end ? double(end - part.last) : 0;
    idle.tail += tail;
    idle.late += std::max(0.0, time - part.busy - tail);
  }
  size_t present = std::max<size_t>(1, parts.size());
  if (present < numThreads)
    idle.absent = time * double(numThreads - present);
  return idle;
}

/// The same time in stretches that do not touch, in order.
static Stretches join(Stretches stretches) {
  std::sort(stretches.begin(), stretches.end());
  Stretches joined;
  for (auto [from, to] : stretches) {
    if (from >= to)
      continue;
    if (!joined.empty() && from <= joined.back().second)
      joined.back().second = std::max(joined.back().second, to);
    else
      joined.push_back({from, to});
  }
  return joined;
}

uint64_t lengthOf(Stretches stretches) {
  uint64_t length = 0;
  for (auto [from, to] : join(std::move(stretches)))
    length += to - from;
  return length;
}

uint64_t overlapOf(const Stretches &some, const Stretches &others) {
  // Each moment in either is in one alone or in both.
  Stretches all = some;
  all.insert(all.end(), others.begin(), others.end());
  return lengthOf(some) + lengthOf(others) - lengthOf(all);
}

} // namespace nnv12::prof
