//===- PanelShape.h - The shape of sums of products -------------*- C++ -*-===//
//
// The description of a layer, of a tile and of a call that the micro-kernels of
// sums of products share.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELSHAPE_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELSHAPE_H

#include "compiler/codegen/common/Epilogue.h"
#include "compiler/codegen/cpu/routines/QuantizedEnd.h"

#include <optional>

namespace nnv12::codegen {

constexpr int64_t panelWidth = 16;

/// The facts that all tiles of a layer share. Distances are in elements. Where
/// operands are bytes, a "channel" is a quad.
struct PanelShape {
  int64_t kernelRows = 1, kernelCols = 1;
  int64_t inCol = 16, inRow = 16; ///< between neighbouring positions' inputs
  int64_t outCol = 16, outRow = 16;
  int64_t kernelCol = 16;    ///< input distance of neighbouring kernel columns
  int64_t inChannel = 1;     ///< of neighbouring channels in a block
  int64_t channelBlock = 16; ///< channels in a block
  int64_t channelTail = 0;   ///< channels of a last, partial block
  int64_t weightChannel = 16, weightCol = 256, weightRow = 256,
          weightBlock = 256;
  /// Weights are a matrix as it comes, not panels: its columns end where the
  /// result's do, so that partial panels are loaded by parts.
  bool plainWeights = false;
  /// The result is panels, too, whose lanes of no column become zero. Else its
  /// rows end where columns do.
  bool blockedResult = true;
  /// Sums are multiplied by a number of their column, then comes the epilogue.
  bool scalesColumns = false;
  Epilogue epilogue;
  /// Operands are bytes, and this takes the place of the epilogue.
  std::optional<QuantizedEnd> quantized = std::nullopt;
  bool smallWeights = false; ///< of two products of bytes the sum has 16 bits
  /// Bytes of the last quad of a partial block that lie in memory.
  int64_t lastQuad = 4;
  /// Distance of neighbouring rows' numbers in QuantizedEnd::rows; those of
  /// columns lie side by side.
  int64_t termRow = 1;
  /// Whether inputs are x - 128, as signed bytes (ArmProducts).
  bool hasFlippedInputs = false;
  /// Whether 32-bit numbers of columns are added that ArmProducts prepared.
  bool addsPrepared = false;
  /// Whether small code counts more than the last percents of its speed: a
  /// micro-kernel has short loops, and its rows' distances, the channels of a
  /// partial block and the columns of a partial panel are arguments, so that
  /// layers share it. The order of sums is the same.
  bool isCompact = false;
};

/// The tile of positions and panels that registers hold.
struct PanelTile {
  int64_t rows = 1, cols = 1, panels = 1;
  /// Columns of the last panel that exist.
  int64_t lastLanes = panelWidth;
};

/// Run-time arguments of one call. The residual lies at the result's offset.
struct PanelCall {
  Index in, weights, out, bias, scale;
  Index blocks;      ///< whole channel blocks
  Index inBlock;     ///< input distance of channel blocks
  Index kernelRow;   ///< input distance of kernel rows
  Index weightPanel; ///< distance of panels
  Index outPanel;
  Index terms;    ///< of the first position, in QuantizedEnd::rows
  Index prepared; ///< bytes of the first column
  // Where the shape is compact.
  Index inRow, outRow;   ///< as in the shape
  Index channels, lanes; ///< of the last block and panel
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELSHAPE_H
