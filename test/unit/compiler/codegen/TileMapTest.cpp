//===- TileMapTest.cpp - Boxes of tiles, and the proof of them ------------===//

#include "compiler/codegen/cpu/TileCheck.h"
#include "compiler/codegen/cpu/UnitGrid.h"
#include "mlir/IR/Builders.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <set>

using namespace nnv12;
using namespace nnv12::codegen;
using llvm::SmallVector;

namespace {

/// Elements of a box, by their offset in memory.
std::set<int64_t> elementsOf(const TileMap &map, const TileMap::Box &box) {
  std::set<int64_t> offsets = {0};
  for (size_t a = 0; a < map.axes.size(); ++a) {
    std::set<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t i = box.lo[a]; i < box.hi[a]; ++i)
        next.insert(offset + i * map.axes[a].stride);
    offsets = std::move(next);
  }
  return offsets;
}

TEST(TileMap, BoxesFollowTheCuts) {
  // 2 planes of 5 rows of 3: tiles of two rows.
  TileMap map =
      TileMap::grid({{2, 15}, {5, 3}, {3, 1}}, {{0, 2, 1}, {1, 3, 2}});
  EXPECT_EQ(map.tiles(), 6);
  EXPECT_EQ(elementsOf(map, map.boxOf(0)),
            (std::set<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(elementsOf(map, map.boxOf(2)), (std::set<int64_t>{12, 13, 14}));
  EXPECT_EQ(elementsOf(map, map.boxOf(5)), (std::set<int64_t>{27, 28, 29}));
}

// Tiles of several axes together: each is a box, or there are none.
TEST(TileMap, SharesOutAxesTogether) {
  unsigned boxed = 0, refused = 0;
  for (std::vector<int64_t> extents : {std::vector<int64_t>{1, 1, 1},
                                       {1, 1, 12},
                                       {4, 1, 6},
                                       {4, 3, 6},
                                       {2, 4, 8},
                                       {5, 2, 1},
                                       {3, 5, 7}})
    for (SmallVector<unsigned> axes :
         {SmallVector<unsigned>{0}, {2}, {0, 2}, {1, 2}, {0, 1, 2}, {1, 0}})
      for (int64_t size : {1, 2, 3, 4, 6, 8, 12, 24, 32, 100}) {
        TileMap map = TileMap::grid({{extents[0], extents[1] * extents[2]},
                                     {extents[1], extents[2]},
                                     {extents[2], 1}},
                                    {});
        // The elements of each tile, and the box around them.
        std::map<int64_t, std::set<int64_t>> tiles;
        std::map<int64_t, TileMap::Box> around;
        for (int64_t i = 0; i < map.whole().elements(); ++i) {
          int64_t at[] = {i / (extents[1] * extents[2]),
                          i / extents[2] % extents[1], i % extents[2]};
          int64_t number = 0;
          for (unsigned axis : axes)
            number = number * extents[axis] + at[axis];
          int64_t tile = number / size;
          tiles[tile].insert(i);
          TileMap::Box &box = around[tile];
          if (box.lo.empty())
            box.lo.assign(at, at + 3), box.hi.assign(at, at + 3);
          for (unsigned a : {0, 1, 2}) {
            box.lo[a] = std::min(box.lo[a], at[a]);
            box.hi[a] = std::max(box.hi[a], at[a] + 1);
          }
        }
        bool areBoxes = true;
        for (auto &[tile, own] : tiles)
          areBoxes &= around[tile].elements() == int64_t(own.size());
        ASSERT_EQ(map.shareOut(axes, size), areBoxes);
        ++(areBoxes ? boxed : refused);
        if (!areBoxes) {
          EXPECT_EQ(map.tiles(), 1);
          continue;
        }
        ASSERT_EQ(map.tiles(), int64_t(tiles.size()));
        for (auto &[tile, own] : tiles)
          EXPECT_EQ(elementsOf(map, map.boxOf(tile)), own);
      }
  EXPECT_GT(boxed, 100u);
  EXPECT_GT(refused, 50u);
}

/// Every grid of units: tiles are boxes that share the units out, and
/// forRanges() goes over the same units (checked by the kernels that use it).
TEST(UnitGrid, TilesAreBoxes) {
  for (std::vector<int64_t> extents : {std::vector<int64_t>{},
                                       {1},
                                       {7},
                                       {64},
                                       {3, 5},
                                       {64, 60},
                                       {197, 1},
                                       {1, 197},
                                       {5, 7, 11},
                                       {2, 3, 4, 5},
                                       {1000, 3}})
    for (double work : {0.5, 7.0, 100.0, 1000.0, 5000.0, 20000.0, 1e6}) {
      UnitGrid grid(extents, work);
      SmallVector<TileMap::Axis> axes;
      SmallVector<unsigned> numbers;
      int64_t stride = 1;
      for (size_t d = extents.size(); d-- > 0; stride *= extents[d])
        axes.insert(axes.begin(), {extents[d], stride});
      for (size_t d = 0; d < extents.size(); ++d)
        numbers.push_back(d);
      TileMap map = TileMap::grid(
          axes, grid.cuts(numbers, SmallVector<int64_t>(extents.size(), 1)));
      ASSERT_EQ(map.tiles(), grid.tiles());
      std::set<int64_t> all;
      int64_t next = 0;
      for (int64_t t = 0; t < map.tiles(); ++t) {
        std::set<int64_t> tile = elementsOf(map, map.boxOf(t));
        ASSERT_FALSE(tile.empty());
        // Row-major and in order: a range of units.
        EXPECT_EQ(*tile.begin(), next);
        EXPECT_EQ(*tile.rbegin() - *tile.begin() + 1, int64_t(tile.size()));
        next = *tile.rbegin() + 1;
        all.insert(tile.begin(), tile.end());
      }
      EXPECT_EQ(int64_t(all.size()), stride);
      // Neither tiny tiles nor everything in one where there is much to do.
      if (stride > 1 && double(stride) * work >= 4 * tileWork) {
        EXPECT_GT(grid.tiles(), 1) << work;
      }
    }
}

constexpr int64_t tiles = 4, perTile = 8, elements = tiles * perTile;

/// A kernel of one operand: twice each element. Tile t has elements [8 t, 8 t +
/// 8).
template <typename Body>
void forTiles(void *const *operands, int64_t begin, int64_t end, Body body) {
  auto *out = static_cast<float *>(operands[0]);
  auto *in = static_cast<const float *>(operands[1]);
  for (int64_t t = begin; t < end; ++t)
    body(out, in, t);
}
void doubles(float *out, const float *in, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i)
    out[i] = 2 * in[i];
}

class TileCheckTest : public testing::Test {
protected:
  std::string run(artifact::KernelFn kernel, bool withMap,
                  bool inPlace = false) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::Type f32 = mlir::Builder(&context).getF32Type();
    TileCheck check;
    check.name = "sample";
    check.info.tiles = tiles;
    if (withMap)
      check.info.maps = {TileMap::grid({{elements, 1}}, {{0, tiles, perTile}})};
    if (inPlace)
      check.info.inPlaceOperands = {0};
    check.operands = {{elements * 4, f32}, {elements * 4, f32}};
    return runTileCheck(check, kernel);
  }
};

TEST_F(TileCheckTest, AcceptsWhatKeepsToItsTiles) {
  artifact::KernelFn good = [](void *const *operands, int64_t begin,
                               int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      doubles(out, in, t * perTile, (t + 1) * perTile);
    });
  };
  EXPECT_EQ(run(good, true, true), "");
  EXPECT_EQ(run(good, false), "");
}

TEST_F(TileCheckTest, FindsWritesBesideTheBox) {
  // Each tile writes the first element of the next one as well, rightly.
  artifact::KernelFn greedy = [](void *const *operands, int64_t begin,
                                 int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      doubles(out, in, t * perTile, std::min((t + 1) * perTile + 1, elements));
    });
  };
  EXPECT_NE(run(greedy, true).find("another tile wrote"), std::string::npos);
  EXPECT_NE(run(greedy, false).find("belongs to another tile"),
            std::string::npos);
}

TEST_F(TileCheckTest, FindsHoles) {
  artifact::KernelFn lazy = [](void *const *operands, int64_t begin,
                               int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      doubles(out, in, t * perTile, (t + 1) * perTile - (t == 2));
    });
  };
  EXPECT_NE(run(lazy, true), "");
  EXPECT_NE(run(lazy, false).find("no tile writes byte"), std::string::npos);
}

TEST_F(TileCheckTest, FindsTilesThatReadOthers) {
  // The last element of a tile is the sum of the first of the tile before and
  // its own.
  artifact::KernelFn reader = [](void *const *operands, int64_t begin,
                                 int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      doubles(out, in, t * perTile, (t + 1) * perTile);
      if (t > 0 && std::isfinite(out[(t - 1) * perTile]))
        out[t * perTile] += out[(t - 1) * perTile];
    });
  };
  EXPECT_NE(run(reader, true).find("tile"), std::string::npos);
  EXPECT_NE(run(reader, false).find("depends on other tiles"),
            std::string::npos);
}

TEST_F(TileCheckTest, FindsWrongBoxes) {
  // Tiles take every fourth element; the map says rows.
  artifact::KernelFn strided = [](void *const *operands, int64_t begin,
                                  int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      for (int64_t i = t; i < elements; i += tiles)
        doubles(out, in, i, i + 1);
    });
  };
  EXPECT_NE(run(strided, true), "");
  EXPECT_EQ(run(strided, false), "");
}

TEST_F(TileCheckTest, FindsWrongInPlace) {
  // Reads the element behind after its own was written.
  artifact::KernelFn shifted = [](void *const *operands, int64_t begin,
                                  int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      for (int64_t i = t * perTile; i < (t + 1) * perTile; ++i)
        out[i] = in[i] + in[i ? i - 1 : 0];
    });
  };
  EXPECT_EQ(run(shifted, true), "");
  EXPECT_NE(run(shifted, true, true).find("in the memory of operand 0"),
            std::string::npos);
}

TEST_F(TileCheckTest, DiesOfTouchesBehindTheEnd) {
  artifact::KernelFn behind = [](void *const *operands, int64_t begin,
                                 int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      doubles(out, in, t * perTile, (t + 1) * perTile);
      static volatile float sink;
      if (t + 1 == tiles)
        sink = in[elements];
      (void)sink;
    });
  };
  EXPECT_DEATH(run(behind, true), "");
}

TEST_F(TileCheckTest, DiesOfValuesThatAreAddresses) {
  artifact::KernelFn wild = [](void *const *operands, int64_t begin,
                               int64_t end, void *) {
    forTiles(operands, begin, end, [](float *out, const float *in, int64_t t) {
      for (int64_t i = t * perTile; i < (t + 1) * perTile; ++i)
        out[i] = in[int64_t(in[i] * in[i])];
    });
  };
  EXPECT_DEATH(run(wild, true), "");
}

} // namespace
