//===- LoadedBundle.cpp - A verified bundle, ready for sessions -----------===//
#include "runtime/LoadedBundle.h"

#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/ProgramView.h"
#include "artifact/RuntimePolicy.h"
#include "artifact/TileState.h"
#include "runtime/Reader.h"
#include "runtime/system/Cpus.h"

#include <cstddef>
#include <sys/mman.h>

namespace nnv12::runtime {

using artifact::CpuFeatures;
using artifact::Fault;
using artifact::hostArchitecture;

/// Puts more behind a text, as far as there is room.
__attribute__((format(printf, 2, 3))) static void
append(char (&text)[400], const char *format, ...) {
  size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, sizeof text - used, format, args);
  va_end(args);
}

void LoadedBundle::release() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(this);
}

bool LoadedBundle::open(const char *path, const nnv12_open_options &options,
                        Fault &fault) {
  bool good = file_.open(path, fault, headSize);
  if (good) {
    // While the head comes; sessions want to know it.
    if (file_.isWaiting())
      askForCpus();
    makeEarlyMemory();
    good = load(file_.data(), file_.size(), file_.descriptor(), options, fault);
  }
  file_.closeDescriptor();
  return good;
}

/// Where the file system has large folios, weights that are not in memory come
/// in pieces of 2 MiB, each mapped by one entry: a fifth of the work of reading
/// them in small pages, and fewer TLB misses later. Elsewhere this does
/// nothing.
void LoadedBundle::adviseWeights() {
  for (const bundle::Segment *segment : *bundle_->segments())
    if (segment->kind() == bundle::SegmentKind_Weights && segment->size())
      madvise(const_cast<uint8_t *>(bytes_) + segment->offset(),
              segment->size(), MADV_HUGEPAGE);
}

/// The first touch of an arena's first huge page takes 0.2 to 0.3 ms, about as
/// long as the head needs from storage: it is done while nothing else can be. A
/// small bundle is likely to have a small arena, and gets none.
void LoadedBundle::makeEarlyMemory() {
  Pages &early = weights_.early();
  if (file_.size() < headSize || !file_.isWaiting() ||
      !early.allocate(hugePageSize, hugePageSize))
    return;
  early.adviseHuge(hugePageSize);
  *static_cast<volatile uint8_t *>(early.data()) = 0;
}

bool LoadedBundle::openMemory(const void *data, size_t size,
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

bool LoadedBundle::load(const void *data, size_t size, int descriptor,
                        const nnv12_open_options &options, Fault &fault) {
  if (options.copying > NNV12_COPY_NEVER)
    return fault.set(Fault::InvalidArgument,
                     "copying: found %d, expected at most %d",
                     int(options.copying), int(NNV12_COPY_NEVER));
  if (options.verify_weights && options.trust_weights)
    return fault.set(Fault::InvalidArgument,
                     "weights: found verify_weights and trust_weights, "
                     "expected one of them");
  isRestricted_ = options.public_key || options.digest;
  bool copies = options.copying == NNV12_COPY_ALWAYS ||
                (options.copying == NNV12_COPY_SIGNED && isRestricted_);
  bool checksWeights =
      options.verify_weights || (isRestricted_ && !options.trust_weights);
  bytes_ = static_cast<const uint8_t *>(data);
  length_ = size;
  if (!artifact::verifyHeader(data, size, options.public_key, header_, fault))
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

bool LoadedBundle::hasKind(bool orTuning, Fault &fault) const {
  bool isTuning = bundle_->kind() == bundle::BundleKind_Tuning;
  return bundle_->kind() == bundle::BundleKind_Model ||
         (orTuning && isTuning) ||
         fault.set(Fault::Unsupported,
                   "kind: found %s, expected the bundle of a model",
                   isTuning ? "a tuning bundle" : "one for newer readers");
}

/// Checks the bytes that will be used: the copy, where there is one.
bool LoadedBundle::loadMetadata(bool copies, Fault &fault) {
  const uint8_t *metadata = bytes_ + header_.metadataOffset;
  if (copies) {
    if (!metadataCopy_.allocate(header_.metadataSize, 64))
      return fault.set(Fault::OutOfMemory, "no memory to copy the metadata");
    if (header_.metadataSize)
      memcpy(metadataCopy_.data(), metadata, header_.metadataSize);
    metadata = metadataCopy_.data();
  }
  bundle_ = artifact::verifyMetadata(header_, metadata, fault);
  return bundle_ != nullptr;
}

#if NNV12_GPU || NNV12_VIDEO
/// The bytes of an overlay's segment, whose digest is good.
const uint8_t *LoadedBundle::loadOverlay(const bundle::Overlay *overlay,
                                         Pages &copy, Fault &fault) const {
  uint32_t index = overlay->segment();
  const bundle::Segment *segment = bundle_->segments()->Get(index);
  const uint8_t *bytes = bytes_ + segment->offset();
  if (metadataCopy_.data()) {
    if (!copy.allocate(segment->size(), 64)) {
      fault.set(Fault::OutOfMemory, "no memory to copy it");
      return nullptr;
    }
    memcpy(copy.data(), bytes, segment->size());
    bytes = copy.data();
  }
  return artifact::verifySegment(bundle_, index, bytes, fault) ? bytes
                                                               : nullptr;
}
#endif

#if NNV12_GPU
const bundle::GpuOverlays *LoadedBundle::loadOverlays(Pages &copy,
                                                      Fault &fault) const {
  const uint8_t *bytes = loadOverlay(gpuOverlay(), copy, fault);
  return bytes ? artifact::verifyOverlays(bundle_, gpuOverlay()->segment(),
                                          bytes, fault)
               : nullptr;
}
#endif

#if NNV12_VIDEO
const bundle::VideoOverlays *LoadedBundle::loadVideo(Pages &copy,
                                                     Fault &fault) const {
  const bundle::Overlay *overlay = artifact::videoOverlayOf(bundle_, program_);
  const uint8_t *bytes = loadOverlay(overlay, copy, fault);
  return bytes
             ? artifact::verifyVideo(bundle_, overlay->segment(), bytes, fault)
             : nullptr;
}
#endif

static bool equal(const flatbuffers::String *a, const char *b) {
  return a->size() == strlen(b) && memcmp(a->data(), b, a->size()) == 0;
}

/// Whether this process can use all features; else the first that it cannot is
/// named behind `reasons`.
static bool hasFeatures(const bundle::Target *target, CpuFeatures &cpu,
                        char (&reasons)[400]) {
  for (const bundle::Feature *feature : *artifact::cpuOf(target)->features()) {
    const char *name = feature->name()->c_str();
    size_t length = feature->name()->size();
    bool isThere = cpu.has(name, length);
    if (isThere && artifact::mayUse(name, length))
      continue;
    append(reasons, "; %s needs %s%s", target->name()->c_str(), name,
           isThere ? ", which this process may not use" : "");
    return false;
  }
  return true;
}

bool LoadedBundle::chooseProgram(const char *target, Fault &fault) {
  char reasons[400] = "";
  CpuFeatures cpu;
  bool known = false;
  for (uint32_t i = 0; i < bundle_->programs()->size(); ++i) {
    const bundle::Program *candidate = bundle_->programs()->Get(i);
    const bundle::Target *its = artifact::targetOf(bundle_, candidate);
    const char *name = its->name()->c_str();
    if (target && !equal(its->name(), target))
      continue;
    known = true;
    Fault why;
    if (!artifact::isUnderstood(bundle_, i, why)) {
      append(reasons, "; %s is for newer readers", name);
      continue;
    }
    const flatbuffers::String *architecture =
        artifact::cpuOf(its)->architecture();
    if (!equal(architecture, hostArchitecture())) {
      append(reasons, "; %s is for %s", name, architecture->c_str());
      continue;
    }
    if (!hasFeatures(its, cpu, reasons))
      continue;
    program_ = candidate;
    number_ = i;
    return true;
  }
  if (known)
    return fault.set(Fault::Unsupported,
                     "target: none of the bundle's runs on this %s CPU%s",
                     hostArchitecture(), reasons);
  for (const bundle::Program *candidate : *bundle_->programs())
    append(reasons, "%s%s", *reasons ? ", " : "",
           artifact::targetOf(bundle_, candidate)->name()->c_str());
  return fault.set(Fault::Unsupported,
                   "target: found no %s, expected one of %s", target, reasons);
}

/// Maps the code of `descriptor`, where that is one and the system allows it,
/// or copies it from the image.
bool LoadedBundle::loadCode(int descriptor, Fault &fault) {
  uint32_t index = artifact::cpuOf(target())->code();
  const bundle::Segment *segment = bundle_->segments()->Get(index);
  if (isMapped())
    readAhead(file_, segment->offset() + segment->size());
  mappedInPlace_ =
      descriptor >= 0 &&
      codeMapping_.map(descriptor, segment->offset(), segment->size());
  if (!mappedInPlace_ &&
      !codeMapping_.copy(bytes_ + segment->offset(), segment->size(), fault))
    return false;
  // Verifies the bytes that will run, not the ones that they were copied from.
  return artifact::verifySegment(bundle_, index, codeMapping_.data(), fault);
}

bool LoadedBundle::verifyWeights(Fault &fault) {
  for (uint32_t i = 0; i < bundle_->segments()->size(); ++i) {
    const bundle::Segment *segment = bundle_->segments()->Get(i);
    if (segment->kind() == bundle::SegmentKind_Weights &&
        !artifact::verifySegment(bundle_, i, bytes_ + segment->offset(), fault))
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

bool LoadedBundle::describeTensors(Fault &fault) {
  if (describe(program_->inputs(), inputInfos_) &&
      describe(program_->outputs(), outputInfos_))
    return true;
  return fault.set(Fault::OutOfMemory, "no memory to open the bundle");
}

} // namespace nnv12::runtime
