//===- DotProduct.h - Sums of four products of bytes ------------*- C++ -*-===//
//
// The step of quantised micro-kernels: acc[o] += sum over i < 4 of x[i] *
// w[o][i], for the lanes o of a vector of i32, x unsigned and w signed. Every
// target computes it exactly; they differ in instructions.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_DOTPRODUCT_H
#define NNV12_COMPILER_CODEGEN_CPU_DOTPRODUCT_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

/// Calls an intrinsic of LLVM.
Value callIntrinsic(KernelBuilder &k, StringRef name, ValueRange operands,
                    Type result);

/// Byte i of four vectors side by side, for each lane i: quads.
Value interleavedQuads(KernelBuilder &k, ArrayRef<Value> four);

/// Operands are made ready by x() and w() once, and used by add() often.
class DotProduct {
public:
  /// `isSmall`: one of the factors is, so that two products fit in 16 bits.
  explicit DotProduct(KernelBuilder &k, bool isSmall = false);

  /// Four bytes of x, those at the offset, in all lanes. Only `count` of them
  /// are read.
  Values x(Value memory, Index offset, int64_t count = 4) const;
  /// Four vectors of 16 bytes lie apart by `step`, from the offset on: the
  /// bytes of each of the lanes from `first` on are its four. Only where
  /// isFast(), and flipped where that is asked for.
  Values neighbours(Value memory, Index offset, int64_t step,
                    int64_t first) const;
  /// Four bytes of w for each lane, from the offset on.
  Values w(Value memory, Index offset) const;
  /// The same out of vectors of 4 * VL bytes. Where x has to be signed
  /// (flips()), unsigned ones are below 128.
  Values unsignedQuads(Value bytes) const;
  Values signedQuads(Value bytes) const;
  Value add(Value acc, const Values &x, const Values &w) const;
  /// The number that a sum of products with these weights begins with, where x
  /// is flipped.
  Value start(Value acc, ArrayRef<Values> w) const;

  /// How many positions a tile of `panels` panels of 16 lanes can have in
  /// registers.
  static int64_t maxPositions(const Target &target, int64_t panels,
                              bool isSmall);
  /// How many instructions add() has, and those that make an operand ready.
  static int64_t steps(const Target &target, bool isSmall);
  static int64_t readySteps(const Target &target, bool isSmall);
  /// Whether add() is one instruction.
  static bool isFast(const Target &target) {
    return wayOf(target) == Way::dot || flips(target);
  }
  /// Whether add() takes x as signed bytes, so that it is flipped: x - 128.
  static bool flips(const Target &target) {
    return wayOf(target) == Way::signedDot;
  }

private:
  enum class Way {
    dot,       ///< one instruction: AVX-512 VNNI, AVX VNNI
    signedDot, ///< one instruction, of signed numbers: AArch64
    pairs,     ///< products of pairs of 16 bits: AVX2, AVX-512
    bytePairs, ///< two products in 16 bits, with saturation: AVX2, AVX-512
    words      ///< products of 32 bits: AArch64 without dot products
  };
  static Way wayOf(const Target &target, bool isSmall = false);

  KernelBuilder &k;
  const Way way;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_DOTPRODUCT_H
