//===- Verifier.cpp - Checks a bundle before anyone uses it ---------------===//
#include "artifact/Verifier.h"

#include "artifact/Bundle.h"
#include "artifact/MetadataBudget.h"
#include "artifact/PlanVerifier.h"
#include "artifact/Sodium.h"

#include <cassert>
#include <cinttypes>

namespace nnv12::artifact {

uint64_t elementSize(bundle::ElementType type) {
  return elementSize(static_cast<ElementType>(type));
}

uint64_t byteSize(const bundle::Tensor *tensor) {
  uint64_t bytes = elementSize(tensor->type());
  for (int64_t extent : *tensor->shape())
    bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

/// True when [offset, offset + size) lies inside `available` bytes.
static bool fits(uint64_t offset, uint64_t size, uint64_t available) {
  return offset <= available && size <= available - offset;
}

namespace {

/// Walks the metadata. Each check returns false and sets the fault at the first
/// thing that is wrong.
class MetadataVerifier {
public:
  MetadataVerifier(const bundle::Bundle *bundle, uint64_t fileSize,
                   Fault &fault)
      : bundle(bundle), fileSize(fileSize), fault(fault) {}

  bool verify() {
    return verifyTensors(bundle->inputs(), "input") &&
           verifyTensors(bundle->outputs(), "output") && verifySegments() &&
           verifyPrograms();
  }

private:
  using TensorList = flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>>;

  bool verifyTensors(const TensorList *tensors, const char *what);
  bool verifySegments();
  bool verifyPrograms();
  bool verifyProgram(const bundle::Program *program, unsigned number);
  bool verifyKernel(const bundle::Program *program, unsigned number,
                    unsigned index);
  bool verifyOperation(const bundle::Program *program, unsigned number,
                       const char *what, unsigned index,
                       const bundle::Operation *operation);
  bool verifyPreparation(const bundle::Program *program, unsigned number,
                         unsigned index);
  bool verifySwitch(const bundle::Program *program, unsigned number,
                    unsigned index);
  bool spaceSize(const bundle::Program *program, const bundle::Operand *operand,
                 uint64_t &size);

  const bundle::Bundle *bundle;
  uint64_t fileSize;
  Fault &fault;
};

} // namespace

bool MetadataVerifier::verifyTensors(const TensorList *tensors,
                                     const char *what) {
  for (unsigned i = 0; i < tensors->size(); ++i) {
    const bundle::Tensor *tensor = tensors->Get(i);
    if (tensor->type() > bundle::ElementType_MAX)
      return fault.set(Fault::BadBundle,
                       "%s %u: type: found %u, expected at most %u", what, i,
                       tensor->type(), bundle::ElementType_MAX);
    if (tensor->shape()->size() > maxRank)
      return fault.set(Fault::BadBundle,
                       "%s %u: rank: found %u, expected at most %u", what, i,
                       tensor->shape()->size(), maxRank);
    // A zero extent does not excuse absurd ones: their product without it must
    // be sane too, which also keeps strides from overflowing.
    uint64_t bytes = elementSize(tensor->type());
    for (int64_t extent : *tensor->shape()) {
      if (extent < 0 || uint64_t(extent) > maxBytes)
        return fault.set(Fault::BadBundle,
                         "%s %u: shape: found an extent of %" PRId64
                         ", expected 0 to 2^46",
                         what, i, extent);
      if (extent && bytes > maxBytes / uint64_t(extent))
        return fault.set(Fault::BadBundle,
                         "%s %u: shape: found more than 2^46 bytes", what, i);
      bytes *= extent ? uint64_t(extent) : 1;
    }
  }
  return true;
}

/// Segments that lie in one file and share nothing are no larger than it: all
/// of them can be hashed in one go over it.
bool MetadataVerifier::verifySegments() {
  uint64_t left = fileSize;
  for (unsigned i = 0; i < bundle->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle->segments()->Get(i);
    if (segment->kind() > bundle::SegmentKind_MAX)
      return fault.set(Fault::BadBundle,
                       "segment %u: kind: found %u, expected at most %u", i,
                       segment->kind(), bundle::SegmentKind_MAX);
    if (segment->offset() % segmentAlignment)
      return fault.set(Fault::BadBundle,
                       "segment %u: offset: found %" PRIu64
                       ", expected a multiple of %" PRIu64,
                       i, segment->offset(), segmentAlignment);
    if (!fits(segment->offset(), segment->size(), fileSize))
      return fault.set(Fault::BadBundle,
                       "segment %u: found %" PRIu64 " bytes at %" PRIu64
                       ", expected them inside the file's %" PRIu64,
                       i, segment->size(), segment->offset(), fileSize);
    if (segment->digest()->size() != sizeof(Digest))
      return fault.set(Fault::BadBundle,
                       "segment %u: digest: found %u bytes, expected %zu", i,
                       segment->digest()->size(), sizeof(Digest));
    if (segment->size() > left)
      return fault.set(Fault::BadBundle,
                       "segment %u: found more bytes in segments than the "
                       "file's %" PRIu64 ", expected them not to overlap",
                       i, fileSize);
    left -= segment->size();
  }
  return true;
}

bool MetadataVerifier::verifyPrograms() {
  if (bundle->programs()->size() == 0)
    return fault.set(Fault::BadBundle,
                     "programs: found none, expected at least one");
  for (unsigned i = 0; i < bundle->programs()->size(); ++i)
    if (!verifyProgram(bundle->programs()->Get(i), i))
      return false;
  return true;
}

bool MetadataVerifier::verifyProgram(const bundle::Program *program,
                                     unsigned number) {
  uint32_t code = program->code();
  if (code >= bundle->segments()->size() ||
      bundle->segments()->Get(code)->kind() != bundle::SegmentKind_Code)
    return fault.set(Fault::BadBundle,
                     "program %u: code: found %u, expected a code segment",
                     number, code);
  uint64_t offset = bundle->segments()->Get(code)->offset();
  uint64_t alignment = codeAlignment(program->architecture()->c_str());
  if (offset % alignment)
    return fault.set(Fault::BadBundle,
                     "program %u: code: found segment %u at %" PRIu64
                     ", expected a multiple of %" PRIu64,
                     number, code, offset, alignment);
  if (program->arena_size() > maxBytes)
    return fault.set(Fault::BadBundle,
                     "program %u: arena: found %" PRIu64
                     " bytes, expected at most 2^46",
                     number, program->arena_size());
  if (program->prepared_size() > maxBytes)
    return fault.set(Fault::BadBundle,
                     "program %u: prepared memory: found %" PRIu64
                     " bytes, expected at most 2^46",
                     number, program->prepared_size());
  for (unsigned i = 0; i < program->kernels()->size(); ++i)
    if (!verifyKernel(program, number, i))
      return false;
  for (unsigned i = 0; i < program->operations()->size(); ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    if (operation->kind() != bundle::OperationKind_Execute)
      return fault.set(Fault::BadBundle,
                       "program %u: operation %u: kind: found %u, expected %u "
                       "(Execute)",
                       number, i, operation->kind(),
                       bundle::OperationKind_Execute);
    if (!verifyOperation(program, number, "operation", i, operation))
      return false;
  }
  for (unsigned i = 0;
       program->preparations() && i < program->preparations()->size(); ++i)
    if (!verifyPreparation(program, number, i))
      return false;
  for (unsigned i = 0; program->switches() && i < program->switches()->size();
       ++i)
    if (!verifySwitch(program, number, i))
      return false;
  return verifyPlan(program, number, fault);
}

bool MetadataVerifier::verifyKernel(const bundle::Program *program,
                                    unsigned number, unsigned index) {
  const bundle::Kernel *kernel = program->kernels()->Get(index);
  uint64_t codeSize = bundle->segments()->Get(program->code())->size();
  if (kernel->entry() >= codeSize)
    return fault.set(Fault::BadBundle,
                     "program %u: kernel %u: entry: found %u, expected less "
                     "than the code's %" PRIu64 " bytes",
                     number, index, kernel->entry(), codeSize);
  // The only instruction alignment that matters to us; x86-64 has none.
  if (kernel->entry() % 4 && program->architecture()->size() == 7 &&
      memcmp(program->architecture()->data(), "aarch64", 7) == 0)
    return fault.set(Fault::BadBundle,
                     "program %u: kernel %u: entry: found %u, expected a "
                     "multiple of 4",
                     number, index, kernel->entry());
  if (kernel->outputs() > kernel->operands())
    return fault.set(Fault::BadBundle,
                     "program %u: kernel %u: outputs: found %u, expected at "
                     "most its %u operands",
                     number, index, kernel->outputs(), kernel->operands());
  if (kernel->scratch() > maxScratch)
    return fault.set(Fault::BadBundle,
                     "program %u: kernel %u: scratch: found %" PRIu64
                     " bytes, expected at most 2^30",
                     number, index, kernel->scratch());
  return true;
}

/// How many bytes there are behind the operand's space and index.
bool MetadataVerifier::spaceSize(const bundle::Program *program,
                                 const bundle::Operand *operand,
                                 uint64_t &size) {
  uint32_t index = operand->index();
  switch (operand->space()) {
  case bundle::Space_Arena:
    size = program->arena_size();
    return index == 0;
  case bundle::Space_Prepared:
    size = program->prepared_size();
    return index == 0;
  case bundle::Space_Weights:
    if (index >= bundle->segments()->size() ||
        bundle->segments()->Get(index)->kind() != bundle::SegmentKind_Weights)
      return false;
    size = bundle->segments()->Get(index)->size();
    return true;
  case bundle::Space_Input:
    if (index >= bundle->inputs()->size())
      return false;
    size = byteSize(bundle->inputs()->Get(index));
    return true;
  case bundle::Space_Output:
    if (index >= bundle->outputs()->size())
      return false;
    size = byteSize(bundle->outputs()->Get(index));
    return true;
  }
  return false;
}

namespace {
/// Which spaces the operands of a kind of operation may lie in, as bits.
struct StageRule {
  unsigned writes, reads;
  const char *writesText, *readsText;
  /// Numbers of operands without a kernel; 0: the kernel has them.
  uint8_t written, operands;
};
} // namespace

static constexpr unsigned bit(bundle::Space space) { return 1u << space; }

static constexpr unsigned anySpace =
    bit(bundle::Space_Arena) | bit(bundle::Space_Weights) |
    bit(bundle::Space_Input) | bit(bundle::Space_Output) |
    bit(bundle::Space_Prepared);

/// By OperationKind.
static constexpr StageRule stageRules[] = {
    {bit(bundle::Space_Arena) | bit(bundle::Space_Output), anySpace,
     "Arena or Output", "any", 0, 0},
    {0, bit(bundle::Space_Weights), "nothing", "Weights", 0, 1},
    {bit(bundle::Space_Prepared), bit(bundle::Space_Weights), "Prepared",
     "Weights", 1, 2},
    {bit(bundle::Space_Prepared),
     bit(bundle::Space_Weights) | bit(bundle::Space_Prepared), "Prepared",
     "Weights or Prepared", 0, 0}};

/// Checks an operation of any kind; `what` and `index` name it.
bool MetadataVerifier::verifyOperation(const bundle::Program *program,
                                       unsigned number, const char *what,
                                       unsigned index,
                                       const bundle::Operation *operation) {
  const StageRule &rule = stageRules[operation->kind()];
  bool hasKernel = rule.operands == 0;
  if (hasKernel && operation->kernel() >= program->kernels()->size())
    return fault.set(Fault::BadBundle,
                     "program %u: %s %u: kernel: found %u, expected less than "
                     "%u",
                     number, what, index, operation->kernel(),
                     program->kernels()->size());
  const bundle::Kernel *kernel =
      hasKernel ? program->kernels()->Get(operation->kernel()) : nullptr;
  uint32_t operands = kernel ? kernel->operands() : rule.operands;
  uint32_t written = kernel ? kernel->outputs() : rule.written;
  if (operation->operands()->size() != operands)
    return fault.set(Fault::BadBundle,
                     "program %u: %s %u: operands: found %u, expected the "
                     "%s's %u",
                     number, what, index, operation->operands()->size(),
                     kernel ? "kernel" : "stage", operands);
  uint64_t tiles = kernel ? maxTiles : 0;
  if (operation->tiles() > tiles)
    return fault.set(Fault::BadBundle,
                     "program %u: %s %u: tiles: found %" PRIu64
                     ", expected at most %" PRIu64,
                     number, what, index, operation->tiles(), tiles);
  for (unsigned i = 0; i < operands; ++i) {
    const bundle::Operand *operand = operation->operands()->Get(i);
    if (operand->space() > bundle::Space_MAX)
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: operand %u: space: found %u, "
                       "expected at most %u",
                       number, what, index, i, operand->space(),
                       bundle::Space_MAX);
    const char *space = bundle::EnumNameSpace(operand->space());
    bool isWritten = i < written;
    if (!((isWritten ? rule.writes : rule.reads) & bit(operand->space())))
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: operand %u: found a %s %s, expected "
                       "%s",
                       number, what, index, i,
                       isWritten ? "write to" : "read of", space,
                       isWritten ? rule.writesText : rule.readsText);
    uint64_t size;
    if (!spaceSize(program, operand, size))
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: operand %u: found %s %u, which does "
                       "not exist",
                       number, what, index, i, space, operand->index());
    if (!fits(operand->offset(), operand->size(), size))
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: operand %u: found %" PRIu64
                       " bytes at %" PRIu64
                       ", expected them inside the %" PRIu64 " of %s %u",
                       number, what, index, i, operand->size(),
                       operand->offset(), size, space, operand->index());
  }
  return true;
}

bool MetadataVerifier::verifyPreparation(const bundle::Program *program,
                                         unsigned number, unsigned index) {
  const bundle::Operation *operation = program->preparations()->Get(index);
  if (operation->kind() == bundle::OperationKind_Execute ||
      operation->kind() > bundle::OperationKind_MAX)
    return fault.set(Fault::BadBundle,
                     "program %u: preparation %u: kind: found %u, expected "
                     "Read, Decode or Transform (1 to %u)",
                     number, index, operation->kind(),
                     bundle::OperationKind_MAX);
  if (!verifyOperation(program, number, "preparation", index, operation))
    return false;
  if (operation->kind() != bundle::OperationKind_Decode)
    return true;
  if (operation->codec() > bundle::Codec_MAX)
    return fault.set(Fault::BadBundle,
                     "program %u: preparation %u: codec: found %u, expected at "
                     "most %u",
                     number, index, operation->codec(), bundle::Codec_MAX);
  uint64_t size = operation->operands()->Get(0)->size();
  uint8_t planes = operation->planes();
  if ((planes != 1 && planes != 2 && planes != 4 && planes != 8) ||
      size % planes)
    return fault.set(Fault::BadBundle,
                     "program %u: preparation %u: planes: found %u for %" PRIu64
                     " bytes, expected 1, 2, 4 or 8, and whole elements",
                     number, index, planes, size);
  uint64_t stored = operation->operands()->Get(1)->size();
  if (operation->codec() == bundle::Codec_Stored && stored != size)
    return fault.set(Fault::BadBundle,
                     "program %u: preparation %u: found %" PRIu64
                     " stored bytes, expected the %" PRIu64 " of its operand 0",
                     number, index, stored, size);
  // No frame is empty, so that one that could not be made cannot pass for one.
  if (stored == 0 && size != 0)
    return fault.set(Fault::BadBundle,
                     "program %u: preparation %u: found 0 stored bytes, "
                     "expected a frame of %" PRIu64,
                     number, index, size);
  return true;
}

bool MetadataVerifier::verifySwitch(const bundle::Program *program,
                                    unsigned number, unsigned index) {
  const bundle::Switch *change = program->switches()->Get(index);
  if (change->operation() >= program->operations()->size())
    return fault.set(
        Fault::BadBundle,
        "program %u: switch %u: operation: found %u, expected less "
        "than %u",
        number, index, change->operation(), program->operations()->size());
  const bundle::Operation *operation = change->replacement();
  if (operation->kind() != bundle::OperationKind_Execute)
    return fault.set(Fault::BadBundle,
                     "program %u: switch %u: kind: found %u, expected %u "
                     "(Execute)",
                     number, index, operation->kind(),
                     bundle::OperationKind_Execute);
  return verifyOperation(program, number, "switch", index, operation);
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
  return verifyMetadata(
      header, static_cast<const uint8_t *>(data) + header.metadataOffset,
      fault);
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
