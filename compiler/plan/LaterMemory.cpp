//===- LaterMemory.cpp - Memory that later routines take ------------------===//

#include "compiler/plan/LaterMemory.h"

#include "compiler/processors/Processor.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

void nnv12::countLater(const ExecutionOrder &order, plan::ProgramOp program,
                       LaterMemory &cpu, LaterMemory &gpu) {
  llvm::DenseSet<uint64_t> onGpu;
  if (plan::GpuOp overlay = program.gpu())
    for (plan::StretchOp stretch : overlay.stretches())
      for (uint64_t i = 0; stretch.getWarm() && i < stretch.getCount(); ++i)
        onGpu.insert(stretch.getFirst() + i);
  auto of = [&](uint64_t layer) -> LaterMemory & {
    return onGpu.contains(layer) ? gpu : cpu;
  };
  llvm::DenseSet<Operation *> first = program.firstOperations();
  for (Operation &op : program.getBody().front()) {
    if (auto change = dyn_cast<plan::SwitchOp>(op))
      ++of(change.getLayer()).layers;
    auto transform = dyn_cast<plan::TransformOp>(op);
    if (!transform || first.contains(&op))
      continue;
    const Routine *routine = hostRoutines().named(transform.getRoutine());
    assert(routine && transform.getLayer() < order.layers().size() &&
           "the program is of these layers");
    if (auto form = routine->weightForm(order.layers()[transform.getLayer()]))
      of(transform.getLayer()).bytes += form->bytes;
  }
}
