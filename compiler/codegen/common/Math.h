//===- Math.h - Element-wise functions of the nn dialect --------*- C++ -*-===//
//
// The scalar meaning of nn.unary, nn.binary and nn.cast. All functions take
// scalars or 1-D vectors in *compute types*: the element type itself, except
// that f16 and bf16 are computed in f32, unsigned integers are signless, i1
// (one byte in memory, as are i4 and i2) is i1, and a float of 8 or 4 bits is
// its code, i8, which nothing but a cast understands.
//
// Operations that C leaves undefined are defined here, since no input may trap:
// integer division by zero gives 0, and so does its remainder; the smallest
// integer divided by -1 is itself; a shift by the width or more gives 0 (-1 for
// a negative number shifted right); a float out of an integer's range is
// clamped, NaN becomes 0. min, max, clip and relu give NaN for NaN, as numpy
// does.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_MATH_H
#define NNV12_COMPILER_CODEGEN_COMMON_MATH_H

#include "compiler/codegen/common/BuilderBase.h"
#include "dialects/nn/NNDialect.h"

namespace nnv12::codegen {

struct TypesUsed;

/// The type in which elements of a tensor's element type are computed.
mlir::Type computeType(mlir::Type element);
/// The element type as BuilderBase::memory stores it: signless, i1 as i8.
mlir::Type storageType(mlir::Type element);
/// A loaded scalar or vector of the storage type as a compute value.
mlir::Value toCompute(BuilderBase &k, mlir::Value stored, mlir::Type element);
/// The reverse, rounding to nearest even.
mlir::Value toStorage(BuilderBase &k, mlir::Value x, mlir::Type element);

/// f(x). is_nan and is_inf give i1.
mlir::Value emitUnary(BuilderBase &k, nn::FunctionAttr f, mlir::Value x,
                      bool isUnsigned = false);
/// Both operands of one type. Comparisons give i1.
mlir::Value emitBinary(BuilderBase &k, nn::BinaryKind kind, mlir::Value lhs,
                       mlir::Value rhs, bool isUnsigned = false);
/// x, a compute value of tensor element type `from`, as one of type `to`
/// (rounded to it: a cast to f16 gives an f32 that f16 can hold). `saturate`
/// and `rounding` as nn.cast has them.
mlir::Value emitCast(BuilderBase &k, mlir::Value x, mlir::Type from,
                     mlir::Type to, bool saturate = true,
                     nn::Rounding rounding = nn::Rounding::nearest);

/// How a function of floats is computed.
struct FloatWay {
  bool throughF64 = false; ///< f32, too
  bool takesBits = false;  ///< as integers of the float's width
  bool compares = false;   ///< the number itself with constants
};
FloatWay wayOf(nn::UnaryKind kind);
/// Casts from or to a small float go through this type, f32 or f64.
mlir::Type betweenSmall(mlir::Type from, mlir::Type to);

// The types that the functions above write. `type` is a compute type, the
// others are those of tensors.
void loadTypes(TypesUsed &types, mlir::Type element);
void storeTypes(TypesUsed &types, mlir::Type element);
/// `from`: the integer that x is converted from, if it is. Comparisons of x
/// with constants are simplified to compare that integer.
void unaryTypes(TypesUsed &types, nn::FunctionAttr f, mlir::Type type,
                bool isUnsigned = false, mlir::Type from = {});
void binaryTypes(TypesUsed &types, nn::BinaryKind kind, mlir::Type type,
                 bool isUnsigned = false);
void castTypes(TypesUsed &types, mlir::Type from, mlir::Type to);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_MATH_H
