//===- MetadataBudget.cpp - The cost of reading all metadata --------------===//
#include "artifact/MetadataBudget.h"

#include "artifact/Escape.h"

#include <iterator>
#include <type_traits>

namespace nnv12::artifact {

namespace fb = flatbuffers;

/// A table that is used once takes as many bytes at least: its user's offset,
/// and that of its vtable.
static constexpr size_t tableBytes = 8;
/// An offset of the root, and an identifier.
static constexpr size_t leastBuffer = 2 * sizeof(fb::uoffset_t);

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

namespace {

/// Text is of any kind, the value of a property; other strings are names.
enum class Kind : uint8_t { String, Text, Vector, Table, Tables };

/// A field that stands for bytes outside of its table. A list of these is a
/// third of the code of functions for each table.
struct Field {
  fb::voffset_t offset; ///< in its table's vtable
  uint8_t table;        ///< whose it is, a number of Known
  Kind kind;
  uint8_t of;        ///< Table, Tables: which; Vector: bytes of an element
  uint8_t alignment; ///< Vector: of an element
};

/// Numbers types from 0 on.
template <typename... Tables> struct Numbered {
  static constexpr uint8_t count = sizeof...(Tables);
  template <typename T> static constexpr uint8_t of() {
    static_assert((std::is_same_v<T, Tables> || ...), "must be one of Known");
    uint8_t number = 0;
    (void)((std::is_same_v<T, Tables> || (++number, false)) || ...);
    return number;
  }
};

/// In the order of their fields below.
using Known =
    Numbered<bundle::Bundle, bundle::Tensor, bundle::Segment, bundle::Target,
             bundle::Program, bundle::Processor, bundle::Feature,
             bundle::Kernel, bundle::TileMap, bundle::TilePart,
             bundle::Operation, bundle::Lane, bundle::Switch, bundle::Overlay,
             bundle::GpuOverlays, bundle::Gpu, bundle::GpuModule,
             bundle::GpuPipeline, bundle::ProgramGpu, bundle::Boundary,
             bundle::GpuPreparation, bundle::Upload, bundle::Stretch,
             bundle::Dispatch, bundle::DispatchWork, bundle::Property,
             // Without such fields.
             bundle::Memory, bundle::Operand, bundle::OverlayHead, bundle::Rows,
             bundle::State>;

/// By the function that reads it.
template <typename T>
constexpr Field field(const fb::String *(T::*)() const, fb::voffset_t offset) {
  return {offset, Known::of<T>(), Kind::String, 0, 0};
}
template <typename T, typename Element>
constexpr Field field(const fb::Vector<Element> *(T::*)() const,
                      fb::voffset_t offset) {
  return {offset, Known::of<T>(), Kind::Vector, sizeof(Element),
          alignof(Element)};
}
template <typename T, typename Struct>
constexpr Field field(const fb::Vector<const Struct *> *(T::*)() const,
                      fb::voffset_t offset) {
  return {offset, Known::of<T>(), Kind::Vector, sizeof(Struct),
          alignof(Struct)};
}
template <typename T, typename Other>
constexpr Field field(const Other *(T::*)() const, fb::voffset_t offset) {
  return {offset, Known::of<T>(), Kind::Table, Known::of<Other>(), 0};
}
template <typename T, typename Other>
constexpr Field field(const fb::Vector<fb::Offset<Other>> *(T::*)() const,
                      fb::voffset_t offset) {
  return {offset, Known::of<T>(), Kind::Tables, Known::of<Other>(), 0};
}

constexpr Field fields[] = {
#define FIELD(table, name, NAME)                                               \
  field(&bundle::table::name, bundle::table::VT_##NAME)
    FIELD(Bundle, model, MODEL),
    FIELD(Bundle, producer, PRODUCER),
    FIELD(Bundle, segments, SEGMENTS),
    FIELD(Bundle, targets, TARGETS),
    FIELD(Bundle, programs, PROGRAMS),
    FIELD(Bundle, properties, PROPERTIES),
    FIELD(Tensor, name, NAME),
    FIELD(Tensor, shape, SHAPE),
    FIELD(Segment, digest, DIGEST),
    FIELD(Segment, seal_parameters, SEAL_PARAMETERS),
    FIELD(Target, name, NAME),
    FIELD(Target, revision, REVISION),
    FIELD(Target, processors, PROCESSORS),
    FIELD(Target, kernels, KERNELS),
    FIELD(Program, inputs, INPUTS),
    FIELD(Program, outputs, OUTPUTS),
    FIELD(Program, memories, MEMORIES),
    FIELD(Program, operations, OPERATIONS),
    FIELD(Program, lanes, LANES),
    FIELD(Program, switches, SWITCHES),
    FIELD(Program, overlays, OVERLAYS),
    FIELD(Program, states, STATES),
    FIELD(Processor, architecture, ARCHITECTURE),
    FIELD(Processor, features, FEATURES),
    FIELD(Processor, tune, TUNE),
    FIELD(Feature, name, NAME),
    FIELD(Kernel, name, NAME),
    FIELD(Kernel, routine, ROUTINE),
    FIELD(Kernel, key, KEY),
    FIELD(Kernel, fingerprint, FINGERPRINT),
    FIELD(Kernel, maps, MAPS),
    FIELD(TileMap, axes, AXES),
    FIELD(TileMap, parts, PARTS),
    FIELD(TilePart, lo, LO),
    FIELD(TilePart, hi, HI),
    FIELD(TilePart, cuts, CUTS),
    FIELD(Operation, layer, LAYER),
    FIELD(Operation, operands, OPERANDS),
    FIELD(Operation, after, AFTER),
    FIELD(Lane, queue, QUEUE),
    FIELD(Lane, background, BACKGROUND),
    FIELD(Switch, replacement, REPLACEMENT),
    FIELD(Overlay, head, HEAD),
    FIELD(GpuOverlays, gpu, GPU),
    FIELD(GpuOverlays, programs, PROGRAMS),
    FIELD(Gpu, modules, MODULES),
    FIELD(Gpu, pipelines, PIPELINES),
    FIELD(GpuModule, name, NAME),
    FIELD(GpuModule, digest, DIGEST),
    FIELD(GpuPipeline, constants, CONSTANTS),
    FIELD(ProgramGpu, memories, MEMORIES),
    FIELD(ProgramGpu, boundaries, BOUNDARIES),
    FIELD(ProgramGpu, preparations, PREPARATIONS),
    FIELD(ProgramGpu, lanes, LANES),
    FIELD(ProgramGpu, stretches, STRETCHES),
    FIELD(ProgramGpu, warm, WARM),
    FIELD(ProgramGpu, profile, PROFILE),
    FIELD(Boundary, host, HOST),
    FIELD(GpuPreparation, pipelines, PIPELINES),
    FIELD(GpuPreparation, uploads, UPLOADS),
    FIELD(GpuPreparation, after, AFTER),
    FIELD(Upload, source, SOURCE),
    FIELD(Stretch, dispatches, DISPATCHES),
    FIELD(Stretch, in, IN),
    FIELD(Stretch, out, OUT),
    FIELD(Stretch, after, AFTER),
    FIELD(Dispatch, operands, OPERANDS),
    FIELD(Dispatch, push, PUSH),
    FIELD(Dispatch, work, WORK),
    FIELD(Dispatch, maps, MAPS),
    FIELD(DispatchWork, routine, ROUTINE),
    FIELD(DispatchWork, key, KEY),
    FIELD(Property, key, KEY),
#undef FIELD
    {bundle::Property::VT_VALUE, Known::of<bundle::Property>(), Kind::Text, 0,
     0},
};

/// Where the fields of each table begin; behind them, where the last end.
struct Begins {
  uint8_t of[Known::count + 1] = {};
};
constexpr Begins findBegins() {
  Begins begins;
  for (const Field &field : fields)
    for (uint32_t table = field.table; table < Known::count; ++table)
      ++begins.of[table + 1];
  return begins;
}
constexpr Begins begins = findBegins();
constexpr bool areInOrder() {
  for (size_t i = 1; i < std::size(fields); ++i)
    if (fields[i].table < fields[i - 1].table)
      return false;
  return true;
}
static_assert(areInOrder(), "fields of a table stand together");

/// Visits all that there is. Each step returns false at the first fault.
class Budget {
public:
  /// `what` names the buffer.
  Budget(const char *what, const uint8_t *metadata, size_t size, Fault &fault)
      : what_(what), metadata_(metadata), size_(size), left_(maxSharing * size),
        fault_(fault) {}

  template <typename Root> bool visit(const Root *root) {
    return take(tableBytes) &&
           table(Known::of<Root>(), reinterpret_cast<const uint8_t *>(root));
  }

private:
  bool take(uint64_t bytes) {
    if (bytes > left_)
      return fault_.set(Fault::BadBundle,
                        "%s: found parts of it used so often that they come "
                        "to more than %u times its %zu bytes",
                        what_, unsigned(maxSharing), size_);
    left_ -= bytes;
    return true;
  }

  /// Counts the fields of a table, which is counted itself.
  bool table(uint32_t number, const uint8_t *bytes) {
    // As FlatBuffers' accessors, which would find the vtable for each field.
    const uint8_t *vtable =
        reinterpret_cast<const fb::Table *>(bytes)->GetVTable();
    auto end = fb::ReadScalar<fb::voffset_t>(vtable);
    const Field *last = fields + begins.of[number + 1];
    for (const Field *field = fields + begins.of[number]; field != last;
         ++field) {
      if (field->offset >= end)
        continue;
      if (auto at = fb::ReadScalar<fb::voffset_t>(vtable + field->offset))
        if (!visit(*field,
                   bytes + at + fb::ReadScalar<fb::uoffset_t>(bytes + at)))
          return false;
    }
    return true;
  }

  bool visit(const Field &field, const uint8_t *value) {
    if (field.kind == Kind::Table)
      return take(tableBytes) && table(field.of, value);
    if (field.kind == Kind::String)
      return name(value);
    uint32_t count = fb::ReadScalar<fb::uoffset_t>(value);
    if (field.kind == Kind::Text)
      return take(uint64_t(count) + 1);
    const uint8_t *next = value + sizeof(fb::uoffset_t);
    if (field.kind == Kind::Vector)
      return elements(field, next, count);
    if (!take(uint64_t(count) * tableBytes))
      return false;
    if (begins.of[field.of] == begins.of[field.of + 1])
      return true;
    for (uint32_t i = 0; i < count; ++i, next += sizeof(fb::uoffset_t))
      if (!table(field.of, next + fb::ReadScalar<fb::uoffset_t>(next)))
        return false;
    return true;
  }

  /// Tools and programs show names as they are.
  bool name(const uint8_t *value) {
    uint32_t count = fb::ReadScalar<fb::uoffset_t>(value);
    auto *text = reinterpret_cast<const char *>(value + sizeof(fb::uoffset_t));
    for (uint32_t i = 0; i < count; ++i) {
      while (count - i >= 4 && arePlain(text + i))
        i += 4;
      if (i < count && controlSize(text + i, count - i))
        return fault_.set(Fault::BadBundle,
                          "%s: name at byte %zu: found a control character",
                          what_, static_cast<size_t>(value - metadata_));
    }
    return take(uint64_t(count) + 1);
  }

  /// FlatBuffers' verifier checks the place of a vector's length, which is at
  /// multiples of 4, and not that of its elements.
  bool elements(const Field &field, const uint8_t *first, uint32_t count) {
    if (count && (reinterpret_cast<uintptr_t>(first) & (field.alignment - 1u)))
      return fault_.set(Fault::BadBundle,
                        "%s: vector at byte %zu: found its elements "
                        "misaligned, expected a multiple of %u",
                        what_, static_cast<size_t>(first - metadata_),
                        field.alignment);
    return take(uint64_t(count) * field.of);
  }

  const char *what_;
  const uint8_t *metadata_;
  size_t size_;
  uint64_t left_;
  Fault &fault_;
};

} // namespace

/// A buffer with this root. `Root` is a template argument so that a library
/// that reads no overlays is without their code.
template <typename Root>
static bool verifyBuffer(const char *what, const char *identifier,
                         const uint8_t *buffer, size_t size, Fault &fault) {
  // FlatBuffers asserts that, in debug builds.
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return fault.set(Fault::BadBundle,
                     "%s: found %zu bytes, expected less than 2^31", what,
                     size);
  // The verifier of FlatBuffers stops after so many tables. It does not count
  // strings: there are no vectors of them, so that each is a table's.
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

bool verifyFlatBuffer(const uint8_t *metadata, size_t size, Fault &fault) {
  return verifyBuffer<bundle::Bundle>("metadata", bundle::BundleIdentifier(),
                                      metadata, size, fault);
}

bool verifyOverlaysBuffer(const uint8_t *overlays, size_t size, Fault &fault) {
  return verifyBuffer<bundle::GpuOverlays>("overlays", overlaysIdentifier,
                                           overlays, size, fault);
}

} // namespace nnv12::artifact
