//===- MetadataBudget.cpp - What reading all metadata takes ---------------===//
#include "artifact/MetadataBudget.h"

#include "artifact/Limits.h"

namespace nnv12::artifact {

namespace fb = flatbuffers;

/// A table that is used once takes as many bytes at least: the offset of who
/// uses it, and that of its vtable.
static constexpr size_t tableBytes = 8;
/// An offset of the root, and an identifier.
static constexpr size_t leastBuffer = 2 * sizeof(fb::uoffset_t);

namespace {

/// Visits all that there is. Each step returns false at the first fault.
class Budget {
public:
  /// `what` names the buffer.
  Budget(const char *what, const uint8_t *metadata, size_t size, Fault &fault)
      : what(what), metadata(metadata), size(size), left(maxSharing * size),
        fault(fault) {}

  bool visit(const bundle::Bundle *bundle) {
    return table() && string(bundle->model()) && string(bundle->producer()) &&
           tables(bundle->inputs()) && tables(bundle->outputs()) &&
           tables(bundle->segments()) && tables(bundle->programs());
  }
  bool visit(const bundle::Overlays *overlays) {
    return table() && visit(overlays->gpu()) && tables(overlays->programs());
  }
  bool visit(const bundle::Tensor *tensor) {
    return table() && string(tensor->name()) && vector(tensor->shape());
  }
  bool visit(const bundle::Segment *segment) {
    return table() && vector(segment->digest());
  }
  bool visit(const bundle::Program *program) {
    return table() && string(program->target()) &&
           string(program->revision()) && tables(program->processors()) &&
           tables(program->memories()) && tables(program->kernels()) &&
           tables(program->operations()) && tables(program->lanes()) &&
           tables(program->switches()) && (!program->overlay() || table());
  }
  bool visit(const bundle::Processor *processor) {
    return table() && string(processor->architecture()) &&
           strings(processor->features()) && string(processor->tune());
  }
  bool visit(const bundle::Memory *) { return table(); }
  bool visit(const bundle::Operand *) { return table(); }
  bool visit(const bundle::Kernel *kernel) {
    return table() && string(kernel->name()) && string(kernel->routine()) &&
           string(kernel->key()) && vector(kernel->fingerprint()) &&
           tables(kernel->maps());
  }
  bool visit(const bundle::TileMap *map) {
    return table() && vector(map->axes()) && tables(map->parts());
  }
  bool visit(const bundle::TilePart *part) {
    return table() && vector(part->lo()) && vector(part->hi()) &&
           vector(part->cuts());
  }
  bool visit(const bundle::Operation *operation) {
    return table() && string(operation->layer()) &&
           tables(operation->operands()) && vector(operation->after());
  }
  bool visit(const bundle::Lane *lane) {
    return table() && vector(lane->queue()) && vector(lane->background());
  }
  bool visit(const bundle::Switch *change) {
    return table() && visit(change->replacement());
  }
  bool visit(const bundle::Gpu *gpu) {
    return table() && tables(gpu->modules()) && tables(gpu->pipelines());
  }
  bool visit(const bundle::GpuModule *module) {
    return table() && string(module->name()) && vector(module->digest());
  }
  bool visit(const bundle::GpuPipeline *pipeline) {
    return table() && vector(pipeline->constants());
  }
  bool visit(const bundle::ProgramGpu *gpu) {
    return table() && tables(gpu->memories()) && tables(gpu->boundaries()) &&
           tables(gpu->preparations()) && tables(gpu->lanes()) &&
           tables(gpu->stretches()) && vector(gpu->warm()) &&
           string(gpu->profile());
  }
  bool visit(const bundle::Boundary *boundary) {
    return table() && visit(boundary->host());
  }
  bool visit(const bundle::Rows *) { return table(); }
  bool visit(const bundle::GpuPreparation *preparation) {
    return table() && vector(preparation->pipelines()) &&
           tables(preparation->uploads()) && vector(preparation->after());
  }
  bool visit(const bundle::Upload *upload) {
    return table() && visit(upload->source());
  }
  bool visit(const bundle::Stretch *stretch) {
    return table() && tables(stretch->dispatches()) && tables(stretch->in()) &&
           tables(stretch->out()) && vector(stretch->after());
  }
  bool visit(const bundle::Dispatch *dispatch) {
    return table() && vector(dispatch->operands()) && vector(dispatch->push());
  }

private:
  bool take(uint64_t bytes) {
    if (bytes > left)
      return fault.set(Fault::BadBundle,
                       "%s: found parts of it used so often that they come "
                       "to more than %u times its %zu bytes",
                       what, unsigned(maxSharing), size);
    left -= bytes;
    return true;
  }

  bool table() { return take(tableBytes); }
  bool string(const fb::String *string) {
    return !string || take(uint64_t(string->size()) + 1);
  }

  template <typename T> bool vector(const fb::Vector<T> *vector) {
    return elements(vector, sizeof(T), alignof(T));
  }
  template <typename Struct>
  bool vector(const fb::Vector<const Struct *> *vector) {
    return elements(vector, sizeof(Struct), alignof(Struct));
  }
  /// FlatBuffers' verifier checks the place of a vector's length, which is at
  /// multiples of 4, and not that of its elements.
  template <typename T>
  bool elements(const fb::Vector<T> *vector, size_t bytes, size_t alignment) {
    if (!vector || vector->size() == 0)
      return true;
    if (reinterpret_cast<uintptr_t>(vector->Data()) % alignment)
      return fault.set(Fault::BadBundle,
                       "%s: vector at byte %zu: found its elements "
                       "misaligned, expected a multiple of %zu",
                       what, static_cast<size_t>(vector->Data() - metadata),
                       alignment);
    return take(uint64_t(vector->size()) * bytes);
  }

  template <typename T> bool tables(const fb::Vector<fb::Offset<T>> *vector) {
    for (uint32_t i = 0; vector && i < vector->size(); ++i)
      if (!visit(vector->Get(i)))
        return false;
    return true;
  }
  bool strings(const fb::Vector<fb::Offset<fb::String>> *vector) {
    for (uint32_t i = 0; vector && i < vector->size(); ++i)
      // Its offset as well: a string may be empty.
      if (!take(sizeof(fb::uoffset_t)) || !string(vector->Get(i)))
        return false;
    return true;
  }

  const char *what;
  const uint8_t *metadata;
  size_t size;
  uint64_t left;
  Fault &fault;
};

} // namespace

/// How many programs there are; 0 where that cannot be said.
static uint32_t countPrograms(const uint8_t *metadata, size_t size) {
  fb::Verifier verifier(metadata, size);
  fb::uoffset_t root = verifier.VerifyOffset(0);
  auto *table = reinterpret_cast<const fb::Table *>(metadata + root);
  if (root == 0 || !table->VerifyTableStart(verifier) ||
      !table->VerifyOffset(verifier, bundle::Bundle::VT_PROGRAMS))
    return 0;
  auto *programs = table->GetPointer<const fb::Vector<fb::uoffset_t> *>(
      bundle::Bundle::VT_PROGRAMS);
  return programs && verifier.VerifyVector(programs) ? programs->size() : 0;
}

/// A buffer with this root. `Root` is a template argument so that a library
/// that reads no overlays is without their code.
template <typename Root>
static bool verifyBuffer(const char *what, const char *identifier,
                         const uint8_t *buffer, size_t size, Fault &fault) {
  // The verifier of FlatBuffers stops after so many tables.
  fb::Verifier verifier(
      buffer, size, /*max_depth=*/16,
      static_cast<fb::uoffset_t>(maxSharing * size / tableBytes));
  if (size < leastBuffer || !verifier.VerifyBuffer<Root>(identifier))
    return fault.set(Fault::BadBundle,
                     "%s: not a well-formed FlatBuffer of bundle.fbs, or one "
                     "whose tables are used too often",
                     what);
  return Budget(what, buffer, size, fault).visit(fb::GetRoot<Root>(buffer));
}

/// FlatBuffers asserts, in debug builds, on more than 2 GiB.
static bool isSmall(const char *what, size_t size, Fault &fault) {
  return size < FLATBUFFERS_MAX_BUFFER_SIZE ||
         fault.set(Fault::BadBundle,
                   "%s: found %zu bytes, expected less than 2^31", what, size);
}

bool verifyFlatBuffer(const uint8_t *metadata, size_t size, Fault &fault) {
  if (!isSmall("metadata", size, fault))
    return false;
  // Strings are visited without counting: those of one program at most once, so
  // programs are counted first.
  uint32_t programs = size < leastBuffer ? 0 : countPrograms(metadata, size);
  if (programs > maxPrograms)
    return fault.set(Fault::BadBundle,
                     "programs: found %u, expected at most %u", programs,
                     maxPrograms);
  return verifyBuffer<bundle::Bundle>("metadata", bundle::BundleIdentifier(),
                                      metadata, size, fault);
}

bool verifyOverlaysBuffer(const uint8_t *overlays, size_t size, Fault &fault) {
  return isSmall("overlays", size, fault) &&
         verifyBuffer<bundle::Overlays>("overlays", overlaysIdentifier,
                                        overlays, size, fault);
}

} // namespace nnv12::artifact
