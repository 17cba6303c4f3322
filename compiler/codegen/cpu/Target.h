//===- Target.h - The CPU that code is generated for ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_TARGET_H
#define NNV12_COMPILER_CODEGEN_CPU_TARGET_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// The cost of one step of each tile of a micro-kernel, in multiply-adds of a
/// vector at the processor's full rate. TileCosts.inc has the tables.
struct TileCosts {
  static constexpr int mostPanels = 4, mostPositions = 14;
  /// [panels - 1][positions - 1]; 0 where registers cannot hold the tile.
  double costs[mostPanels][mostPositions];

  double of(int64_t positions, int64_t panels) const {
    return costs[panels - 1][positions - 1];
  }
  /// The most that a tile of these panels can have.
  int64_t maxPositions(int64_t panels) const;
};

/// Instructions that a target's CPUs have beyond those of its base. A CPU that
/// has some has those before them, too.
enum class Extension : uint8_t {
  None,
  DotProducts,   ///< of four bytes: vpdpbusd, sdot
  MatrixProducts ///< of bytes: AMX's tiles, smmla
};

/// A CPU target by the name that --target takes: a base, or a base with an
/// extension. A kernel belongs to the least target that can run it. Programs of
/// greater targets have the same code for it under the same key, so measured
/// times hold for all of them.
struct Target {
  std::string name;         ///< "x86-64-v4", "x86-64-v4+vnni"
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
  /// Where it is absent, a formula serves (tileCost).
  const TileCosts *tileCosts = nullptr;
  /// The same for micro-kernels of bytes, whose step is a quad.
  const TileCosts *quadCosts = nullptr;

  std::string base = {}; ///< the name of the target without the extension
  Extension extension = Extension::None;
  /// LLVM's names of the features of `required` that the base lacks.
  std::vector<std::string> added = {};

  bool isBase() const { return extension == Extension::None; }
  /// Whether code may use the feature of this name of LLVM's, e.g.
  /// "avx512vnni".
  bool has(llvm::StringRef feature) const;
  /// The same base with no more than this extension: the target of kernels that
  /// use that.
  Target upTo(Extension most) const;
  /// Whether this process may run its code.
  bool runsHere() const;

  /// Takes LLVM's name of a processor to schedule instructions for; false,
  /// changing nothing, where LLVM knows no such one.
  bool tuneFor(llvm::StringRef processor);

  /// nullopt for an unknown name. "host" is the best that runs here.
  static std::optional<Target> byName(llvm::StringRef name);
  /// Names that byName takes, for messages.
  static std::string names();
  /// The targets of a name of --target, best first: of an architecture's all
  /// that it has. Empty for an unknown name.
  static std::vector<Target> allNamed(llvm::StringRef name);
  /// Names that allNamed takes, for messages.
  static std::string allNames();
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_TARGET_H
