//===- Profile.h - Time by layer --------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_PROFILE_H
#define NNV12_TOOLS_COMMON_PROFILE_H

#include "runtime/include/nnv12.hpp"

#include <vector>

namespace nnv12::tools {

/// Prints a table of operations in order, each with its time and share.
void printProfile(const Bundle &bundle,
                  const std::vector<uint64_t> &nanoseconds);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_PROFILE_H
