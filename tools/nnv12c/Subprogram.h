//===- Subprogram.h - Runs the programs beside this one ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_SUBPROGRAM_H
#define NNV12_TOOLS_NNV12C_SUBPROGRAM_H

#include <string>
#include <vector>

namespace nnv12 {

/// Runs the program of this name that stands beside this one, and waits for
/// it. Its output goes to standard error where that is a terminal and
/// `showsProgress`; else its last line is kept, which tells what went wrong. It
/// comes by a pipe: a full disk takes no word from it. Returns "" or one line
/// that says what went wrong. One thread at a time.
std::string runSubprogram(const std::string &name,
                          const std::vector<std::string> &arguments,
                          bool showsProgress = false);

/// Ends the program that runs, if one does, and waits until it is gone. For
/// handlers of signals.
void endSubprogram();

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_SUBPROGRAM_H
