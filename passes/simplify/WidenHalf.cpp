//===- WidenHalf.cpp - Compute 16-bit floats in f32 -----------------------===//
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseSet.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_WIDENHALF
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

static bool isHalf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<Float16Type, BFloat16Type>(tensor.getElementType());
}

static RankedTensorType widened(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(Float32Type::get(type.getContext()));
}

namespace {
struct WidenHalf : nnv12::impl::WidenHalfBase<WidenHalf> {
  void runOnOperation() override {
    SmallVector<Operation *> layers;
    for (Operation &op : getOperation().getBody().front())
      if (!isa<nn::CastOp, BitCastOp, ConstantOp>(op) &&
          !op.hasTrait<OpTrait::IsTerminator>() &&
          (llvm::any_of(op.getOperandTypes(), isHalf) ||
           llvm::any_of(op.getResultTypes(), isHalf)))
        layers.push_back(&op);
    for (Operation *layer : layers)
      widen(layer);
    dropRoundTrips();
    widenedLayers += layers.size();
  }

private:
  void widen(Operation *layer) {
    OpBuilder b(layer);
    for (OpOperand &operand : layer->getOpOperands())
      if (isHalf(operand.get().getType()))
        operand.set(
            cast(b, layer, widened(operand.get().getType()), operand.get()));
    b.setInsertionPointAfter(layer);
    for (Value result : layer->getResults()) {
      if (!isHalf(result.getType()))
        continue;
      Type half = result.getType();
      result.setType(widened(half));
      Value narrow = cast(b, layer, half, result);
      result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    }
  }

  Value cast(OpBuilder &b, Operation *layer, Type type, Value value) {
    auto cast = CastOp::create(b, layer->getLoc(), type, value);
    ours.insert(cast);
    return cast.getOutput();
  }

  /// f32 to half and back between two widened layers: only rounding. Casts of
  /// the model itself stay.
  void dropRoundTrips() {
    getOperation().walk([&](CastOp wide) {
      auto narrow = wide.getInput().getDefiningOp<CastOp>();
      if (!ours.contains(wide) || !narrow || !ours.contains(narrow))
        return;
      assert(wide.getType() == narrow.getInput().getType() &&
             "casts of ours stand around layers that compute in f32");
      wide.getOutput().replaceAllUsesWith(narrow.getInput());
    });
    ours.clear();
  }

  llvm::DenseSet<Operation *> ours;
};
} // namespace
