//===- ConstantBudget.h - Bytes that made constants may take ----*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_CONSTANTBUDGET_H
#define NNV12_DIALECTS_NN_CONSTANTBUDGET_H

#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/MLIRContext.h"

#include <atomic>
#include <cstdint>

namespace nnv12::nn {

/// How many bytes of constants a compiler may make, out of others or from
/// nothing: 512 MiB, for masks and tables whatever the model, and eight times
/// the model's own, for each weight in several forms one after the other.
/// Attributes live as long as their context, so all of them count.
class ConstantBudget : public mlir::DialectInterface::Base<ConstantBudget> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConstantBudget)
  explicit ConstantBudget(mlir::Dialect *dialect) : Base(dialect) {}

  /// The one of the context's nn dialect.
  static ConstantBudget &of(mlir::MLIRContext *context);

  /// Counts a constant that comes with the model.
  void give(uint64_t bytes) { given += bytes; }
  /// Whether there is room for another made constant; takes it then. A
  /// small constant is not counted: shape arithmetic must always go on.
  bool take(uint64_t bytes);

private:
  // Passes may run on several threads.
  std::atomic<uint64_t> given{0}, made{0};
};

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_CONSTANTBUDGET_H
