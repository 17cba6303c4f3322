//===- SpirvModule.h - A kernel of a GPU as SPIR-V --------------*- C++ -*-===//
//
// docs/gpu-inside.md has the interface in words.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_SPIRVMODULE_H
#define NNV12_COMPILER_CODEGEN_GPU_SPIRVMODULE_H

#include "compiler/codegen/gpu/GpuTarget.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// One module with one entry point, and the facts that a runtime needs for it.
struct SpirvModule {
  /// SPIR-V 1.3 in the machine's byte order.
  std::vector<uint32_t> words;
  /// All modules have this name: the kernel's key tells them apart.
  static constexpr const char *entry = "main";
  /// Storage buffers in set 0: bindings 0, 1…, results first, tables last.
  uint32_t bindings = 0;
  /// Bit i: binding i is written, else it is only read.
  uint32_t written = 0;
  uint32_t pushWords = 0; ///< 32 bits each, from offset 0
  std::array<uint32_t, 3> localSize = {1, 1, 1};
  uint32_t sharedBytes = 0; ///< of a work group
  GpuFeatures features;     ///< that a device must have
  /// Constants that the kernel reads: contents of the last bindings, in the
  /// machine's byte order.
  std::vector<std::vector<char>> tables;

  bool operator==(const SpirvModule &other) const {
    return words == other.words && bindings == other.bindings &&
           written == other.written && pushWords == other.pushWords &&
           localSize == other.localSize && sharedBytes == other.sharedBytes &&
           features == other.features && tables == other.tables;
  }
  bool operator!=(const SpirvModule &other) const { return !(*this == other); }
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_SPIRVMODULE_H
