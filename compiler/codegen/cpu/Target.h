//===- Target.h - The CPU that code is generated for ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_TARGET_H
#define NNV12_COMPILER_CODEGEN_CPU_TARGET_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// A CPU target by the name that --target takes.
struct Target {
  std::string name;         ///< "x86-64-v4"
  std::string architecture; ///< "x86-64" or "aarch64", as in the bundle
  std::string triple;
  std::string cpu;      ///< LLVM -mcpu
  std::string tuneCpu;  ///< LLVM -mtune, empty for none
  std::string features; ///< LLVM -mattr
  /// LLVM's names of the features that the runtime checks.
  std::vector<std::string> required;
  int vectorLanes;     ///< f32 lanes of a vector register: 16, 8 or 4
  int vectorRegisters; ///< 32 or 16
  /// Multiply by element of a register (NEON) instead of load and broadcast.
  bool multiplyByElement;
  /// Masked loads and stores are cheap.
  bool hasMasks;
  /// The caches of a core, from data sheets of usual cores. Loops are cut to
  /// these sizes, but nothing promises them: a phone's caches are a fraction of
  /// a server's.
  int64_t firstLevelCache, secondLevelCache; ///< bytes

  /// Takes LLVM's name of a processor to schedule instructions for; false,
  /// changing nothing, where LLVM knows no such one.
  bool tuneFor(llvm::StringRef processor);

  /// nullopt for an unknown name. "host" is the best that this machine has.
  static std::optional<Target> byName(llvm::StringRef name);
  /// Names that byName takes, for messages.
  static std::string names();
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_TARGET_H
