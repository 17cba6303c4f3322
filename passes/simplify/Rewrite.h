//===- Rewrite.h - Applies patterns until none matches ----------*- C++ -*-===//
#ifndef NNV12_PASSES_SIMPLIFY_REWRITE_H
#define NNV12_PASSES_SIMPLIFY_REWRITE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace nnv12 {

/// MLIR gives up after some rounds over the function. Each single rewrite
/// leaves a model that computes the same, so that is no fault: as in MLIR's own
/// canonicalizer a missing rewrite costs speed alone, and the pass goes on.
/// Returns how many layers fewer the function has then, constants aside.
int64_t rewriteGreedily(mlir::func::FuncOp function,
                        mlir::RewritePatternSet &&patterns);

/// With these patterns, all made from `arguments`.
template <typename... Patterns, typename... Arguments>
int64_t rewriteGreedily(mlir::func::FuncOp function, Arguments &&...arguments) {
  mlir::RewritePatternSet patterns(function.getContext());
  patterns.add<Patterns...>(function.getContext(),
                            std::forward<Arguments>(arguments)...);
  return rewriteGreedily(function, std::move(patterns));
}

/// A pattern that counts its rewrites in a statistic of the pass.
template <typename OpTy,
          template <typename> class Pattern = mlir::OpRewritePattern>
struct CountedPattern : Pattern<OpTy> {
  CountedPattern(mlir::MLIRContext *context, mlir::Pass::Statistic &count)
      : Pattern<OpTy>(context), count(count) {}

  mlir::Pass::Statistic &count;
};

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_REWRITE_H
