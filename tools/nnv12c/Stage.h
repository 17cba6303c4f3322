//===- Stage.h - How long the stages of a compile take ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_STAGE_H
#define NNV12_TOOLS_NNV12C_STAGE_H

#include "tools/nnv12c/CompileOptions.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace nnv12 {

/// Says on destruction how long a stage took, for --timing.
class Stage {
public:
  Stage(const CompileOptions &options, llvm::StringRef name)
      : enabled(options.timing), name(name),
        start(std::chrono::steady_clock::now()) {}
  ~Stage() {
    if (enabled)
      llvm::errs() << llvm::formatv(
          "{0,-12} {1,9:f1} ms\n", name,
          std::chrono::duration<double, std::milli>(
              std::chrono::steady_clock::now() - start)
              .count());
  }

private:
  bool enabled;
  llvm::StringRef name;
  std::chrono::steady_clock::time_point start;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_STAGE_H
