//===- ReadyWeights.h - Where weights are when they are ready ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_READYWEIGHTS_H
#define NNV12_COMPILER_EMIT_READYWEIGHTS_H

#include "artifact/Bundle.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/StoredForm.h"

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
  using Key = std::tuple<const void *, const void *, plan::StoredForm>;
  static Key keyOf(mlir::Value constant, const plan::StoredForm &form) {
    assert(form.isReady() && "kernels read it");
    return {constant.getDefiningOp<nn::ConstantOp>()
                .getValue()
                .getAsOpaquePointer(),
            constant.getType().getAsOpaquePointer(), form};
  }
  std::map<Key, Place> places;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_READYWEIGHTS_H
