//===- LayerTimes.h - Time by layer -----------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_LAYERTIMES_H
#define NNV12_TOOLS_COMMON_LAYERTIMES_H

#include "runtime/include/nnv12.hpp"

#include <vector>

namespace nnv12::tools {

/// A profile's facts about each operation.
struct OperationProfile {
  std::vector<uint64_t> nanoseconds;
  std::vector<bool> isOnGpu; ///< no kernel of the bundle's CPUs then
};

/// Prints a table of operations in order, each with its time and share.
void printProfile(const Bundle &bundle, const OperationProfile &profile);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_LAYERTIMES_H
