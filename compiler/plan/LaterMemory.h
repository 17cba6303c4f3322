//===- LaterMemory.h - Memory that later routines take ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_LATERMEMORY_H
#define NNV12_COMPILER_PLAN_LATERMEMORY_H

#include "compiler/layers/ExecutionOrder.h"
#include "dialects/plan/PlanDialect.h"

namespace nnv12 {

/// Layers whose routine changes after the first inference, and bytes of the
/// weights that are prepared for that alone.
struct LaterMemory {
  unsigned layers = 0;
  uint64_t bytes = 0;
};

/// Counts them in a plan of the layers of `order`, apart for layers that later
/// inferences leave to the CPUs (`cpu`) and for layers of a stretch that a GPU
/// takes over in them (`gpu`), for which a session prepares nothing unless it
/// has no such GPU.
void countLater(const ExecutionOrder &order, plan::ProgramOp program,
                LaterMemory &cpu, LaterMemory &gpu);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_LATERMEMORY_H
