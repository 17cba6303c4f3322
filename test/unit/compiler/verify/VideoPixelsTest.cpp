//===- VideoPixelsTest.cpp - Pixels and tiles, element by element ---------===//
//
// The oracle looks at each element of small tensors.
//
//===----------------------------------------------------------------------===//

#include "compiler/verify/VideoPixels.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace mlir;
using namespace nnv12;
using artifact::PixelLayout;
using artifact::VideoPart;
using artifact::VideoTiles;

namespace {

class VideoPixels : public testing::Test {
protected:
  VideoPixels() { context.loadDialect<nn::NNDialect>(); }

  int64_t below(int64_t end) {
    return static_cast<int64_t>(chance() % static_cast<uint64_t>(end));
  }

  /// A tensor of images in one of these layouts, small.
  RankedTensorType draw(ArrayRef<const char *> tags) {
    SmallVector<int64_t> shape = {1 + below(2), below(2) ? 16 : 1 + below(20),
                                  2 + below(6), 2 + below(6)};
    return nn::withLayout(
        RankedTensorType::get(shape, Float32Type::get(&context)),
        tags[below(tags.size())]);
  }

  /// Calls body(place, row, column) for each element.
  static void
  forElements(RankedTensorType type, video::Plane plane,
              llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
    nn::Layout layout = nn::Layout::of(type);
    SmallVector<int64_t> strides = computeSuffixProduct(type.getShape());
    for (int64_t i = 0, end = type.getNumElements(); i < end; ++i) {
      SmallVector<int64_t> index = delinearize(i, strides);
      body(layout.offset(index), index[plane.row], index[plane.column]);
    }
  }

  MLIRContext context;
  std::mt19937_64 chance{7};
};

/// Nested axes of a tensor, neighbours merged at random, and cuts.
TileMap drawMap(RankedTensorType type,
                llvm::function_ref<int64_t(int64_t)> below) {
  nn::Layout layout = nn::Layout::of(type);
  SmallVector<TileMap::Axis> axes;
  for (const nn::Layout::Axis &axis : layout.axes())
    if (!axes.empty() && below(3) == 0)
      axes.back() = {axes.back().extent * axis.extent, axis.stride};
    else
      axes.push_back({axis.extent, axis.stride});
  SmallVector<TileMap::Cut> cuts;
  for (unsigned a = 0; a < axes.size(); ++a)
    if (axes[a].extent > 1 && below(2)) {
      int64_t size = 1 + below(axes[a].extent);
      int64_t count = (axes[a].extent + size - 1) / size;
      // Sometimes the last tile is left out.
      if (below(12) == 0 && count > 1)
        --count;
      cuts.insert(cuts.begin() + below(cuts.size() + 1), {a, count, size});
    }
  TileMap map = TileMap::grid(axes, cuts);
  if (below(20) == 0)
    ++map.axes[below(axes.size())].stride;
  return map;
}

/// The tiles that Stream lists for a pixel.
bool isListed(const VideoPart &part, const TileMap &map, int64_t columns,
              int64_t row, int64_t column, int64_t tile) {
  int64_t stride = 1;
  bool result = true;
  for (const TileMap::Cut &cut : llvm::reverse(map.parts[0].cuts)) {
    int64_t number = tile / stride % cut.count;
    if (cut.axis == part.rowAxis)
      result &=
          (part.tiles == VideoTiles::Runs ? row * columns + column : row) /
              cut.size ==
          number;
    else if (part.tiles == VideoTiles::Cells && cut.axis == part.columnAxis)
      result &= column / cut.size == number;
    stride *= cut.count;
  }
  return result;
}

TEST_F(VideoPixels, TilesThatAreProvenHoldTheirPixels) {
  std::map<VideoTiles, unsigned> good;
  for (unsigned i = 0; i < 100000; ++i) {
    RankedTensorType type = draw({"", "aBcd16b", "acdb", "acBd8b", "abCd2c"});
    video::Plane plane = below(4) ? video::Plane{2, 3} : video::Plane{3, 2};
    TileMap map =
        drawMap(type, [this](int64_t end) { return this->below(end); });
    VideoPart part = {static_cast<VideoTiles>(1 + below(3))};
    part.rowAxis = static_cast<uint32_t>(below(map.axes.size()));
    part.columnAxis = static_cast<uint32_t>(below(map.axes.size()));
    if (!findWrongTiles(part, map, type, plane).empty())
      continue;
    ++good[part.tiles];
    int64_t columns = type.getDimSize(plane.column);
    std::map<int64_t, std::pair<int64_t, int64_t>> pixelOf; // by place
    forElements(type, plane, [&](int64_t place, int64_t row, int64_t column) {
      pixelOf[place] = {row, column};
    });
    std::set<int64_t> written;
    for (int64_t tile = 0; tile < map.tiles(); ++tile)
      map.forPieces(map.boxOf(tile), [&](int64_t first, int64_t count) {
        for (int64_t at = first; at < first + count; ++at) {
          written.insert(at);
          auto it = pixelOf.find(at); // or padding
          EXPECT_TRUE(it == pixelOf.end() ||
                      isListed(part, map, columns, it->second.first,
                               it->second.second, tile))
              << "case " << i << ", tile " << tile << ", element " << at;
        }
        return !HasFailure();
      });
    EXPECT_EQ(written.size(), size_t(nn::Layout::of(type).size()));
    ASSERT_FALSE(HasFailure());
  }
  for (VideoTiles tiles :
       {VideoTiles::Rows, VideoTiles::Cells, VideoTiles::Runs})
    EXPECT_GT(good[tiles], 50u) << unsigned(tiles);
}

/// Inputs are dense. Results of check points may be in blocks.
TEST_F(VideoPixels, PixelsAreAllTheirElements) {
  std::map<bool, unsigned> good; // by whether the last block is filled up
  unsigned wrong = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    RankedTensorType type = draw({"", "", "aBcd16b", "acdb", "acBd8b"});
    nn::Layout layout = nn::Layout::of(type);
    video::Plane plane = below(2) ? video::Plane{2, 3} : video::Plane{3, 2};
    if (below(4) == 0 && layout.block(1) == 1)
      plane = {1, 2};
    int64_t rows = type.getDimSize(plane.row),
            columns = type.getDimSize(plane.column);
    if (rows < 2 || columns < 2)
      continue;
    auto stride = [&](unsigned dim) {
      for (const nn::Layout::Axis &axis : layout.axes())
        if (axis.dim == dim)
          return axis.stride * 4;
      return int64_t(0);
    };
    // Near to right.
    auto near = [&](int64_t number) {
      return static_cast<uint64_t>(
          std::max<int64_t>(number + (below(8) ? 0 : below(9) - 4), 0));
    };
    int64_t channels = layout.size() / rows / columns;
    const int64_t sizes[] = {1, channels, layout.block(1)};
    int64_t piece = sizes[below(3)];
    PixelLayout pixels = {near(stride(plane.row)), near(stride(plane.column)),
                          near(channels / piece), near(stride(below(4))),
                          near(piece * 4)};
    // Each element of memory is in a pixel.
    std::map<std::pair<int64_t, int64_t>, std::multiset<uint64_t>> expected,
        found;
    for (int64_t place = 0; place < layout.size(); ++place) {
      std::pair<int64_t, int64_t> at;
      for (const nn::Layout::Axis &axis : layout.axes()) {
        int64_t position = place / axis.stride % axis.extent * axis.step;
        at.first += axis.dim == plane.row ? position : 0;
        at.second += axis.dim == plane.column ? position : 0;
      }
      for (int64_t byte = 0; byte < 4; ++byte)
        expected[at].insert(place * 4 + byte);
    }
    for (auto &[at, bytes] : expected) {
      auto &here = found[at];
      for (uint64_t p = 0; p < pixels.pieces; ++p)
        for (uint64_t byte = 0; byte < pixels.piece; ++byte)
          here.insert(at.first * pixels.row + at.second * pixels.column +
                      p * pixels.distance + byte);
    }
    std::string fault = findWrongPixels(pixels, type, plane);
    EXPECT_EQ(fault.empty(), found == expected) << i << ": " << fault;
    if (fault.empty())
      ++good[layout.isPadded()];
    else
      ++wrong;
  }
  EXPECT_GT(good[false], 100u);
  EXPECT_GT(good[true], 20u);
  EXPECT_GT(wrong, 100u);
}

/// Rows and columns are at no equal distances there.
TEST_F(VideoPixels, NoneOfBlockedRowsOrColumns) {
  RankedTensorType type = nn::withLayout(
      RankedTensorType::get({1, 3, 8, 6}, Float32Type::get(&context)),
      "abCd2c");
  for (video::Plane plane : {video::Plane{2, 3}, video::Plane{3, 2}})
    EXPECT_EQ(findWrongPixels({48, 8, 3, 192, 4}, type, plane),
              "found pixels of blocked rows or columns, expected none");
}

} // namespace
