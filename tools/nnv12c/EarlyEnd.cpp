//===- EarlyEnd.cpp - An end that leaves nothing behind -------------------===//

#include "tools/nnv12c/EarlyEnd.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unistd.h>

using namespace nnv12;

Interruption::Interruption() {
  for (size_t i = 0; i < std::size(endingSignals); ++i) {
    struct sigaction now;
    isOff[i] = sigaction(endingSignals[i], nullptr, &now) == 0 &&
               now.sa_handler == SIG_IGN;
  }
}

/// Only calls that are allowed in handlers of signals.
static void end(int signal) {
  endSubprogram();
  TemporaryFolder::removeAll();
  llvm::sys::RunInterruptHandlers();
  // The process that waits for this one sees what ended it. The signal waits
  // until this handler returns.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Interruption::handle() const {
  for (size_t i = 0; i < std::size(endingSignals); ++i) {
    struct sigaction action = {};
    action.sa_handler = isOff[i] ? SIG_IGN : end;
    // One after the other.
    for (int other : endingSignals)
      sigaddset(&action.sa_mask, other);
    sigaction(endingSignals[i], &action, nullptr);
  }
}

// All that the end needs is there before.
static std::string prefix, outOfMemoryLine;
static void *reserve = nullptr;
static constexpr size_t reserveSize = 256 << 10;
static bool isInstalled = false;

[[noreturn]] static void endWith(const std::string &line) {
  static std::atomic_flag ending = ATOMIC_FLAG_INIT;
  // Removing files may need more than the reserve.
  if (ending.test_and_set())
    _exit(1);
  (void)!write(STDERR_FILENO, line.data(), line.size());
  free(reserve);
  TemporaryFolder::removeAll();
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

[[noreturn]] static void outOfMemory() { endWith(outOfMemoryLine); }

void nnv12::handleOutOfMemory(llvm::StringRef model) {
  assert(!isInstalled && "a process compiles one model");
  prefix = ("nnv12c: " + model + ": ").str();
  outOfMemoryLine = prefix + "out of memory\n";
  reserve = malloc(reserveSize);
  // Used, so that the system cannot refuse it later.
  if (reserve)
    memset(reserve, 1, reserveSize);
  std::set_new_handler(outOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { outOfMemory(); });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    std::string line = prefix + reason;
    std::replace(line.begin(), line.end(), '\n', ' ');
    endWith(line + "\n");
  });
  isInstalled = true;
}

// MLIR takes the memory of its operations from malloc and does not look whether
// it got any. These take the place of the C library's for all libraries of the
// process. Sanitizers have their own.
#if defined(__GLIBC__) && !defined(NNV12_SANITIZED)
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the C library's own names
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
// NOLINTEND(bugprone-reserved-identifier)

static void *checked(void *memory, bool isEmpty) {
  if (!memory && !isEmpty && isInstalled)
    outOfMemory();
  return memory;
}

void *malloc(size_t size) { return checked(__libc_malloc(size), false); }
void *calloc(size_t count, size_t size) {
  return checked(__libc_calloc(count, size), false);
}
void *realloc(void *memory, size_t size) {
  return checked(__libc_realloc(memory, size), size == 0);
}
}
#endif
