//===- Compatibility.cpp - Whether a program is for this reader -----------===//
#include "artifact/Compatibility.h"

#include "artifact/Checks.h"
#include "artifact/Limits.h"
#include "artifact/ProgramView.h"

#include <cinttypes>

namespace nnv12::artifact {

namespace {

/// Looks for things that this reader does not know, in a program or in its
/// overlay, and leaves at the first one.
class Reader : public Checks {
protected:
  Reader(const bundle::Bundle *bundle, const bundle::Program *program,
         unsigned number, Fault &why)
      : Checks(why), root_{nullptr, "program", number},
        segments_(bundle->segments()), program_(program) {
    for (const bundle::Segment *segment : *segments_)
      hasSeals_ |= segment->seal() != bundle::SealKind_None;
  }

  /// A fault is one of this reader: the file has no error.
  template <typename Check> bool knowsAll(Check check) {
    if (hold(check))
      return true;
    fault.code = Fault::Unsupported;
    return false;
  }

  void know(const Where &where, const char *field, unsigned found,
            unsigned most) {
    if (found > most)
      refuse(where,
             "%s: found %u|at most %u (the program is for newer readers)",
             field, found, most);
  }

  /// Nobody needs a key for a segment, if there is one.
  void open(const Where &where, uint32_t segment) {
    if (hasSeals_ && segment < segments_->size())
      know(where, "seal of a segment", segments_->Get(segment)->seal(),
           bundle::SealKind_None);
  }

  void operand(const Where &where, const bundle::Operand *operand) {
    know(where, "space of an operand", operand->space(), bundle::Space_MAX);
    if (operand->space() == bundle::Space_Weights)
      open(where, operand->index());
  }

  void memory(const Where &where, const bundle::Memory *memory) {
    know(where, "kind", memory->kind(), bundle::MemoryKind_MAX);
    if (kinds_ & 1u << memory->kind())
      refuse(where, "found a second %s|one (the program is for newer readers)",
             bundle::EnumNameMemoryKind(memory->kind()));
    kinds_ |= 1u << memory->kind();
    if (memory->alignment() > mostAlignment)
      refuse(where, "alignment: found %" PRIu64 "|at most %" PRIu64,
             memory->alignment(), mostAlignment);
  }

  void lane(const Where &where, const bundle::Lane *lane) {
    know(where, "kind", lane->kind(), bundle::LaneKind_MAX);
    know(where, "core", lane->core(), bundle::CoreKind_MAX);
  }

  Where root_;
  const flatbuffers::Vector<flatbuffers::Offset<bundle::Segment>> *segments_;
  const bundle::Program *program_;
  bool hasSeals_ = false;
  unsigned kinds_ = 0; ///< of memories so far, a bit each
};

class ProgramReader : public Reader {
public:
  ProgramReader(const bundle::Bundle *bundle, unsigned number, Fault &why)
      : Reader(bundle, bundle->programs()->Get(number), number, why),
        target_(targetOf(bundle, program_)),
        processors_(target_->processors()->size()) {}

  bool understands() {
    using Self = ProgramReader;
    return knowsAll([this] {
      processor();
      forEach(&root_, "input", program_->inputs(), &Self::tensor);
      forEach(&root_, "output", program_->outputs(), &Self::tensor);
      forEach(&root_, "memory", program_->memories(),
              &Self::own<bundle::Memory>);
      forEach(&root_, "memory", program_->memories(), &Self::memory);
      operations();
      forEach(&root_, "lane", program_->lanes(), &Self::own<bundle::Lane>);
      forEach(&root_, "lane", program_->lanes(), &Self::lane);
      forEach(&root_, "switch", program_->switches(), &Self::change);
      know({&root_, "states", 0}, "count",
           elementsOf(program_->states()).size(), 0);
    });
  }

private:
  /// The one that runs the program. The others run overlays, or programs for
  /// newer readers.
  void processor() {
    if (processors_ == 0)
      return;
    Where where = {&root_, "processor", 0};
    know(where, "kind", cpuOf(target_)->kind(), bundle::ProcessorKind_Cpu);
    open(where, cpuOf(target_)->code());
  }

  /// Processor 0 has it, or none that exists.
  template <typename Part> void own(const Where &where, const Part *part) {
    know(where, "processor",
         part->processor() < processors_ ? part->processor() : 0, 0);
  }

  void tensor(const Where &where, const bundle::Tensor *tensor) {
    know(where, "type", tensor->type(), bundle::ElementType_MAX);
  }

  void operation(const Where &where, const bundle::Operation *operation) {
    know(where, "kind", operation->kind(), bundle::OperationKind_MAX);
    know(where, "codec", operation->codec(), bundle::Codec_MAX);
    for (const bundle::Operand *one : *operation->operands())
      operand(where, one);
    if (processors_ > 1 && hasKernel(operation) &&
        operation->kernel() < target_->kernels()->size())
      own(where, kernelOf(target_, operation));
  }

  /// A preparation may wait for preparations alone: with the executes it
  /// takes no turns here.
  void operations() {
    const auto *list = program_->operations();
    uint32_t executes = 0;
    while (executes < list->size() &&
           list->Get(executes)->kind() == bundle::OperationKind_Execute)
      ++executes;
    for (uint32_t i = 0; i < list->size(); ++i) {
      Where where = {&root_, "operation", i};
      operation(where, list->Get(i));
      for (uint32_t before : elementsOf(list->Get(i)->after()))
        if (i >= executes && before < executes)
          refuse(where,
                 "after: found execute %u|preparations (the program is for "
                 "newer readers)",
                 before);
    }
  }

  void change(const Where &where, const bundle::Switch *change) {
    operation(where, change->replacement());
  }

  const bundle::Target *target_;
  uint32_t processors_;
};

class GpuReader : public Reader {
public:
  GpuReader(const bundle::Bundle *bundle, const bundle::GpuOverlays *overlays,
            const bundle::Program *program, unsigned number, Fault &why)
      : Reader(bundle, program, number, why), code_(overlays->gpu()->code()),
        gpu_(overlayOf(overlays, program)) {}

  bool understands() {
    using Self = GpuReader;
    return knowsAll([this] {
      know({&overlay_, "start", 0}, "kind",
           findOverlay(program_, bundle::OverlayKind_Gpu)->head()->start(),
           bundle::OverlayStart_MAX);
      open({&overlay_, "code", 0}, code_);
      forEach(&overlay_, "memory", gpu_->memories(), &Self::memory);
      forEach(&overlay_, "boundary", gpu_->boundaries(), &Self::boundary);
      forEach(&overlay_, "preparation", gpu_->preparations(),
              &Self::preparation);
      forEach(&overlay_, "lane", gpu_->lanes(), &Self::lane);
      forEach(&overlay_, "stretch", gpu_->stretches(), &Self::stretch);
    });
  }

private:
  void boundary(const Where &where, const bundle::Boundary *boundary) {
    operand(where, boundary->host());
  }

  void preparation(const Where &where,
                   const bundle::GpuPreparation *preparation) {
    know(where, "stage", preparation->stage(), bundle::GpuStage_MAX);
    for (const bundle::Upload *upload : elementsOf(preparation->uploads())) {
      know(where, "codec", upload->codec(), bundle::Codec_MAX);
      operand(where, upload->source());
    }
  }

  void stretch(const Where &where, const bundle::Stretch *stretch) {
    know(where, "kind", stretch->kind(), bundle::StretchKind_MAX);
    for (const bundle::Dispatch *dispatch : *stretch->dispatches())
      for (const bundle::GpuOperand *one : *dispatch->operands())
        know(where, "space of an operand", one->space(), bundle::GpuSpace_MAX);
    for (const bundle::Operation *part : elementsOf(stretch->parts())) {
      know(where, "kind of a part", part->kind(), bundle::OperationKind_MAX);
      for (const bundle::Operand *one : *part->operands())
        operand(where, one);
    }
  }

  Where overlay_ = {&root_, "gpu"};
  uint32_t code_;
  const bundle::ProgramGpu *gpu_;
};

class VideoReader : public Reader {
public:
  VideoReader(const bundle::Bundle *bundle,
              const bundle::VideoOverlays *overlays,
              const bundle::Program *program, unsigned number, Fault &why)
      : Reader(bundle, program, number, why),
        video_(videoOf(overlays, program)) {}

  bool understands() {
    using Self = VideoReader;
    return knowsAll([this] {
      const bundle::OverlayHead *head =
          findOverlay(program_, bundle::OverlayKind_Video)->head();
      know({&overlay_, "start", 0}, "kind", head->start(),
           bundle::OverlayStart_MAX);
      know({&overlay_, "reuse", 0}, "kind", head->reuse(),
           bundle::VideoReuse_MAX);
      forEach(&overlay_, "execute", video_->executes(), &Self::execute);
      forEach(&overlay_, "switch", video_->switches(), &Self::part);
    });
  }

private:
  void execute(const Where &where, const bundle::VideoExecute *execute) {
    part(where, execute->part());
  }

  void part(const Where &where, const bundle::VideoPart *part) {
    know(where, "tiles", part->tiles(), bundle::VideoTiles_MAX);
  }

  Where overlay_ = {&root_, "video"};
  const bundle::ProgramVideo *video_;
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

bool isUnderstood(const bundle::Bundle *bundle,
                  const bundle::VideoOverlays *overlays,
                  const bundle::Program *program, unsigned number, Fault &why) {
  return VideoReader(bundle, overlays, program, number, why).understands();
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

/// The first overlay of this kind.
static const bundle::Overlay *overlayIn(const bundle::Bundle *bundle,
                                        bundle::OverlayKind kind) {
  Fault why;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *program = bundle->programs()->Get(i);
    if (findOverlay(program, kind) && isUnderstood(bundle, i, why))
      return readableOverlayOf(bundle, program, kind);
  }
  return nullptr;
}

/// The root of its segment.
template <typename Root>
static const Root *rootOf(const bundle::Bundle *bundle,
                          const bundle::Overlay *overlay, const void *image) {
  return overlay ? flatbuffers::GetRoot<Root>(
                       static_cast<const uint8_t *>(image) +
                       bundle->segments()->Get(overlay->segment())->offset())
                 : nullptr;
}

const bundle::Overlay *gpuOverlayIn(const bundle::Bundle *bundle) {
  return overlayIn(bundle, bundle::OverlayKind_Gpu);
}

const bundle::GpuOverlays *gpuOverlaysIn(const bundle::Bundle *bundle,
                                         const void *image) {
  return rootOf<bundle::GpuOverlays>(bundle, gpuOverlayIn(bundle), image);
}

const bundle::Overlay *videoOverlayIn(const bundle::Bundle *bundle) {
  return overlayIn(bundle, bundle::OverlayKind_Video);
}

const bundle::VideoOverlays *videoOverlaysIn(const bundle::Bundle *bundle,
                                             const void *image) {
  return rootOf<bundle::VideoOverlays>(bundle, videoOverlayIn(bundle), image);
}

bool isUnderstood(const bundle::Bundle *bundle, Fault &why) {
  return bundle->kind() <= bundle::BundleKind_MAX ||
         why.set(Fault::Unsupported,
                 "kind: found %u, expected at most %u (the bundle is newer "
                 "than this reader)",
                 bundle->kind(), bundle::BundleKind_MAX);
}

} // namespace nnv12::artifact
