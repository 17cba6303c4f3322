//===- GpuHalf.cpp - What a GPU stores in f16 -----------------------------===//

#include "compiler/select/GpuHalf.h"

#include "artifact/Limits.h"
#include "compiler/narrow/Narrow.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;
using codegen::HalfTensors;

static bool hasBits(Operation *layer) {
  return layer->getNumResults() + layer->getNumOperands() <= HalfTensors::most;
}

HalfTensors GpuHalf::weights(size_t layer, const GpuRoutine &routine) {
  Operation *op = layers[layer].layer.op;
  std::optional<unsigned> main = layers[layer].layer.mainOperand;
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
    it->second = fitHalves(operand);
  return it->second ? HalfTensors::operand(op, *main) : HalfTensors();
}

bool GpuHalf::canBeHalf(Value tensor) const {
  Aliases::Place place = order.placeOf(tensor);
  uint64_t alignment = 2 * artifact::gpuAlignment;
  return nn::typeOf(tensor).getElementType().isF32() &&
         nn::typeOf(place.base).getElementType().isF32() &&
         uint64_t(place.offset) % alignment == 0 &&
         nn::storageSize(place.base) % 8 == 0;
}

void GpuHalf::addTensors(size_t layer, HalfTensors &half,
                         llvm::function_ref<bool(Value)> isHalf) const {
  Operation *op = layers[layer].layer.op;
  unsigned number = 0;
  for (Value v : llvm::concat<Value>(op->getResults(), op->getOperands())) {
    if (isHalf(order.placeOf(v).base))
      half.add(HalfTensors::result(number));
    ++number;
  }
}

std::vector<HalfTensors> GpuHalf::of(size_t first,
                                     ArrayRef<const GpuRoutine *> routines) {
  size_t end = first + routines.size();
  // In all that touches it a tensor has one element type.
  llvm::SmallDenseSet<Value, 4> refused;
  for (size_t i = first; i < end; ++i) {
    Operation *op = layers[i].layer.op;
    for (Value v : llvm::concat<Value>(op->getOperands(), op->getResults()))
      if (!hasBits(op) || !canBeHalf(v))
        refused.insert(order.placeOf(v).base);
  }
  auto isOwn = [&](Value base) {
    std::optional<unsigned> tensor = order.tensorOf(base);
    return tensor && order.tensors()[*tensor].first >= first &&
           order.tensors()[*tensor].last < end && !refused.contains(base);
  };
  std::vector<HalfTensors> result;
  for (auto [i, routine] : llvm::enumerate(routines)) {
    result.push_back(weights(first + i, *routine));
    addTensors(first + i, result.back(), isOwn);
  }
  return result;
}

HalfTensors GpuHalf::of(size_t layer, const GpuRoutine &routine) {
  HalfTensors result = weights(layer, routine);
  if (hasBits(layers[layer].layer.op))
    addTensors(layer, result, [&](Value base) {
      return order.tensorOf(base).has_value() && canBeHalf(base);
    });
  return result;
}
