//===- Interruption.h - Ctrl-C leaves nothing behind ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_INTERRUPTION_H
#define NNV12_TOOLS_NNV12C_INTERRUPTION_H

#include "compiler/codegen/common/HeldSignals.h"

#include <iterator>

namespace nnv12 {

/// A signal that ends this process ends the program that it waits for, and
/// removes temporary files, before.
class Interruption {
public:
  /// Before anything else of the process looks at signals: one that its parent
  /// has switched off (nohup) stays off.
  Interruption();
  /// After LLVM has taken the signals for itself.
  void handle() const;

private:
  bool isOff[std::size(endingSignals)];
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_INTERRUPTION_H
