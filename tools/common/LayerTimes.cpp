//===- LayerTimes.cpp - Time by layer -------------------------------------===//
#include "tools/common/LayerTimes.h"

#include <cassert>
#include <cinttypes>
#include <cstdio>

namespace nnv12::tools {

void printProfile(const Bundle &bundle, const OperationProfile &profile) {
  const std::vector<uint64_t> &nanoseconds = profile.nanoseconds;
  assert(nanoseconds.size() == bundle.info().num_operations &&
         "a time for each operation");
  uint64_t total = 0;
  for (uint64_t time : nanoseconds)
    total += time;
  printf("%10s %6s %8s  %-40s %s\n", "us", "%", "tiles", "kernel", "layer");
  for (uint32_t i = 0; i < nanoseconds.size(); ++i) {
    nnv12_operation_info operation = bundle.operation(i);
    printf("%10.1f %6.2f %8" PRIu64 "  %-40s %s\n", nanoseconds[i] * 1e-3,
           total ? 100.0 * nanoseconds[i] / total : 0, operation.tiles,
           profile.isOnGpu[i] ? "gpu" : operation.kernel, operation.layer);
  }
  printf("%10.1f %6.2f           total of %zu operations\n", total * 1e-3,
         100.0, nanoseconds.size());
}

} // namespace nnv12::tools
