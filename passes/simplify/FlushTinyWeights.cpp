//===- FlushTinyWeights.cpp - Tiny weights to zero ------------------------===//
#include "dialects/nn/NNBuild.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace nnv12 {
#define GEN_PASS_DEF_FLUSHTINYWEIGHTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
struct FlushTinyWeights : nnv12::impl::FlushTinyWeightsBase<FlushTinyWeights> {
  using FlushTinyWeightsBase::FlushTinyWeightsBase;

  void runOnOperation() override {
    llvm::SetVector<ConstantOp> constants;
    getOperation().walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (auto constant = operand.get().getDefiningOp<ConstantOp>();
            constant && isFactor(operand) &&
            typeOf(operand.get()).getElementType().isF32())
          constants.insert(constant);
    });
    // Elsewhere a tiny number may matter: as a summand, or as a guard against
    // division by zero.
    for (ConstantOp constant : constants)
      if (llvm::all_of(constant->getUses(), isFactor))
        flush(constant);
  }

  /// Whether the operand is a factor of sums of products.
  static bool isFactor(OpOperand &use) {
    auto layer = dyn_cast<Weighted>(use.getOwner());
    return layer && layer.isFactor(use.getOperandNumber());
  }

  bool isTiny(float value) const {
    return value != 0 && std::fabs(value) < static_cast<float>(threshold);
  }

  void flush(ConstantOp constant) {
    auto values = ConstantData::get(constant);
    if (!values)
      return;
    assert(values->type().getElementType().isF32() &&
           "no other constants were noted");
    const char *bytes = values->stored().data();
    size_t n = values->stored().size() / sizeof(float);
    auto at = [&](size_t i) {
      float value;
      std::memcpy(&value, bytes + i * sizeof(float), sizeof(float));
      return value;
    };
    int64_t found = 0;
    for (size_t i = 0; i < n; ++i)
      found += isTiny(at(i));
    if (found == 0)
      return;
    flushed += found;
    ElementsAttr result;
    if (values->isSplat())
      result = makeSplat(values->type(), 0);
    else
      result = makeConstant(values->type(), [&](MutableArrayRef<char> target) {
        for (size_t i = 0; i < n; ++i) {
          float value = isTiny(at(i)) ? 0.0f : at(i);
          std::memcpy(target.data() + i * sizeof(float), &value, sizeof(float));
        }
      });
    constant.setValueAttr(result);
  }
};
} // namespace
