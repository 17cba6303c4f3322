//===- Report.cpp - How the tools report faults ---------------------------===//
#include "tools/common/Report.h"

#include "artifact/Escape.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

namespace nnv12::tools {

static const char *currentName = "nnv12";

/// Without memory, and so without fail().
[[noreturn]] static void outOfMemory() {
  for (const char *part : {currentName, ": out of memory\n"})
    (void)!write(STDERR_FILENO, part, strlen(part));
  _exit(1);
}

void setToolName(const char *name) {
  currentName = name;
  std::set_new_handler(outOfMemory);
}

const char *toolName() { return currentName; }

void fail(const std::string &message) {
  // Flushes the output so far, which belongs before the error.
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", currentName, artifact::escaped(message).c_str());
  exit(1);
}

void finishOutput() {
  if (fflush(stdout) != 0 || ferror(stdout))
    fail(std::string("standard output: cannot write: ") + strerror(errno));
}

} // namespace nnv12::tools
