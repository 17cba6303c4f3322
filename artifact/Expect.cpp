//===- Expect.cpp - Faults that name where they were found ----------------===//
#include "artifact/Expect.h"

#include <cinttypes>
#include <cstddef>

namespace nnv12::artifact {

/// Adds to the text of `size` bytes, of which `used` are; returns how many then
/// are.
static size_t print(char *text, size_t size, size_t used, const Where *where) {
  if (!where)
    return used;
  used = print(text, size, used, where->outer);
  int added = where->index == Where::single
                  ? snprintf(text + used, size - used, "%s: ", where->part)
                  : snprintf(text + used, size - used, "%s %u: ", where->part,
                             where->index);
  return used + size_t(added) < size ? used + size_t(added) : size - 1;
}

void vrefuse(Fault &fault, const Where &where, const char *format,
             va_list args) {
  fault.code = Fault::BadBundle;
  size_t used = print(fault.text, sizeof fault.text, 0, &where);
  vsnprintf(fault.text + used, sizeof fault.text - used, format, args);
}

bool refuse(Fault &fault, const Where &where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vrefuse(fault, where, format, args);
  va_end(args);
  return false;
}

bool expect(Fault &fault, const Where &where,
            std::initializer_list<Bounds> numbers) {
  for (const auto &[field, found, least, end] : numbers) {
    if (found >= least && found < end)
      continue;
    return least ? refuse(fault, where,
                          "%s: found %" PRIu64 ", expected %" PRIu64
                          " to %" PRIu64,
                          field, found, least, end - 1)
                 : refuse(fault, where,
                          "%s: found %" PRIu64 ", expected less than %" PRIu64,
                          field, found, end);
  }
  return true;
}

bool expectInside(Fault &fault, const Where &where, uint64_t offset,
                  uint64_t size, uint64_t alignment, uint64_t available,
                  const char *space) {
  if (offset % alignment == 0 && size && offset <= available &&
      size <= available - offset)
    return true;
  return refuse(fault, where,
                "found %" PRIu64 " bytes at %" PRIu64
                ", expected at least one, at a multiple of %" PRIu64
                ", inside the %" PRIu64 " of %s",
                size, offset, alignment, available, space);
}

} // namespace nnv12::artifact
