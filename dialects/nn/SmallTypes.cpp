//===- SmallTypes.cpp - Element types that are moved and cast -------------===//
#include "dialects/nn/SmallTypes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace nnv12;

const artifact::SmallFloat *nn::smallFloat(Type element) {
  using E = artifact::ElementType;
  static const std::pair<TypeID, E> types[] = {
      {TypeID::get<Float8E4M3FNType>(), E::F8E4M3FN},
      {TypeID::get<Float8E4M3FNUZType>(), E::F8E4M3FNUZ},
      {TypeID::get<Float8E5M2Type>(), E::F8E5M2},
      {TypeID::get<Float8E5M2FNUZType>(), E::F8E5M2FNUZ},
      {TypeID::get<Float8E8M0FNUType>(), E::F8E8M0},
      {TypeID::get<Float4E2M1FNType>(), E::F4E2M1},
  };
  for (auto [id, type] : types)
    if (element.getTypeID() == id)
      return artifact::SmallFloat::get(type);
  return nullptr;
}

bool nn::isSmallInteger(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && (integer.getWidth() == 4 || integer.getWidth() == 2);
}
