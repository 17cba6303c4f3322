//===- Report.cpp - How the tools report faults ---------------------------===//
#include "tools/common/Report.h"

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
  // What was printed so far belongs before the error.
  fflush(stdout);
  std::string line = message;
  for (char &c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  fprintf(stderr, "%s: %s\n", currentName, line.c_str());
  exit(1);
}

void finishOutput() {
  if (fflush(stdout) != 0 || ferror(stdout))
    fail(std::string("standard output: cannot write: ") + strerror(errno));
}

} // namespace nnv12::tools
