//===- OutputCopies.cpp - Results right in the caller's buffers -----------===//

#include "compiler/layers/OutputCopies.h"

#include "compiler/layers/Aliases.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nnv12;

unsigned nnv12::copyOutputs(func::FuncOp main) {
  Operation *ret = main.getBody().front().getTerminator();
  Aliases aliases(main);
  llvm::DenseSet<Value> claimed;
  unsigned copied = 0;
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
        nn::FunctionAttr::get(main.getContext(), nn::UnaryKind::identity)));
    ++copied;
  }
  return copied;
}
