//===- Checks.h - Checks that do not return if they fail --------*- C++ -*-===//
//
// A check that fails says why and leaves what checks, by longjmp(): there are
// no exceptions, and a test of the answer behind each of hundreds of checks is
// a fifth of the code. So nothing on the way may need a destructor.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_CHECKS_H
#define NNV12_ARTIFACT_CHECKS_H

#include "artifact/Expect.h"

#include <csetjmp>

namespace nnv12::artifact {

/// Base of classes that check something by many functions.
class Checks {
protected:
  explicit Checks(Fault &fault) : fault(fault) {}
  Checks(const Checks &) = delete;

  /// Calls `check`; false where something failed.
  template <typename Check> bool hold(Check check) {
    jmp_buf end;
    failed_ = &end;
    if (setjmp(end))
      return false;
    check();
    return true;
  }

  // As the functions of the same names, but "|" says ", expected ": there are
  // many of these.
  [[noreturn]] __attribute__((format(printf, 3, 4))) void
  refuse(const Where &where, const char *format, ...);
  void expect(const Where &where, const char *field, uint64_t found,
              uint64_t least, uint64_t end);
  void expectInside(const Where &where, uint64_t offset, uint64_t size,
                    uint64_t alignment, uint64_t available, const char *space);

  /// Leaves, with a fault that is set.
  [[noreturn]] void fail() { longjmp(*failed_, 1); }

  Fault &fault;

private:
  jmp_buf *failed_ = nullptr;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_CHECKS_H
