//===- Rewrite.cpp - Applies patterns until none matches ------------------===//
#include "passes/simplify/Rewrite.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

void nnv12::rewriteGreedily(mlir::Operation *root,
                            mlir::RewritePatternSet &&patterns) {
  (void)mlir::applyPatternsGreedily(root, std::move(patterns));
}
