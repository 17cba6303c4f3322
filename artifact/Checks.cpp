//===- Checks.cpp - Checks that do not return if they fail ----------------===//
#include "artifact/Checks.h"

#include <cstddef>
#include <cstring>

namespace nnv12::artifact {

void Checks::refuse(const Where &where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vrefuse(fault, where, format, args);
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
  if (!artifact::expect(fault, where, {{field, found, least, end}}))
    fail();
}

void Checks::expectInside(const Where &where, uint64_t offset, uint64_t size,
                          uint64_t alignment, uint64_t available,
                          const char *space) {
  if (!artifact::expectInside(fault, where, offset, size, alignment, available,
                              space))
    fail();
}

} // namespace nnv12::artifact
