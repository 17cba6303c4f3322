//===- StretchHalves.cpp - Tensors that a GPU stores in f16 ---------------===//

#include "compiler/plan/StretchHalves.h"

#include "artifact/Limits.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;
using codegen::HalfTensors;

static bool hasBits(Operation *layer) {
  return layer->getNumResults() + layer->getNumOperands() <= HalfTensors::most;
}

/// The constant factor of a sum of products, whichever layer reads it first,
/// and however small it is beside the bias.
static std::optional<unsigned> weightOperand(Operation *layer) {
  if (auto weighted = dyn_cast<nn::Weighted>(layer))
    for (unsigned i : {1, 0})
      if (weighted.isFactor(i) &&
          layer->getOperand(i).getDefiningOp<nn::ConstantOp>())
        return i;
  return std::nullopt;
}

StretchHalves::StretchHalves(const ExecutionOrder &order,
                             ArrayRef<PlannedLayer> layers, HalfUse use)
    : order(order), layers(layers), use(use) {
  // In all that touches it a tensor has one element type.
  for (const PlannedLayer &layer : layers) {
    Operation *op = layer.layer.op;
    for (Value v : llvm::concat<Value>(op->getOperands(), op->getResults()))
      if (!hasBits(op) || !canBeHalf(v))
        refused.insert(order.baseOf(v));
  }
}

HalfTensors StretchHalves::weights(size_t layer, const GpuRoutine &routine) {
  Operation *op = layers[layer].layer.op;
  std::optional<unsigned> main = weightOperand(op);
  if (!main || !hasBits(op))
    return {};
  Value operand = op->getOperand(*main);
  auto constant = operand.getDefiningOp<nn::ConstantOp>();
  std::optional<WeightForm> form = routine.weightForm(op);
  if (!constant || (form && form->operand == *main) ||
      !nn::typeOf(operand).getElementType().isF32() ||
      nn::storageSize(operand) == 0)
    return {};
  auto [it, isNew] = fits.try_emplace(constant.getValue(), false);
  if (isNew)
    it->second =
        fitHalves(operand) &&
        (use == HalfUse::All || canNarrow(operand, plan::Narrowing::f16));
  return it->second ? HalfTensors::operand(op, *main) : HalfTensors();
}

bool StretchHalves::canBeHalf(Value tensor) const {
  Aliases::Place place = order.placeOf(tensor);
  uint64_t alignment = 2 * artifact::gpuAlignment;
  return nn::typeOf(tensor).getElementType().isF32() &&
         nn::typeOf(place.base).getElementType().isF32() &&
         uint64_t(place.offset) % alignment == 0 &&
         nn::storageSize(place.base) % 8 == 0;
}

HalfTensors StretchHalves::of(size_t layer, const GpuRoutine &routine,
                              size_t first, size_t end) {
  if (use == HalfUse::None)
    return {};
  HalfTensors result = weights(layer, routine);
  if (use == HalfUse::Exact)
    return result;
  Operation *op = layers[layer].layer.op;
  unsigned number = 0;
  for (Value v : llvm::concat<Value>(op->getResults(), op->getOperands())) {
    Value base = order.baseOf(v);
    std::optional<unsigned> tensor = order.tensorOf(base);
    if (tensor && order.tensors()[*tensor].first >= first &&
        order.tensors()[*tensor].last < end && !refused.contains(base))
      result.add(HalfTensors::result(number));
    ++number;
  }
  return result;
}
