//===- ProgramView.h - Facts in a program's tables --------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_PROGRAMVIEW_H
#define NNV12_ARTIFACT_PROGRAMVIEW_H

#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// A list of a table. One that is missing has no elements.
template <typename T>
const flatbuffers::Vector<T> &elementsOf(const flatbuffers::Vector<T> *list) {
  // Its length comes first, and then they would.
  static constexpr flatbuffers::uoffset_t none = 0;
  return list ? *list : reinterpret_cast<const flatbuffers::Vector<T> &>(none);
}

/// How many of a program's operations are executes. These come first, so an
/// execute's number counts executes too, and a preparation's number less this
/// counts preparations.
inline uint32_t numExecutes(const bundle::Program *program) {
  uint32_t low = 0, high = program->operations()->size();
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (program->operations()->Get(middle)->kind() ==
        bundle::OperationKind_Execute)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

inline uint32_t numLanes(const bundle::Program *program) {
  return elementsOf(program->lanes()).size();
}

inline uint32_t numSwitches(const bundle::Program *program) {
  return elementsOf(program->switches()).size();
}

/// The memory of this kind; null where the program has none.
inline const bundle::Memory *memoryOf(const bundle::Program *program,
                                      bundle::MemoryKind kind) {
  for (const bundle::Memory *memory : *program->memories())
    if (memory->kind() == kind)
      return memory;
  return nullptr;
}

/// Its bytes; 0 where the program has none.
inline uint64_t memorySize(const bundle::Program *program,
                           bundle::MemoryKind kind) {
  const bundle::Memory *memory = memoryOf(program, kind);
  return memory ? memory->size() : 0;
}

/// Whether a verified operand lies in memory of this kind.
inline bool isIn(const bundle::Program *program, const bundle::Operand *operand,
                 bundle::MemoryKind kind) {
  return operand->space() == bundle::Space_Memory &&
         program->memories()->Get(operand->index())->kind() == kind;
}

/// The largest scratch that a kernel asks for.
inline uint64_t scratchSize(const bundle::Program *program) {
  uint64_t largest = 0;
  for (const bundle::Kernel *kernel : *program->kernels())
    if (kernel->scratch() > largest)
      largest = kernel->scratch();
  return largest;
}

/// The processor that runs the program's code: the CPU of the process.
inline const bundle::Processor *cpuOf(const bundle::Program *program) {
  return program->processors()->Get(0);
}

/// The overlays of a bundle whose file is at `image`; null where it has none.
/// Nothing of them has been checked.
inline const bundle::Overlays *overlaysIn(const bundle::Bundle *bundle,
                                          const void *image) {
  if (bundle->overlays() >= bundle->segments()->size())
    return nullptr;
  const bundle::Segment *segment = bundle->segments()->Get(bundle->overlays());
  return flatbuffers::GetRoot<bundle::Overlays>(
      static_cast<const uint8_t *>(image) + segment->offset());
}

/// A GPU's part of a program; null where there is none.
inline const bundle::ProgramGpu *overlayOf(const bundle::Overlays *overlays,
                                           const bundle::Program *program) {
  return overlays && program->overlay()
             ? overlays->programs()->Get(program->overlay()->index())
             : nullptr;
}

inline uint64_t numTiles(const bundle::Operation *operation) {
  return operation->tile_end() - operation->tile_begin();
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_PROGRAMVIEW_H
