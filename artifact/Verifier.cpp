//===- Verifier.cpp - Checks a bundle before anyone uses it ---------------===//
#include "artifact/Verifier.h"

#include "artifact/Compatibility.h"
#include "artifact/KernelChecks.h"
#include "artifact/MetadataBudget.h"
#include "artifact/PlanVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/Sodium.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>

namespace nnv12::artifact {

namespace {

/// Where an operand may lie: memories by kind, then the other spaces.
enum Place : unsigned {
  ArenaPlace = 1u << bundle::MemoryKind_Arena,
  PreparedPlace = 1u << bundle::MemoryKind_Prepared,
  WeightsPlace = 1u << (8 + bundle::Space_Weights),
  OutputPlace = 1u << (8 + bundle::Space_Output),
  anyPlace = ~0u
};

/// The place of an operand whose space and index are verified.
Place placeOf(const bundle::Program *program, const bundle::Operand *operand) {
  bool isMemory = operand->space() == bundle::Space_Memory;
  return Place(1u << (isMemory
                          ? program->memories()->Get(operand->index())->kind()
                          : 8 + operand->space()));
}

/// As messages call it: a memory by its kind.
const char *spaceName(const bundle::Program *program,
                      const bundle::Operand *operand) {
  if (operand->space() == bundle::Space_Memory &&
      operand->index() < program->memories()->size())
    return bundle::EnumNameMemoryKind(
        program->memories()->Get(operand->index())->kind());
  return bundle::EnumNameSpace(operand->space());
}

/// Which places the operands of a kind of operation may lie in.
struct StageRule {
  unsigned writes, reads;
  const char *writesText, *readsText;
  /// Numbers of operands without a kernel; 0: the kernel has them.
  uint8_t written, operands;
};

/// By OperationKind.
constexpr StageRule stageRules[] = {
    {ArenaPlace | OutputPlace, anyPlace, "Arena or Output", "any", 0, 0},
    {0, WeightsPlace, "nothing", "Weights", 0, 1},
    {PreparedPlace, WeightsPlace, "Prepared", "Weights", 1, 2},
    {PreparedPlace, WeightsPlace | PreparedPlace, "Prepared",
     "Weights or Prepared", 0, 0}};

/// Walks the metadata.
class MetadataVerifier : public KernelChecks {
public:
  MetadataVerifier(const bundle::Bundle *bundle, uint64_t fileSize,
                   Fault &fault)
      : KernelChecks(fault), bundle_(bundle), fileSize_(fileSize) {}

  bool verify() {
    return hold([this] {
      if (!isUnderstood(bundle_, fault))
        fail();
      forEach(nullptr, "segment", bundle_->segments(), &Self::verifySegment);
      verifyPrograms();
      verifyProperties();
    });
  }

private:
  using Self = MetadataVerifier;
  using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

  /// `others`: those of the first program, which are the same but for shapes.
  void verifyTensors(const Where &program, const char *what,
                     const TensorList *tensors, const TensorList *others) {
    if (tensors->size() != others->size())
      refuse(program, "%ss: found %u|%u, as in the first program", what,
             tensors->size(), others->size());
    for (unsigned i = 0; i < tensors->size(); ++i) {
      const bundle::Tensor *tensor = tensors->Get(i), *other = others->Get(i);
      Where where = {&program, what, i};
      if (tensor->type() != other->type() ||
          strcmp(tensor->name()->c_str(), other->name()->c_str()) != 0)
        refuse(where,
               "found %.60s of type %u|%.60s of type %u, as in the first "
               "program",
               tensor->name()->c_str(), tensor->type(), other->name()->c_str(),
               other->type());
      if (tensor->shape()->size() > maxRank)
        refuse(where, "rank: found %u|at most %u", tensor->shape()->size(),
               maxRank);
      // A zero extent does not excuse absurd ones: their product without it
      // must be sane too, which also keeps strides from overflowing.
      uint64_t bytes = elementSize(tensor->type());
      for (int64_t extent : *tensor->shape()) {
        if (extent < 0 || uint64_t(extent) > maxBytes)
          refuse(where, "shape: found an extent of %" PRId64 "|0 to 2^46",
                 extent);
        if (extent && bytes > maxBytes / uint64_t(extent))
          refuse(where, "shape: found more than 2^46 bytes");
        bytes *= extent ? uint64_t(extent) : 1;
      }
    }
  }

  /// Segments that lie in one file and share nothing are no larger than it: all
  /// of them can be hashed in one go over it.
  void verifySegment(const Where &where, const bundle::Segment *segment) {
    if (segment->offset() % segmentAlignment)
      refuse(where, "offset: found %" PRIu64 "|a multiple of %" PRIu64,
             segment->offset(), segmentAlignment);
    if (!fits(segment->offset(), segment->size(), fileSize_))
      refuse(where,
             "found %" PRIu64 " bytes at %" PRIu64
             "|them inside the file's %" PRIu64,
             segment->size(), segment->offset(), fileSize_);
    if (segment->digest()->size() != sizeof(Digest))
      refuse(where, "digest: found %u bytes|%zu", segment->digest()->size(),
             sizeof(Digest));
    if (segment->size() > bytesLeft_)
      refuse(where,
             "found more bytes in segments than the file's %" PRIu64
             "|them not to overlap",
             fileSize_);
    bytesLeft_ -= segment->size();
  }

  /// Any text will do. Keys in order are each there once.
  void verifyProperties() {
    const auto &list = elementsOf(bundle_->properties());
    if (list.size() > maxProperties)
      refuse({nullptr, "properties"}, "found %u|at most %u", list.size(),
             maxProperties);
    const char *last = "";
    for (unsigned i = 0; i < list.size(); ++i) {
      const char *key = list.Get(i)->key()->c_str();
      if (strcmp(last, key) >= 0)
        refuse({nullptr, "property", i},
               "key: found one that is empty, or not behind that before it");
      last = key;
    }
  }

  void verifyPrograms() {
    if (bundle_->programs()->size() == 0)
      refuse({nullptr, "programs"}, "found none|at least one");
    if (bundle_->programs()->size() > maxPrograms)
      refuse({nullptr, "programs"}, "found %u|at most %u",
             bundle_->programs()->size(), maxPrograms);
    uint32_t count = bundle_->targets()->size();
    if (count > maxPrograms)
      refuse({nullptr, "targets"}, "found %u|at most %u", count, maxPrograms);
    // One that nobody here can run is not looked at.
    Fault why, later;
    uint64_t known = 0, strange = 0; // a bit a target: of such programs
    for (unsigned i = 0; i < bundle_->programs()->size(); ++i) {
      program_ = bundle_->programs()->Get(i);
      Where where = {nullptr, "program", i};
      expect(where, "target", program_->target(), 0, count);
      uint64_t bit = uint64_t(1) << program_->target();
      Fault &reason = why.code == Fault::None ? why : later;
      if (!isUnderstood(bundle_, i, reason)) {
        strange |= bit;
        continue;
      }
      target_ = targetOf(bundle_, program_);
      if (!(known & bit))
        verifyTarget({nullptr, "target", program_->target()});
      known |= bit;
      verifyProgram(where);
    }
    verifyProcessors(known & ~strange);
    if (known)
      return;
    fault.set(
        why.code,
        "programs: found none of %u that this reader knows all of: %.300s",
        bundle_->programs()->size(), why.text);
    fail();
  }

  void verifyTarget(const Where &where) {
    uint32_t processors = target_->processors()->size();
    if (processors == 0 || processors > maxProcessors)
      refuse(where, "processors: found %u|1 to %u", processors, maxProcessors);
    forEach(&where, "processor", target_->processors(), &Self::verifyCode);
    forEach(&where, "kernel", target_->kernels(), &Self::verifyKernel);
  }

  /// Checks the code of a processor, if this reader knows its use: it is the
  /// first one or a GPU.
  void verifyCode(const Where &where, const bundle::Processor *processor) {
    bool isGpu = processor->kind() == bundle::ProcessorKind_Gpu;
    if (where.index && !isGpu)
      return;
    uint32_t code = processor->code();
    if (code >= bundle_->segments()->size() ||
        bundle_->segments()->Get(code)->kind() !=
            (isGpu ? bundle::SegmentKind_Spirv : bundle::SegmentKind_Code))
      refuse(where, "code: found %u|a %s segment", code,
             isGpu ? "SPIR-V" : "code");
    uint64_t offset = bundle_->segments()->Get(code)->offset();
    uint64_t alignment =
        isGpu ? 1 : codeAlignment(processor->architecture()->c_str());
    if (offset % alignment)
      refuse(where,
             "code: found segment %u at %" PRIu64 "|a multiple of %" PRIu64,
             code, offset, alignment);
  }

  /// Operations of programs that are understood run on processor 0. `targets`:
  /// a bit for each target that no other programs have.
  void verifyProcessors(uint64_t targets) {
    for (uint32_t i = 0; i < bundle_->targets()->size(); ++i)
      for (uint32_t k = 1; targets >> i & 1 &&
                           k < bundle_->targets()->Get(i)->processors()->size();
           ++k)
        if (!(overlaid_[i] >> k & 1)) {
          Where where = {nullptr, "target", i};
          refuse({&where, "processor", k},
                 "found no operation and no overlay that it runs|one");
        }
  }

  /// Overlays of kinds that this reader does not know are left alone.
  void verifyOverlay(const Where &where, const bundle::Overlay *overlay) {
    bundle::OverlayKind kind = overlay->kind();
    uint32_t segment = overlay->segment(),
             processor = overlay->head()->processor();
    if (findOverlay(program_, kind) != overlay)
      refuse(where, "kind: found a second one of kind %u|one of a kind", kind);
    expect(where, "processor", processor, 0, target_->processors()->size());
    overlaid_[program_->target()] |= uint64_t(1) << processor;
    if (kind > bundle::OverlayKind_MAX)
      return;
    uint32_t found = target_->processors()->Get(processor)->kind();
    bool isGpu = kind == bundle::OverlayKind_Gpu;
    if (isGpu && found != bundle::ProcessorKind_Gpu)
      refuse(where, "processor: found %u of kind %u|one of kind %u (Gpu)",
             processor, found, bundle::ProcessorKind_Gpu);
    if (!isGpu && processor)
      refuse(where, "processor: found %u|0, the CPU", processor);
    if (segment >= bundle_->segments()->size() ||
        bundle_->segments()->Get(segment)->kind() !=
            bundle::SegmentKind_Overlays)
      refuse(where, "segment: found %u|one of kind %u (Overlays)", segment,
             bundle::SegmentKind_Overlays);
    const bundle::Overlay *&first = firstOverlays_[kind];
    if (!first)
      first = overlay;
    if (segment != first->segment())
      refuse(where, "segment: found %u|%u, as in programs before it", segment,
             first->segment());
  }

  void verifyMemory(const Where &where, const bundle::Memory *memory) {
    const char *kind = bundle::EnumNameMemoryKind(memory->kind());
    expect(where, "processor", memory->processor(), 0,
           target_->processors()->size());
    if (memory->size() > maxBytes)
      refuse(*where.outer,
             "memory %u (%s): found %" PRIu64 " bytes|at most 2^46",
             where.index, kind, memory->size());
    uint64_t alignment = memory->alignment();
    if (alignment == 0 || (alignment & (alignment - 1)))
      refuse(*where.outer,
             "memory %u (%s): alignment: found %" PRIu64 "|a power of two",
             where.index, kind, alignment);
  }

  void verifyProgram(const Where &where) {
    if (!first_)
      first_ = program_;
    verifyTensors(where, "input", program_->inputs(), first_->inputs());
    verifyTensors(where, "output", program_->outputs(), first_->outputs());
    forEach(&where, "memory", program_->memories(), &Self::verifyMemory);
    forEach(&where, "overlay", program_->overlays(), &Self::verifyOverlay);
    forEach(&where, "operation", program_->operations(),
            &Self::verifyOwnOperation);
    forEach(&where, "switch", program_->switches(), &Self::verifySwitch);
    if (!verifyPlan(target_, program_, /*gpu=*/nullptr, where.index, fault))
      fail();
  }

  void verifyKernel(const Where &where, const bundle::Kernel *kernel) {
    expectGood(where, bundle_, target_, kernel);
  }

  void verifyOwnOperation(const Where &where,
                          const bundle::Operation *operation) {
    constexpr bundle::OperationKind execute = bundle::OperationKind_Execute;
    bundle::OperationKind before =
        where.index ? program_->operations()->Get(where.index - 1)->kind()
                    : execute;
    if (operation->kind() == execute && before != execute)
      refuse(where, "kind: found an Execute behind a %s|executes first",
             bundle::EnumNameOperationKind(before));
    verifyOperation(where, operation);
    verifyStorage(where, operation);
    verifyLastReader(where, operation);
  }

  /// Checks an operation of any kind, a switch's too.
  void verifyOperation(const Where &where, const bundle::Operation *operation) {
    const StageRule &rule = stageRules[operation->kind()];
    if (hasKernel(operation))
      expect(where, "kernel", operation->kernel(), 0,
             target_->kernels()->size());
    const bundle::Kernel *kernel =
        hasKernel(operation) ? kernelOf(target_, operation) : nullptr;
    uint32_t operands = kernel ? kernel->operands() : rule.operands;
    uint32_t written = kernel ? kernel->outputs() : rule.written;
    if (operation->operands()->size() != operands)
      refuse(where, "operands: found %u|the %s's %u",
             operation->operands()->size(), kernel ? "kernel" : "stage",
             operands);
    uint64_t tiles = !kernel ? 0 : kernel->tiles() ? kernel->tiles() : maxTiles;
    if (operation->tile_begin() > operation->tile_end() ||
        operation->tile_end() > tiles)
      refuse(where,
             "tiles: found %" PRIu64 " to %" PRIu64
             "|a range of at most %" PRIu64,
             operation->tile_begin(), operation->tile_end(), tiles);
    for (unsigned i = 0; i < operands; ++i) {
      const bundle::Operand *operand = operation->operands()->Get(i);
      const char *space = spaceName(program_, operand);
      Where here = {&where, "operand", i};
      uint64_t size;
      if (!spaceSize(bundle_, program_, operand, size))
        refuse(here, "found %s %u, which does not exist", space,
               operand->index());
      bool isWritten = i < written;
      if (!((isWritten ? rule.writes : rule.reads) &
            placeOf(program_, operand)))
        refuse(here, "found a %s %s|%s", isWritten ? "write to" : "read of",
               space, isWritten ? rule.writesText : rule.readsText);
      if (!fits(operand->offset(), operand->size(), size))
        refuse(here,
               "found %" PRIu64 " bytes at %" PRIu64 "|them inside the %" PRIu64
               " of %s %u",
               operand->size(), operand->offset(), size, space,
               operand->index());
    }
  }

  /// Checks a decode's facts about its stored bytes.
  void verifyStorage(const Where &where, const bundle::Operation *operation) {
    if (operation->kind() != bundle::OperationKind_Decode)
      return;
    uint64_t size = operation->operands()->Get(0)->size();
    uint8_t planes = operation->planes();
    if (!arePlanes(planes, size))
      refuse(where,
             "planes: found %u for %" PRIu64
             " bytes|1, 2, 4 or 8, and whole elements",
             planes, size);
    uint64_t stored = operation->operands()->Get(1)->size();
    if (operation->codec() == bundle::Codec_Stored && stored != size)
      refuse(where,
             "found %" PRIu64 " stored bytes|the %" PRIu64 " of its operand 0",
             stored, size);
    // No frame is empty, so that one that could not be made cannot pass for
    // one.
    if (stored == 0 && size != 0)
      refuse(where, "found 0 stored bytes|a frame of %" PRIu64, size);
  }

  void verifyLastReader(const Where &where,
                        const bundle::Operation *operation) {
    bool mayBe = operation->kind() == bundle::OperationKind_Decode ||
                 operation->kind() == bundle::OperationKind_Transform;
    if (operation->last_reader() &&
        !(mayBe && operation->operands()->size() > 1 &&
          operation->operands()->Get(1)->space() == bundle::Space_Weights))
      refuse(where, "last_reader: found it set|it of a decode or transform of "
                    "Weights alone");
  }

  void verifySwitch(const Where &where, const bundle::Switch *change) {
    uint32_t executes = numExecutes(program_);
    if (change->operation() >= executes)
      refuse(where, "operation: found %u|an execute, less than %u",
             change->operation(), executes);
    const bundle::Operation *operation = change->replacement();
    if (operation->kind() != bundle::OperationKind_Execute)
      refuse(where, "kind: found %u|%u (Execute)", operation->kind(),
             bundle::OperationKind_Execute);
    verifyOperation(where, operation);
    verifyLastReader(where, operation);
  }

  const bundle::Bundle *bundle_;
  uint64_t fileSize_;
  uint64_t bytesLeft_ = fileSize_;           ///< for segments
  const bundle::Program *program_ = nullptr; ///< that is looked at
  const bundle::Target *target_ = nullptr;   ///< of the program
  const bundle::Program *first_ = nullptr;   ///< the first that is understood
  /// The first one of each kind.
  const bundle::Overlay *firstOverlays_[bundle::OverlayKind_MAX + 1] = {};
  uint64_t overlaid_[maxPrograms] = {}; ///< by target, a bit a processor: named
                                        ///< by an overlay's head
};

} // namespace

const bundle::Bundle *verifyMetadata(const void *metadata, size_t size,
                                     uint64_t fileSize, Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(metadata) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *bytes = static_cast<const uint8_t *>(metadata);
  if (!verifyFlatBuffer(bytes, size, fault))
    return nullptr;
  const bundle::Bundle *bundle = bundle::GetBundle(bytes);
  return MetadataVerifier(bundle, fileSize, fault).verify() ? bundle : nullptr;
}

static bool isZero(const uint8_t *bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](uint8_t byte) { return !byte; });
}

bool verifyHeader(const void *data, size_t size, const uint8_t *publicKey,
                  Header &header, Fault &fault) {
  if (size == 0)
    return fault.set(Fault::BadBundle, "file: empty, expected a bundle");
  if (memcmp(data, magic, size < sizeof magic ? size : sizeof magic) != 0)
    return fault.set(Fault::BadBundle,
                     "magic: not a bundle (foreign file, or one damaged by a "
                     "transfer in text mode)");
  if (size < sizeof(Header))
    return fault.set(Fault::BadBundle,
                     "header: found %zu bytes, expected %zu (truncated)", size,
                     sizeof(Header));
  // From here on the copy alone: the file may change.
  memcpy(&header, data, sizeof header);
  if (memcmp(header.magic, magic, sizeof magic) != 0)
    return fault.set(Fault::BadBundle, "magic: changed while it was read");
  // The version comes before the rest: another version may have other rules.
  if (header.version != formatVersion)
    return fault.set(Fault::Unsupported,
                     "format version: found %u, expected %u (%s)",
                     header.version, formatVersion,
                     header.version < formatVersion
                         ? "compile the model again"
                         : "the bundle is newer than this reader");
  if (digestOf(&header, offsetof(Header, headerDigest)) != header.headerDigest)
    return fault.set(Fault::BadBundle,
                     "header: digest does not match (damaged)");
  // And the signature before all that an attacker could have written. It covers
  // the header's bytes before it: the digest of the metadata, and by way of
  // that the metadata and all segments.
  if (publicKey && !header.isSigned)
    return fault.set(Fault::Untrusted,
                     "signature: found none, expected one by the given public "
                     "key");
  if (publicKey &&
      !verifySignature(header.signature, &header, offsetof(Header, signature),
                       publicKey, fault))
    return false;
  if (header.fileSize != size)
    return fault.set(
        Fault::BadBundle, "file size: found %zu, expected %" PRIu64 "%s", size,
        header.fileSize, size < header.fileSize ? " (truncated)" : "");
  if (!fits(header.metadataOffset, header.metadataSize, size) ||
      header.metadataOffset < sizeof(Header) || header.metadataOffset % 64)
    return fault.set(Fault::BadBundle,
                     "metadata: found %" PRIu64 " bytes at %" PRIu64
                     ", expected them behind the header, 64-byte aligned and "
                     "inside the file's %zu",
                     header.metadataSize, header.metadataOffset, size);
  if (header.isSigned > 1 || !isZero(header.reserved, sizeof header.reserved) ||
      !isZero(header.reserved2, sizeof header.reserved2))
    return fault.set(Fault::BadBundle, "header: reserved bytes are not zero");
  return true;
}

const bundle::Bundle *verifyMetadata(const Header &header, const void *metadata,
                                     Fault &fault) {
  if (digestOf(metadata, header.metadataSize) != header.metadataDigest) {
    fault.set(Fault::BadBundle, "metadata: digest does not match (damaged)");
    return nullptr;
  }
  return verifyMetadata(metadata, header.metadataSize, header.fileSize, fault);
}

const bundle::Bundle *verifyBundle(const void *data, size_t size, Fault &fault,
                                   const uint8_t *publicKey) {
  Header header;
  if (!verifyHeader(data, size, publicKey, header, fault))
    return nullptr;
  auto *image = static_cast<const uint8_t *>(data);
  const bundle::Bundle *bundle =
      verifyMetadata(header, image + header.metadataOffset, fault);
  return bundle && verifyOverlaysIn(bundle, data, fault) &&
                 verifyVideoIn(bundle, data, fault)
             ? bundle
             : nullptr;
}

bool verifySegment(const bundle::Bundle *bundle, uint32_t index,
                   const void *bytes, Fault &fault) {
  const bundle::Segment *segment = bundle->segments()->Get(index);
  const auto *expected = segment->digest();
  assert(expected && "the metadata was verified");
  Digest digest = digestOf(bytes, segment->size());
  if (memcmp(digest.bytes, expected->data(), sizeof digest) != 0)
    return fault.set(Fault::Untrusted,
                     "segment %u (%s): digest does not match (damaged)", index,
                     bundle::EnumNameSegmentKind(segment->kind()));
  return true;
}

} // namespace nnv12::artifact
