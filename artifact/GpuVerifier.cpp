//===- GpuVerifier.cpp - Checks what a GPU may take over ------------------===//
#include "artifact/GpuVerifier.h"

#include "artifact/Checks.h"
#include "artifact/Compatibility.h"
#include "artifact/Digest.h"
#include "artifact/Limits.h"
#include "artifact/MetadataBudget.h"
#include "artifact/OverlayChecks.h"
#include "artifact/PlanVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/Sizes.h"
#include "artifact/TileMaps.h"
#include "artifact/Verifier.h"

#include <cassert>
#include <cinttypes>
#include <cstring>

namespace nnv12::artifact {

namespace {

constexpr uint64_t anyNumber = ~uint64_t(0);
/// VK_API_VERSION_1_1.
constexpr uint32_t leastApi = 1u << 22 | 1u << 12;
/// Words of a SPIR-V header.
constexpr uint32_t leastModuleWords = 5;

/// Checks the tables of all programs.
class TablesVerifier : public Checks {
public:
  TablesVerifier(const bundle::Bundle *bundle, const bundle::Gpu *gpu,
                 Fault &fault)
      : Checks(fault), bundle_(bundle), gpu_(gpu) {}

  bool verify() {
    return hold([this] {
      verifySegment();
      forEach(&overlay_, "module", gpu_->modules(), &Self::verifyModule);
      forEach(&overlay_, "pipeline", gpu_->pipelines(), &Self::verifyPipeline);
    });
  }

private:
  using Self = TablesVerifier;

  void verifySegment() {
    expect(overlay_, "api", gpu_->api(), leastApi, uint64_t(1) << 32);
    expect(overlay_, "code", gpu_->code(), 0, bundle_->segments()->size());

    const bundle::Segment *code = bundle_->segments()->Get(gpu_->code());
    if (code->kind() != bundle::SegmentKind_Spirv)
      refuse(overlay_, "code: found segment %u of kind %u|%u (Spirv)",
             gpu_->code(), code->kind(), bundle::SegmentKind_Spirv);
    codeSize_ = code->size();
  }

  void verifyModule(const Where &where, const bundle::GpuModule *module) {
    expect(where, "words", module->words(), leastModuleWords,
           uint64_t(maxModuleWords) + 1);
    expect(where, "bytes of its digest", module->digest()->size(),
           sizeof(Digest), sizeof(Digest) + 1);
    expectInside(where, module->offset(), module->words() * sizeof(uint32_t),
                 sizeof(uint32_t), codeSize_, "its segment");
  }

  void verifyPipeline(const Where &where, const bundle::GpuPipeline *pipeline) {
    const bundle::GpuExtent *local = pipeline->local();
    // Each axis first, so that their product stays small.
    constexpr uint64_t mostLocal = maxInvocations + 1;
    expect(where, "module", pipeline->module_(), 0, gpu_->modules()->size());
    expect(where, "bindings", pipeline->bindings(), 1, maxBindings + 1);
    expect(where, "written", pipeline->written(), 1,
           uint64_t(1) << pipeline->bindings() % (maxBindings + 1));
    expect(where, "push_words", pipeline->push_words(), 0, maxPushWords + 1);
    expect(where, "constants", elementsOf(pipeline->constants()).size(), 0,
           maxConstants + 1);
    expect(where, "local x", local->x(), 1, mostLocal);
    expect(where, "local y", local->y(), 1, mostLocal);
    expect(where, "local z", local->z(), 1, mostLocal);
    expect(where, "shared", pipeline->shared(), 0, maxShared + 1);
    expect(where, "local", local->x() * local->y() * local->z(), 1, mostLocal);
  }

  const bundle::Bundle *bundle_;
  const bundle::Gpu *gpu_;
  Where overlay_ = {nullptr, "gpu"};
  uint64_t codeSize_ = 0; ///< bytes
};

/// Checks the tables of one program.
class OverlayVerifier : public Checks {
public:
  OverlayVerifier(const bundle::Bundle *bundle,
                  const bundle::GpuOverlays *overlays,
                  const bundle::Program *program, uint32_t number, Fault &fault)
      : Checks(fault), bundle_(bundle), code_(overlays->gpu()),
        target_(targetOf(bundle, program)), program_(program),
        head_(findOverlay(program, bundle::OverlayKind_Gpu)->head()),
        gpu_(overlayOf(overlays, program)), executes_(numExecutes(program)),
        root_{nullptr, "program", number} {}

  bool verify() {
    return hold([this] {
      if (!numLanes(program_))
        refuse(overlay_, "found no lanes of the program, which it needs");
      verifyProcessor();
      forEach(&overlay_, "memory", gpu_->memories(), &Self::verifyMemory);
      forEach(&overlay_, "boundary", gpu_->boundaries(), &Self::verifyBoundary);
      forEach(&overlay_, "preparation", gpu_->preparations(),
              &Self::verifyPreparation);
      expect(overlay_, "Device preparations", devices_, 1, 2);
      forEach(&overlay_, "stretch", gpu_->stretches(), &Self::verifyStretch);
      forEach(&overlay_, "warm", gpu_->warm(), &Self::verifyWarm);
      verifyRecords();
    });
  }

private:
  using Self = OverlayVerifier;

  void verifyProcessor() {
    uint32_t code = target_->processors()->Get(head_->processor())->code();
    if (code != code_->code())
      refuse(overlay_, "code: found segment %u|%u, its processor's",
             code_->code(), code);
  }

  void verifyMemory(const Where &where, const bundle::Memory *memory) {
    uint64_t alignment = memory->alignment();
    expect(where, "processor", memory->processor(), head_->processor(),
           uint64_t(head_->processor()) + 1);
    expect(where, "size", memory->size(), 0, maxBytes + 1);
    if (alignment < gpuAlignment || (alignment & (alignment - 1)))
      refuse(where,
             "alignment: found %" PRIu64 "|a power of two, at least %" PRIu64,
             alignment, gpuAlignment);
    sizes_[memory->kind()] = memory->size();
  }

  void verifyBoundary(const Where &where, const bundle::Boundary *boundary) {
    const bundle::Operand *host = boundary->host();
    uint64_t size;
    bool isMemory = host->space() == bundle::Space_Memory;
    if (!spaceSize(bundle_, program_, host, size) ||
        host->space() == bundle::Space_Weights ||
        (isMemory && !isIn(program_, host, bundle::MemoryKind_Arena)))
      refuse(where, "host: found %s %u|the arena, an input or an output",
             bundle::EnumNameSpace(host->space()), host->index());
    // Where the GPU works in the arena, addresses are aligned for it.
    uint64_t alignment = isMemory ? gpuAlignment : 1;
    if (isMemory &&
        program_->memories()->Get(host->index())->alignment() % gpuAlignment)
      refuse(where, "host: found an arena at multiples of %" PRIu64 "|%" PRIu64,
             program_->memories()->Get(host->index())->alignment(),
             gpuAlignment);
    expectInside(where, host->offset(), host->size(), alignment, size,
                 "its host");
    expectInside(where, boundary->device(), host->size(), gpuAlignment,
                 sizes_[bundle::MemoryKind_Arena], "the GPU's arena");
  }

  void verifyPreparation(const Where &where,
                         const bundle::GpuPreparation *preparation) {
    bundle::GpuStage stage = preparation->stage();
    bool isPipeline = stage == bundle::GpuStage_Pipeline,
         isUpload = stage == bundle::GpuStage_Upload,
         isRecord = stage == bundle::GpuStage_Record;
    devices_ += stage == bundle::GpuStage_Device;
    expect(where, "pipelines", elementsOf(preparation->pipelines()).size(),
           isPipeline, isPipeline ? anyNumber : 1);
    expect(where, "uploads", elementsOf(preparation->uploads()).size(),
           isUpload, isUpload ? anyNumber : 1);
    expect(where, "stretch", preparation->stretch(), 0,
           isRecord ? gpu_->stretches()->size() : 1);
    for (uint32_t pipeline : elementsOf(preparation->pipelines()))
      expect(where, "pipeline", pipeline, 0, code_->pipelines()->size());
    forEach(&where, "upload", preparation->uploads(), &Self::verifyUpload);
  }

  void verifyUpload(const Where &where, const bundle::Upload *upload) {
    const bundle::Operand *source = upload->source();
    uint64_t available, size = upload->size();
    bool isPrepared = source->space() == bundle::Space_Memory;
    if (!spaceSize(bundle_, program_, source, available) ||
        (!isPrepared && source->space() != bundle::Space_Weights) ||
        (isPrepared && !isIn(program_, source, bundle::MemoryKind_Prepared)))
      refuse(where, "source: found %s %u|weights or prepared ones",
             bundle::EnumNameSpace(source->space()), source->index());
    // Weights that are stored as they are can be used where they lie, by
    // devices that can.
    uint8_t planes = upload->planes();
    bool isStored = upload->codec() == bundle::Codec_Stored;
    bool isPlain = isStored && planes == 1;
    expectInside(where, source->offset(), source->size(),
                 isPlain && !isPrepared ? gpuAlignment : 1, available,
                 "its source");
    expectInside(where, upload->offset(), size, gpuAlignment,
                 sizes_[bundle::MemoryKind_Prepared],
                 "the GPU's prepared memory");
    if (!arePlanes(planes, size) || (isStored && source->size() != size))
      refuse(where,
             "found %" PRIu64 " bytes, in %u planes, of %" PRIu64
             "|1, 2, 4 or 8 of whole elements, and stored ones to be as many",
             size, planes, source->size());
  }

  void verifyStretch(const Where &where, const bundle::Stretch *stretch) {
    expect(where, "first", stretch->first(), 0, executes_);
    expect(where, "count", stretch->count(), 1,
           uint64_t(executes_) - stretch->first() + 1);
    if (last_ && (stretch->first() < last_->first() ||
                  (stretch->first() == last_->first() &&
                   stretch->count() > last_->count())))
      refuse(where, "found it behind one that starts later, or is shorter|them "
                    "by `first`, then longest first");
    last_ = stretch;
    forEach(&where, "dispatch", stretch->dispatches(), &Self::verifyDispatch,
            stretch);
    forEach(&where, "in", stretch->in(), &Self::verifyRows, false);
    forEach(&where, "out", stretch->out(), &Self::verifyRows, true);
  }

  void verifyDispatch(const Where &where, const bundle::Dispatch *dispatch,
                      const bundle::Stretch *stretch) {
    uint64_t first = stretch->first();
    constexpr uint64_t mostGroups = maxGroups + 1;
    const bundle::GpuExtent *groups = dispatch->groups();
    expect(where, "operation", dispatch->operation(), first,
           first + stretch->count());
    expect(where, "pipeline", dispatch->pipeline(), 0,
           code_->pipelines()->size());
    expect(where, "groups x", groups->x(), 1, mostGroups);
    expect(where, "groups y", groups->y(), 1, mostGroups);
    expect(where, "groups z", groups->z(), 1, mostGroups);
    const bundle::GpuPipeline *pipeline =
        code_->pipelines()->Get(dispatch->pipeline());
    uint64_t bindings = pipeline->bindings(), push = pipeline->push_words();
    expect(where, "operands", dispatch->operands()->size(), bindings,
           bindings + 1);
    expect(where, "words of push", elementsOf(dispatch->push()).size(), push,
           push + 1);
    verifyTiles(where, dispatch);
    forEach(&where, "operand", dispatch->operands(), &Self::verifyOperand,
            pipeline->written());
  }

  /// Checks that it computes all of its tiles, and which boxes those are.
  void verifyTiles(const Where &where, const bundle::Dispatch *dispatch) {
    const bundle::GpuExtent *groups = dispatch->groups();
    uint64_t tiles = uint64_t(groups->x()) * groups->y() * groups->z(),
             begin = dispatch->tile_begin(), end = dispatch->tile_end();
    if (begin || end != tiles)
      refuse(where, "tiles: found %" PRIu64 " to %" PRIu64 "|all %" PRIu64,
             begin, end, tiles);
    uint32_t written = code_->pipelines()->Get(dispatch->pipeline())->written();
    auto outputs = static_cast<uint32_t>(__builtin_popcount(written));
    uint32_t maps = elementsOf(dispatch->maps()).size();
    if (maps && maps != outputs)
      refuse(where,
             "maps: found %u|none or one for each of %u written operands", maps,
             outputs);
    for (uint32_t i = 0; i < maps; ++i)
      if (const char *wrong = findWrong(dispatch->maps()->Get(i), tiles))
        refuse({&where, "tile map", i}, "%s", wrong);
  }

  void verifyOperand(const Where &where, const bundle::GpuOperand *operand,
                     uint32_t written) {
    bool isWritten = written >> where.index & 1;
    bool isBoundary = operand->space() == bundle::GpuSpace_Boundary;
    expect(where, "index", operand->index(), 0,
           isBoundary ? gpu_->boundaries()->size() : 1);
    expect(where, "size", operand->size(), 1, uint64_t(1) << 32);

    uint64_t available =
        isBoundary ? gpu_->boundaries()->Get(operand->index())->host()->size()
                   : sizes_[operand->space() == bundle::GpuSpace_Arena
                                ? bundle::MemoryKind_Arena
                                : bundle::MemoryKind_Prepared];
    expectInside(where, operand->offset(), operand->size(), gpuAlignment,
                 available, bundle::EnumNameGpuSpace(operand->space()));
    if (isWritten && (isBoundary ? !mayBeWritten(operand->index())
                                 : operand->space() != bundle::GpuSpace_Arena))
      refuse(
          where,
          "found a write to %s|the GPU's arena, or a boundary in the CPU's or "
          "an output",
          isBoundary ? "an input" : "weights");
  }

  void verifyRows(const Where &where, const bundle::Rows *rows,
                  bool isWritten) {
    expect(where, "boundary", rows->boundary(), 0, gpu_->boundaries()->size());
    expectInside(where, rows->offset(), rows->bytes(), 1,
                 gpu_->boundaries()->Get(rows->boundary())->host()->size(),
                 "the boundary");
    if (isWritten && !mayBeWritten(rows->boundary()))
      refuse(where, "found an input|the arena or an output");
  }

  void verifyWarm(const Where &where, uint32_t index) {
    expect(where, "stretch", index, 0, gpu_->stretches()->size());
    const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
    if (stretch->first() < warmEnd_)
      refuse(where,
             "found a stretch from execute %u on|%" PRIu64
             " or later, where the one before ends",
             stretch->first(), warmEnd_);
    warmEnd_ = uint64_t(stretch->first()) + stretch->count();
  }

  /// The head says what a recorder has room for: a submission, its kernels, and
  /// the parts of a split stretch.
  void verifyRecords() {
    auto recordsOf = [](const bundle::Stretch *stretch) {
      return uint64_t(1) + stretch->dispatches()->size() +
             elementsOf(stretch->parts()).size();
    };
    uint64_t cold = 0, warm = 0;
    for (const bundle::Stretch *stretch : *gpu_->stretches())
      cold += stretch->cold() ? recordsOf(stretch) : 0;
    for (uint32_t index : elementsOf(gpu_->warm()))
      warm += recordsOf(gpu_->stretches()->Get(index));
    expect(overlay_, "cold_records", head_->cold_records(), cold, cold + 1);
    expect(overlay_, "warm_records", head_->warm_records(), warm, warm + 1);
  }

  /// Whether the CPU's bytes of a boundary are no caller's input.
  bool mayBeWritten(uint32_t boundary) const {
    return gpu_->boundaries()->Get(boundary)->host()->space() !=
           bundle::Space_Input;
  }

  const bundle::Bundle *bundle_;
  const bundle::Gpu *code_;
  const bundle::Target *target_;
  const bundle::Program *program_;
  const bundle::OverlayHead *head_;
  const bundle::ProgramGpu *gpu_;
  uint32_t executes_;
  Where root_, overlay_ = {&root_, "gpu"};
  uint64_t sizes_[bundle::MemoryKind_MAX + 1] = {}; ///< of the GPU's memories
  uint32_t devices_ = 0;                            ///< preparations of it
  const bundle::Stretch *last_ = nullptr;           ///< that was looked at
  uint64_t warmEnd_ = 0; ///< of the last warm stretch so far
};

} // namespace

const bundle::GpuOverlays *verifyOverlays(const bundle::Bundle *bundle,
                                          uint32_t segment, const void *bytes,
                                          Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(bytes) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *buffer = static_cast<const uint8_t *>(bytes);
  if (!verifyOverlaysBuffer(buffer, bundle->segments()->Get(segment)->size(),
                            fault))
    return nullptr;
  auto *overlays = flatbuffers::GetRoot<bundle::GpuOverlays>(buffer);
  if (!TablesVerifier(bundle, overlays->gpu(), fault).verify())
    return nullptr;
  auto check = [&](const bundle::Program *program, uint32_t number) {
    const bundle::ProgramGpu *gpu = gpuOf(bundle, overlays, program);
    return !gpu || (OverlayVerifier(bundle, overlays, program, number, fault)
                        .verify() &&
                    verifySplits(bundle, overlays, program, number, fault) &&
                    verifyPlan(targetOf(bundle, program), program, gpu, number,
                               fault) &&
                    verifyFlow(bundle, overlays, program, number, fault));
  };
  bool isGood =
      checkOverlays(bundle, bundle::OverlayKind_Gpu,
                    overlays->programs()->size(), "overlay", fault, check);
  return isGood ? overlays : nullptr;
}

bool verifyOverlaysIn(const bundle::Bundle *bundle, const void *image,
                      Fault &fault) {
  return checkOverlayIn(bundle, gpuOverlayIn(bundle), image, fault,
                        [&](uint32_t segment, const uint8_t *bytes) {
                          return verifyOverlays(bundle, segment, bytes, fault);
                        });
}

bool verifyModule(const bundle::Gpu *gpu, uint32_t index, const void *words,
                  Fault &fault) {
  const bundle::GpuModule *module = gpu->modules()->Get(index);
  Digest digest = digestOf(words, module->words() * sizeof(uint32_t));
  if (memcmp(digest.bytes, module->digest()->data(), sizeof digest) == 0)
    return true;
  return fault.set(Fault::Untrusted,
                   "gpu: module %u: digest does not match (damaged)", index);
}

} // namespace nnv12::artifact
