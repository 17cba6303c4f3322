//===- CodeBlob.h - The machine code of a module of kernels -----*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H
#define NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H

#include "compiler/codegen/cpu/CodeDigest.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// The code of one target.
struct CodeBlob {
  std::vector<char> bytes;
  /// Offset of each entry point by its symbol.
  std::map<std::string, uint32_t> entries;
  Fingerprints fingerprints;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H
