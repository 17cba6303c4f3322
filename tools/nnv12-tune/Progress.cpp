//===- Progress.cpp - Tells how far a measurement has come ----------------===//
#include "tools/nnv12-tune/Progress.h"

#include <cstdio>
#include <unistd.h>

namespace nnv12::tune {

Progress::Progress(const char *tool, unsigned steps)
    : tool(tool), steps(steps ? steps : 1),
      terminal(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (terminal)
    fputs("\r\x1b[K", stderr);
}

void Progress::phase(const std::string &phase) {
  name = phase;
  if (terminal)
    draw();
  else
    fprintf(stderr, "%s: measuring %s\n", tool, name.c_str());
}

void Progress::step() {
  if (done < steps)
    ++done;
  if (terminal)
    draw();
}

void Progress::draw() {
  static constexpr char full[] = "################################";
  constexpr unsigned width = sizeof full - 1;
  unsigned filled = done * width / steps;
  fprintf(stderr, "\r\x1b[K%s: [%.*s%*s] %3u %% %s", tool,
          static_cast<int>(filled), full, static_cast<int>(width - filled), "",
          done * 100 / steps, name.c_str());
  fflush(stderr);
}

} // namespace nnv12::tune
