//===- Progress.h - Tells how far a measurement has come --------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_PROGRESS_H
#define NNV12_TOOLS_NNV12_TUNE_PROGRESS_H

#include <string>

namespace nnv12::tune {

/// On a terminal a bar that fills on standard error; elsewhere one line a
/// phase.
class Progress {
public:
  Progress(const char *tool, unsigned steps);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void phase(const std::string &name);
  void step();

private:
  void draw();

  const char *tool;
  unsigned steps, done = 0;
  std::string name;
  bool terminal;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_PROGRESS_H
