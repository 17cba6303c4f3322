//===- Verifier.cpp - Checks a bundle before anyone uses it ---------------===//
#include "artifact/Verifier.h"

#include "artifact/Compatibility.h"
#include "artifact/MetadataBudget.h"
#include "artifact/PlanVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/Sodium.h"

#include <cassert>
#include <cinttypes>

namespace nnv12::artifact {

namespace {

/// Walks the metadata. Each check returns false and sets the fault at the first
/// thing that is wrong.
class MetadataVerifier {
public:
  MetadataVerifier(const bundle::Bundle *bundle, uint64_t fileSize,
                   Fault &fault)
      : bundle_(bundle), fileSize_(fileSize), fault_(fault) {}

  bool verify() {
    return isUnderstood(bundle_, fault_) &&
           verifyTensors(bundle_->inputs(), "input") &&
           verifyTensors(bundle_->outputs(), "output") && verifySegments() &&
           verifyPrograms() && verifyProperties();
  }

private:
  using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

  bool verifyTensors(const TensorList *tensors, const char *what);
  bool verifySegments();
  bool verifyProperties();
  bool verifyPrograms();
  bool verifyProgram(const bundle::Program *program, unsigned number);
  bool verifyProcessors(const bundle::Program *program, unsigned number);
  bool verifyMemories(const bundle::Program *program, unsigned number);
  bool verifyKernel(const bundle::Program *program, unsigned number,
                    unsigned index);
  bool verifyOperation(const bundle::Program *program, unsigned number,
                       const char *what, unsigned index,
                       const bundle::Operation *operation);
  bool verifyStorage(unsigned number, unsigned index,
                     const bundle::Operation *operation);
  bool verifyLastReader(unsigned number, const char *what, unsigned index,
                        const bundle::Operation *operation);
  bool verifySwitch(const bundle::Program *program, unsigned number,
                    unsigned index);

  const bundle::Bundle *bundle_;
  uint64_t fileSize_;
  Fault &fault_;
};

} // namespace

bool MetadataVerifier::verifyTensors(const TensorList *tensors,
                                     const char *what) {
  for (unsigned i = 0; i < tensors->size(); ++i) {
    const bundle::Tensor *tensor = tensors->Get(i);
    if (tensor->shape()->size() > maxRank)
      return fault_.set(Fault::BadBundle,
                        "%s %u: rank: found %u, expected at most %u", what, i,
                        tensor->shape()->size(), maxRank);
    // A zero extent does not excuse absurd ones: their product without it must
    // be sane too, which also keeps strides from overflowing.
    uint64_t bytes = elementSize(tensor->type());
    for (int64_t extent : *tensor->shape()) {
      if (extent < 0 || uint64_t(extent) > maxBytes)
        return fault_.set(Fault::BadBundle,
                          "%s %u: shape: found an extent of %" PRId64
                          ", expected 0 to 2^46",
                          what, i, extent);
      if (extent && bytes > maxBytes / uint64_t(extent))
        return fault_.set(Fault::BadBundle,
                          "%s %u: shape: found more than 2^46 bytes", what, i);
      bytes *= extent ? uint64_t(extent) : 1;
    }
  }
  return true;
}

/// Segments that lie in one file and share nothing are no larger than it: all
/// of them can be hashed in one go over it.
bool MetadataVerifier::verifySegments() {
  uint64_t left = fileSize_;
  for (unsigned i = 0; i < bundle_->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle_->segments()->Get(i);
    if (segment->offset() % segmentAlignment)
      return fault_.set(Fault::BadBundle,
                        "segment %u: offset: found %" PRIu64
                        ", expected a multiple of %" PRIu64,
                        i, segment->offset(), segmentAlignment);
    if (!fits(segment->offset(), segment->size(), fileSize_))
      return fault_.set(Fault::BadBundle,
                        "segment %u: found %" PRIu64 " bytes at %" PRIu64
                        ", expected them inside the file's %" PRIu64,
                        i, segment->size(), segment->offset(), fileSize_);
    if (segment->digest()->size() != sizeof(Digest))
      return fault_.set(Fault::BadBundle,
                        "segment %u: digest: found %u bytes, expected %zu", i,
                        segment->digest()->size(), sizeof(Digest));
    if (segment->size() > left)
      return fault_.set(Fault::BadBundle,
                        "segment %u: found more bytes in segments than the "
                        "file's %" PRIu64 ", expected them not to overlap",
                        i, fileSize_);
    left -= segment->size();
  }
  return true;
}

/// Any text will do. Keys in order are each there once.
bool MetadataVerifier::verifyProperties() {
  const auto *list = bundle_->properties();
  if (!list)
    return true;
  if (list->size() > maxProperties)
    return fault_.set(Fault::BadBundle,
                      "properties: found %u, expected at most %u", list->size(),
                      maxProperties);
  const char *last = "";
  for (unsigned i = 0; i < list->size(); ++i) {
    const char *key = list->Get(i)->key()->c_str();
    if (strcmp(last, key) >= 0)
      return fault_.set(Fault::BadBundle,
                        "property %u: key: found one that is empty, or not "
                        "behind that before it",
                        i);
    last = key;
  }
  return true;
}

bool MetadataVerifier::verifyPrograms() {
  if (bundle_->programs()->size() == 0)
    return fault_.set(Fault::BadBundle,
                      "programs: found none, expected at least one");
  // One that nobody here can run is not looked at.
  Fault why, later;
  unsigned understood = 0;
  for (unsigned i = 0; i < bundle_->programs()->size(); ++i) {
    Fault &reason = why.code == Fault::None ? why : later;
    if (!isUnderstood(bundle_->programs()->Get(i), i, reason))
      continue;
    if (!verifyProgram(bundle_->programs()->Get(i), i))
      return false;
    ++understood;
  }
  return understood || fault_.set(why.code,
                                  "programs: found none of %u that this reader "
                                  "knows all of: %.300s",
                                  bundle_->programs()->size(), why.text);
}

bool MetadataVerifier::verifyProcessors(const bundle::Program *program,
                                        unsigned number) {
  if (program->processors()->size() == 0)
    return fault_.set(Fault::BadBundle,
                      "program %u: processors: found none, expected one",
                      number);
  const bundle::Processor *cpu = cpuOf(program);
  uint32_t code = cpu->code();
  if (code >= bundle_->segments()->size() ||
      bundle_->segments()->Get(code)->kind() != bundle::SegmentKind_Code)
    return fault_.set(Fault::BadBundle,
                      "program %u: code: found %u, expected a code segment",
                      number, code);
  uint64_t offset = bundle_->segments()->Get(code)->offset();
  uint64_t alignment = codeAlignment(cpu->architecture()->c_str());
  if (offset % alignment)
    return fault_.set(Fault::BadBundle,
                      "program %u: code: found segment %u at %" PRIu64
                      ", expected a multiple of %" PRIu64,
                      number, code, offset, alignment);
  return true;
}

bool MetadataVerifier::verifyMemories(const bundle::Program *program,
                                      unsigned number) {
  for (unsigned i = 0; i < program->memories()->size(); ++i) {
    const bundle::Memory *memory = program->memories()->Get(i);
    if (memory->processor() >= program->processors()->size())
      return fault_.set(Fault::BadBundle,
                        "program %u: memory %u: processor: found %u, expected "
                        "less than %u",
                        number, i, memory->processor(),
                        program->processors()->size());
    if (memory->size() > maxBytes)
      return fault_.set(Fault::BadBundle,
                        "program %u: memory %u (%s): found %" PRIu64
                        " bytes, expected at most 2^46",
                        number, i, bundle::EnumNameMemoryKind(memory->kind()),
                        memory->size());
    uint64_t alignment = memory->alignment();
    if (alignment == 0 || (alignment & (alignment - 1)))
      return fault_.set(Fault::BadBundle,
                        "program %u: memory %u (%s): alignment: found %" PRIu64
                        ", expected a power of two",
                        number, i, bundle::EnumNameMemoryKind(memory->kind()),
                        alignment);
  }
  return true;
}

bool MetadataVerifier::verifyProgram(const bundle::Program *program,
                                     unsigned number) {
  if (!verifyProcessors(program, number) || !verifyMemories(program, number))
    return false;
  for (unsigned i = 0; i < program->kernels()->size(); ++i)
    if (!verifyKernel(program, number, i))
      return false;
  bool inExecutes = true;
  for (unsigned i = 0; i < program->operations()->size(); ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    bool isExecute = operation->kind() == bundle::OperationKind_Execute;
    if (isExecute && !inExecutes)
      return fault_.set(Fault::BadBundle,
                        "program %u: operation %u: kind: found an Execute "
                        "behind a %s, expected executes first",
                        number, i,
                        bundle::EnumNameOperationKind(
                            program->operations()->Get(i - 1)->kind()));
    inExecutes = isExecute;
    if (!verifyOperation(program, number, "operation", i, operation) ||
        !verifyStorage(number, i, operation) ||
        !verifyLastReader(number, "operation", i, operation))
      return false;
  }
  for (unsigned i = 0; i < numSwitches(program); ++i)
    if (!verifySwitch(program, number, i))
      return false;
  return verifyPlan(program, /*gpu=*/nullptr, number, fault_);
}

/// Whether the pieces of a cut share out `length` positions, none of them
/// empty.
static bool sharesOut(uint64_t length, const bundle::TileCut *cut) {
  uint64_t count = cut->count(), size = cut->size();
  if (count == 1)
    return size >= length;
  // Both are bounded by the length, so that nothing overflows.
  return count && size && count <= length && size <= length &&
         count - 1 <= (length - 1) / size && count * size >= length;
}

/// The first fault of the boxes of a kernel of `tiles` tiles; null: none.
static const char *findWrong(const bundle::TileMap *map, uint64_t tiles) {
  uint32_t rank = map->axes()->size();
  if (rank > maxRank)
    return "found more than 64 axes";
  uint64_t last = 0; // the last element's place
  for (const bundle::TileAxis *axis : *map->axes()) {
    if (axis->extent() == 0 || axis->extent() > maxBytes ||
        axis->stride() > maxBytes / axis->extent())
      return "axes: found an extent or a stride out of range";
    last += (axis->extent() - 1) * axis->stride();
  }
  if (last > maxBytes)
    return "axes: found more than 2^46 elements";
  uint64_t total = 0;
  for (const bundle::TilePart *part : *map->parts()) {
    if (part->lo()->size() != rank || part->hi()->size() != rank)
      return "parts: found a box of another rank than the axes have";
    for (uint32_t i = 0; i < rank; ++i)
      if (part->lo()->Get(i) >= part->hi()->Get(i) ||
          part->hi()->Get(i) > map->axes()->Get(i)->extent())
        return "parts: found an empty box, or one that leaves the axes";
    uint64_t count = 1, cutAxes = 0;
    for (const bundle::TileCut *cut : *part->cuts()) {
      uint32_t axis = cut->axis();
      if (axis >= rank || (cutAxes >> axis & 1) ||
          !sharesOut(part->hi()->Get(axis) - part->lo()->Get(axis), cut))
        return "cuts: found one that does not share out its axis";
      cutAxes |= uint64_t(1) << axis;
      if (cut->count() > maxTiles / count)
        return "cuts: found more than 2^31 tiles";
      count *= cut->count();
    }
    total += count;
    if (total > maxTiles)
      return "cuts: found more than 2^31 tiles";
  }
  return total == tiles ? nullptr
                        : "cuts: found another number of tiles than the "
                          "kernel has";
}

bool MetadataVerifier::verifyKernel(const bundle::Program *program,
                                    unsigned number, unsigned index) {
  const bundle::Kernel *kernel = program->kernels()->Get(index);
  if (kernel->processor() >= program->processors()->size())
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: processor: found %u, expected "
                      "less than %u",
                      number, index, kernel->processor(),
                      program->processors()->size());
  const bundle::Processor *cpu = cpuOf(program);
  uint64_t codeSize = bundle_->segments()->Get(cpu->code())->size();
  if (kernel->entry() >= codeSize)
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: entry: found %u, expected less "
                      "than the code's %" PRIu64 " bytes",
                      number, index, kernel->entry(), codeSize);
  // The only instruction alignment that matters to us; x86-64 has none.
  if (kernel->entry() % 4 &&
      strcmp(cpu->architecture()->c_str(), "aarch64") == 0)
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: entry: found %u, expected a "
                      "multiple of 4",
                      number, index, kernel->entry());
  if (kernel->outputs() > kernel->operands())
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: outputs: found %u, expected at "
                      "most its %u operands",
                      number, index, kernel->outputs(), kernel->operands());
  if (kernel->scratch() > maxScratch)
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: scratch: found %" PRIu64
                      " bytes, expected at most 2^30",
                      number, index, kernel->scratch());
  if (kernel->tiles() > maxTiles)
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: tiles: found %" PRIu64
                      ", expected at most 2^31",
                      number, index, kernel->tiles());
  if (kernel->fingerprint() && kernel->fingerprint()->size() &&
      kernel->fingerprint()->size() != sizeof(Digest))
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: fingerprint: found %u bytes, "
                      "expected none or %zu",
                      number, index, kernel->fingerprint()->size(),
                      sizeof(Digest));
  uint32_t maps = kernel->maps() ? kernel->maps()->size() : 0;
  if (maps && maps != kernel->outputs())
    return fault_.set(Fault::BadBundle,
                      "program %u: kernel %u: maps: found %u, expected none or "
                      "one for each of %u outputs",
                      number, index, maps, kernel->outputs());
  for (uint32_t i = 0; i < maps; ++i)
    if (const char *wrong = findWrong(kernel->maps()->Get(i), kernel->tiles()))
      return fault_.set(Fault::BadBundle,
                        "program %u: kernel %u: tile map %u: %s", number, index,
                        i, wrong);
  return true;
}

/// Where an operand may lie: memories by kind, then the other spaces.
enum Place : unsigned {
  ArenaPlace = 1u << bundle::MemoryKind_Arena,
  PreparedPlace = 1u << bundle::MemoryKind_Prepared,
  WeightsPlace = 1u << 8,
  InputPlace = 1u << 9,
  OutputPlace = 1u << 10,
  anyPlace = ~0u
};

/// The place of an operand whose space and index are verified.
static Place placeOf(const bundle::Program *program,
                     const bundle::Operand *operand) {
  switch (operand->space()) {
  case bundle::Space_Memory:
    return Place(1u << program->memories()->Get(operand->index())->kind());
  case bundle::Space_Weights:
    return WeightsPlace;
  case bundle::Space_Input:
    return InputPlace;
  default:
    return OutputPlace;
  }
}

/// As messages call it: a memory by its kind.
static const char *spaceName(const bundle::Program *program,
                             const bundle::Operand *operand) {
  if (operand->space() == bundle::Space_Memory &&
      operand->index() < program->memories()->size())
    return bundle::EnumNameMemoryKind(
        program->memories()->Get(operand->index())->kind());
  return bundle::EnumNameSpace(operand->space());
}

namespace {
/// Which places the operands of a kind of operation may lie in.
struct StageRule {
  unsigned writes, reads;
  const char *writesText, *readsText;
  /// Numbers of operands without a kernel; 0: the kernel has them.
  uint8_t written, operands;
};
} // namespace

/// By OperationKind.
static constexpr StageRule stageRules[] = {
    {ArenaPlace | OutputPlace, anyPlace, "Arena or Output", "any", 0, 0},
    {0, WeightsPlace, "nothing", "Weights", 0, 1},
    {PreparedPlace, WeightsPlace, "Prepared", "Weights", 1, 2},
    {PreparedPlace, WeightsPlace | PreparedPlace, "Prepared",
     "Weights or Prepared", 0, 0}};

/// Checks an operation of any kind; `what` and `index` name it.
bool MetadataVerifier::verifyOperation(const bundle::Program *program,
                                       unsigned number, const char *what,
                                       unsigned index,
                                       const bundle::Operation *operation) {
  const StageRule &rule = stageRules[operation->kind()];
  bool hasKernel = rule.operands == 0;
  if (hasKernel && operation->kernel() >= program->kernels()->size())
    return fault_.set(Fault::BadBundle,
                      "program %u: %s %u: kernel: found %u, expected less than "
                      "%u",
                      number, what, index, operation->kernel(),
                      program->kernels()->size());
  const bundle::Kernel *kernel =
      hasKernel ? program->kernels()->Get(operation->kernel()) : nullptr;
  uint32_t operands = kernel ? kernel->operands() : rule.operands;
  uint32_t written = kernel ? kernel->outputs() : rule.written;
  if (operation->operands()->size() != operands)
    return fault_.set(Fault::BadBundle,
                      "program %u: %s %u: operands: found %u, expected the "
                      "%s's %u",
                      number, what, index, operation->operands()->size(),
                      kernel ? "kernel" : "stage", operands);
  uint64_t tiles = !kernel ? 0 : kernel->tiles() ? kernel->tiles() : maxTiles;
  if (operation->tile_begin() > operation->tile_end() ||
      operation->tile_end() > tiles)
    return fault_.set(Fault::BadBundle,
                      "program %u: %s %u: tiles: found %" PRIu64 " to %" PRIu64
                      ", expected a range of at most %" PRIu64,
                      number, what, index, operation->tile_begin(),
                      operation->tile_end(), tiles);
  for (unsigned i = 0; i < operands; ++i) {
    const bundle::Operand *operand = operation->operands()->Get(i);
    const char *space = spaceName(program, operand);
    uint64_t size;
    if (!spaceSize(bundle_, program, operand, size))
      return fault_.set(
          Fault::BadBundle,
          "program %u: %s %u: operand %u: found %s %u, which does "
          "not exist",
          number, what, index, i, space, operand->index());
    bool isWritten = i < written;
    if (!((isWritten ? rule.writes : rule.reads) & placeOf(program, operand)))
      return fault_.set(
          Fault::BadBundle,
          "program %u: %s %u: operand %u: found a %s %s, expected "
          "%s",
          number, what, index, i, isWritten ? "write to" : "read of", space,
          isWritten ? rule.writesText : rule.readsText);
    if (!fits(operand->offset(), operand->size(), size))
      return fault_.set(Fault::BadBundle,
                        "program %u: %s %u: operand %u: found %" PRIu64
                        " bytes at %" PRIu64
                        ", expected them inside the %" PRIu64 " of %s %u",
                        number, what, index, i, operand->size(),
                        operand->offset(), size, space, operand->index());
  }
  return true;
}

/// Checks a decode's facts about its stored bytes.
bool MetadataVerifier::verifyStorage(unsigned number, unsigned index,
                                     const bundle::Operation *operation) {
  if (operation->kind() != bundle::OperationKind_Decode)
    return true;
  uint64_t size = operation->operands()->Get(0)->size();
  uint8_t planes = operation->planes();
  if ((planes != 1 && planes != 2 && planes != 4 && planes != 8) ||
      size % planes)
    return fault_.set(Fault::BadBundle,
                      "program %u: operation %u: planes: found %u for %" PRIu64
                      " bytes, expected 1, 2, 4 or 8, and whole elements",
                      number, index, planes, size);
  uint64_t stored = operation->operands()->Get(1)->size();
  if (operation->codec() == bundle::Codec_Stored && stored != size)
    return fault_.set(Fault::BadBundle,
                      "program %u: operation %u: found %" PRIu64
                      " stored bytes, expected the %" PRIu64
                      " of its operand 0",
                      number, index, stored, size);
  // No frame is empty, so that one that could not be made cannot pass for one.
  if (stored == 0 && size != 0)
    return fault_.set(Fault::BadBundle,
                      "program %u: operation %u: found 0 stored bytes, "
                      "expected a frame of %" PRIu64,
                      number, index, size);
  return true;
}

bool MetadataVerifier::verifyLastReader(unsigned number, const char *what,
                                        unsigned index,
                                        const bundle::Operation *operation) {
  bool mayBe = operation->kind() == bundle::OperationKind_Decode ||
               operation->kind() == bundle::OperationKind_Transform;
  if (!operation->last_reader() ||
      (mayBe && operation->operands()->size() > 1 &&
       operation->operands()->Get(1)->space() == bundle::Space_Weights))
    return true;
  return fault_.set(Fault::BadBundle,
                    "program %u: %s %u: last_reader: found it set, expected it "
                    "of a decode or transform of Weights alone",
                    number, what, index);
}

bool MetadataVerifier::verifySwitch(const bundle::Program *program,
                                    unsigned number, unsigned index) {
  const bundle::Switch *change = program->switches()->Get(index);
  uint32_t executes = numExecutes(program);
  if (change->operation() >= executes)
    return fault_.set(Fault::BadBundle,
                      "program %u: switch %u: operation: found %u, expected an "
                      "execute, less than %u",
                      number, index, change->operation(), executes);
  const bundle::Operation *operation = change->replacement();
  if (operation->kind() != bundle::OperationKind_Execute)
    return fault_.set(Fault::BadBundle,
                      "program %u: switch %u: kind: found %u, expected %u "
                      "(Execute)",
                      number, index, operation->kind(),
                      bundle::OperationKind_Execute);
  return verifyOperation(program, number, "switch", index, operation) &&
         verifyLastReader(number, "switch", index, operation);
}

const bundle::Bundle *verifyMetadata(const void *metadata, size_t size,
                                     uint64_t fileSize, Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(metadata) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *bytes = static_cast<const uint8_t *>(metadata);
  if (!verifyFlatBuffer(bytes, size, fault))
    return nullptr;
  const bundle::Bundle *bundle = bundle::GetBundle(bytes);
  if (!MetadataVerifier(bundle, fileSize, fault).verify())
    return nullptr;
  return bundle;
}

static bool isZero(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (bytes[i])
      return false;
  return true;
}

/// The signature covers the header's bytes before it: the digest of the
/// metadata, and by way of that the metadata and all segments.
static bool verifyHeaderSignature(const Header &header,
                                  const uint8_t *publicKey, Fault &fault) {
  if (!header.isSigned)
    return fault.set(Fault::Untrusted,
                     "signature: found none, expected one by the given public "
                     "key");
  return verifySignature(header.signature, &header, offsetof(Header, signature),
                         publicKey, fault);
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
  // And the signature before all that an attacker could have written.
  if (publicKey && !verifyHeaderSignature(header, publicKey, fault))
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
  return bundle && verifyOverlaysIn(bundle, data, fault) ? bundle : nullptr;
}

bool verifySegment(const bundle::Bundle *bundle, uint32_t index,
                   const void *bytes, Fault &fault) {
  const bundle::Segment *segment = bundle->segments()->Get(index);
  Digest digest = digestOf(bytes, segment->size());
  if (memcmp(digest.bytes, segment->digest()->data(), sizeof digest) != 0)
    return fault.set(Fault::Untrusted,
                     "segment %u (%s): digest does not match (damaged)", index,
                     bundle::EnumNameSegmentKind(segment->kind()));
  return true;
}

} // namespace nnv12::artifact
