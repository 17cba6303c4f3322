//===- ReadyWeights.h - Where weights are when they are ready ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_READYWEIGHTS_H
#define NNV12_COMPILER_EMIT_READYWEIGHTS_H

#include "artifact/Bundle.h"
#include "compiler/weights/WeightsKey.h"

#include <cassert>
#include <map>

namespace nnv12 {

/// The constants after a program's preparations, by constant, type and form,
/// which is ready: packed, as the type says, or transformed.
class ReadyWeights {
public:
  struct Place {
    artifact::Operand operand; ///< Weights or Prepared
    /// Preparations that make it.
    std::vector<artifact::OperationId> after;
  };

  void add(mlir::Value constant, const plan::StoredForm &form, Place place) {
    places.insert({keyOf(constant, form), std::move(place)});
  }
  /// Null where no preparation makes it, or the value is no constant.
  const Place *find(mlir::Value constant, const plan::StoredForm &form) const {
    if (!constant.getDefiningOp<nn::ConstantOp>())
      return nullptr;
    auto it = places.find(keyOf(constant, form));
    return it == places.end() ? nullptr : &it->second;
  }

private:
  static WeightsKey keyOf(mlir::Value constant, const plan::StoredForm &form) {
    assert(form.isReady() && "kernels read it");
    return WeightsKey::of(constant, form);
  }
  std::map<WeightsKey, Place> places;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_READYWEIGHTS_H
