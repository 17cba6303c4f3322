//===- Fault.h - One line that says what went wrong -------------*- C++ -*-===//
//
// The error type of everything that the runtime contains: no allocation, no
// exceptions. Messages read "FIELD: found X, expected Y"; a caller that knows
// the file's name puts it in front.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_FAULT_H
#define NNV12_ARTIFACT_FAULT_H

#include <cstdarg>
#include <cstdio>

namespace nnv12::artifact {

struct Fault {
  /// The same numbers as nnv12_status in runtime/include/nnv12.h.
  enum Code {
    None,
    InvalidArgument, ///< the caller's mistake
    Io,              ///< the system refused to open, read or map
    BadBundle,       ///< malformed, truncated or foreign bytes
    Unsupported,     ///< a good bundle, but not for this runtime or this CPU
    Untrusted,       ///< a digest or the signature does not match
    OutOfMemory,
    Busy,
    TimedOut
  };

  Code code = None;
  char text[500] = {};

  /// Always returns false, so that a check can `return fault.set(...)`.
  __attribute__((format(printf, 3, 4))) bool set(Code c, const char *format,
                                                 ...) {
    code = c;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return false;
  }
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_FAULT_H
