//===- LoadedBundle.cpp - A verified bundle, ready for sessions -----------===//
#include "runtime/LoadedBundle.h"

#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/ProgramView.h"
#include "runtime/Policy.h"
#include "runtime/ReadAhead.h"
#include "runtime/system/Cpus.h"

#include <cstddef>
#include <sys/mman.h>

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::CpuFeatures;
using artifact::Fault;
using artifact::hostArchitecture;

namespace {

/// Text of bounded length, built piece by piece.
class Line {
public:
  __attribute__((format(printf, 2, 3))) void append(const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    if (n > 0)
      used += static_cast<size_t>(n);
    if (used >= sizeof text)
      used = sizeof text - 1;
  }
  const char *c_str() const { return text; }

private:
  char text[400] = {};
  size_t used = 0;
};

} // namespace

void nnv12_bundle::release() {
  if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(this);
}

bool nnv12_bundle::open(const char *path, const nnv12_open_options &options,
                        Fault &fault) {
  bool good = file.open(path, fault, headSize);
  if (good) {
    // While the head comes; sessions want to know it.
    if (file.isWaiting())
      askForCpus();
    makeEarlyMemory();
    good = load(file.data(), file.size(), file.descriptor(), options, fault);
  }
  file.closeDescriptor();
  return good;
}

/// Where the file system has large folios, weights that are not in memory come
/// in pieces of 2 MiB, each mapped by one entry: a fifth of the work of reading
/// them in small pages, and fewer TLB misses later. Elsewhere this does
/// nothing.
void nnv12_bundle::adviseWeights() {
  for (const bundle::Segment *segment : *bundle->segments())
    if (segment->kind() == bundle::SegmentKind_Weights && segment->size())
      madvise(const_cast<uint8_t *>(bytes) + segment->offset(), segment->size(),
              MADV_HUGEPAGE);
}

/// The first touch of an arena's first huge page takes 0.2 to 0.3 ms, about as
/// long as the head needs from storage: it is done while nothing else can be. A
/// small bundle is likely to have a small arena, and gets none.
void nnv12_bundle::makeEarlyMemory() {
  if (file.size() < headSize || !file.isWaiting() ||
      !earlyMemory.allocate(hugePageSize, hugePageSize))
    return;
  earlyMemory.adviseHuge(hugePageSize);
  *static_cast<volatile uint8_t *>(earlyMemory.data()) = 0;
  hasEarlyMemory.store(true, std::memory_order_release);
}

bool nnv12_bundle::giveEarlyMemory(Pages &arena) {
  return hasEarlyMemory.exchange(false, std::memory_order_acquire) &&
         arena.replaceHead(earlyMemory, hugePageSize);
}

bool nnv12_bundle::openMemory(const void *data, size_t size,
                              const nnv12_open_options &options, Fault &fault) {
  if (!data && size)
    return fault.set(Fault::InvalidArgument, "data: found NULL");
  if (reinterpret_cast<uintptr_t>(data) % 64)
    return fault.set(Fault::InvalidArgument,
                     "data: found address %p, expected a multiple of 64", data);
  return load(data, size, -1, options, fault);
}

/// The first four bytes as a number whose eight hexadecimal digits are those
/// that the text of all bytes begins with.
static uint32_t firstWord(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return __builtin_bswap32(word);
}

bool nnv12_bundle::load(const void *data, size_t size, int descriptor,
                        const nnv12_open_options &options, Fault &fault) {
  if (options.copying > NNV12_COPY_NEVER)
    return fault.set(Fault::InvalidArgument,
                     "copying: found %d, expected at most %d",
                     int(options.copying), int(NNV12_COPY_NEVER));
  if (options.verify_weights && options.trust_weights)
    return fault.set(Fault::InvalidArgument,
                     "weights: found verify_weights and trust_weights, "
                     "expected one of them");
  isRestricted = options.public_key || options.digest;
  bool copies = options.copying == NNV12_COPY_ALWAYS ||
                (options.copying == NNV12_COPY_SIGNED && isRestricted);
  bool checksWeights =
      options.verify_weights || (isRestricted && !options.trust_weights);
  bytes = static_cast<const uint8_t *>(data);
  length = size;
  if (!artifact::verifyHeader(data, size, options.public_key, header, fault))
    return false;
  // All else that a bundle says is checked against the header's digest of it.
  if (options.digest &&
      memcmp(options.digest, digest().bytes, sizeof digest().bytes) != 0)
    return fault.set(Fault::Untrusted,
                     "digest: found %08x..., expected %08x...",
                     firstWord(digest().bytes), firstWord(options.digest));
  if (!loadMetadata(copies, fault) || !hasKind(options.take_tuning, fault) ||
      !chooseProgram(options.target, fault) ||
      !loadCode(copies ? -1 : descriptor, fault))
    return false;
  if (isMapped())
    adviseWeights();
  return (!checksWeights || verifyWeights(fault)) && describeTensors(fault);
}

bool nnv12_bundle::hasKind(bool orTuning, Fault &fault) const {
  bool isTuning = bundle->kind() == bundle::BundleKind_Tuning;
  return bundle->kind() == bundle::BundleKind_Model || (orTuning && isTuning) ||
         fault.set(Fault::Unsupported,
                   "kind: found %s, expected the bundle of a model",
                   isTuning ? "a tuning bundle" : "one for newer readers");
}

/// Checks the bytes that will be used: the copy, where there is one.
bool nnv12_bundle::loadMetadata(bool copies, Fault &fault) {
  const uint8_t *metadata = bytes + header.metadataOffset;
  if (copies) {
    if (!metadataCopy.allocate(header.metadataSize, 64))
      return fault.set(Fault::OutOfMemory, "no memory to copy the metadata");
    if (header.metadataSize)
      memcpy(metadataCopy.data(), metadata, header.metadataSize);
    metadata = metadataCopy.data();
  }
  bundle = artifact::verifyMetadata(header, metadata, fault);
  return bundle != nullptr;
}

#if NNV12_GPU
const bundle::Overlays *nnv12_bundle::loadOverlays(Pages &copy,
                                                   Fault &fault) const {
  uint32_t index;
  if (!artifact::findOverlays(bundle, index, fault))
    return nullptr;
  const bundle::Segment *segment = bundle->segments()->Get(index);
  const uint8_t *overlays = bytes + segment->offset();
  if (metadataCopy.data()) {
    if (!copy.allocate(segment->size(), 64)) {
      fault.set(Fault::OutOfMemory, "no memory to copy it");
      return nullptr;
    }
    memcpy(copy.data(), overlays, segment->size());
    overlays = copy.data();
  }
  return artifact::verifySegment(bundle, index, overlays, fault)
             ? artifact::verifyOverlays(bundle, overlays, fault)
             : nullptr;
}
#endif

static bool equal(const flatbuffers::String *a, const char *b) {
  return a->size() == strlen(b) && memcmp(a->data(), b, a->size()) == 0;
}

/// The first feature that this CPU lacks, or null.
static const flatbuffers::String *missingFeature(const bundle::Program *program,
                                                 CpuFeatures &cpu) {
  for (const flatbuffers::String *feature :
       *artifact::cpuOf(program)->features())
    if (!cpu.has(feature->c_str(), feature->size()))
      return feature;
  return nullptr;
}

bool nnv12_bundle::chooseProgram(const char *target, Fault &fault) {
  Line reasons;
  CpuFeatures cpu;
  bool known = false;
  for (uint32_t i = 0; i < bundle->programs()->size(); ++i) {
    const bundle::Program *candidate = bundle->programs()->Get(i);
    const char *name = candidate->target()->c_str();
    if (target && !equal(candidate->target(), target))
      continue;
    known = true;
    Fault why;
    if (!artifact::isUnderstood(candidate, i, why)) {
      reasons.append("; %s is for newer readers", name);
      continue;
    }
    const flatbuffers::String *architecture =
        artifact::cpuOf(candidate)->architecture();
    if (!equal(architecture, hostArchitecture())) {
      reasons.append("; %s is for %s", name, architecture->c_str());
      continue;
    }
    if (const flatbuffers::String *feature = missingFeature(candidate, cpu)) {
      reasons.append("; %s needs %s", name, feature->c_str());
      continue;
    }
    program = candidate;
    number = i;
    return true;
  }
  if (known)
    return fault.set(Fault::Unsupported,
                     "target: none of the bundle's runs on this %s CPU%s",
                     hostArchitecture(), reasons.c_str());
  for (const bundle::Program *candidate : *bundle->programs())
    reasons.append("%s%s", *reasons.c_str() ? ", " : "",
                   candidate->target()->c_str());
  return fault.set(Fault::Unsupported,
                   "target: found no %s, expected one of %s", target,
                   reasons.c_str());
}

/// Maps the code of `descriptor`, where that is one and the system allows it,
/// or copies it from the image.
bool nnv12_bundle::loadCode(int descriptor, Fault &fault) {
  uint32_t index = artifact::cpuOf(program)->code();
  const bundle::Segment *segment = bundle->segments()->Get(index);
  if (isMapped())
    readAhead(file, segment->offset() + segment->size());
  mappedInPlace =
      descriptor >= 0 &&
      codeMapping.map(descriptor, segment->offset(), segment->size());
  if (!mappedInPlace &&
      !codeMapping.copy(bytes + segment->offset(), segment->size(), fault))
    return false;
  // Verifies the bytes that will run, not the ones that they were copied from.
  return artifact::verifySegment(bundle, index, codeMapping.data(), fault);
}

bool nnv12_bundle::verifyWeights(Fault &fault) {
  for (uint32_t i = 0; i < bundle->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle->segments()->Get(i);
    if (segment->kind() == bundle::SegmentKind_Weights &&
        !artifact::verifySegment(bundle, i, bytes + segment->offset(), fault))
      return false;
  }
  return true;
}

static bool describe(
    const flatbuffers::Vector<flatbuffers::Offset<bundle::Tensor>> *tensors,
    Array<nnv12_tensor_info> &infos) {
  if (!infos.allocate(tensors->size()))
    return false;
  for (uint32_t i = 0; i < tensors->size(); ++i) {
    const bundle::Tensor *tensor = tensors->Get(i);
    infos[i].name = tensor->name()->c_str();
    infos[i].type = static_cast<nnv12_type>(tensor->type());
    infos[i].rank = tensor->shape()->size();
    infos[i].shape = tensor->shape()->data();
    infos[i].byte_size = artifact::byteSize(tensor);
  }
  return true;
}

bool nnv12_bundle::describeTensors(Fault &fault) {
  if (describe(bundle->inputs(), inputInfos) &&
      describe(bundle->outputs(), outputInfos))
    return true;
  return fault.set(Fault::OutOfMemory, "no memory to open the bundle");
}

uint64_t nnv12_bundle::scratchSize() const {
  uint64_t largest = 0;
  for (const bundle::Kernel *kernel : *program->kernels())
    if (kernel->scratch() > largest)
      largest = kernel->scratch();
  return largest;
}
