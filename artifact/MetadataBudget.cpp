//===- MetadataBudget.cpp - The cost of reading all metadata --------------===//
#include "artifact/MetadataBudget.h"

#include "artifact/Escape.h"
#include "artifact/Sizes.h"

#include <cstring>

namespace nnv12::artifact {

namespace fb = flatbuffers;

namespace {

/// The kind of a table's field. Inline: a number or a struct. Name: a string
/// without control characters. Text: any string.
enum class Kind : uint8_t { Inline, Name, Text, Vector, Table, Tables };

struct Field {
  Kind kind;
  bool isRequired;
  uint8_t of; ///< Table, Tables: which; Inline, Vector: bytes of an element
  uint8_t alignment; ///< of an element
};

// By table, in the order of their vtables: fields[firsts[table]] and on.
#include "bundle_fields.inc"

/// Visits a whole buffer. A list of fields is a tenth of the code of
/// FlatBuffers' own verifier, which has a function for each table. Places are
/// offsets in the buffer. Each step returns false at the first fault.
class Budget {
public:
  /// `what` names the buffer.
  Budget(const char *what, const uint8_t *bytes, size_t size, Fault &fault)
      : what_(what), bytes_(bytes), size_(size), left_(maxSharing * size),
        fault_(fault) {}

  bool verify(uint32_t root, const char *identifier) {
    constexpr size_t length = fb::kFileIdentifierLength;
    if (size_ < sizeof(fb::uoffset_t) + length ||
        size_ >= FLATBUFFERS_MAX_BUFFER_SIZE ||
        memcmp(bytes_ + sizeof(fb::uoffset_t), identifier, length) != 0)
      return isMalformed();
    return reference(0, root);
  }

private:
  bool isMalformed() {
    return fault_.set(Fault::BadBundle,
                      "%s: not a well-formed FlatBuffer of bundle.fbs", what_);
  }

  bool take(uint64_t bytes) {
    if (bytes > left_)
      return fault_.set(Fault::BadBundle,
                        "%s: found parts of it used so often that they come "
                        "to more than %u times its %zu bytes",
                        what_, unsigned(maxSharing), size_);
    left_ -= bytes;
    return true;
  }

  /// A number whose place is known to be inside.
  template <typename T> T read(uint64_t at) const {
    return fb::ReadScalar<T>(bytes_ + at);
  }

  bool isInside(uint64_t at, uint64_t size, uint64_t alignment) const {
    return at % alignment == 0 && fits(at, size, size_);
  }

  /// Follows the offset at `at`, to a table.
  bool reference(uint64_t at, uint32_t table) {
    auto offset = read<fb::uoffset_t>(at);
    // A table that is used once takes as many bytes at least: its user's
    // offset, and that of its vtable.
    constexpr uint64_t tableBytes = 8;
    return offset ? take(tableBytes) && visitTable(at + offset, table)
                  : isMalformed();
  }

  bool visitTable(uint64_t at, uint32_t table) {
    if (!isInside(at, sizeof(fb::soffset_t), alignof(fb::soffset_t)))
      return isMalformed();
    // Behind the file where it would be before it.
    uint64_t vtable = at - int64_t(read<fb::soffset_t>(at));
    constexpr uint64_t entry = sizeof(fb::voffset_t);
    if (!isInside(vtable, 2 * entry, entry))
      return isMalformed();
    uint64_t end = read<fb::voffset_t>(vtable);
    if (end % entry || !fits(vtable, end, size_))
      return isMalformed();
    uint64_t place = 2 * entry; // behind its size, and the table's
    for (uint32_t i = firsts[table]; i < firsts[table + 1];
         ++i, place += entry) {
      uint64_t inside = place < end ? read<fb::voffset_t>(vtable + place) : 0;
      if (!(inside ? visit(fields[i], at + inside)
                   : !fields[i].isRequired || isMalformed()))
        return false;
    }
    return true;
  }

  bool visit(const Field &field, uint64_t at) {
    bool isInline = field.kind == Kind::Inline;
    uint64_t size = isInline ? field.of : sizeof(fb::uoffset_t),
             alignment = isInline ? field.alignment : sizeof(fb::uoffset_t);
    if (!isInside(at, size, alignment))
      return isMalformed();
    if (isInline)
      return true;
    if (field.kind == Kind::Table)
      return reference(at, field.of);
    auto offset = read<fb::uoffset_t>(at);
    at += offset;
    if (!offset || !isInside(at, sizeof offset, alignof(fb::uoffset_t)))
      return isMalformed();
    uint64_t count = read<fb::uoffset_t>(at),
             first = at + sizeof(fb::uoffset_t);
    if (field.kind == Kind::Vector)
      return visitElements(field, first, count);
    if (field.kind != Kind::Tables)
      return visitString(field.kind, first, count);
    if (!fits(first, count * sizeof(fb::uoffset_t), size_))
      return isMalformed();
    for (uint64_t i = 0; i < count; ++i)
      if (!reference(first + i * sizeof(fb::uoffset_t), field.of))
        return false;
    return true;
  }

  bool visitElements(const Field &field, uint64_t first, uint64_t count) {
    if (count && first % field.alignment)
      return fault_.set(Fault::BadBundle,
                        "%s: vector at byte %zu: found its elements "
                        "misaligned, expected a multiple of %u",
                        what_, static_cast<size_t>(first), field.alignment);
    return fits(first, count * field.of, size_) ? take(count * field.of)
                                                : isMalformed();
  }

  /// Tools and programs show names as they are.
  bool visitString(Kind kind, uint64_t first, uint64_t count) {
    if (!fits(first, count + 1, size_) || bytes_[first + count])
      return isMalformed();
    auto *text = reinterpret_cast<const char *>(bytes_ + first);
    for (uint64_t i = 0; kind == Kind::Name && i < count; ++i) {
      while (count - i >= 4 && arePlain(text + i))
        i += 4;
      if (i < count && controlSize(text + i, count - i))
        return fault_.set(
            Fault::BadBundle, "%s: name at byte %zu: found a control character",
            what_, static_cast<size_t>(first - sizeof(fb::uoffset_t)));
    }
    return take(count + 1);
  }

  const char *what_;
  const uint8_t *bytes_;
  size_t size_;
  uint64_t left_;
  Fault &fault_;
};

} // namespace

bool verifyFlatBuffer(const uint8_t *metadata, size_t size, Fault &fault) {
  return Budget("metadata", metadata, size, fault)
      .verify(tableBundle, bundle::BundleIdentifier());
}

bool verifyOverlaysBuffer(const uint8_t *overlays, size_t size, Fault &fault) {
  return Budget("overlays", overlays, size, fault)
      .verify(tableGpuOverlays, overlaysIdentifier);
}

bool verifyVideoBuffer(const uint8_t *overlays, size_t size, Fault &fault) {
  return Budget("overlays", overlays, size, fault)
      .verify(tableVideoOverlays, videoIdentifier);
}

} // namespace nnv12::artifact
