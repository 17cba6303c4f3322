//===- OutOfMemory.cpp - Ends the compiler in one line --------------------===//

#include "tools/nnv12c/OutOfMemory.h"

#include "compiler/TemporaryFolder.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unistd.h>

using namespace nnv12;

// All that the end needs is there before.
static std::string prefix;
static void *reserve;
static constexpr size_t reserveSize = 256 << 10;

[[noreturn]] static void end(const char *reason) {
  static std::atomic_flag ending = ATOMIC_FLAG_INIT;
  // Removing files may need more than the reserve.
  if (ending.test_and_set())
    _exit(1);
  free(reserve);
  std::string line = prefix + reason;
  for (char &c : line)
    c = c == '\n' ? ' ' : c;
  line += '\n';
  (void)!write(STDERR_FILENO, line.data(), line.size());
  TemporaryFolder::removeAll();
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

[[noreturn]] static void outOfMemory() { end("out of memory"); }

void nnv12::handleOutOfMemory(llvm::StringRef model) {
  prefix = ("nnv12c: " + model + ": ").str();
  reserve = malloc(reserveSize);
  // Used, so that the system cannot refuse it later.
  if (reserve)
    memset(reserve, 1, reserveSize);
  std::set_new_handler(outOfMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { outOfMemory(); });
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { end(reason); });
}
