//===- CopyOutputs.cpp - Results right in the caller's buffers ------------===//

#include "compiler/layers/Aliases.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace nnv12 {
#define GEN_PASS_DEF_COPYOUTPUTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct CopyOutputs : nnv12::impl::CopyOutputsBase<CopyOutputs> {
  void runOnOperation() override {
    Operation *ret = getOperation().getBody().front().getTerminator();
    Aliases aliases(getOperation());
    llvm::DenseSet<Value> claimed;
    for (OpOperand &operand : ret->getOpOperands()) {
      Value value = operand.get();
      Value base = aliases.find(value).base;
      bool isDirect =
          base.getDefiningOp() && !base.getDefiningOp<nn::ConstantOp>() &&
          nn::storageSize(base) == nn::storageSize(value) &&
          nn::layoutTag(base.getType()).empty() && claimed.insert(base).second;
      if (isDirect)
        continue;
      OpBuilder b(ret);
      operand.set(nn::UnaryOp::create(
          b, value.getLoc(), value.getType(), value,
          nn::FunctionAttr::get(&getContext(), nn::UnaryKind::identity)));
      ++copied;
    }
  }
};
} // namespace
