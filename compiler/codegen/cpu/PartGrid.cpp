//===- PartGrid.cpp - Tiles for a part of a layer -------------------------===//

#include "compiler/codegen/cpu/PartGrid.h"

#include "compiler/routines/TilesBehind.h"
#include "compiler/routines/Work.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

/// Parts along a dimension that leave a plan enough choice: with half as many
/// it loses some percents, with twice as many it gains hardly any.
static constexpr int64_t wantedParts = 16;
/// Channels that no cut divides.
static constexpr int64_t channelBlock = 16;
/// Positions that keep a micro-kernel busy.
static constexpr int64_t leastPositions = 8;
/// Multiply-adds of a tile that is worth handing out.
static constexpr double leastMultiplyAdds = 150e3;

/// How many of the things a part has, if there are about as many parts as are
/// wanted.
static int64_t perPart(int64_t things) {
  return std::max<int64_t>(1, (things + wantedParts / 2) / wantedParts);
}

namespace {

/// Decides what the part grid of a layer is.
class PartPlanner {
public:
  PartPlanner(Operation *layer, const CpuRoutine &routine, unsigned dim,
              const Target &target)
      : layer(layer), routine(routine), dim(dim), target(target),
        result(nn::typeOf(layer->getResult(0))), together(1) {}
  std::optional<PartGrid> plan();

private:
  std::optional<Cells> cells() const;
  int64_t rowsOfCell() const;
  Cells channelCells() const;
  PartGrid gridOf(const std::optional<Cells> &cells) const;
  int64_t extent(unsigned d) const { return result.getDimSize(d); }

  Operation *layer;
  const CpuRoutine &routine;
  const unsigned dim;
  const Target &target;
  RankedTensorType result;
  int64_t together;
};

} // namespace

/// The kernel's starts. Its code is dropped.
PartGrid PartPlanner::gridOf(const std::optional<Cells> &cells) const {
  KernelBuilder builder(*layer->getContext(), target);
  OwningOpRef<ModuleOp> module(builder.module);
  builder.use(routine.extension(layer));
  KernelInfo info = cells ? routine.emitCells(builder, layer, "kernel", *cells)
                          : routine.emit(builder, layer, "kernel");
  PartGrid grid;
  grid.cells = cells;
  if (info.maps.empty())
    return grid;
  grid.tiles = info.tiles;
  grid.starts = tileStarts(info.maps.front(), result, dim);
  for (int64_t start : grid.starts) {
    auto ranges = tilesBehind(info.maps.front(), result, {dim, start});
    assert(ranges && "there are tiles behind a start");
    grid.ranges.emplace_back(ranges->begin(), ranges->end());
  }
  return grid;
}

/// Rows of a cell for about as many parts as are wanted, but no cell of few
/// positions while there are two of them.
int64_t PartPlanner::rowsOfCell() const {
  int64_t groups = divideCeil(extent(2), together),
          cols = divideCeil(extent(3), together);
  int64_t rows = pieceOf(groups, perPart(groups));
  int64_t least = std::min<int64_t>(divideCeil(leastPositions, cols),
                                    divideCeil(groups, 2));
  return std::max(rows, least) * together;
}

/// Chunks of channels of the whole plane, or of some bands of its rows: where
/// the input of the plane does not stay in the cache, and where threads would
/// find few tiles. Each band fetches all weights again.
Cells PartPlanner::channelCells() const {
  Cells cells = {extent(2), extent(3)};
  int64_t groups = 1, weightBytes = 0;
  llvm::TypeSwitch<Operation *>(layer).Case<nn::ConvOp, nn::QConvOp>(
      [&](auto conv) {
        groups = conv.getGroups();
        weightBytes = nn::storageSize(conv.getWeights());
      });
  int64_t blocks = divideCeil(extent(1), channelBlock),
          ofGroup = divideCeil(blocks, groups),
          chunk = std::min(perPart(blocks), ofGroup);
  cells.channels = chunk * channelBlock;
  int64_t tiles = extent(0) * divideCeil(blocks, chunk);
  int64_t inputBytes = nn::storageSize(layer->getOperand(0)) / extent(0);
  int64_t forCache =
      divideCeil(2 * inputBytes, std::max<int64_t>(target.secondLevelCache, 1));
  int64_t forThreads =
      weightBytes > inputBytes ? 1 : divideCeil(2 * wantedParts, tiles);
  auto worth =
      int64_t(routine.work(layer).multiplyAdds / leastMultiplyAdds / tiles);
  int64_t most = std::min<int64_t>(mostTileRanges / extent(0),
                                   divideCeil(extent(2), together));
  int64_t bands =
      std::clamp<int64_t>(std::min(std::max(forCache, forThreads), worth), 1,
                          std::max<int64_t>(most, 1));
  cells.rows = llvm::alignTo(divideCeil(extent(2), bands), together);
  return cells;
}

std::optional<Cells> PartPlanner::cells() const {
  if (routine.hasCellsOfAnyDim()) {
    // A blocked dimension is cut between blocks.
    int64_t block = nn::Layout::of(result).block(dim);
    Cells cells;
    cells.rowDim = cells.colDim = dim;
    cells.rows = cells.cols = perPart(divideCeil(extent(dim), block)) * block;
    return cells;
  }
  std::optional<Cells> usual = routine.cells(layer);
  if (!usual)
    return std::nullopt;
  assert(usual->rowDim == 2 && usual->colDim == 3 && "images have a plane");
  if (dim == 1)
    return channelCells();
  return Cells{rowsOfCell(), extent(3)};
}

std::optional<PartGrid> PartPlanner::plan() {
  if (layer->getNumResults() != 1 || dim >= result.getRank() ||
      dim >= numCutDims || extent(dim) <= 1 || result.getNumElements() == 0)
    return std::nullopt;
  together = routine.together(layer);
  int64_t unit = dim == 2   ? together
                 : dim == 1 ? nn::Layout::of(result).block(1)
                            : 1;
  int64_t possible = divideCeil(extent(dim), unit) - 1;
  PartGrid own = gridOf(std::nullopt);
  constexpr double enough = 0.7;
  if (double(own.starts.size()) >=
      enough * double(std::min(possible, wantedParts - 1)))
    return own.starts.empty() ? std::nullopt : std::make_optional(own);
  PartGrid best = std::move(own);
  if (std::optional<Cells> size = cells())
    if (PartGrid grid = gridOf(size); grid.starts.size() > best.starts.size())
      best = std::move(grid);
  if (best.starts.empty())
    return std::nullopt;
  return best;
}

std::optional<PartGrid> codegen::partGrid(Operation *layer,
                                          const CpuRoutine &routine,
                                          unsigned dim, const Target &target) {
  return PartPlanner(layer, routine, dim, target).plan();
}
