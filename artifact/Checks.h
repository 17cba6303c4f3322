//===- Checks.h - Checks that do not return if they fail --------*- C++ -*-===//
//
// A check that fails says where and why, and leaves what checks, by longjmp():
// there are no exceptions, and a test of the answer behind each of hundreds of
// checks is a fifth of the code. So nothing on the way may need a destructor.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_CHECKS_H
#define NNV12_ARTIFACT_CHECKS_H

#include "artifact/Array.h"
#include "artifact/Fault.h"

#include <csetjmp>
#include <cstdint>

namespace nnv12::artifact {

/// A part of a bundle's metadata, as a message names it: "program 0: gpu:
/// stretch 1".
struct Where {
  static constexpr uint32_t single = ~0u;

  const Where *outer; ///< null: the bundle
  const char *part;
  uint32_t index = single; ///< `single`: there is one of it
};

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

  /// Leaves, with a fault that says where. The rest is as of printf, but "|"
  /// says ", expected ": there are many of these.
  [[noreturn]] __attribute__((format(printf, 3, 4))) void
  refuse(const Where &where, const char *format, ...);
  /// Checks that a number is at least `least` and less than `end`.
  void expect(const Where &where, const char *field, uint64_t found,
              uint64_t least, uint64_t end);
  /// Checks that `size` bytes at `offset` are at least one, lie at a multiple
  /// of `alignment`, and inside `available` bytes of `space`.
  void expectInside(const Where &where, uint64_t offset, uint64_t size,
                    uint64_t alignment, uint64_t available, const char *space);

  /// Calls `check(where, element, more...)` of this for each element of a list,
  /// if there is one; `where` names it, as a part of `outer`.
  template <typename List, typename Self, typename Element, typename... More>
  void forEach(const Where *outer, const char *part, const List *list,
               void (Self::*check)(const Where &, Element, More...),
               More... more) {
    for (uint32_t i = 0; list && i < list->size(); ++i)
      (static_cast<Self *>(this)->*check)({outer, part, i}, list->Get(i),
                                          more...);
  }

  /// Makes room for `count` zeros.
  template <typename T> void makeRoom(Array<T> &list, size_t count) {
    if (list.allocate(count))
      return;
    fault.set(Fault::OutOfMemory, "no memory to check the plan");
    fail();
  }

  /// Leaves, with a fault that is set.
  [[noreturn]] void fail() { longjmp(*failed_, 1); }

  Fault &fault;

private:
  jmp_buf *failed_ = nullptr;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_CHECKS_H
