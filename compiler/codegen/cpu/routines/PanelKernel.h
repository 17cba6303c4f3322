//===- PanelKernel.h - The micro-kernel of sums of products -----*- C++ -*-===//
//
// Convolutions and matrix products share one register-blocked micro-kernel:
//
//   acc[p][o] += x[p][k] * w[k][o]
//
// for a tile of positions p (pixels, or rows of a matrix) and panels of 16
// output channels o. k runs over channel blocks, kernel rows, kernel columns
// and the channels in a block. Weights are panels of 16 columns, so that one
// blob serves every vector length: a panel is 1, 2 or 4 vectors.
//
// Products of bytes (DotProduct.h) take channels by quads: four at once.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELKERNEL_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELKERNEL_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/routines/PanelShape.h"

namespace nnv12::codegen {

/// Emits (once a module) and calls the micro-kernel for a tile. The memory of
/// the weights has floats, halves, or 8-bit integers with an f32 a column at
/// PanelCall::scale, in bytes, by which they are multiplied first.
void callPanelKernel(KernelBuilder &k, const PanelShape &shape,
                     const PanelTile &tile, const LinearMemory &memory,
                     const PanelCall &args);

/// Scales of `lanes` columns that lie among 8-bit weights, at that byte.
Value loadScales(KernelBuilder &k, Value weights, Index at, int64_t lanes);

/// A vector of narrow weights as floats. Integers of 8 bits have scales.
Value widenedVector(KernelBuilder &k, Value narrow, Value scales);

/// Where a tile's rows lie in a dense matrix of f32, and the bias of its first
/// column, if there is one.
struct DenseTile {
  Value out;
  Index at;
  int64_t columns; ///< of the matrix
  Value bias;
  Index biasAt;
};

/// Adds the bias to a tile's sums, [row][vector of columns], applies the
/// epilogue, and stores them.
void storeDenseTile(KernelBuilder &k, const PanelTile &tile, const Values &sums,
                    const Epilogue &epilogue, const DenseTile &to);

/// How many positions a tile of `panels` panels can have in registers; 0 if it
/// cannot be.
int64_t maxPositions(const Target &target, int64_t panels, bool quads = false,
                     bool smallWeights = false);

/// Arithmetic in units of one vector multiply-add that a tile takes a step,
/// loads and loop overhead accounted for.
double tileCost(const Target &target, int64_t positions, int64_t panels,
                bool quads = false, bool smallWeights = false);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELKERNEL_H
