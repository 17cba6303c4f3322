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
#include "llvm/ADT/SetVector.h"

namespace nnv12::codegen {

/// The type in which elements of a tensor's element type are computed.
Type computeType(Type element);
/// The element type as BuilderBase::memory stores it: signless, i1 as i8.
Type storageType(Type element);
/// A loaded scalar or vector of the storage type as a compute value.
Value toCompute(BuilderBase &k, Value stored, Type element);
/// The reverse, rounding to nearest even.
Value toStorage(BuilderBase &k, Value x, Type element);

/// f(x). is_nan and is_inf give i1.
Value emitUnary(BuilderBase &k, nn::FunctionAttr f, Value x,
                bool isUnsigned = false);
/// Both operands of one type. Comparisons give i1.
Value emitBinary(BuilderBase &k, nn::BinaryKind kind, Value lhs, Value rhs,
                 bool isUnsigned = false);
/// x, a compute value of tensor element type `from`, as one of type `to`
/// (rounded to it: a cast to f16 gives an f32 that f16 can hold). `saturate`
/// and `rounding` as nn.cast has them.
Value emitCast(BuilderBase &k, Value x, Type from, Type to,
               bool saturate = true,
               nn::Rounding rounding = nn::Rounding::nearest);

/// An integer as ONNX's indices are: negative ones count from the end, and any
/// is clamped into [0, size).
Value clampIndex(BuilderBase &k, Value x, int64_t size);

/// How a function of floats is computed.
struct FloatWay {
  bool throughF64 = false; ///< f32, too
  bool takesBits = false;  ///< as integers of the float's width
  bool compares = false;   ///< the number itself with constants
};
FloatWay wayOf(nn::UnaryKind kind);
/// Casts from or to a small float go through this type, f32 or f64.
Type betweenSmall(Type from, Type to);

/// Element types of the values of some code, in order of appearance: a kernel's
/// needs of a device follow from them. They are declared beside the functions
/// that write code, so that they are known before any is written. More of them
/// than code has once it is simplified are allowed, fewer are not.
struct TypesUsed {
  using Types = llvm::SmallSetVector<Type, 4>;
  /// Types of values that are loaded, stored or converted from number to
  /// number.
  Types moved;
  /// Types of values that anything else is done with: constants, comparisons
  /// and selections count, and conversions from and to truth values.
  Types computed;

  void move(Type type) { moved.insert(type); }
  void compute(Type type) { computed.insert(type); }
};

// The types that the functions above write. `type` is a compute type, the
// others are those of tensors.
void loadTypes(TypesUsed &types, Type element);
void storeTypes(TypesUsed &types, Type element);
/// `from`: the integer that x is converted from, if it is. Comparisons of x
/// with constants are simplified to compare that integer.
void unaryTypes(TypesUsed &types, nn::FunctionAttr f, Type type,
                bool isUnsigned = false, Type from = {});
void binaryTypes(TypesUsed &types, nn::BinaryKind kind, Type type,
                 bool isUnsigned = false);
void castTypes(TypesUsed &types, Type from, Type to);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_MATH_H
