//===- StepsInHalf.cpp - Tensors that a GPU stores in f16 -----------------===//

#include "compiler/codegen/gpu/HalfMemory.h"

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// Which tensors of a layer bindings of its steps are.
class Bindings {
public:
  Bindings(Operation *layer, HalfTensors half) : layer(layer), half(half) {}

  bool isHalf(const GpuStepOperand &operand) const {
    using Use = GpuStepOperand::Use;
    return operand.use != Use::NoBias &&
           half.has(operand.use == Use::NoResidual ? HalfTensors::result(0)
                                                   : tensor(operand));
  }
  uint32_t of(const GpuStep &step) const {
    // A tensor that a step writes for another one is no result, nor is a tensor
    // that is added to it.
    bool writesResult =
        step.operands.front().kind == GpuStepOperand::Kind::Result;
    uint32_t bits = 0;
    for (auto [i, operand] : llvm::enumerate(step.operands)) {
      bool isNone = operand.use == GpuStepOperand::Use::NoResidual;
      bits |= uint32_t(isHalf(operand) && (writesResult || !isNone)) << i;
    }
    return bits;
  }
  /// That a step reads and writes less than in f32.
  double savedBytes(const GpuStep &step) const {
    llvm::SmallDenseSet<Value, 4> tensors;
    double bytes = 0;
    for (const GpuStepOperand &operand : step.operands) {
      if (operand.use != GpuStepOperand::Use::Data || !isHalf(operand))
        continue;
      bool isResult = operand.kind == GpuStepOperand::Kind::Result;
      Value tensor = isResult ? Value(layer->getResult(operand.index))
                              : layer->getOperand(operand.index);
      if (!tensors.insert(tensor).second)
        continue;
      int64_t touched = operand.size ? operand.pieces * operand.size
                                     : nn::storageSize(tensor);
      bytes += double(touched) / 2;
    }
    return bytes;
  }

private:
  HalfTensors tensor(const GpuStepOperand &operand) const {
    switch (operand.kind) {
    case GpuStepOperand::Kind::Result:
      return HalfTensors::result(operand.index);
    case GpuStepOperand::Kind::Operand:
      return HalfTensors::operand(layer, operand.index);
    case GpuStepOperand::Kind::Temporary:
      break;
    }
    return {};
  }

  Operation *layer;
  HalfTensors half;
};

} // namespace

GpuSteps codegen::stepsInHalf(GpuSteps steps, Operation *layer,
                              const GpuRoutine &routine, HalfTensors half,
                              SmallVectorImpl<HalfKernel> &kernels) {
  if (half.empty()) {
    for (unsigned i = 0; i < steps.kernels.size(); ++i)
      kernels.push_back({i, 0});
    return steps;
  }
  assert(layer->getNumResults() + layer->getNumOperands() <=
             HalfTensors::most &&
         "a bit for each tensor");
  if (auto form = routine.weightForm(layer)) {
    (void)form;
    assert(!half.has(HalfTensors::operand(layer, form->operand)) &&
           "forms are of f32");
  }
  Bindings bindings(layer, half);
  std::vector<std::string> keys;
  for (GpuStep &step : steps.steps) {
    uint32_t bits = bindings.of(step);
    auto known = llvm::find_if(kernels, [&](const HalfKernel &kernel) {
      return kernel.kernel == step.kernel && kernel.half == bits;
    });
    unsigned number = known - kernels.begin();
    if (known == kernels.end()) {
      kernels.push_back({step.kernel, bits});
      std::string key = steps.kernels[step.kernel];
      if (bits)
        key += halfSuffix.str() + std::to_string(bits);
      keys.push_back(std::move(key));
    }
    step.kernel = number;
    step.grid.bytes =
        std::max(0.0, step.grid.bytes - bindings.savedBytes(step));
  }
  steps.kernels = std::move(keys);
  return steps;
}
