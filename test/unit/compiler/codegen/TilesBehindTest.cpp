//===- TilesBehindTest.cpp - The tiles of a part against all elements -----===//

#include "RandomLayer.h"

#include "compiler/routines/TilesBehind.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace nnv12;
using namespace nnv12::test;
using llvm::SmallVector;

namespace {

/// Says where each element in memory is along a dimension; the padding is at
/// the last position.
std::vector<int64_t> positionsOf(mlir::RankedTensorType type, unsigned dim) {
  nn::Layout layout = nn::Layout::of(type);
  std::vector<int64_t> positions(layout.size());
  for (int64_t i = 0; i < layout.size(); ++i) {
    int64_t at = 0;
    for (const nn::Layout::Axis &axis : layout.axes())
      if (axis.dim == dim)
        at += i / axis.stride % axis.extent * axis.step;
    positions[i] = std::min(at, type.getDimSize(dim) - 1);
  }
  return positions;
}

/// The positions of the elements of each tile.
std::vector<std::vector<int64_t>> positionsOfTiles(const TileMap &map,
                                                   mlir::RankedTensorType type,
                                                   unsigned dim) {
  std::vector<int64_t> positions = positionsOf(type, dim);
  std::vector<std::vector<int64_t>> tiles(map.tiles());
  for (int64_t tile = 0; tile < map.tiles(); ++tile) {
    TileMap::Box box = map.boxOf(tile);
    for (int64_t i = 0; i < int64_t(positions.size()); ++i) {
      bool isIn = true;
      for (size_t a = 0; a < map.axes.size(); ++a) {
        int64_t at = i / map.axes[a].stride % map.axes[a].extent;
        isIn &= box.lo[a] <= at && at < box.hi[a];
      }
      if (isIn)
        tiles[tile].push_back(positions[i]);
    }
  }
  return tiles;
}

std::optional<SmallVector<TileRange>>
expectedBehind(const std::vector<std::vector<int64_t>> &tiles, int64_t at,
               unsigned mostRanges) {
  std::vector<bool> isBehind;
  for (const std::vector<int64_t> &positions : tiles) {
    size_t behind =
        llvm::count_if(positions, [&](int64_t p) { return p >= at; });
    if (behind && behind < positions.size())
      return std::nullopt;
    isBehind.push_back(behind);
  }
  SmallVector<TileRange> ranges;
  for (size_t i = 0; i < isBehind.size(); ++i)
    if (isBehind[i]) {
      if (i > 0 && isBehind[i - 1])
        ++ranges.back().end;
      else
        ranges.push_back({int64_t(i), int64_t(i + 1)});
    }
  if (ranges.size() > mostRanges)
    return std::nullopt;
  return ranges;
}

/// A grid over the axes of the layout, or fewer, with cuts in any order.
TileMap randomMap(mlir::RankedTensorType type, Random &random) {
  nn::Layout layout = nn::Layout::of(type);
  SmallVector<TileMap::Axis> axes;
  for (const nn::Layout::Axis &axis : layout.axes()) {
    if (!axes.empty() && random.oneOf(3))
      axes.back() = {axes.back().extent * axis.extent, axis.stride};
    else
      axes.push_back({axis.extent, axis.stride});
  }
  TileMap map = TileMap::grid(axes);
  // Two parts along some axis, in any order.
  auto along = unsigned(random.below(int64_t(axes.size())));
  if (axes[along].extent > 1 && random.oneOf(3)) {
    int64_t at = random.from(1, axes[along].extent - 1);
    map.parts.push_back(map.parts.front());
    map.parts[0].box.hi[along] = map.parts[1].box.lo[along] = at;
    if (random.oneOf(2))
      std::swap(map.parts[0], map.parts[1]);
  }
  for (TileMap::Part &part : map.parts) {
    SmallVector<unsigned> order;
    for (unsigned a = 0; a < axes.size(); ++a)
      order.insert(order.begin() + random.from(0, a), a);
    for (unsigned a : order) {
      int64_t extent = part.box.extent(a);
      if (extent <= 1 || random.oneOf(2))
        continue;
      int64_t size = random.from(1, extent);
      part.cuts.push_back({a, (extent + size - 1) / size, size});
    }
  }
  return map;
}

TEST(TilesBehind, RandomMaps) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  mlir::Builder b(&context);
  Random random(1);
  unsigned cuts = 0, refused = 0, several = 0;
  for (int round = 0; round < 600; ++round) {
    const char *tags[] = {"", "aBcd16b", "acdb", "ABcd16b16a"};
    llvm::StringRef tag = tags[random.below(4)];
    auto type = nn::withLayout(
        mlir::RankedTensorType::get({random.from(1, 3), random.from(1, 40),
                                     random.from(1, 5), random.from(1, 4)},
                                    b.getF32Type()),
        tag);
    TileMap map = randomMap(type, random);
    auto dim = unsigned(random.below(3));
    unsigned most = unsigned(random.from(1, 20));
    std::vector<std::vector<int64_t>> tiles = positionsOfTiles(map, type, dim);
    SmallVector<int64_t> starts;
    for (int64_t at = 0; at <= type.getDimSize(dim); ++at) {
      auto expected = expectedBehind(tiles, at, most);
      auto found = tilesBehind(map, type, {dim, at}, most);
      ASSERT_EQ(found, expected) << "round " << round << ", at " << at;
      if (found && at > 0 && at < type.getDimSize(dim))
        starts.push_back(at);
      ++(found ? cuts : refused);
      several += found && found->size() > 1;
    }
    ASSERT_EQ(tileStarts(map, type, dim, most), starts);
  }
  EXPECT_GT(cuts, 500u);
  EXPECT_GT(refused, 500u);
  EXPECT_GT(several, 50u);
}

TEST(TilesBehind, Ends) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  mlir::Builder b(&context);
  // Two images of three blocks of channels, the last of which has 8.
  auto type = nn::withLayout(
      mlir::RankedTensorType::get({2, 40, 1, 2}, b.getF32Type()), "aBcd16b");
  TileMap map =
      TileMap::grid({{2, 96}, {3, 32}, {32, 1}}, {{0, 2, 1}, {1, 3, 1}});
  using Ranges = SmallVector<TileRange>;
  EXPECT_EQ(tilesBehind(map, type, {1, 0}), (Ranges{{0, 6}}));
  EXPECT_EQ(tilesBehind(map, type, {1, 16}), (Ranges{{1, 3}, {4, 6}}));
  EXPECT_EQ(tilesBehind(map, type, {1, 32}), (Ranges{{2, 3}, {5, 6}}));
  EXPECT_EQ(tilesBehind(map, type, {1, 33}), std::nullopt);
  EXPECT_EQ(tilesBehind(map, type, {1, 40}), Ranges());
  EXPECT_EQ(tilesBehind(map, type, {0, 1}), (Ranges{{3, 6}}));
  EXPECT_EQ(tilesBehind(map, type, {1, 16}, /*mostRanges=*/1), std::nullopt);
  EXPECT_EQ(tileStarts(map, type, 1), (SmallVector<int64_t>{16, 32}));
}

} // namespace
