//===- Compatibility.cpp - Whether a program is for this reader -----------===//
#include "artifact/Compatibility.h"

#include "artifact/Limits.h"
#include "artifact/ProgramView.h"

#include <cinttypes>

namespace nnv12::artifact {

namespace {

using MemoryList = flatbuffers::Vector<flatbuffers::Offset<bundle::Memory>>;
using LaneList = flatbuffers::Vector<flatbuffers::Offset<bundle::Lane>>;

/// Looks for things that this reader does not know, in a program or in its
/// overlay. Each check returns false, and has set the fault, at the first such
/// thing.
class Reader {
public:
  Reader(unsigned number, const char *prefix, Fault &why)
      : number(number), prefix(prefix), why(why) {}

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
};

class ProgramReader : Reader {
public:
  ProgramReader(const bundle::Program *program, unsigned number, Fault &why)
      : Reader(number, "", why), program_(program) {}

  bool understands() {
    return processors() && memories(program_->memories()) && operations() &&
           lanes(program_->lanes()) && switches();
  }

private:
  bool processors() {
    const auto *list = program_->processors();
    for (uint32_t i = 0; i < list->size(); ++i)
      if (!known("processor", i, "kind", list->Get(i)->kind(),
                 bundle::ProcessorKind_MAX))
        return false;
    return list->size() < 2 ||
           why.set(Fault::Unsupported,
                   "program %u: processors: found %u, expected 1 (the program "
                   "is for newer readers)",
                   number, list->size());
  }

  bool operation(const char *what, unsigned index,
                 const bundle::Operation *operation) {
    if (!known(what, index, "kind", operation->kind(),
               bundle::OperationKind_MAX) ||
        !known(what, index, "codec", operation->codec(), bundle::Codec_MAX))
      return false;
    for (const bundle::Operand *operand : *operation->operands())
      if (!known(what, index, "space of an operand", operand->space(),
                 bundle::Space_MAX))
        return false;
    return true;
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

  const bundle::Program *program_;
};

class GpuReader : Reader {
public:
  GpuReader(const bundle::OverlayHead *head, const bundle::ProgramGpu *gpu,
            unsigned number, Fault &why)
      : Reader(number, "gpu: ", why), head_(head), gpu_(gpu) {}

  bool understands() {
    return known("start", 0, "kind", head_->start(), bundle::GpuStart_MAX) &&
           memories(gpu_->memories()) && boundaries() && preparations() &&
           lanes(gpu_->lanes()) && stretches();
  }

private:
  bool space(const char *what, unsigned index, const bundle::Operand *operand) {
    return known(what, index, "space", operand->space(), bundle::Space_MAX);
  }

  bool boundaries() {
    for (uint32_t i = 0; i < gpu_->boundaries()->size(); ++i)
      if (!space("boundary", i, gpu_->boundaries()->Get(i)->host()))
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
            !space("preparation", i, upload->source()))
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
        for (const bundle::GpuOperand *operand : *dispatch->operands())
          if (!known("stretch", i, "space of an operand", operand->space(),
                     bundle::GpuSpace_MAX))
            return false;
    }
    return true;
  }

  const bundle::OverlayHead *head_;
  const bundle::ProgramGpu *gpu_;
};

} // namespace

bool isUnderstood(const bundle::Program *program, unsigned number, Fault &why) {
  return ProgramReader(program, number, why).understands();
}

bool isUnderstood(const bundle::OverlayHead *head,
                  const bundle::ProgramGpu *gpu, unsigned number, Fault &why) {
  return GpuReader(head, gpu, number, why).understands();
}

const bundle::ProgramGpu *gpuOf(const bundle::Overlays *overlays,
                                const bundle::Program *program) {
  Fault why;
  const bundle::ProgramGpu *gpu = overlayOf(overlays, program);
  return gpu && isUnderstood(program->overlay(), gpu, 0, why) ? gpu : nullptr;
}

using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

static bool areUnderstood(const TensorList *tensors, const char *what,
                          Fault &why) {
  for (uint32_t i = 0; i < tensors->size(); ++i)
    if (tensors->Get(i)->type() > bundle::ElementType_MAX)
      return why.set(Fault::Unsupported,
                     "%s %u: type: found %u, expected at most %u (the bundle "
                     "is newer than this reader)",
                     what, i, tensors->Get(i)->type(), bundle::ElementType_MAX);
  return true;
}

bool isUnderstood(const bundle::Bundle *bundle, Fault &why) {
  if (bundle->kind() > bundle::BundleKind_MAX)
    return why.set(Fault::Unsupported,
                   "kind: found %u, expected at most %u (the bundle is newer "
                   "than this reader)",
                   bundle->kind(), bundle::BundleKind_MAX);
  return areUnderstood(bundle->inputs(), "input", why) &&
         areUnderstood(bundle->outputs(), "output", why);
}

} // namespace nnv12::artifact
