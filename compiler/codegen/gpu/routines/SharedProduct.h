//===- SharedProduct.h - Sums of blocks in shared memory --------*- C++ -*-===//
//
// The sums of convolutions and of the middle of Winograd's algorithm:
//
//   out[batch][O/16][pixel][16 o] = sum over i and taps of
//       in[batch][I/16][pixel at tap][16 i] *
//       weights[batch][O/16][I/16][tap][16 i][16 o]
//
// A work group computes a square of the result, outputs by pixels. Its sums go
// through the input channels in blocks of 16, and through a block's taps: all
// invocations together bring the weights and inputs into shared memory, then
// each adds up products for its own four outputs of some pixels. The vectors of
// the next tap are on their way from memory meanwhile.
//
//   weights and inputs of the first tap: to registers
//   for block of input channels, for tap
//     barrier; registers to shared memory; barrier
//     weights and inputs of the next tap: to registers
//     for quarter of the block: sums += weights x inputs
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDPRODUCT_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDPRODUCT_H

#include "compiler/codegen/common/Epilogue.h"
#include "compiler/codegen/gpu/GpuBuilder.h"
#include "compiler/codegen/gpu/GpuStep.h"

namespace nnv12::codegen {

struct SharedProduct {
  /// How large a square of the result is.
  struct Square {
    int64_t side;        ///< outputs, and pixels
    int64_t invocations; ///< of a group
    std::string name() const {
      return std::to_string(side) + "x" + std::to_string(side);
    }
  };
  static constexpr Square small = {32, 64}, large = {64, 128};
  /// The places of the input that a pixel of the result is the sum of. A kernel
  /// for windows also serves those of one tap, though slower.
  struct Window {
    int64_t rows = 1, cols = 1, dilationRows = 1, dilationCols = 1;
    int64_t top = 0, left = 0; ///< padding
    int64_t inHeight = 0;
    int64_t taps() const { return rows * cols; }
  };
  /// The facts that tell kernels apart.
  struct Kernel {
    Square square;
    bool hasWindow = false;
    Epilogue epilogue;

    std::string key() const;
    void emit(GpuBuilder &k) const;
  };

  int64_t batch = 1, inBlocks, outBlocks;
  int64_t outChannels; ///< others in their last block become zero
  int64_t outWidth, outPixels, inWidth, inPixels;
  int64_t strideRows = 1, strideCols = 1;
  Window window;
  /// Vectors of four from a block of the outputs' weights to the next, and from
  /// one of the batch to the next.
  int64_t weightBlock, weightBatch = 0;
  /// Groups that share a sum, each a part of the blocks of the input; the parts
  /// of the result lie behind each other then.
  int64_t parts = 1;

  int64_t partBlocks() const { return (inBlocks + parts - 1) / parts; }

  /// Work groups without parts.
  int64_t groups(const Square &square) const;
  /// The memory of a result that is computed whole.
  TileMap result() const;
  /// One dispatch, which writes the box of `result`, as blockedMemory() has it;
  /// parts count as images. The operands are left to the caller: result, input,
  /// weights, bias, residual.
  GpuStep step(const Kernel &kernel, TileMap result) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDPRODUCT_H
