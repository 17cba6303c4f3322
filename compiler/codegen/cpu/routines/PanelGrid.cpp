//===- PanelGrid.cpp - Tiles and loops around the panel kernel ------------===//

#include "compiler/codegen/cpu/routines/PanelGrid.h"

#include "compiler/codegen/cpu/ArmProducts.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/codegen/cpu/routines/MatrixKernel.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

std::string PanelTuning::nameOf(llvm::StringRef routine) const {
  return (suffix.empty() ? routine : routine + "." + suffix).str();
}

llvm::ArrayRef<PanelTuning> codegen::panelTunings() {
  auto narrow = [](plan::Narrowing narrowing) {
    PanelTuning tuning;
    tuning.suffix = plan::text(narrowing);
    tuning.summary = narrowSummary(narrowing);
    tuning.narrow = narrowing;
    return tuning;
  };
  static const PanelTuning all[] = {
      {},
      {"p1", "one panel of outputs and many positions in registers",
       /*panels=*/1},
      {"p4",
       "four panels of outputs and few positions in registers; on aarch64 "
       "fewer, but several",
       /*panels=*/4, /*orFewer=*/true},
      {"fine", "more and smaller tiles, for small caches and stealing",
       /*panels=*/0, /*orFewer=*/false, /*cachePart=*/0.125, /*tiles=*/32,
       /*tileMultiplyAdds=*/40e3},
      narrow(plan::Narrowing::f16),
      narrow(plan::Narrowing::f16Outputs),
      narrow(plan::Narrowing::f16Inputs),
      narrow(plan::Narrowing::q8)};
  return all;
}

/// To widen a weight takes about as long as its products of so many positions:
/// two where the first cache holds a group's, four elsewhere.
static constexpr double widenedPositions = 4;
/// The part of its time that a micro-kernel loses that reads narrow weights.
static constexpr double microKernelLoss = 0.08;
/// And a copy of a scaled input element.
static constexpr double copiedInput = 4;
/// The size of an output's scale, beside 8-bit weights.
static constexpr int64_t scaleBytes = sizeof(float);
/// So many positions are worth widening, and worth a row block of their own.
static constexpr int64_t leastWidenedPositions = 28, leastNarrowBlock = 48;

std::optional<WeightForm> PanelRoutine::weightForm(Operation *layer) const {
  return narrowForm(layer, tuning.narrow);
}

Work PanelRoutine::work(Operation *layer) const {
  Work work = {blockedMultiplyAdds(layer), bytesOf(layer)};
  if (std::optional<WeightForm> form = PanelRoutine::weightForm(layer)) {
    int64_t packed = nn::storageSize(layer->getOperand(1));
    work.bytes -= double(packed - form->bytes);
    double widening = widenedPositions * double(packed) / sizeof(float);
    work.multiplyAdds +=
        std::min(widening, microKernelLoss * work.multiplyAdds);
    if (tuning.scalesInputs())
      work.multiplyAdds +=
          copiedInput * double(llvm::product_of(shapeOf(layer->getOperand(0))));
  }
  return work;
}

/// Cost of all micro-kernel calls of a plane with this tile.
static double planeCost(const Target &target, const PanelGrid &grid,
                        int64_t rows, int64_t cols, int64_t panels) {
  double sum = 0;
  auto parts = [](int64_t total, int64_t size) {
    return std::array<std::pair<int64_t, int64_t>, 2>{
        {{total / size, size}, {total % size ? 1 : 0, total % size}}};
  };
  for (auto [nr, r] : parts(grid.rows, rows))
    for (auto [nc, c] : parts(grid.cols, cols))
      for (auto [np, p] : parts(grid.panels, panels))
        if (nr && nc && np)
          sum += double(nr * nc * np) *
                 tileCost(target, r * c, p, grid.quads, grid.smallWeights);
  return sum;
}

/// A tile of `least` to `most` panels, or as many as there are. `chunk`: a
/// number that its panels divide; 0 if that does not matter.
static PanelTile chooseTile(const Target &target, const PanelGrid &grid,
                            int64_t least, int64_t most, int64_t chunk = 0) {
  PanelTile best;
  double bestCost = std::numeric_limits<double>::max();
  most = std::min(most, grid.panels);
  // Each micro-kernel for a rest takes code, which cells are to have little of.
  constexpr double perRest = 0.03;
  auto rests = [&](int64_t rows, int64_t cols, int64_t panels) {
    auto kinds = [](int64_t total, int64_t size) {
      return total > size && total % size ? 2 : 1;
    };
    return kinds(grid.rows, rows) * kinds(grid.cols, cols) *
               kinds(grid.panels, panels) -
           1;
  };
  // Many rows of few columns mean many input streams.
  int64_t mostRows =
      grid.cols > 1 ? std::min<int64_t>(grid.rows, 4) : grid.rows;
  for (int64_t panels = std::min(least, most); panels <= most; ++panels) {
    if (chunk % panels)
      continue;
    int64_t positions =
        maxPositions(target, panels, grid.quads, grid.smallWeights);
    for (int64_t cols = 1; cols <= std::min(grid.cols, positions); ++cols)
      for (int64_t rows = 1; rows * cols <= positions && rows <= mostRows;
           ++rows) {
        double cost = planeCost(target, grid, rows, cols, panels);
        if (grid.isInCells())
          cost *= 1 + perRest * rests(rows, cols, panels);
        if (cost < bestCost * 0.999) {
          bestCost = cost;
          best.rows = rows;
          best.cols = cols;
          best.panels = panels;
        }
      }
  }
  assert(bestCost < std::numeric_limits<double>::max() && "some tile fits");
  return best;
}

void PanelGrid::plan(const Target &target, const Costs &costs,
                     const PanelTuning &tuning) {
  assert(batches > 0 && rows > 0 && cols > 0 && panels > 0 &&
         "there is something to compute");
  narrow = tuning.narrow;
  if (preparesBytes(target))
    preparingPositions = ArmProducts::preparingPositions(target);
  int64_t most = tuning.panels ? tuning.panels : 8;
  int64_t least = tuning.panels ? tuning.panels : 1;
  if (tuning.orFewer && target.tileCosts)
    least = 2;
  if (!hasMatrixUnit)
    tile = chooseTile(target, *this, least, most);
  else if (tile = matrixTile(cols > 1 ? cols : rows, panels, tuning.panels);
           cols > 1)
    std::swap(tile.rows, tile.cols);
  int64_t rowGroups = divideCeil(rows, tile.rows);
  int64_t panelGroups = divideCeil(panels, tile.panels);
  // Row blocks whose input stays in the cache.
  auto cacheBytes =
      static_cast<int64_t>(tuning.cachePart * double(target.secondLevelCache));
  int64_t groupBytes = std::max<int64_t>(1, costs.inputRowBytes * tile.rows);
  int64_t blockGroups =
      cutsRows ? std::clamp<int64_t>(cacheBytes / groupBytes, 1, rowGroups)
               : rowGroups;
  rowBlocks = divideCeil(rowGroups, blockGroups);
  panelChunks = 1;
  double worth = tuning.tileMultiplyAdds * (hasMatrixUnit ? matrixUnitGain : 1);
  int64_t wanted =
      std::clamp<int64_t>(int64_t(costs.multiplyAdds / worth), 1, tuning.tiles);
  int64_t inputBytes = costs.inputRowBytes * rows;
  widensOnce = narrow && sharesWeights && cutsRows && rowGroups >= wanted &&
               wanted > 1 && costs.weightBytes <= target.secondLevelCache / 4;
  bool widensOften = narrow && !widensOnce;
  // Cuts along the cheaper operand, which is read twice then: row blocks share
  // the weights, panel chunks the input.
  // Each row block widens narrow weights again, but for few of them.
  bool preferPanels =
      !widensOnce &&
      (narrow || costs.weightBytes > inputBytes * (costs.copiesInput ? 2 : 1));
  while (tiles() < wanted) {
    bool canRows =
             cutsRows && rowBlocks * 2 <= rowGroups &&
             (!widensOften || rows * cols >= 2 * rowBlocks * leastNarrowBlock),
         canPanels = panelChunks * 2 <= panelGroups;
    if (canPanels && (preferPanels || !canRows))
      panelChunks *= 2;
    else if (canRows)
      rowBlocks *= 2;
    else
      break;
  }
  panelChunk = divideCeil(panelGroups, panelChunks) * tile.panels;
  panelChunks = divideCeil(panels, panelChunk);
  assert(panelChunk % tile.panels == 0 && "chunks are whole groups");
  if (cutsRows && costs.weightBytes <= 2 * cacheBytes) {
    balanceRows(rowBlocks, divideCeil(costs.kernelRows, tile.rows));
    return;
  }
  // Every row block would fetch all the weights again: no more of them.
  rowBlock = divideCeil(rowGroups, rowBlocks) * tile.rows;
  rowBlocks = divideCeil(rows, rowBlock);
}

void PanelGrid::planCells(const Target &target, const Cells &size,
                          double multiplyAdds, const PanelTuning &tuning) {
  assert(!hasMatrixUnit && size.rows > 0 && size.cols > 0 &&
         "micro-kernels take a part of a row");
  narrow = tuning.narrow;
  rowBlock = std::min(size.rows, rows);
  rowBlocks = divideCeil(rows, rowBlock);
  colBlock = std::min(size.cols, cols);
  colBlocks = divideCeil(cols, colBlock);
  int64_t most = tuning.panels ? tuning.panels : 8;
  int64_t least = tuning.panels ? tuning.panels : 1;
  if (tuning.orFewer && target.tileCosts)
    least = 2;
  PanelGrid cell = *this;
  cell.rows = rowBlock, cell.cols = colBlock;
  assert(size.channels % panelWidth == 0 && "channels of a tile are panels");
  int64_t chunk = size.channels / panelWidth;
  if (chunk > 0 && chunk < panels) {
    tile = chooseTile(target, cell, /*least=*/1, most, chunk);
    panelChunk = chunk;
    panelChunks = divideCeil(panels, chunk);
    return;
  }
  tile = chooseTile(target, cell, least, most);
  int64_t groups = divideCeil(panels, tile.panels);
  if (chunk > 0) {
    panelChunk = groups * tile.panels;
    panelChunks = 1;
    return;
  }
  double work = multiplyAdds / double(batches * rows * cols) *
                double(rowBlock * colBlock);
  auto chunks =
      std::clamp<int64_t>(int64_t(work / cellMultiplyAdds) + 1, 1, groups);
  panelChunk = divideCeil(groups, chunks) * tile.panels;
  panelChunks = divideCeil(panels, panelChunk);
}

PanelGrid PanelGrid::part(const Target &target, int64_t partRows,
                          int64_t partCols) const {
  PanelGrid result = *this;
  result.rows = result.rowBlock = partRows;
  result.cols = partCols;
  result.rowBlocks = result.colBlocks = 1;
  result.tile = chooseTile(target, result, tile.panels, tile.panels);
  return result;
}

void PanelGrid::planPacking(const Target &target, Costs costs,
                            int64_t panelBytes) {
  costs.inputRowBytes = 1; // all rows read the packed panels
  plan(target, costs);
  rowBlock = rows;
  rowBlocks = 1;
  // Each row of a dense result is a stream of memory, and prefetchers follow
  // some 32 of them. With small K, writing takes longer than multiplying.
  constexpr int64_t streams = 24;
  if (mayHaveBands(target))
    rowBand = std::max(streams / tile.rows, int64_t(1)) * tile.rows;
  assert(panelChunk % tile.panels == 0 && "chunks are whole groups");
  int64_t most = target.secondLevelCache * 4 / 5 / panelBytes,
          groups = std::max<int64_t>(1, most / tile.panels);
  panelChunk = std::min(panelChunk, groups * tile.panels);
  panelChunks = divideCeil(panels, panelChunk);
}

bool PanelGrid::preparesBytes(const Target &target) const {
  return quads && ArmProducts::isFor(target);
}

bool PanelGrid::mayHaveBands(const Target &target) const {
  return cols == 1 && !narrow && !hasMatrixUnit && !preparesBytes(target);
}

bool PanelGrid::widens() const {
  return narrow &&
         (widensOnce || rowBlock * blockCols() >= leastWidenedPositions);
}

TileMap PanelGrid::blockedMap(int64_t outPanel, int64_t outRow,
                              int64_t step) const {
  assert(outPanel % outRow == 0 && "a panel has whole rows");
  return TileMap::grid({{batches, panels * outPanel},
                        {panels, outPanel},
                        {outPanel / outRow, outRow},
                        {outRow, 1}},
                       {{0, batches, 1},
                        {2, rowBlocks, rowBlock * step},
                        {1, panelChunks, panelChunk}});
}

TileMap PanelGrid::cellMap(int64_t outPanel, int64_t outRow) const {
  assert(outPanel == rows * outRow && outRow == cols * panelWidth &&
         "the grid is a plane");
  return TileMap::grid({{batches, panels * outPanel},
                        {panels, outPanel},
                        {rows, outRow},
                        {cols, panelWidth},
                        {panelWidth, 1}},
                       {{0, batches, 1},
                        {2, rowBlocks, rowBlock},
                        {3, colBlocks, colBlock},
                        {1, panelChunks, panelChunk}});
}

TileMap PanelGrid::denseMap(int64_t columns) const {
  return TileMap::grid(
      {{batches, rows * columns}, {rows, columns}, {columns, 1}},
      {{0, batches, 1},
       {1, rowBlocks, rowBlock},
       {2, panelChunks, panelChunk * panelWidth}});
}

/// The work of the busiest of `threads` threads when each takes an equal range
/// of tiles, in rows; blocks have `block` rows but the last one of each batch.
double PanelGrid::busiest(int64_t block, int64_t threads) const {
  int64_t blocks = divideCeil(rows, block), perBatch = blocks * panelChunks;
  int64_t count = batches * perBatch, most = 0;
  auto rowsBefore = [&](int64_t t) {
    int64_t whole = t % perBatch / panelChunks, chunk = t % panelChunks;
    int64_t size = whole + 1 == blocks ? rows - whole * block : block;
    return (t / perBatch * rows + whole * block) * panelChunks + chunk * size;
  };
  for (int64_t i = 0; i < threads; ++i)
    most = std::max(most, rowsBefore(count * (i + 1) / threads) -
                              rowsBefore(count * i / threads));
  return double(most);
}

/// Chooses a row block for at least `least` blocks that keeps few threads
/// equally busy. Each block costs about `overhead` row groups more.
void PanelGrid::balanceRows(int64_t least, int64_t overhead) {
  int64_t groups = divideCeil(rows, tile.rows);
  double best = std::numeric_limits<double>::max();
  for (int64_t size = divideCeil(groups, least); size >= 1; --size) {
    int64_t block = size * tile.rows, blocks = divideCeil(rows, block);
    if (blocks > std::max<int64_t>(4 * least, 16))
      break;
    double again = 0.02 * double(overhead * blocks) / double(groups) +
                   preparingPositions / double(block * cols);
    if (narrow && !widensOnce)
      again += block * cols < leastWidenedPositions
                   ? microKernelLoss
                   : widenedPositions / double(block * cols);
    double cost =
        (busiest(block, 1) + 2 * busiest(block, 2) + 4 * busiest(block, 4)) *
        (1 + again);
    if (cost < best * 0.99) {
      best = cost;
      rowBlock = block;
      rowBlocks = blocks;
    }
  }
  assert(rowBlock % tile.rows == 0 &&
         rowBlocks == int64_t(divideCeil(rows, rowBlock)));
}

void codegen::emitRowGroups(
    KernelBuilder &k, const PanelGrid &grid, const PanelBlock &block,
    const PanelTile &tile,
    llvm::function_ref<void(const PanelTile &, Index)> body) {
  PanelTile odd = tile;
  odd.rows = grid.rows % tile.rows;
  if (grid.rows < tile.rows)
    return body(odd, 0);
  Index whole = k.sub(block.rows, tile.rows - 1);
  k.loop(0, whole, tile.rows, [&](Value row) { body(tile, row); });
  if (odd.rows == 0)
    return;
  // Only the last block has rows left over.
  Index done = k.mul(k.div(block.rows, tile.rows), tile.rows);
  k.ifThen(k.less(done, block.rows), [&] { body(odd, done); });
}

/// The call for the panel group at `panel` and position (row, col) of the
/// block.
static PanelCall callAt(KernelBuilder &k, const PanelShape &shape,
                        const PanelBlock &block, Index panel, Index row,
                        Index col) {
  PanelCall at = block.at;
  at.weights = k.add(at.weights,
                     k.mul(panel, block.weightStep.value_or(at.weightPanel)));
  at.bias = k.add(at.bias, k.mul(panel, panelWidth));
  at.in = k.add(at.in, k.add(k.mul(row, shape.inRow), k.mul(col, shape.inCol)));
  at.out = k.add(k.add(at.out, k.mul(panel, at.outPanel)),
                 k.add(k.mul(row, shape.outRow), k.mul(col, shape.outCol)));
  if (shape.quantized && shape.quantized->rows)
    at.terms = k.add(at.terms, k.add(k.mul(row, shape.termRow), col));
  return at;
}

/// The same as emitPanelGroup(), of a micro-kernel that takes all positions.
static void emitMatrixGroup(KernelBuilder &k, const PanelShape &shape,
                            const PanelGrid &grid, const PanelBlock &block,
                            const PanelTile &tile, Index panel) {
  PanelCall at = callAt(k, shape, block, panel, 0, 0);
  auto call = [&](const PanelTile &tile, const MatrixPlane &plane) -> Values {
    callMatrixKernel(k, shape, tile, block.memory, at, plane);
    return {};
  };
  if (grid.cols > 1) {
    call(tile, {block.rows, grid.cols, shape.inRow, shape.inCol});
    return;
  }
  MatrixPlane all = {1, block.rows, 0, shape.inRow};
  // The last block may have fewer rows than a tile.
  int64_t rest = grid.rows - (grid.rowBlocks - 1) * grid.rowBlock;
  if (rest >= tile.rows) {
    call(tile, all);
    return;
  }
  PanelTile odd = tile;
  odd.rows = rest;
  k.ifElse(
      k.less(block.rows, tile.rows), {}, [&] { return call(odd, all); },
      [&] { return call(tile, all); });
}

void codegen::emitPanelGroup(KernelBuilder &k, const PanelShape &shape,
                             const PanelGrid &grid, const PanelBlock &block,
                             const PanelTile &tile, Index panel) {
  if (grid.hasMatrixUnit)
    return emitMatrixGroup(k, shape, grid, block, tile, panel);
  auto call = [&](const PanelTile &t, Index row, Index col) {
    callPanelKernel(k, shape, t, block.memory,
                    callAt(k, shape, block, panel, row, col));
  };
  auto columns = [&](PanelTile t, const Index &row) {
    int64_t whole = grid.cols / tile.cols, rest = grid.cols % tile.cols;
    k.repeat(whole, [&](Index i) { call(t, row, k.mul(i, tile.cols)); });
    if (rest) {
      t.cols = rest;
      call(t, row, whole * tile.cols);
    }
  };
  emitRowGroups(k, grid, block, tile, columns);
}

/// Makes floats of `count` panels' scales and weights, in scratch, as far as
/// the grid wants them. `column`: the first one.
static void widenPanels(KernelBuilder &k, const PanelGrid &grid,
                        const PanelBlock &block, Index weights, Index column,
                        int64_t count) {
  Value narrow = block.memory.weights;
  if (grid.scalesColumns())
    emitScales(k, narrow, column, count * panelWidth, block.scratch,
               block.scratchAt);
  if (!grid.widens())
    return;
  Index from = k.add(weights, block.narrowAt),
        to = k.add(block.scratchAt, grid.scalesSize());
  auto widen = [&](Index first, int64_t size, Value scales) {
    k.loop(0, size, panelWidth, [&](Value i) {
      Index at = k.add(first, i);
      Value x = k.load(narrow, k.add(from, at), panelWidth);
      k.store(widenedVector(k, x, scales), block.scratch, k.add(to, at));
    });
  };
  if (!grid.scalesWeights())
    return widen(0, count * grid.panelWeights, Value());
  k.repeat(count, [&](Index panel) {
    Index scale = k.mul(k.add(column, k.mul(panel, panelWidth)), scaleBytes);
    widen(k.mul(panel, grid.panelWeights), grid.panelWeights,
          loadScales(k, narrow, scale, panelWidth));
  });
}

/// The block with a panel group's weights and scales where the micro-kernel
/// reads them.
static PanelBlock withNarrow(KernelBuilder &k, const PanelGrid &grid,
                             PanelBlock block, const PanelTile &tile,
                             Index panel) {
  Index weights = block.at.weights;
  if (!grid.widensOnce)
    // `at.bias` is the number of the batch's first column.
    widenPanels(k, grid, block, k.add(weights, k.mul(panel, grid.panelWeights)),
                k.add(block.at.bias, k.mul(panel, panelWidth)), tile.panels);
  if (grid.scalesColumns()) {
    block.memory.scale = block.scratch;
    block.at.scale = k.add(
        block.scratchAt, grid.widensOnce ? k.mul(panel, panelWidth) : Index(0));
  }
  if (!grid.widens()) {
    block.at.weights = k.add(weights, block.narrowAt);
    if (grid.scalesWeights())
      block.at.scale =
          k.mul(k.add(block.at.bias, k.mul(panel, panelWidth)), scaleBytes);
    return block;
  }
  block.memory.weights = block.scratch;
  block.at.weights = k.add(block.scratchAt, grid.scalesSize());
  if (!grid.widensOnce)
    block.weightStep = 0;
  return block;
}

void codegen::emitScales(KernelBuilder &k, Value halves, Index first,
                         int64_t count, Value to, Index start) {
  constexpr int64_t parts = sizeof(double) / sizeof(uint16_t);
  auto convert = [&](Index i, int64_t lanes) {
    Value raw = k.load(halves, k.mul(k.add(first, i), parts), lanes * parts);
    Value wide =
        vector::BitCastOp::create(k.b, k.vec(lanes, k.b.getF64Type()), raw);
    k.store(arith::TruncFOp::create(k.b, k.vec(lanes), wide), to,
            k.add(start, i));
  };
  int64_t whole = count / k.VL * k.VL;
  k.loop(0, whole, k.VL, [&](Value i) { convert(i, k.VL); });
  k.loop(whole, count, 1, [&](Value i) { convert(i, 1); });
}

/// Lets ArmProducts prepare the weights of a panel group, for all positions of
/// the block.
static void prepareBytes(KernelBuilder &k, const PanelGrid &grid,
                         PanelShape &shape, PanelBlock &block,
                         const PanelTile &tile, Index panel) {
  Index distance = block.at.weightPanel;
  ArmProducts::prepare(
      k,
      {block.memory.weights, k.add(block.at.weights, k.mul(panel, distance)),
       distance, tile.panels, grid.panelWeights, shape.channelBlock},
      block.scratch, block.scratchAt);
  if (ArmProducts::movesWeights(k.target)) {
    block.memory.weights = block.scratch;
    block.at.weights = block.scratchAt;
    block.at.weightPanel = grid.panelWeights;
    block.weightStep = 0;
    return;
  }
  shape.addsPrepared = true;
  block.memory.prepared = block.scratch;
  block.at.prepared = block.scratchAt;
}

void codegen::emitPanelGroups(
    KernelBuilder &k, const PanelGrid &grid, const PanelBlock &block,
    llvm::function_ref<void(const PanelBlock &, const PanelTile &, Index)>
        group) {
  const PanelTile &tile = grid.tile;
  const Index &firstPanel = block.firstPanel;
  auto body = [&](const PanelTile &tile, Index panel) {
    group(grid.narrow ? withNarrow(k, grid, block, tile, panel) : block, tile,
          panel);
  };
  // All groups are whole but the last one of the layer, which may have fewer
  // panels or a panel of fewer lanes.
  int64_t rest = grid.panels % tile.panels;
  bool hasOdd = rest || grid.lastLanes != panelWidth;
  int64_t even =
      hasOdd ? grid.panels - (rest ? rest : tile.panels) : grid.panels;
  Index last = k.add(firstPanel, grid.panelChunk);
  PanelTile odd = tile;
  odd.panels = rest ? rest : tile.panels;
  odd.lastLanes = grid.lastLanes;
  if (even > 0)
    k.loop(firstPanel, k.min(last, even), tile.panels,
           [&](Value panel) { body(tile, panel); });
  if (!hasOdd)
    return;
  if (grid.panelChunks == 1)
    return body(odd, even);
  k.ifThen(k.less(even, last), [&] { body(odd, even); });
}

void codegen::emitPanelBlock(KernelBuilder &k, const PanelShape &shape,
                             const PanelGrid &grid, const PanelBlock &block) {
  auto rows = [&](const PanelBlock &block) {
    emitPanelGroups(k, grid, block,
                    [&](PanelBlock b, const PanelTile &tile, Index panel) {
                      PanelShape s = shape;
                      if (grid.preparesBytes(k.target))
                        prepareBytes(k, grid, s, b, tile, panel);
                      emitPanelGroup(k, s, grid, b, tile, panel);
                    });
  };
  if (grid.rowBand == 0 || grid.rowBand >= grid.rowBlock)
    return rows(block);
  assert(grid.rowBand % grid.tile.rows == 0 && grid.mayHaveBands(k.target) &&
         "bands of row groups");
  k.loop(0, block.rows, grid.rowBand, [&](Value row) {
    PanelBlock band = block;
    band.rows = k.min(grid.rowBand, k.sub(block.rows, row));
    band.at.in = k.add(block.at.in, k.mul(row, shape.inRow));
    band.at.out = k.add(block.at.out, k.mul(row, shape.outRow));
    if (shape.quantized && shape.quantized->rows)
      band.at.terms = k.add(block.at.terms, k.mul(row, shape.termRow));
    rows(band);
  });
}

void codegen::forBlockSize(KernelBuilder &k, Index first, int64_t extent,
                           int64_t size,
                           llvm::function_ref<void(int64_t)> body) {
  int64_t rest = extent % size;
  if (rest == 0 || extent < size)
    return body(std::min(extent, size));
  k.ifElse(
      k.less(first, extent - rest), {}, [&] { return body(size), Values(); },
      [&] { return body(rest), Values(); });
}

void codegen::emitPanelCell(KernelBuilder &k, const PanelShape &shape,
                            const PanelGrid &grid, const PanelBlock &block) {
  auto group = [&](PanelBlock b, const PanelTile &tile, Index panel) {
    PanelShape s = shape;
    if (grid.preparesBytes(k.target))
      prepareBytes(k, grid, s, b, tile, panel);
    auto cell = [&](int64_t rows, int64_t cols) {
      PanelGrid own = grid.part(k.target, rows, cols);
      PanelTile ownTile = own.tile;
      ownTile.panels = tile.panels;
      ownTile.lastLanes = tile.lastLanes;
      PanelBlock at = b;
      at.rows = rows;
      emitPanelGroup(k, s, own, at, ownTile, panel);
    };
    forBlockSize(k, b.row, grid.rows, grid.rowBlock, [&](int64_t rows) {
      forBlockSize(k, b.col, grid.cols, grid.colBlock,
                   [&](int64_t cols) { cell(rows, cols); });
    });
  };
  emitPanelGroups(k, grid, block, group);
}

KernelInfo
codegen::emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
                        const PanelGrid &grid, Type scratchElement,
                        int64_t scratchBytes,
                        llvm::function_ref<LinearMemory(ValueRange)> memoryOf,
                        llvm::function_ref<void(PanelBlock, Value)> body) {
  int64_t ownScratch = llvm::alignTo(scratchBytes, 64);
  auto tile = [&](PanelBlock b, Value t, Value begin, Value scratch) {
    Index chunk = k.rem(t, grid.panelChunks);
    Index position = k.div(t, grid.panelChunks);
    if (grid.colBlocks > 1) {
      b.col = k.mul(k.rem(position, grid.colBlocks), grid.colBlock);
      position = k.div(position, grid.colBlocks);
    }
    b.row = k.mul(k.rem(position, grid.rowBlocks), grid.rowBlock);
    b.batch = k.div(position, grid.rowBlocks);
    b.rows = grid.rowBlocks == 1
                 ? Index(grid.rows)
                 : k.min(grid.rowBlock, k.sub(grid.rows, b.row));
    Value isFirst = k.compare(Order::eq, t, begin);
    Value isChunk0 = k.compare(Order::eq, k.val(chunk), k.constant(0));
    b.isNew = k.bitOr(isFirst, isChunk0);
    if (grid.widensOnce)
      k.ifThen(isFirst, [&] { widenPanels(k, grid, b, 0, 0, grid.panels); });
    b.firstPanel = k.mul(chunk, grid.panelChunk);
    body(b, scratch);
  };
  Type weights;
  int64_t narrowAt = 0;
  if (grid.narrow) {
    weights = narrowElementType(k.b.getContext(), *grid.narrow);
    auto packed = cast<RankedTensorType>(layer->getOperand(1).getType());
    narrowAt = narrowGrid(packed, *grid.narrow)->elementsAt() /
               narrowElementSize(*grid.narrow);
  }
  k.kernel(
      symbol, layer,
      [&](ValueRange operands, Value scratch, Value begin, Value end) {
        PanelBlock b;
        b.memory = memoryOf(operands);
        b.narrowAt = narrowAt;
        b.scratch = scratch;
        b.scratchAt = ownScratch * 8 / scratchElement.getIntOrFloatBitWidth();
        k.loop(begin, end, 1, [&](Value t) { tile(b, t, begin, scratch); });
      },
      weights, scratchElement);
  KernelInfo info;
  info.tiles = grid.tiles();
  info.scratchBytes = ownScratch + grid.widenedSize() * int64_t(sizeof(float));
  if (grid.preparesBytes(k.target))
    info.scratchBytes += ArmProducts::preparedBytes(k.target, grid.tile.panels,
                                                    grid.panelWeights);
  return info;
}

KernelInfo
codegen::emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
                        const PanelGrid &grid, const Epilogue &epilogue,
                        int64_t scratchBytes,
                        llvm::function_ref<void(PanelBlock, Value)> body) {
  KernelInfo info = emitPanelTiles(
      k, layer, symbol, grid, k.b.getF32Type(), scratchBytes,
      [&](ValueRange operands) { return LinearMemory::of(operands, epilogue); },
      body);
  // A residual's element is read just before the result's is written.
  if (epilogue.allowsInPlace())
    info.inPlaceOperands.push_back(layer->getNumOperands() - 1);
  return info;
}

KernelInfo
codegen::emitPanelTiles(KernelBuilder &k, Operation *layer, StringRef symbol,
                        const PanelGrid &grid, const QuantizedEnd &end,
                        int64_t scratchBytes,
                        llvm::function_ref<void(PanelBlock, Value)> body) {
  return emitPanelTiles(
      k, layer, symbol, grid, k.b.getI8Type(), scratchBytes,
      [&](ValueRange operands) { return end.memory(operands); }, body);
}
