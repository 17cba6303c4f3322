//===- ChildProcess.h - Work that may crash or hang -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_CHILDPROCESS_H
#define NNV12_TOOLS_NNV12_TUNE_CHILDPROCESS_H

#include <functional>
#include <string>

namespace nnv12::tune {

/// How a process ended.
struct ChildResult {
  enum class End {
    Done,
    Refused, ///< it ended with another status than 0, and has said why
    Failed   ///< `reason` says how
  };
  End end = End::Failed;
  std::string text;   ///< the result of `work`, if Done
  std::string reason; ///< a line without its end
};

/// Runs `work` in a process of its own, which is killed after so many seconds.
/// The calling process must have no other threads.
ChildResult runInChild(const std::function<std::string()> &work,
                       double seconds);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_CHILDPROCESS_H
