//===- GpuMeasure.h - Measures a GPU ----------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUMEASURE_H
#define NNV12_TOOLS_NNV12_TUNE_GPUMEASURE_H

#include "tools/nnv12-tune/GpuBundle.h"
#include "tools/nnv12-tune/GpuMeasured.h"

namespace nnv12::tune {

struct GpuMeasureOptions {
  std::string vulkanLibrary; ///< "": the system's
  bool allowSoftware = false;
  unsigned repeat = 9;    ///< runs at least
  unsigned seconds = 150; ///< until it has ended
};

/// Opens the device as sessions do, makes the bundle's pipelines several times,
/// brings weights there and runs the kernels in a session. Ends the process
/// with one line where there is no such device, or it fails. May hang or crash
/// where the driver does: for a process of its own.
GpuMeasured measureGpu(const GpuBundle &bundle,
                       const GpuMeasureOptions &options);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUMEASURE_H
