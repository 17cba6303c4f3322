//===- CompileOptions.h - The options of nnv12c -----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_COMPILEOPTIONS_H
#define NNV12_TOOLS_NNV12C_COMPILEOPTIONS_H

#include "compiler/calibrate/Error.h"
#include "compiler/calibrate/Range.h"
#include "compiler/import/ImportOptions.h"
#include "compiler/plan/PlanOptions.h"
#include "compiler/weights/Rounding.h"
#include "passes/Pipelines.h"
#include "tools/nnv12c/HostTuning.h"

#include <memory>
#include <optional>
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
  Spirv,    ///< kernels of GPUs
  Routines, ///< a table of all candidates and their costs
  Qdq       ///< the quantised model, as ONNX
};

/// The samples that a model is tried with.
struct Calibration {
  std::string path;     ///< of the set
  unsigned random = 0;  ///< so many samples of noise in place of a set
  unsigned crops = 1;   ///< of each photo
  unsigned samples = 0; ///< at most; 0: all

  bool isGiven() const { return random || !path.empty(); }
};

enum class Precision {
  F32,   ///< as the model is
  Int8,  ///< all products that can be
  Hybrid ///< those of the fastest choice within the bounds
};

/// In which precision layers are computed.
struct PrecisionOptions {
  Precision precision = Precision::F32;
  Calibration calibration;
  calibrate::RangeMethod ranges;
  /// Channels between products get ranges that are alike before.
  bool equalize = false;
  std::optional<calibrate::ErrorBound> bound;
  uint64_t mostBytes = 0; ///< of all weights; 0: any number
  /// Where to write PrecisionReport, a picture (.svg), JSON or text; empty:
  /// nowhere.
  std::string report;
};

/// How weights are stored of layers that compute in f32.
struct WeightOptions {
  WeightBits bits = WeightBits::F32;
  /// By names of layers. It has precedence over `bits`.
  std::map<std::string, WeightBits> layers;

  bool areRounded() const { return bits != WeightBits::F32 || !layers.empty(); }
};

enum class VideoMode {
  Off,
  Exact,  ///< no result differs in any bit
  Bounded ///< or values that differ little stay
};

/// A clip by which tolerances of reuse are found.
struct ClipOptions {
  std::string path;    ///< empty: there is none
  double maxAge = 0.5; ///< of answers (tools/common/VideoAges.h)
};

struct CompileOptions {
  std::string input;
  /// The model, where it is not in the file `input`.
  std::shared_ptr<const std::string> modelBytes;
  std::string output; ///< "-" is standard output, for text
  ImportOptions import;
  PrecisionOptions precision;
  WeightOptions weights;
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
  /// How frames of a video use values of the frame before.
  VideoMode video = VideoMode::Off;
  ClipOptions clip; ///< for VideoMode::Bounded
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
