//===- Subprogram.h - Runs the programs beside this one ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_SUBPROGRAM_H
#define NNV12_TOOLS_NNV12C_SUBPROGRAM_H

#include <string>
#include <vector>

namespace nnv12 {

/// Runs the program of this name that stands beside this one, and waits for
/// it. What it says goes to standard error where that is a terminal and
/// `showsProgress`, else to file `log`. Returns "" or one line that says what
/// went wrong.
std::string runSubprogram(const std::string &name,
                          const std::vector<std::string> &arguments,
                          const std::string &log, bool showsProgress = false);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_SUBPROGRAM_H
