//===- Rewrite.h - Applies patterns until none matches ----------*- C++ -*-===//
#ifndef NNV12_PASSES_SIMPLIFY_REWRITE_H
#define NNV12_PASSES_SIMPLIFY_REWRITE_H

#include "mlir/IR/PatternMatch.h"

namespace nnv12 {

/// MLIR gives up after some rounds over the function. Each single rewrite
/// leaves a model that computes the same, so that is no fault: as in MLIR's own
/// canonicalizer a missing rewrite costs speed alone, and the pass goes on.
void rewriteGreedily(mlir::Operation *root, mlir::RewritePatternSet &&patterns);

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_REWRITE_H
