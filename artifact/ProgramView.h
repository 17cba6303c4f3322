//===- ProgramView.h - Facts in a program's tables --------------*- C++ -*-===//
//
// They follow indices: a verifier calls them where it has checked those.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_PROGRAMVIEW_H
#define NNV12_ARTIFACT_PROGRAMVIEW_H

#include "bundle_generated.h"

#include <algorithm>
#include <cstdint>

namespace nnv12::artifact {

/// A list of a table. One that is missing has no elements.
template <typename T>
const flatbuffers::Vector<T> &elementsOf(const flatbuffers::Vector<T> *list) {
  // Its length comes first, and then they would.
  static constexpr flatbuffers::uoffset_t none = 0;
  return list ? *list : reinterpret_cast<const flatbuffers::Vector<T> &>(none);
}

/// The target that a program is compiled for.
inline const bundle::Target *targetOf(const bundle::Bundle *bundle,
                                      const bundle::Program *program) {
  return bundle->targets()->Get(program->target());
}

/// The processor that runs programs of a target: the CPU of the process.
inline const bundle::Processor *cpuOf(const bundle::Target *target) {
  return target->processors()->Get(0);
}

/// Whether an operation of this kind runs a kernel.
inline bool hasKernel(const bundle::Operation *operation) {
  return operation->kind() == bundle::OperationKind_Execute ||
         operation->kind() == bundle::OperationKind_Transform;
}

/// The kernel of an operation that has one.
inline const bundle::Kernel *kernelOf(const bundle::Target *target,
                                      const bundle::Operation *operation) {
  return target->kernels()->Get(operation->kernel());
}

/// How many of a program's operations are executes. These come first, so an
/// execute's number counts executes too, and a preparation's number less this
/// counts preparations.
inline uint32_t numExecutes(const bundle::Program *program) {
  const auto &all = *program->operations();
  auto isExecute = [](const bundle::Operation *operation) {
    return operation->kind() == bundle::OperationKind_Execute;
  };
  return static_cast<uint32_t>(
      std::partition_point(all.begin(), all.end(), isExecute) - all.begin());
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

/// The largest scratch that a kernel of the CPU asks for.
inline uint64_t scratchSize(const bundle::Target *target) {
  uint64_t largest = 0;
  for (const bundle::Kernel *kernel : *target->kernels())
    if (kernel->processor() == 0 && kernel->scratch() > largest)
      largest = kernel->scratch();
  return largest;
}

/// A program's overlay of this kind; null where it has none.
inline const bundle::Overlay *findOverlay(const bundle::Program *program,
                                          bundle::OverlayKind kind) {
  for (const bundle::Overlay *overlay : elementsOf(program->overlays()))
    if (overlay->kind() == kind)
      return overlay;
  return nullptr;
}

/// Its overlay of this kind, unless the segment needs a key.
inline const bundle::Overlay *readableOverlayOf(const bundle::Bundle *bundle,
                                                const bundle::Program *program,
                                                bundle::OverlayKind kind) {
  const bundle::Overlay *overlay = findOverlay(program, kind);
  return overlay && !bundle->segments()->Get(overlay->segment())->seal()
             ? overlay
             : nullptr;
}

/// Its readable overlay for a GPU.
inline const bundle::Overlay *gpuOverlayOf(const bundle::Bundle *bundle,
                                           const bundle::Program *program) {
  return readableOverlayOf(bundle, program, bundle::OverlayKind_Gpu);
}

/// Its readable overlay for video.
inline const bundle::Overlay *videoOverlayOf(const bundle::Bundle *bundle,
                                             const bundle::Program *program) {
  return readableOverlayOf(bundle, program, bundle::OverlayKind_Video);
}

/// Video's part of a program, in verified overlays; null where there is none.
inline const bundle::ProgramVideo *
videoOf(const bundle::VideoOverlays *overlays, const bundle::Program *program) {
  const bundle::Overlay *overlay =
      overlays ? findOverlay(program, bundle::OverlayKind_Video) : nullptr;
  return overlay ? overlays->programs()->Get(overlay->head()->index())
                 : nullptr;
}

/// A GPU's part of a program; null where there is none.
inline const bundle::ProgramGpu *overlayOf(const bundle::GpuOverlays *overlays,
                                           const bundle::Program *program) {
  const bundle::Overlay *overlay =
      overlays ? findOverlay(program, bundle::OverlayKind_Gpu) : nullptr;
  return overlay ? overlays->programs()->Get(overlay->head()->index())
                 : nullptr;
}

inline uint64_t numTiles(const bundle::Operation *operation) {
  return operation->tile_end() - operation->tile_begin();
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_PROGRAMVIEW_H
