//===- SumRoutine.cpp - Routines of sums with an epilogue -----------------===//

#include "compiler/codegen/gpu/routines/SumRoutine.h"

using namespace mlir;
using namespace nnv12::codegen;

GpuSteps SumRoutine::oneSum(Operation *layer, Cut cut, const std::string &key,
                            GpuDispatch dispatch, double inner) const {
  Epilogue epilogue = epilogueOf(layer);
  PushEpilogue::append(dispatch.push, epilogue);
  GpuSteps steps = oneStep(layer, cut, key + PushEpilogue::suffix(epilogue),
                           std::move(dispatch), inner);
  for (GpuStep &step : steps.steps) {
    // Behind the result and two operands.
    step.operands.resize(3);
    PushEpilogue::append(step.operands, epilogue);
  }
  return steps;
}
