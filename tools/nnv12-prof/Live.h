//===- Live.h - Shows what a session does now -------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_LIVE_H
#define NNV12_TOOLS_NNV12_PROF_LIVE_H

#include "runtime/include/nnv12.hpp"

#include <string>

namespace nnv12::prof {

struct LiveOptions {
  std::string recording;          ///< the file that a session writes to
  unsigned interval = 100;        ///< milliseconds
  unsigned updates = 0;           ///< end after so many; 0: with the session
  unsigned top = 10;              ///< operations
  const Bundle *bundle = nullptr; ///< for names; may be null
  std::string bundlePath;
};

/// Prints what goes on, again and again, until the session ends. Ends the
/// process with one line when the writer has gone without ending it.
void watch(const LiveOptions &options);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_LIVE_H
