//===- CallersBuffers.h - A caller's buffers for one run --------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_CALLERSBUFFERS_H
#define NNV12_RUNTIME_GPU_CALLERSBUFFERS_H

#include "runtime/include/nnv12.h"

namespace nnv12::runtime {

/// Arrays of structs as large as the first says (runtime/system/Structs.h).
struct CallersBuffers {
  const nnv12_input *inputs;
  const nnv12_output *outputs;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_CALLERSBUFFERS_H
