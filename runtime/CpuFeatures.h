//===- CpuFeatures.h - What this CPU and this system can run ----*- C++ -*-===//
#ifndef NNV12_RUNTIME_CPUFEATURES_H
#define NNV12_RUNTIME_CPUFEATURES_H

#include <cstddef>

namespace nnv12::runtime {

/// The architecture that this library was built for, as in Program.architecture.
const char *hostArchitecture();

/// Whether the CPU has, and the system saves the state of, the feature with this
/// LLVM name. A name that we do not know is a feature that we do not have.
bool hostHasFeature(const char *name, size_t length);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CPUFEATURES_H
