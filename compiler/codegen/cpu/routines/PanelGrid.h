//===- PanelGrid.h - Tiles and loops around the panel kernel ----*- C++ -*-===//
//
// A layer of sums of products is a grid of runtime tiles
//
//   batch × row block × panel chunk          (the chunk changes fastest)
//
// or, in cells, batch × row block × column block × panel chunk,
//
// and a runtime tile is these loops around the micro-kernel:
//
//   for band of the block's rows      one, unless the grid has bands
//     for panel group in chunk        its weights stay in the caches
//       for row group in band         the block's input stays in L2
//         for column group
//           micro-kernel
//
// "Rows" and "columns" are those of the output; a 1x1 convolution and a matrix
// product have one column and as many rows as pixels.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELGRID_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELGRID_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/codegen/cpu/routines/PanelKernel.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/routines/Cells.h"
#include "compiler/routines/Work.h"
#include "dialects/plan/StoredForm.h"

#include <optional>

namespace nnv12::codegen {

/// The choices that a variant of a routine fixes; PanelGrid::plan() decides the
/// rest.
struct PanelTuning {
  /// Behind the last dot of the routine's name; empty for the plain routine.
  StringRef suffix = "";
  StringRef summary = "";
  /// Output panels of a micro-kernel; 0: as plan() thinks best.
  int64_t panels = 0;
  /// Or fewer, but several, where the target has a table of tiles.
  bool orFewer = false;
  /// Part of the second-level cache that a row block's input may take.
  double cachePart = 0.5;
  /// Runtime tiles at least, where the layer is worth so many.
  int64_t tiles = 8;
  /// A smaller runtime tile is not worth handing out.
  double tileMultiplyAdds = 150e3;
  /// How the weights lie in memory, where they are narrow. Scales of inputs are
  /// the routine's to apply.
  std::optional<plan::Narrowing> narrow = std::nullopt;

  bool scalesInputs() const { return narrow == plan::Narrowing::f16Inputs; }
  /// Whether it means something to a layer of so many output panels.
  bool fits(int64_t outPanels) const { return panels <= outPanels; }
  /// "name" or "name.suffix".
  std::string nameOf(StringRef routine) const;
};

/// Variants of one panel and of four panels a micro-kernel (fewer weights, or
/// fewer positions, a step), of many small tiles (small caches; stealing), and
/// of weights in fewer bits.
ArrayRef<PanelTuning> panelTunings();

/// One instance of a routine for each of these tunings, the plain one first.
template <typename T>
Variants tunedRoutinesIf(function_ref<bool(const PanelTuning &)> isWanted) {
  static const auto *all = [&] {
    auto *routines = new SmallVector<const Routine *>; // as long as the process
    for (const PanelTuning &tuning : panelTunings())
      if (isWanted(tuning))
        routines->push_back(new T(tuning));
    return routines;
  }();
  return *all;
}
/// Scales of inputs are for those that apply them.
template <typename T> Variants tunedRoutines(bool scalesInputs = false) {
  return tunedRoutinesIf<T>([&](const PanelTuning &tuning) {
    return scalesInputs || !tuning.scalesInputs();
  });
}
/// Weights are bytes: there are none in fewer bits.
template <typename T> Variants byteRoutines() {
  return tunedRoutinesIf<T>(
      [](const PanelTuning &tuning) { return !tuning.narrow; });
}

/// A routine of sums of products in panels of output channels or columns, or a
/// variant of one.
class PanelRoutine : public CpuRoutine {
public:
  PanelRoutine(StringRef name, StringRef summary,
               const PanelTuning &tuning = {})
      : CpuRoutine(tuning.nameOf(name),
                   tuning.suffix.empty() ? summary : tuning.summary),
        tuning(tuning) {}
  Work work(Operation *layer) const override;
  std::optional<WeightForm> weightForm(Operation *layer) const override;

protected:
  const PanelTuning tuning;
};

struct PanelGrid {
  // The layer.
  int64_t batches = 1, rows = 1, cols = 1;
  int64_t panels = 1;
  int64_t panelWeights = 0;       ///< elements of a panel
  int64_t lastLanes = panelWidth; ///< of the last panel
  bool cutsRows = true;           ///< whether a runtime tile may have some rows
  bool sharesWeights = false;     ///< whether all batches have the same
  bool quads = false;             ///< whether operands are bytes
  bool smallWeights = false;      ///< see PanelShape
  /// Whether a matrix unit multiplies rows of bytes (MatrixKernel.h).
  bool hasMatrixUnit = false;
  // Chosen by plan().
  PanelTile tile;
  int64_t rowBlock = 1, rowBlocks = 1;
  /// Column blocks are for cells: another grid has one, of all columns.
  int64_t colBlock = 0, colBlocks = 1;
  bool isInCells() const { return colBlock > 0; }
  /// Panels of a chunk, a multiple of tile.panels.
  int64_t panelChunk = 1, panelChunks = 1;
  /// Rows of a block, a multiple of tile.rows, that are computed for all panels
  /// of the chunk before the next ones are; 0: all of them.
  int64_t rowBand = 0;
  std::optional<plan::Narrowing> narrow; ///< PanelTuning::narrow
  /// Whether a call of the kernel widens all weights, before its first tile.
  bool widensOnce = false;
  /// Each row block of bytes prepares the weights. This takes as long as the
  /// products of so many positions.
  double preparingPositions = 0;

  /// Sizes that the plan weighs, in bytes.
  struct Costs {
    double multiplyAdds = 0;   ///< of the whole layer
    int64_t weightBytes = 0;   ///< of one batch
    int64_t inputRowBytes = 0; ///< input that one more output row needs
    bool copiesInput = false;  ///< each runtime tile may copy its rows first
    int64_t kernelRows = 1;    ///< rows that neighbouring blocks both read
  };
  void plan(const Target &target, const Costs &costs,
            const PanelTuning &tuning = {});
  /// The same for tiles of all rows that pack their chunk of panels to scratch,
  /// where a panel takes `panelBytes`. The result is dense.
  void planPacking(const Target &target, Costs costs, int64_t panelBytes);
  /// The same in cells of that size. `multiplyAdds`: of the whole layer.
  void planCells(const Target &target, const Cells &size, double multiplyAdds,
                 const PanelTuning &tuning);
  /// The same panels of a part of the plane, with a tile that suits it.
  PanelGrid part(const Target &target, int64_t partRows,
                 int64_t partCols) const;
  /// Whether ArmProducts prepares the bytes of each panel group.
  bool preparesBytes(const Target &target) const;
  /// Whether bands do nothing again: panel groups prepare no weights, and a
  /// call of the micro-kernel takes some rows.
  bool mayHaveBands(const Target &target) const;
  int64_t tiles() const {
    return batches * rowBlocks * colBlocks * panelChunks;
  }
  /// Whether a panel group's weights become floats in scratch. Narrow ones that
  /// are used a few times the micro-kernel reads instead.
  bool widens() const;
  /// Whether sums are multiplied by scales of their columns.
  bool scalesColumns() const { return narrow == plan::Narrowing::f16Outputs; }
  /// Whether weights are multiplied by scales of their columns. Then they are
  /// the floats that a transform would make of them.
  bool scalesWeights() const { return narrow == plan::Narrowing::q8; }
  /// Elements of both in scratch: scales, then weights, of a panel group, or of
  /// all panels.
  int64_t scalesSize() const {
    return scalesColumns() ? widenedPanels() * panelWidth : 0;
  }
  int64_t widenedSize() const {
    return scalesSize() + (widens() ? widenedPanels() * panelWeights : 0);
  }
  /// The tiles' boxes of a result in blocks of channels, a panel of which takes
  /// `outPanel` elements: `step` rows of the output for each of the grid.
  TileMap blockedMap(int64_t outPanel, int64_t outRow, int64_t step = 1) const;
  /// The tiles' boxes of such a result where the grid is in cells.
  TileMap cellMap(int64_t outPanel, int64_t outRow) const;
  /// The tiles' boxes of a dense result of `columns` columns.
  TileMap denseMap(int64_t columns) const;

private:
  int64_t blockCols() const { return colBlocks == 1 ? cols : colBlock; }
  int64_t widenedPanels() const { return widensOnce ? panels : tile.panels; }
  double busiest(int64_t block, int64_t threads) const;
  void balanceRows(int64_t least, int64_t overhead);
};

/// The rows and panels of a runtime tile, and where their operands begin.
struct PanelBlock {
  Index batch, row; ///< the first row
  Index rows;
  Index col; ///< the first column of a cell
  /// An i1, whether the rows differ from those of the tile before: data for all
  /// panels are prepared then.
  Value isNew;
  Index firstPanel; ///< panels [firstPanel, …) of the chunk
  LinearMemory memory;
  PanelCall at; ///< of its first row, column and panel
  /// Distance of weights from one tile's panels to the next, a panel; as in a
  /// tile
  /// (`at.weightPanel`) where it is absent.
  std::optional<Index> weightStep;
  int64_t narrowAt = 0; ///< element of narrow weights, behind their scales
  Value scratch; ///< of PanelGrid::widenedSize() elements, from `scratchAt` on
  Index scratchAt;
};

/// The panel groups of the block's chunk: `body` gets the block with a group's
/// weights, which it may have widened, a tile of that many panels and the first
/// of them.
void emitPanelGroups(
    KernelBuilder &k, const PanelGrid &grid, const PanelBlock &block,
    function_ref<void(const PanelBlock &, const PanelTile &, Index)> body);

/// The scales [first, first + count) of halves as floats, in `to` from
/// `start` on.
void emitScales(KernelBuilder &k, Value halves, Index first, int64_t count,
                Value to, Index start);

/// The row groups of the block: `body` gets the tile, which may have fewer
/// rows, and the first of them.
void emitRowGroups(KernelBuilder &k, const PanelGrid &grid,
                   const PanelBlock &block, const PanelTile &tile,
                   function_ref<void(const PanelTile &, Index row)> body);

/// All positions of the block for the panel group that begins at `panel`.
void emitPanelGroup(KernelBuilder &k, const PanelShape &shape,
                    const PanelGrid &grid, const PanelBlock &block,
                    const PanelTile &tile, Index panel);

/// The loops inside one runtime tile: both of the above. `inRow`, `outRow` of
/// the shape and the grid's tile say how positions advance.
void emitPanelBlock(KernelBuilder &k, const PanelShape &shape,
                    const PanelGrid &grid, const PanelBlock &block);

/// Calls body(number of positions) in code that runs for the block of `size`
/// positions of `extent` that begins at `first`: the last one may have fewer.
void forBlockSize(KernelBuilder &k, Index first, int64_t extent, int64_t size,
                  function_ref<void(int64_t)> body);

/// The loops inside one cell: as emitPanelBlock().
void emitPanelCell(KernelBuilder &k, const PanelShape &shape,
                   const PanelGrid &grid, const PanelBlock &block);

/// Emits the kernel of a conv, conv_transpose or matmul. `body` gets each
/// runtime tile, whose `at` is not yet set, and `scratchBytes` of scratch. Maps
/// are the caller's to tell.
KernelInfo
emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
               const PanelGrid &grid, const Epilogue &epilogue,
               int64_t scratchBytes,
               function_ref<void(PanelBlock block, Value scratch)> body);
/// The same for a layer whose operands `memoryOf` finds. Scratch has elements
/// of `scratchElement`.
KernelInfo
emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
               const PanelGrid &grid, Type scratchElement, int64_t scratchBytes,
               function_ref<LinearMemory(ValueRange operands)> memoryOf,
               function_ref<void(PanelBlock block, Value scratch)> body);
/// The same for a qconv or qmatmul. Scratch has bytes.
KernelInfo
emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
               const PanelGrid &grid, const QuantizedEnd &end,
               int64_t scratchBytes,
               function_ref<void(PanelBlock block, Value scratch)> body);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_PANELGRID_H
