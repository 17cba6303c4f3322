//===- ReadyWeights.h - Where weights are when they are ready ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_READYWEIGHTS_H
#define NNV12_COMPILER_EMIT_READYWEIGHTS_H

#include "artifact/Bundle.h"
#include "dialects/nn/NNDialect.h"

#include <map>

namespace nnv12 {

/// What a program's preparations leave of constants, by constant, type and
/// form: "" is packed, as the type says.
class ReadyWeights {
public:
  struct Place {
    artifact::Operand operand; ///< Weights or Prepared
    /// Preparations that make it.
    std::vector<artifact::OperationId> after;
  };

  void add(mlir::Value constant, llvm::StringRef form, Place place) {
    places.insert({keyOf(constant, form), std::move(place)});
  }
  /// Null where no preparation makes it.
  const Place *find(mlir::Value constant, llvm::StringRef form) const {
    auto it = places.find(keyOf(constant, form));
    return it == places.end() ? nullptr : &it->second;
  }

private:
  using Key = std::tuple<const void *, const void *, std::string>;
  static Key keyOf(mlir::Value constant, llvm::StringRef form) {
    return {constant.getDefiningOp<nn::ConstantOp>()
                .getValue()
                .getAsOpaquePointer(),
            constant.getType().getAsOpaquePointer(), form.str()};
  }
  std::map<Key, Place> places;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_READYWEIGHTS_H
