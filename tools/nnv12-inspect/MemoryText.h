//===- MemoryText.h - A program's memory, by its sharers --------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_MEMORYTEXT_H
#define NNV12_TOOLS_NNV12_INSPECT_MEMORYTEXT_H

#include "bundle_generated.h"
#include "tools/common/Json.h"

#include <cstdint>

namespace nnv12::tools {

/// Bytes that a program takes, by the processes that share them.
struct MemoryUse {
  // Each session has its own.
  uint64_t arena = 0;
  uint64_t prepared = 0; ///< decoded and transformed weights of the first run
  uint64_t later = 0;    ///< those that only later routines read
  /// The part of these that a session does not prepare if its GPU takes the
  /// layers over.
  uint64_t withoutGpu = 0;
  uint64_t scratch = 0; ///< of each thread
  // Bytes of the file, which all processes that map it share.
  uint64_t metadata = 0;
  uint64_t code = 0;
  uint64_t mapped = 0; ///< weights that are used where they lie
  /// Weights that are read to prepare others: they need not stay in memory.
  uint64_t source = 0;
};

/// The memory of a program that this version understands. `overlays` is null
/// where the bundle has none.
MemoryUse memoryUse(const bundle::Bundle *bundle,
                    const bundle::GpuOverlays *overlays,
                    const bundle::Program *program, uint64_t metadata);

void printMemory(const MemoryUse &use);
/// Adds the member "memory".
void addMemory(Json &json, const MemoryUse &use);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_MEMORYTEXT_H
