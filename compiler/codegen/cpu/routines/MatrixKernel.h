//===- MatrixKernel.h - Sums of products on a matrix unit -------*- C++ -*-===//
//
// The micro-kernel of products of bytes on a CPU with AMX (MatrixUnit.h):
//
//   for line, group of rows in it
//     sums = bias
//     for 64 bytes of a row: sums += tiles of rows * tiles of weights
//     sums to memory; the steps of QuantizedEnd for the group before
//
// x is a matrix in rows of bytes. Weights are panels of quads as other CPUs
// read them: 16 quads of a panel are the 1024 bytes of a tile. A step takes up
// to four pairs of tiles, so that each tile is used twice.
//
// Rows are in scratch or in the image. Neighbouring pixels of a block of
// channels lie side by side there: those under a row of the window are a row of
// the matrix, and the next one begins a pixel behind (ConvMatrix.h).
//
// PanelShape's blocks are of up to 64 bytes. Where the bytes of a row in
// scratch are no multiple of 64, the rest of the division comes first, with
// zeros behind it, so that all blocks are whole; the first two blocks of
// weights overlap. LLVM gives a register one size in a function: blocks of
// another size would need registers of their own.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRIXKERNEL_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRIXKERNEL_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/routines/PanelShape.h"

namespace nnv12::codegen {

/// Whether instructions for products of matrices, AMX's or usmmla, are faster
/// than dot products for `rows` rows of `terms` bytes and `columns` columns.
bool suitsMatrixUnit(int64_t rows, int64_t terms, int64_t columns);

/// How many times as fast as dot products it is, about.
constexpr double matrixUnitGain = 4;

/// The bytes of a row of the matrix unit, of which `terms` are not zero.
struct MatrixRow {
  int64_t bytes; ///< in all
  int64_t rest;  ///< bytes in front of the zeros; 0 where there are none
  int64_t zeros;
  explicit MatrixRow(int64_t terms);
  void describe(PanelShape &shape) const;
  void describe(PanelCall &call) const;
};

/// The rows and panels of a group. `wanted`: how many panels; 0: as is best.
PanelTile matrixTile(int64_t rows, int64_t panels, int64_t wanted);

/// The rows of a call.
struct MatrixPlane {
  Index lines, rows; ///< of a line; at least as many as a group has
  Index line, row;   ///< distances in the input
};

/// Emits (once a module) and calls the micro-kernel. A group has the positions
/// of the tile. The last group of a line begins so that it is whole: rows that
/// it has in common with the one before are computed twice.
void callMatrixKernel(KernelBuilder &k, const PanelShape &shape,
                      const PanelTile &tile, const LinearMemory &memory,
                      const PanelCall &args, const MatrixPlane &plane);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRIXKERNEL_H
