//===- Registry.cpp - All routines of GPUs --------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"

namespace nnv12::codegen {

const RoutineSet &gpuRoutines() {
  static const RoutineSet set({gpuConvFirstRoutine(), gpuConvDepthwiseRoutine(),
                               gpuConvGemmRoutine(), gpuConvDirectRoutine(),
                               gpuPoolRoutine(), gpuMapRoutine(),
                               gpuElementRoutine()});
  return set;
}

} // namespace nnv12::codegen
