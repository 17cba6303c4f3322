//===- TileState.h - Whether this process may use a feature -----*- C++ -*-===//
#ifndef NNV12_ARTIFACT_TILESTATE_H
#define NNV12_ARTIFACT_TILESTATE_H

#include <cstddef>

namespace nnv12::artifact {

/// Whether this process may use a feature that the CPU has, by LLVM's name.
/// Linux saves AMX's tile registers for processes that have asked for it alone:
/// asks, for all threads that there are and will be. An old kernel refuses, and
/// so does a filter of system calls, or a signal stack that has no room for
/// them.
bool mayUse(const char *feature, size_t length);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_TILESTATE_H
