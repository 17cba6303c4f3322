//===- MathTypes.cpp - In which types functions compute -------------------===//

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/TypesUsed.h"

#include "dialects/nn/SmallTypes.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;
using nn::UnaryKind;

namespace {

/// How FloatMath computes a function.
struct Way {
  bool throughF64 = false; ///< f32, too
  bool takesBits = false;  ///< as integers of the float's width
  bool compares = false;   ///< the number itself with constants
};

Way wayOf(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::cos:
    return {/*throughF64=*/true, /*takesBits=*/false, /*compares=*/false};
  case UnaryKind::sin:
  case UnaryKind::tan:
    return {/*throughF64=*/true, /*takesBits=*/false, /*compares=*/true};
  case UnaryKind::asin:
  case UnaryKind::acos:
  case UnaryKind::atan:
  case UnaryKind::sinh:
  case UnaryKind::cosh:
  case UnaryKind::asinh:
  case UnaryKind::acosh:
  case UnaryKind::atanh:
    return {/*throughF64=*/true, /*takesBits=*/true, /*compares=*/false};
  case UnaryKind::exp:
  case UnaryKind::erf:
  case UnaryKind::tanh:
  case UnaryKind::sigmoid:
  case UnaryKind::swish:
  case UnaryKind::gelu:
  case UnaryKind::gelu_tanh:
  case UnaryKind::softplus:
    return {/*throughF64=*/false, /*takesBits=*/true, /*compares=*/false};
  case UnaryKind::log:
  case UnaryKind::elu:
  case UnaryKind::celu:
  case UnaryKind::selu:
  case UnaryKind::mish:
    return {/*throughF64=*/false, /*takesBits=*/true, /*compares=*/true};
  case UnaryKind::sign:
  case UnaryKind::leaky_relu:
  case UnaryKind::thresholded_relu:
  case UnaryKind::shrink:
  case UnaryKind::logical_not:
    return {/*throughF64=*/false, /*takesBits=*/false, /*compares=*/true};
  default:
    return {};
  }
}

Way wayOf(BinaryKind kind) {
  bool isLong = kind == BinaryKind::pow || kind == BinaryKind::mod ||
                kind == BinaryKind::fmod;
  return {/*throughF64=*/isLong, /*takesBits=*/isLong, /*compares=*/false};
}

void floatTypes(TypesUsed &types, Way way, Type type, Type from = {}) {
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

} // namespace

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
  if (isa<FloatType>(type))
    return floatTypes(types, wayOf(kind), type);
  if (kind == BinaryKind::prelu && isUnsigned)
    return types.move(type);
  types.compute(type);
}

void codegen::castTypes(TypesUsed &types, Type from, Type to) {
  if (from == to)
    return;
  MLIRContext *context = from.getContext();
  auto real = [&](bool isWide) -> Type {
    return isWide ? Type(Float64Type::get(context))
                  : Type(Float32Type::get(context));
  };
  auto bitsOf = [&](Type type) {
    return IntegerType::get(context, type.getIntOrFloatBitWidth());
  };
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  if (nn::smallFloat(from)) {
    Type wide = real(to.isF64() || to.isInteger(1));
    types.compute(wide);
    types.compute(bitsOf(wide));
    return castTypes(types, wide, to);
  }
  if (nn::smallFloat(to)) {
    bool isWide =
        from.isF64() || (!isFloat(from) && from.getIntOrFloatBitWidth() > 16);
    Type wide = real(isWide);
    castTypes(types, from, wide);
    types.compute(wide);
    return types.compute(bitsOf(wide));
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
