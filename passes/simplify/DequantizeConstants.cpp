//===- DequantizeConstants.cpp - Float constants of integers --------------===//
#include "passes/Passes.h"
#include "passes/simplify/QuantizedFactors.h"

namespace nnv12 {
#define GEN_PASS_DEF_DEQUANTIZECONSTANTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether a constant is nothing but the weights of layers.
static bool isWeights(DequantizeOp op) {
  return !op->use_empty() && llvm::all_of(op->getUses(), [](OpOperand &use) {
    return isa<Linear>(use.getOwner()) && use.getOperandNumber() == 1;
  });
}

namespace {
struct DequantizeConstants
    : nnv12::impl::DequantizeConstantsBase<DequantizeConstants> {
  using DequantizeConstantsBase::DequantizeConstantsBase;
  void runOnOperation() override {
    getOperation().walk([&](DequantizeOp op) {
      OpBuilder b(op);
      Value constant = keepWeights && isWeights(op) ? op.getOutput()
                                                    : withoutDequantize(b, op);
      if (constant == op.getOutput())
        return;
      op.replaceAllUsesWith(constant);
      op.erase();
      ++made;
    });
  }
};
} // namespace
