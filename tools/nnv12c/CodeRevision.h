//===- CodeRevision.h - Which code generator this is ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_CODEREVISION_H
#define NNV12_TOOLS_NNV12C_CODEREVISION_H

#include <string>

namespace nnv12 {

/// A digest of the sources that kernels and their measuring depend on, and
/// LLVM's version. Times measured by another revision are of other code. Made
/// at build time (CodeRevision.cmake).
std::string codeRevision();

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_CODEREVISION_H
