//===- Rewrite.cpp - Applies patterns until none matches ------------------===//
#include "passes/simplify/Rewrite.h"

#include "dialects/nn/NNDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

static int64_t layerCount(func::FuncOp function) {
  return llvm::count_if(function.getOps(), [](Operation &op) {
    return !isa<nnv12::nn::ConstantOp>(op);
  });
}

int64_t nnv12::rewriteGreedily(func::FuncOp function,
                               RewritePatternSet &&patterns) {
  int64_t before = layerCount(function);
  (void)applyPatternsGreedily(function, std::move(patterns));
  return std::max<int64_t>(before - layerCount(function), 0);
}
