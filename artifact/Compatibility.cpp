//===- Compatibility.cpp - Whether a program is for this reader -----------===//
#include "artifact/Compatibility.h"

#include "artifact/Limits.h"
#include "artifact/ProgramView.h"

#include <cinttypes>

namespace nnv12::artifact {

namespace {

using MemoryList = flatbuffers::Vector<flatbuffers::Offset<bundle::Memory>>;
using LaneList = flatbuffers::Vector<flatbuffers::Offset<bundle::Lane>>;
using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

/// Looks for things that this reader does not know, in a program or in its
/// overlay. Each check returns false, and has set the fault, at the first such
/// thing.
class Reader {
public:
  Reader(const bundle::Bundle *bundle, const bundle::Program *program,
         unsigned number, const char *prefix, Fault &why)
      : number(number), prefix(prefix), why(why), segments_(bundle->segments()),
        program_(program) {
    for (const bundle::Segment *segment : *segments_)
      hasSeals_ |= segment->seal() != bundle::SealKind_None;
  }

protected:
  bool known(const char *part, unsigned index, const char *field,
             unsigned found, unsigned most) {
    return found <= most ||
           why.set(
               Fault::Unsupported,
               "program %u: %s%s %u: %s: found %u, expected at most %u (the "
               "program is for newer readers)",
               number, prefix, part, index, field, found, most);
  }

  /// Whether nobody needs a key for a segment, if there is one.
  bool isOpen(const char *part, unsigned index, uint32_t segment) {
    return !hasSeals_ || segment >= segments_->size() ||
           known(part, index, "seal of a segment",
                 segments_->Get(segment)->seal(), bundle::SealKind_None);
  }

  bool operand(const char *part, unsigned index,
               const bundle::Operand *operand) {
    return known(part, index, "space of an operand", operand->space(),
                 bundle::Space_MAX) &&
           (operand->space() != bundle::Space_Weights ||
            isOpen(part, index, operand->index()));
  }

  bool memories(const MemoryList *list) {
    unsigned kinds = 0;
    for (uint32_t i = 0; i < list->size(); ++i) {
      const bundle::Memory *memory = list->Get(i);
      if (!known("memory", i, "kind", memory->kind(), bundle::MemoryKind_MAX))
        return false;
      if (kinds & 1u << memory->kind())
        return why.set(
            Fault::Unsupported,
            "program %u: %smemory %u: found a second %s, expected one "
            "(the program is for newer readers)",
            number, prefix, i, bundle::EnumNameMemoryKind(memory->kind()));
      kinds |= 1u << memory->kind();
      if (memory->alignment() > mostAlignment)
        return why.set(Fault::Unsupported,
                       "program %u: %smemory %u: alignment: found %" PRIu64
                       ", expected at most %" PRIu64,
                       number, prefix, i, memory->alignment(), mostAlignment);
    }
    return true;
  }

  bool lanes(const LaneList *list) {
    for (uint32_t i = 0; list && i < list->size(); ++i)
      if (!known("lane", i, "kind", list->Get(i)->kind(),
                 bundle::LaneKind_MAX) ||
          !known("lane", i, "core", list->Get(i)->core(), bundle::CoreKind_MAX))
        return false;
    return true;
  }

  unsigned number;
  const char *prefix;
  Fault &why;
  const flatbuffers::Vector<flatbuffers::Offset<bundle::Segment>> *segments_;
  const bundle::Program *program_;
  bool hasSeals_ = false;
};

class ProgramReader : Reader {
public:
  ProgramReader(const bundle::Bundle *bundle, unsigned number, Fault &why)
      : Reader(bundle, bundle->programs()->Get(number), number, "", why),
        target_(targetOf(bundle, program_)),
        processors_(target_->processors()->size()) {}

  bool understands() {
    return processor() && tensors("input", program_->inputs()) &&
           tensors("output", program_->outputs()) && ownMemories() &&
           operations() && ownLanes() && switches() &&
           known("states", 0, "count", elementsOf(program_->states()).size(),
                 0);
  }

private:
  /// The one that runs the program. The others run overlays, or programs for
  /// newer readers.
  bool processor() {
    if (processors_ == 0)
      return true;
    const bundle::Processor *cpu = cpuOf(target_);
    return known("processor", 0, "kind", cpu->kind(),
                 bundle::ProcessorKind_Cpu) &&
           isOpen("processor", 0, cpu->code());
  }

  /// Whether processor 0 has it, or none that exists.
  bool isOwn(const char *part, unsigned index, uint32_t processor) {
    return known(part, index, "processor",
                 processor < processors_ ? processor : 0, 0);
  }

  bool tensors(const char *part, const TensorList *list) {
    for (uint32_t i = 0; i < list->size(); ++i)
      if (!known(part, i, "type", list->Get(i)->type(),
                 bundle::ElementType_MAX))
        return false;
    return true;
  }

  bool ownMemories() {
    const MemoryList *list = program_->memories();
    for (uint32_t i = 0; i < list->size(); ++i)
      if (!isOwn("memory", i, list->Get(i)->processor()))
        return false;
    return memories(list);
  }

  bool ownLanes() {
    for (uint32_t i = 0; i < numLanes(program_); ++i)
      if (!isOwn("lane", i, program_->lanes()->Get(i)->processor()))
        return false;
    return lanes(program_->lanes());
  }

  bool operation(const char *what, unsigned index,
                 const bundle::Operation *operation) {
    if (!known(what, index, "kind", operation->kind(),
               bundle::OperationKind_MAX) ||
        !known(what, index, "codec", operation->codec(), bundle::Codec_MAX))
      return false;
    for (const bundle::Operand *one : *operation->operands())
      if (!operand(what, index, one))
        return false;
    return processors_ < 2 || !hasKernel(operation) ||
           operation->kernel() >= target_->kernels()->size() ||
           isOwn(what, index, kernelOf(target_, operation)->processor());
  }

  /// A preparation may wait for preparations alone: with the executes it
  /// takes no turns here.
  bool operations() {
    const auto *list = program_->operations();
    uint32_t executes = 0;
    while (executes < list->size() &&
           list->Get(executes)->kind() == bundle::OperationKind_Execute)
      ++executes;
    for (uint32_t i = 0; i < list->size(); ++i) {
      if (!operation("operation", i, list->Get(i)))
        return false;
      for (uint32_t before : elementsOf(list->Get(i)->after()))
        if (i >= executes && before < executes)
          return why.set(Fault::Unsupported,
                         "program %u: operation %u: after: found execute %u, "
                         "expected preparations (the program is for newer "
                         "readers)",
                         number, i, before);
    }
    return true;
  }

  bool switches() {
    const auto *list = program_->switches();
    for (uint32_t i = 0; list && i < list->size(); ++i)
      if (!operation("switch", i, list->Get(i)->replacement()))
        return false;
    return true;
  }

  const bundle::Target *target_;
  uint32_t processors_;
};

class GpuReader : Reader {
public:
  GpuReader(const bundle::Bundle *bundle, const bundle::GpuOverlays *overlays,
            const bundle::Program *program, unsigned number, Fault &why)
      : Reader(bundle, program, number, "gpu: ", why),
        code_(overlays->gpu()->code()), gpu_(overlayOf(overlays, program)) {}

  bool understands() {
    return known(
               "start", 0, "kind",
               findOverlay(program_, bundle::OverlayKind_Gpu)->head()->start(),
               bundle::OverlayStart_MAX) &&
           isOpen("code", 0, code_) && memories(gpu_->memories()) &&
           boundaries() && preparations() && lanes(gpu_->lanes()) &&
           stretches();
  }

private:
  bool boundaries() {
    for (uint32_t i = 0; i < gpu_->boundaries()->size(); ++i)
      if (!operand("boundary", i, gpu_->boundaries()->Get(i)->host()))
        return false;
    return true;
  }

  bool preparations() {
    for (uint32_t i = 0; i < gpu_->preparations()->size(); ++i) {
      const bundle::GpuPreparation *preparation = gpu_->preparations()->Get(i);
      if (!known("preparation", i, "stage", preparation->stage(),
                 bundle::GpuStage_MAX))
        return false;
      for (const bundle::Upload *upload : elementsOf(preparation->uploads()))
        if (!known("preparation", i, "codec", upload->codec(),
                   bundle::Codec_MAX) ||
            !operand("preparation", i, upload->source()))
          return false;
    }
    return true;
  }

  bool stretches() {
    for (uint32_t i = 0; i < gpu_->stretches()->size(); ++i) {
      const bundle::Stretch *stretch = gpu_->stretches()->Get(i);
      if (!known("stretch", i, "kind", stretch->kind(),
                 bundle::StretchKind_MAX))
        return false;
      for (const bundle::Dispatch *dispatch : *stretch->dispatches())
        for (const bundle::GpuOperand *one : *dispatch->operands())
          if (!known("stretch", i, "space of an operand", one->space(),
                     bundle::GpuSpace_MAX))
            return false;
    }
    return true;
  }

  uint32_t code_;
  const bundle::ProgramGpu *gpu_;
};

} // namespace

bool isUnderstood(const bundle::Bundle *bundle, unsigned number, Fault &why) {
  return ProgramReader(bundle, number, why).understands();
}

bool isUnderstood(const bundle::Bundle *bundle,
                  const bundle::GpuOverlays *overlays,
                  const bundle::Program *program, unsigned number, Fault &why) {
  return GpuReader(bundle, overlays, program, number, why).understands();
}

const bundle::ProgramGpu *gpuOf(const bundle::Bundle *bundle,
                                const bundle::GpuOverlays *overlays,
                                const bundle::Program *program) {
  Fault why;
  const bundle::ProgramGpu *gpu = overlayOf(overlays, program);
  return gpu && isUnderstood(bundle, overlays, program, 0, why) ? gpu : nullptr;
}

const bundle::Program *firstUnderstood(const bundle::Bundle *bundle) {
  Fault why;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i)
    if (isUnderstood(bundle, i, why))
      return bundle->programs()->Get(i);
  return nullptr;
}

const bundle::Overlay *gpuOverlayIn(const bundle::Bundle *bundle) {
  Fault why;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    if (findOverlay(program, bundle::OverlayKind_Gpu) &&
        isUnderstood(bundle, i, why))
      return gpuOverlayOf(bundle, program);
  }
  return nullptr;
}

const bundle::GpuOverlays *gpuOverlaysIn(const bundle::Bundle *bundle,
                                         const void *image) {
  const bundle::Overlay *overlay = gpuOverlayIn(bundle);
  return overlay ? flatbuffers::GetRoot<bundle::GpuOverlays>(
                       static_cast<const uint8_t *>(image) +
                       bundle->segments()->Get(overlay->segment())->offset())
                 : nullptr;
}

bool isUnderstood(const bundle::Bundle *bundle, Fault &why) {
  return bundle->kind() <= bundle::BundleKind_MAX ||
         why.set(Fault::Unsupported,
                 "kind: found %u, expected at most %u (the bundle is newer "
                 "than this reader)",
                 bundle->kind(), bundle::BundleKind_MAX);
}

} // namespace nnv12::artifact
