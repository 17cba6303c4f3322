//===- ArmProducts.h - Sums of products of bytes, AArch64 -------*- C++ -*-===//
//
// The steps of quantised micro-kernels on AArch64:
//
//   sum[p][o] += x[p][i] * w[o][i]       x unsigned, w signed, i of a quad
//
// for the positions p and the outputs o of a tile. Every way is exact; they
// differ in instructions, and in the form of sums and weights.
//
// Some instructions multiply signed bytes alone. So inputs are flipped: x - 128
// is x with its highest bit inverted, read as a signed byte. A sum is too small
// then by a number that depends on its weights alone: the sum for x = 0 is no
// longer 0, and is subtracted. It is prepared once for many positions.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ARMPRODUCTS_H
#define NNV12_COMPILER_CODEGEN_CPU_ARMPRODUCTS_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

class ArmProducts {
public:
  /// For a tile of positions by vectors of four outputs, out of panels of 16:
  /// vectors [first, first + count).
  ArmProducts(KernelBuilder &k, int64_t positions, int64_t first, int64_t count,
              bool areFlipped = false);
  /// Whether inputs in memory may be flipped: x - 128, as signed bytes.
  static bool canFlip(const Target &target) {
    return isFor(target) && wayOf(target) == Way::dots;
  }
  /// The most vectors whose sums, of so many positions, registers hold.
  static int64_t mostVectors(const Target &target, int64_t positions);
  /// Whether a target computes so.
  static bool isFor(const Target &target) {
    return target.architecture == "aarch64";
  }

  /// Registers that hold the sums.
  int64_t registers() const;
  /// From vectors of sums, by position and then by output, to registers.
  Values enter(const Values &sums) const;
  /// And back.
  Values leave(const Values &registers) const;

  /// 16 bytes: the first `count` quads of a position, then zeros.
  using Inputs = function_ref<Value(int64_t position, int64_t count)>;
  /// 16 bytes of a panel's weights, from that many behind its first ones on.
  using Weights = function_ref<Value(int64_t panel, int64_t offset)>;
  /// Adds the products of `count` quads, one to four.
  Values steps(Values registers, int64_t count, Inputs x, Weights w) const;

  /// Panels of weights that lie `distance` bytes apart.
  struct Panels {
    Value memory;
    Index at, distance;
    int64_t count, size; ///< of them; bytes of each
    int64_t run;         ///< quads that steps() take together
  };
  /// Bytes of scratch that prepare() fills.
  static int64_t preparedBytes(const Target &target, int64_t panels,
                               int64_t size);
  /// Whether it fills that with the weights themselves, panel by panel, in
  /// another order. Else it has a 32-bit number for each output, to add to its
  /// sums.
  static bool movesWeights(const Target &target) {
    return wayOf(target) == Way::matrices;
  }
  /// The positions whose products take about as long as prepare().
  static double preparingPositions(const Target &target) {
    return movesWeights(target) ? 6 : 1;
  }
  /// Writes that to scratch, from `to` on.
  static void prepare(KernelBuilder &k, const Panels &panels, Value scratch,
                      Index to);

private:
  enum class Way {
    words,   ///< smull: products of 16 bits, of which two are added
    dots,    ///< sdot with an element of the inputs
    matrices ///< usmmla: two positions, two outputs, two quads
  };
  static Way wayOf(const Target &target);
  Values wordSteps(Values sums, int64_t count, Inputs x, Weights w) const;
  Values dotSteps(Values sums, int64_t count, Inputs x, Weights w) const;
  Values matrixSteps(Values sums, int64_t count, Inputs x, Weights w) const;

  KernelBuilder &k;
  const Way way;
  const int64_t positions, first, width; ///< vectors of outputs
  const bool areFlipped;                 ///< inputs
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ARMPRODUCTS_H
