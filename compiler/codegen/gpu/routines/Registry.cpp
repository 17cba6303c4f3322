//===- Registry.cpp - All routines of GPUs --------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"

namespace nnv12::codegen {

const RoutineSet &gpuRoutines() {
  static const RoutineSet set({gpuMapRoutine(), gpuElementRoutine()});
  return set;
}

} // namespace nnv12::codegen
