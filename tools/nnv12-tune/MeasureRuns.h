//===- MeasureRuns.h - Measures a GPU ---------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_MEASURERUNS_H
#define NNV12_TOOLS_NNV12_TUNE_MEASURERUNS_H

#include "tools/nnv12-tune/Dispatches.h"
#include "tools/nnv12-tune/Kernels.h"
#include "tools/nnv12-tune/Samples.h"
#include "tools/nnv12-tune/Tuner.h"

namespace nnv12::tune {

/// Opens the device as sessions do, makes the bundle's pipelines several times,
/// brings weights there and runs the kernels in a session. Ends the process
/// with one line where there is no such device, or it fails. May hang or crash
/// where the driver does: for a process of its own. `besides`: kernels of the
/// CPUs that kernels of the GPU run beside; null: none.
Samples measureRuns(const DispatchBundle &bundle, Kernels *besides,
                    const TuneOptions &options);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_MEASURERUNS_H
