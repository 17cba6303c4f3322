//===- CompileOptions.h - The options of nnv12c -----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_COMPILEOPTIONS_H
#define NNV12_TOOLS_NNV12C_COMPILEOPTIONS_H

#include "compiler/import/ImportOptions.h"
#include "compiler/plan/PlanOptions.h"
#include "passes/Pipelines.h"
#include "tools/nnv12c/HostTuning.h"

#include <string>
#include <vector>

namespace nnv12 {

enum class Emit {
  Imported,
  NN,
  Plan,
  Kernels,
  LLVM,
  Assembly,
  Bundle,
  Tuning,
  Spirv,   ///< kernels of GPUs
  Routines ///< a table of all candidates and their costs
};

struct CompileOptions {
  std::string input;
  std::string output; ///< "-" is standard output, for text
  ImportOptions import;
  /// Names that codegen::Target::allNamed takes, the preferred one first. None:
  /// the profile's, or this machine. With "host" and without a profile its
  /// costs are measured, see tuneHost().
  std::vector<std::string> targets;
  std::string profile; ///< file with the costs of a device, empty for none
  TuneOptions tuning;
  /// The storage's speed, instead of the costs' number; 0: as they say.
  double storageMBps = 0;
  /// Its threads are those of a session that is not told otherwise; 0: one a
  /// CPU.
  PlanOptions plan;
  /// No GPU target was named: one for a model in f16 has storage16.
  bool gpuIsOrdinary = false;
  /// File or name of the profile with the costs of the GPU; empty: those of
  /// `profile`, or an ordinary one's.
  std::string gpuProfile;
  /// Properties that the bundle adds to the model's own, and the file with the
  /// names of classes, one a line; empty: none.
  std::vector<std::pair<std::string, std::string>> properties;
  std::string labels;
  Emit emit = Emit::Bundle;
  std::string signingKey;   ///< file, empty for none
  bool checkBounds = false; ///< kernels compare each access with its operand
  bool checkTiles = false; ///< run each kernel's tiles, and see what they write
  /// Products between QuantizeLinear and DequantizeLinear.
  QuantizedProducts quantized;
  bool timing = false;  ///< print the time of each stage to stderr
  bool summary = false; ///< print to stdout what a bundle's plan is
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_COMPILEOPTIONS_H
