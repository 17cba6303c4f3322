//===- MathTypes.cpp - In which types functions compute -------------------===//

#include "compiler/codegen/common/Math.h"

#include "dialects/nn/SmallTypes.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;
using nn::UnaryKind;

FloatWay codegen::wayOf(UnaryKind kind) {
  using K = UnaryKind;
  auto isOneOf = [&](std::initializer_list<K> kinds) {
    return llvm::is_contained(kinds, kind);
  };
  return {
      /*throughF64=*/isOneOf({K::sin, K::cos, K::tan, K::asin, K::acos, K::atan,
                              K::sinh, K::cosh, K::asinh, K::acosh, K::atanh}),
      /*takesBits=*/
      isOneOf({K::asin,      K::acos,     K::atan,    K::sinh,  K::cosh,
               K::asinh,     K::acosh,    K::atanh,   K::exp,   K::log,
               K::erf,       K::tanh,     K::sigmoid, K::swish, K::gelu,
               K::gelu_tanh, K::softplus, K::elu,     K::celu,  K::selu,
               K::mish}),
      /*compares=*/
      isOneOf({K::sin, K::tan, K::log, K::elu, K::celu, K::selu, K::mish,
               K::sign, K::leaky_relu, K::thresholded_relu, K::shrink,
               K::logical_not})};
}

static void floatTypes(TypesUsed &types, FloatWay way, Type type,
                       Type from = {}) {
  MLIRContext *context = type.getContext();
  types.compute(type);
  if (from && way.compares && (type.isF64() || !way.throughF64))
    types.compute(from);
  if (way.throughF64)
    types.compute(Float64Type::get(context));
  if (way.takesBits)
    types.compute(IntegerType::get(
        context, way.throughF64 ? 64 : type.getIntOrFloatBitWidth()));
}

void codegen::loadTypes(TypesUsed &types, Type element) {
  types.move(storageType(element));
  types.move(computeType(element));
  // A truth value is compared with zero, and the code of a float of less than a
  // byte has its upper bits removed.
  if (element.isInteger(1) ||
      (nn::smallFloat(element) && element.getIntOrFloatBitWidth() < 8))
    types.compute(storageType(element));
}

void codegen::storeTypes(TypesUsed &types, Type element) {
  types.move(storageType(element));
  if (element.isInteger(1))
    types.compute(storageType(element));
}

void codegen::unaryTypes(TypesUsed &types, nn::FunctionAttr f, Type type,
                         bool isUnsigned, Type from) {
  if (isa<FloatType>(type))
    return floatTypes(types, wayOf(f.getKind()), type, from);
  if (type.isInteger(1))
    return types.compute(type);
  switch (f.getKind()) {
  case UnaryKind::identity:
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
  case UnaryKind::is_nan:
  case UnaryKind::is_inf:
    return types.move(type);
  case UnaryKind::abs:
  case UnaryKind::relu:
    return isUnsigned ? types.move(type) : types.compute(type);
  case UnaryKind::neg:
  case UnaryKind::sign:
  case UnaryKind::clip:
  case UnaryKind::bitwise_not:
  case UnaryKind::logical_not:
    return types.compute(type);
  default: {
    Type f64 = Float64Type::get(type.getContext());
    castTypes(types, type, f64);
    floatTypes(types, wayOf(f.getKind()), f64, type);
    return castTypes(types, f64, type);
  }
  }
}

void codegen::binaryTypes(TypesUsed &types, BinaryKind kind, Type type,
                          bool isUnsigned) {
  if (isa<FloatType>(type)) {
    bool isLong = llvm::is_contained(
        {BinaryKind::pow, BinaryKind::mod, BinaryKind::fmod}, kind);
    return floatTypes(types, {isLong, isLong, /*compares=*/false}, type);
  }
  if (kind == BinaryKind::prelu && isUnsigned)
    return types.move(type);
  types.compute(type);
}

void codegen::castTypes(TypesUsed &types, Type from, Type to) {
  if (from == to)
    return;
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  if (nn::smallFloat(from) || nn::smallFloat(to)) {
    Type real = betweenSmall(from, to);
    if (!nn::smallFloat(from))
      castTypes(types, from, real);
    types.compute(real);
    types.compute(
        IntegerType::get(from.getContext(), real.getIntOrFloatBitWidth()));
    if (nn::smallFloat(from))
      castTypes(types, real, to);
    return;
  }
  Type source = computeType(from), target = computeType(to);
  // From truth values it is a selection, to them a comparison.
  if (to.isInteger(1) && !from.isInteger(1))
    return types.compute(source);
  // Integers of less than a byte get their storage type at once.
  if (from.isInteger(1) && nn::isSmallInteger(to))
    return types.compute(storageType(to));
  if (from.isInteger(1))
    types.compute(target);
  types.move(source);
  types.move(target);
  if (isFloat(from) && !isFloat(to)) {
    types.compute(source);
    if (to.getIntOrFloatBitWidth() >= 32)
      types.compute(target);
  }
  if (to.isF16())
    types.move(to);
}
