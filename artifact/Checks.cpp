//===- Checks.cpp - Checks that do not return if they fail ----------------===//
#include "artifact/Checks.h"

#include <cinttypes>
#include <cstddef>
#include <cstring>

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

void Checks::refuse(const Where &where, const char *format, ...) {
  fault.code = Fault::BadBundle;
  size_t used = print(fault.text, sizeof fault.text, 0, &where);
  va_list args;
  va_start(args, format);
  vsnprintf(fault.text + used, sizeof fault.text - used, format, args);
  va_end(args);
  if (char *bar = strchr(fault.text, '|')) {
    char expected[sizeof fault.text];
    strcpy(expected, bar + 1);
    snprintf(bar, size_t(fault.text + sizeof fault.text - bar), ", expected %s",
             expected);
  }
  fail();
}

void Checks::expect(const Where &where, const char *field, uint64_t found,
                    uint64_t least, uint64_t end) {
  if (found >= least && found < end)
    return;
  if (least)
    refuse(where, "%s: found %" PRIu64 "|%" PRIu64 " to %" PRIu64, field, found,
           least, end - 1);
  refuse(where, "%s: found %" PRIu64 "|less than %" PRIu64, field, found, end);
}

void Checks::expectInside(const Where &where, uint64_t offset, uint64_t size,
                          uint64_t alignment, uint64_t available,
                          const char *space) {
  if (offset % alignment == 0 && size && offset <= available &&
      size <= available - offset)
    return;
  refuse(where,
         "found %" PRIu64 " bytes at %" PRIu64
         "|at least one, at a multiple of %" PRIu64 ", inside the %" PRIu64
         " of %s",
         size, offset, alignment, available, space);
}

} // namespace nnv12::artifact
