//===- CodeRevision.h - Which code generator this is ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_CODEREVISION_H
#define NNV12_TOOLS_NNV12C_CODEREVISION_H

#include <string>

namespace nnv12 {

/// A digest of the sources that kernels depend on, and LLVM's version. Made at
/// build time (CodeRevision.cmake). If revisions are equal, kernels of equal
/// keys are the same code, for targets that are tuned for the same.
std::string codeRevision();

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_CODEREVISION_H
