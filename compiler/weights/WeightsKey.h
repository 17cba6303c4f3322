//===- WeightsKey.h - Names weights in a form -------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_WEIGHTS_WEIGHTSKEY_H
#define NNV12_COMPILER_WEIGHTS_WEIGHTSKEY_H

#include "dialects/nn/NNDialect.h"
#include "dialects/plan/StoredForm.h"

namespace nnv12 {

/// Weights in a form: elements, the type that says how packed ones lie, and the
/// form. Equal weights have equal keys, whichever constants they are.
struct WeightsKey {
  mlir::Attribute elements;
  mlir::Type type;
  plan::StoredForm form;

  static WeightsKey of(mlir::Value constant, plan::StoredForm form = {}) {
    auto op = constant.getDefiningOp<nn::ConstantOp>();
    return {op.getValue(), op.getType(), std::move(form)};
  }

  bool operator<(const WeightsKey &other) const {
    return std::tuple(elements.getAsOpaquePointer(), type.getAsOpaquePointer(),
                      form) < std::tuple(other.elements.getAsOpaquePointer(),
                                         other.type.getAsOpaquePointer(),
                                         other.form);
  }
};

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_WEIGHTSKEY_H
