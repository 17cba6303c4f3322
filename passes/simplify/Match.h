//===- Match.h - Facts of values that patterns match ------------*- C++ -*-===//
#ifndef NNV12_PASSES_SIMPLIFY_MATCH_H
#define NNV12_PASSES_SIMPLIFY_MATCH_H

#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

namespace nnv12 {

using nn::typeOf;

inline bool isFloatTensor(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(typeOf(value).getElementType());
}

/// Whether a product or quotient with the number rounds nothing.
bool isPowerOfTwo(double number);

/// The number that every element of a constant equals.
std::optional<double> splatOf(mlir::Value value);

/// The elements of a constant that, broadcast to `shape`, varies along `axis`
/// alone: one for each index of that axis.
std::optional<llvm::SmallVector<double>>
perIndexOf(mlir::Value constant, llvm::ArrayRef<int64_t> shape, int64_t axis);

/// The unary layer of one of `kinds` that defines `value`, null if none does.
nn::UnaryOp definingUnary(mlir::Value value,
                          llvm::ArrayRef<nn::UnaryKind> kinds);
nn::BinaryOp definingBinary(mlir::Value value, nn::BinaryKind kind);

/// x of a layer `scale * x + shift`: an affine, a negation, or a sum,
/// difference, product or quotient with a constant of equal elements that does
/// not change the type of x.
struct Affine {
  mlir::Value input;
  double scale = 1, shift = 0;
};

/// The affines that may stand for a layer. x / 41 is exact where x is a
/// multiple of 41, and its integer part, its rounding or its equality with a
/// number tells; x times 1/41 is not.
enum class Exactness {
  asSpelled, ///< the same numbers: a quotient with a power of two alone
  any        ///< where continuous functions or sums of products follow
};

/// The affine that `op` is by itself.
std::optional<Affine> affineOf(mlir::Operation *op,
                               Exactness exactness = Exactness::asSpelled);
/// The affine of the value's operation; {value, 1, 0} if it is none such.
Affine affineOf(mlir::Value value, Exactness exactness = Exactness::asSpelled);
/// The affine that the operations before `value` are together, for continuous
/// functions of it.
Affine affineChainOf(mlir::Value value);
/// outer after inner, if it is one affine but for the rounding: none that
/// cancels digits that the inner one rounds or keeps, and none with numbers
/// that the element type does not have.
std::optional<Affine> compose(const Affine &outer, const Affine &inner,
                              Exactness exactness);

/// Whether two shifts, one after the other, cancel: (x + 1e8) - 1e8 rounds on
/// purpose.
bool cancel(double first, double second);
/// Beyond this a shift is left where it is: (x - 1e6) * 0.1 is exact where x is
/// close to 1e6, 0.1 * x - 1e5 is not, nor are sums of products with x and 1e6.
/// Means of pictures and of normalised values are smaller.
constexpr double largestShift = 16;

/// Whether a float type has a normal number close to `number`, or it is zero.
bool isRepresentable(double number, mlir::Type element);

/// Whether every element is known to be zero, of either sign, or more.
bool isNonNegative(mlir::Value value);

/// Whether numbers agree but for the rounding of their spelling: in f32, or of
/// `wanted` or its reciprocal in f16.
bool isClose(double found, double wanted);

} // namespace nnv12

#endif // NNV12_PASSES_SIMPLIFY_MATCH_H
