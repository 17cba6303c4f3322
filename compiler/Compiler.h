//===- Compiler.h - From an ONNX file to a bundle ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_COMPILER_H
#define NNV12_COMPILER_COMPILER_H

#include "compiler/HostTuning.h"
#include "compiler/import/Import.h"
#include "compiler/plan/Options.h"
#include "mlir/IR/MLIRContext.h"

#include <string>
#include <vector>

namespace nnv12 {

enum class Emit {
  Imported,
  NN,
  Plan,
  LLVM,
  Assembly,
  Bundle,
  Tuning,
  Routines ///< a table of all candidates and their costs
};

struct CompileOptions {
  std::string input;
  std::string output; ///< "-" is standard output, for text
  ImportOptions import;
  /// Names that codegen::Target::byName takes, the preferred one first. None:
  /// the profile's, or this machine.
  std::vector<std::string> targets;
  std::string profile; ///< file with the costs of a device, empty for none
  /// Without a profile: measure the costs of this machine's target, see
  /// tuneHost().
  bool tuneHost = false;
  TuneOptions tuning;
  /// What storage reads, instead of what the costs say; 0: as they say.
  double storageMBps = 0;
  plan::Mode mode = plan::Mode::Cold;
  plan::Parts parts = plan::Parts::KCP;
  Emit emit = Emit::Bundle;
  unsigned threads =
      0; ///< of a session that is not told otherwise; 0: one a CPU
  std::string signingKey;   ///< file, empty for none
  bool checkBounds = false; ///< kernels compare each access with its operand
  bool checkTiles = false; ///< run each kernel's tiles, and see what they write
  bool timing = false;     ///< print the time of each stage to stderr
  bool summary = false;    ///< print to stdout what a bundle's plan is
};

/// Loads every dialect that the compiler uses.
void loadDialects(mlir::MLIRContext &context);

/// Compiles one model. On failure one error diagnostic has been emitted in
/// `context` and the output is as it was.
mlir::LogicalResult compile(const CompileOptions &options,
                            mlir::MLIRContext &context);

} // namespace nnv12

#endif // NNV12_COMPILER_COMPILER_H
