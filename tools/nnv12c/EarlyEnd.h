//===- EarlyEnd.h - An end that leaves nothing behind -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_EARLYEND_H
#define NNV12_TOOLS_NNV12C_EARLYEND_H

#include "compiler/codegen/common/HeldSignals.h"
#include "llvm/ADT/StringRef.h"

#include <iterator>

namespace nnv12 {

/// From now on a process that gets no more memory, or that LLVM cannot go on
/// with, says so in one line with the model's name, removes its temporary files
/// and ends with 1.
void handleOutOfMemory(llvm::StringRef model);

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

#endif // NNV12_TOOLS_NNV12C_EARLYEND_H
