//===- LoadedProgram.h - The program of an open bundle ----------*- C++ -*-===//
#ifndef NNV12_RUNTIME_CORE_LOADEDPROGRAM_H
#define NNV12_RUNTIME_CORE_LOADEDPROGRAM_H

#include "artifact/Bundle.h"
#include "artifact/ProgramView.h"

namespace nnv12::runtime {

/// Where the memories of a session lie.
struct Memory {
  uint8_t *arena, *prepared;
};

/// Where the parts of a program lie that a session runs.
struct LoadedProgram {
  const uint8_t *image = nullptr; ///< of the bundle's file
  const bundle::Bundle *metadata = nullptr;
  const bundle::Program *program = nullptr;
  const uint8_t *code = nullptr;
  bool isMapped = false; ///< the image is a mapping of a file

  /// The address of an operand that is not in a caller's buffer.
  void *addressOf(const bundle::Operand *operand, Memory memory) const {
    uint8_t *base = nullptr;
    if (operand->space() == bundle::Space_Weights)
      base = const_cast<uint8_t *>(image) +
             metadata->segments()->Get(operand->index())->offset();
    else if (operand->space() == bundle::Space_Memory)
      base = artifact::isIn(program, operand, bundle::MemoryKind_Arena)
                 ? memory.arena
                 : memory.prepared;
    return base ? base + operand->offset() : nullptr;
  }

  artifact::KernelFn kernelOf(const bundle::Operation *operation) const {
    uint32_t entry =
        artifact::kernelOf(artifact::targetOf(metadata, program), operation)
            ->entry();
    return reinterpret_cast<artifact::KernelFn>(
        reinterpret_cast<uintptr_t>(code + entry));
  }
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CORE_LOADEDPROGRAM_H
