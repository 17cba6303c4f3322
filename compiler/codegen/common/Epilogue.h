//===- Epilogue.h - The steps behind a sum of products ----------*- C++ -*-===//
//
// out = residual_activation(activation(sum + bias) + residual), absent parts
// skipped.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_EPILOGUE_H
#define NNV12_COMPILER_CODEGEN_COMMON_EPILOGUE_H

#include "compiler/codegen/common/BuilderBase.h"
#include "dialects/nn/NNDialect.h"

namespace nnv12::codegen {

struct Epilogue {
  bool bias = false;
  bool residual = false;
  nn::FunctionAttr activation;         ///< may be null
  nn::FunctionAttr residualActivation; ///< may be null

  /// The epilogue of a conv, conv_transpose or matmul.
  template <typename Op> static Epilogue of(Op op) {
    Epilogue e;
    e.bias = bool(op.getBias());
    e.residual = bool(op.getResidual());
    e.activation = op.getActivationAttr();
    e.residualActivation = op.getResidualActivationAttr();
    return e;
  }
  /// Part of the name of a micro-kernel that ends so.
  std::string suffix() const;
  /// Whether it is long, say a polynomial, so that code for each accumulator of
  /// a tile would be too much: sums are stored first, then a loop finishes
  /// them.
  bool isLong() const;
  /// Whether the result may share memory with the residual.
  bool allowsInPlace() const { return residual && !isLong(); }
  /// `sum` includes the bias already. `loadResidual` gives as many lanes.
  Value apply(BuilderBase &k, Value sum,
              function_ref<Value()> loadResidual) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_EPILOGUE_H
