//===- ConvWinograd.cpp - 3x3 convolution with fewer multiplications ------===//
//
// conv.winograd2.nChw16c, conv.winograd4…, conv.winograd6…: F(2x2, 3x3),
// F(4x4, 3x3) and F(6x6, 3x3) of a 3x3 convolution of stride 1. Input and
// result in blocks of 16 channels as for conv.direct; weights in a form of
// their own,
//
//   U [O/16][tap t*t][I][16 o]        t = m + 2
//
// The plane is cut into windows of m x m outputs, which read t x t inputs that
// overlap by two. All windows of all images are one row of positions:
//
//   for tile = (block of windows, chunk of output panels)
//     if the windows changed: V[tap][I/16][window][16 i] = Bt d B, to scratch
//     for panel group
//       for tap: M[tap][panel][window][16 o] = V[tap] * U[panel][tap]
//       for panel, window: result = epilogue(At M A)
//
// The product is that of a 1x1 convolution and takes the same micro-kernel. U
// is streamed once for each block of windows, V stays in the second-level
// cache, and M of one panel group nearly fits the first.
//
// A window that reaches over the border is gathered into a patch with zeros
// first. A window that ends beyond the result is written to a patch, and only
// the pixels that exist are finished. Channels past the real count are never
// multiplied.
//
// In cells, a tile's windows are a rectangle of them. A window's sums do not
// depend on its neighbours.
//
// Rounding errors grow with m (docs/results/winograd.md has figures).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/Winograd.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <limits>
#include <optional>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// The sizes of a layer in windows of m x m outputs.
struct WindowGrid {
  const Winograd &f;
  WindowShape w;
  int64_t rows, cols; ///< windows of an image
  int64_t inBlocks, panels;

  WindowGrid(nn::ConvOp op, int64_t m)
      : f(Winograd::of(m)), w(op), rows(divideCeil(w.outHeight, m)),
        cols(divideCeil(w.outWidth, m)),
        inBlocks(divideCeil(w.channels, block)),
        panels(divideCeil(w.outChannels, panelWidth)) {}
  int64_t windows() const { return w.batch * rows * cols; }
  /// Elements of U of one tap and panel, of a panel, and of all.
  int64_t tapSize() const { return w.channels * panelWidth; }
  int64_t panelSize() const { return f.taps() * tapSize(); }
  int64_t formSize() const { return panels * panelSize(); }
  double multiplyAdds() const { return double(windows()) * double(formSize()); }
  /// Whether a window's t x t inputs may reach over the border, or its m x m
  /// outputs beyond the result.
  bool hasBorder() const {
    return w.top > 0 || w.left > 0 || rows * f.m + 2 - w.top > w.height ||
           cols * f.m + 2 - w.left > w.width;
  }
  bool hasRest() const { return w.outHeight % f.m || w.outWidth % f.m; }
  bool hasPadding() const { return w.outChannels % panelWidth; }
};

/// A distance between taps whose lines spread over all sets of a cache: an odd
/// number of them.
int64_t spread(int64_t elements) { return elements | block; }

/// Emits the transform of 16 squares side by side, of which `load` gets a lane
/// to begin with, a row and a column; each tap of the result goes `tap` behind
/// the one before, from `at` on.
void transformBlock(KernelBuilder &k, const Winograd &f, const Matrix &matrix,
                    llvm::function_ref<Value(Index, int64_t, int64_t)> load,
                    Value to, Index at, Index tap) {
  k.repeat(block / k.VL, [&](Index part) {
    Index lane = k.mul(part, k.VL);
    emitTransform2D(
        k, matrix,
        [&](int64_t row, int64_t col) { return load(lane, row, col); },
        [&](int64_t row, int64_t col, Value x) {
          Index offset = k.mul(tap, row * f.t + col);
          k.store(x, to, k.add(k.add(at, lane), offset));
        });
  });
}

/// Emits the kernel of a layer.
class WinogradEmitter {
public:
  WinogradEmitter(KernelBuilder &k, nn::ConvOp op, int64_t m,
                  const std::optional<Cells> &cells = std::nullopt)
      : k(k), op(op), g(op, m), f(g.f), w(g.w), epilogue(Epilogue::of(op)),
        isInCells(cells.has_value()) {
    assert(winogradMisfit(op).empty() && "misfit() has looked");
    if (cells)
      planCells(*cells);
    else
      plan();
    planScratch();
  }
  KernelInfo emit(StringRef symbol);

private:
  /// One window of m x m outputs.
  struct Window {
    Index image, row, col; ///< of its first output
  };
  void plan();
  void planCells(const Cells &size);
  void planScratch();
  TileMap cellMap() const;
  double cost(const PanelTile &tile, int64_t windows) const;
  Window windowAt(Index position) {
    Window window;
    window.col = k.mul(k.rem(position, g.cols), f.m);
    Index line = k.div(position, g.cols);
    window.row = k.mul(k.rem(line, g.rows), f.m);
    window.image = w.batch == 1 ? Index(0) : k.div(line, g.rows);
    return window;
  }

  /// Calls body(number in the block, window) for the block's windows.
  void forEachWindow(const PanelBlock &tile,
                     llvm::function_ref<void(Index, const Window &)> body);
  void transformInput(const PanelBlock &tile);
  void panelChunk(const PanelBlock &windows);
  void transformOutput(const PanelBlock &tile, Index panel, Index panels);
  void inputKernel(Value input, ArrayRef<Index> indices);
  void gatherKernel(ArrayRef<Index> indices);
  void outputKernel(bool isWhole, ArrayRef<Index> indices);

  KernelBuilder &k;
  nn::ConvOp op;
  WindowGrid g;
  const Winograd &f;
  const WindowShape &w;
  Epilogue epilogue;

  const bool isInCells;
  /// Its rows are windows, those of all images; in cells, its batches are
  /// images and its plane is one of windows.
  PanelGrid grid;
  PanelShape shape; ///< of the product
  // Scratch, in elements: a patch of t x t pixels, V, M.
  int64_t windowBlock, vTap, mTap, vAt, mAt, scratchSize;
  LinearMemory operands;
  Value scratch;
};

/// Time of a layer on one thread in units of a vector multiply-add, if it goes
/// over `windows` windows at a time. Fitted to measurements: U comes from
/// beyond the second-level cache once for each block of windows unless it fits
/// there beside V, and from there for each tile if the weights of a tap and
/// panel group do not fit the first level; V comes once for each panel group if
/// it does not fit the second level, and even there a small one is better.
double WinogradEmitter::cost(const PanelTile &tile, int64_t windows) const {
  constexpr double perByte = 0.1, perNearByte = 0.01;
  // The rest of each cache is for data that pass through.
  const double cacheBytes = 0.5 * double(k.target.secondLevelCache),
               nearCacheBytes = 0.5 * double(k.target.firstLevelCache);
  auto tileTime = [&](int64_t count, int64_t panels) {
    // One load for each multiply-add leaves no room for inputs that miss the
    // first-level cache.
    bool isLoadBound = panels * panelWidth == k.VL;
    return tileCost(k.target, count, panels) * (isLoadBound ? 1.3 : 1.0);
  };
  auto product = [&](int64_t count, int64_t panels) {
    int64_t rest = count % tile.rows;
    return double(count / tile.rows) * tileTime(tile.rows, panels) +
           (rest ? tileTime(rest, panels) : 0);
  };
  auto group = [&](int64_t panels) {
    return double(grid.rows / windows) * product(windows, panels) +
           product(grid.rows % windows, panels);
  };
  int64_t rest = g.panels % tile.panels;
  double sum = double(g.panels / tile.panels) * group(tile.panels) +
               (rest ? group(rest) : 0);
  sum *= double(f.taps() * w.channels);
  double blocks = double(divideCeil(grid.rows, windows));
  double vBytes = double(f.taps() * g.inBlocks * block * windows * 4);
  sum *= 1 + 0.15 * vBytes / cacheBytes;
  if (vBytes > cacheBytes)
    sum += 2 * perByte * vBytes * blocks *
           double(divideCeil(g.panels, tile.panels));

  double uBytes = double(g.formSize() * 4);
  bool staysNear = double(g.tapSize() * tile.panels * 4) <= nearCacheBytes;
  sum += perNearByte * uBytes *
         (staysNear ? blocks : double(divideCeil(grid.rows, tile.rows)));
  if (uBytes + vBytes > 2 * cacheBytes)
    sum += perByte * uBytes * blocks;
  return sum;
}

void WinogradEmitter::plan() {
  constexpr int64_t enoughTiles = 8, mostScratch = 4 << 20;
  constexpr double tileMultiplyAdds = 150e3;
  grid.rows = g.windows();
  grid.panels = g.panels;
  double best = std::numeric_limits<double>::max();
  for (int64_t panels = 1; panels <= std::min<int64_t>(g.panels, 8); ++panels) {
    PanelTile tile;
    tile.panels = panels;
    int64_t most = std::min(maxPositions(k.target, panels), grid.rows);
    for (tile.rows = 1; tile.rows <= most; ++tile.rows)
      for (int64_t groups = 1;; ++groups) {
        int64_t windows = std::min(groups * tile.rows, grid.rows);
        int64_t bytes = f.taps() * 4 * windows * block * (g.inBlocks + panels);
        if (groups > 1 && bytes > mostScratch)
          break;
        // If two blocks are as good as each other, the smaller one leaves more
        // tiles.
        double time = cost(tile, windows);
        if (time < 0.99 * best) {
          best = time;
          grid.tile = tile;
          grid.rowBlock = groups * tile.rows;
        }
        if (windows == grid.rows)
          break;
      }
  }
  assert(best < std::numeric_limits<double>::max() && "some tile fits");
  grid.rowBlocks = divideCeil(grid.rows, grid.rowBlock);
  // Chunks of panels make up for missing blocks; each thread that takes one
  // transforms the input again.
  int64_t wanted = std::clamp<int64_t>(
      int64_t(g.multiplyAdds() / tileMultiplyAdds), 1, enoughTiles);
  int64_t groups = divideCeil(g.panels, grid.tile.panels);
  int64_t chunks = divideCeil(wanted, grid.rowBlocks);
  grid.panelChunk = grid.tile.panels * std::max<int64_t>(1, groups / chunks);
  grid.panelChunks = divideCeil(g.panels, grid.panelChunk);
  windowBlock = std::min(grid.rowBlock, grid.rows);
}

void WinogradEmitter::planCells(const Cells &size) {
  int64_t rows = std::min<int64_t>(divideCeil(size.rows, f.m), g.rows),
          cols = std::min<int64_t>(divideCeil(size.cols, f.m), g.cols);
  assert(size.channels % panelWidth == 0 && "channels of a tile are panels");
  int64_t chunk = std::min(size.channels / panelWidth, g.panels);
  // Micro-kernels' panels divide a chunk that does not have all of them.
  int64_t whole = chunk < g.panels ? chunk : 0;
  windowBlock = rows * cols;
  grid.panels = g.panels;
  grid.rows = g.windows();
  double best = std::numeric_limits<double>::max();
  for (int64_t panels = 1; panels <= std::min<int64_t>(g.panels, 8); ++panels) {
    if (whole % panels)
      continue;
    PanelTile tile;
    tile.panels = panels;
    int64_t most = std::min(maxPositions(k.target, panels), windowBlock);
    for (tile.rows = 1; tile.rows <= most; ++tile.rows)
      if (double time = cost(tile, windowBlock); time < best)
        best = time, grid.tile = tile;
  }
  assert(best < std::numeric_limits<double>::max() && "some tile fits");
  grid.batches = w.batch;
  grid.rows = g.rows, grid.cols = g.cols;
  grid.rowBlock = rows, grid.rowBlocks = divideCeil(g.rows, rows);
  grid.colBlock = cols, grid.colBlocks = divideCeil(g.cols, cols);
  int64_t groups = divideCeil(g.panels, grid.tile.panels);
  double work = double(windowBlock) * double(g.formSize());
  auto chunks =
      std::clamp<int64_t>(int64_t(work / cellMultiplyAdds) + 1, 1, groups);
  grid.panelChunk = chunk > 0 ? int64_t(llvm::alignTo(chunk, grid.tile.panels))
                              : grid.tile.panels * divideCeil(groups, chunks);
  grid.panelChunks = divideCeil(g.panels, grid.panelChunk);
}

TileMap WinogradEmitter::cellMap() const {
  int64_t outRow = w.outWidth * panelWidth, plane = w.outHeight * outRow;
  return TileMap::grid({{w.batch, g.panels * plane},
                        {g.panels, plane},
                        {w.outHeight, outRow},
                        {w.outWidth, panelWidth},
                        {panelWidth, 1}},
                       {{0, w.batch, 1},
                        {2, grid.rowBlocks, grid.rowBlock * f.m},
                        {3, grid.colBlocks, grid.colBlock * f.m},
                        {1, grid.panelChunks, grid.panelChunk}});
}

void WinogradEmitter::planScratch() {
  vTap = spread(g.inBlocks * windowBlock * block);
  mTap = spread(grid.tile.panels * windowBlock * panelWidth);
  vAt = f.taps() * block;
  mAt = vAt + f.taps() * vTap;
  scratchSize = mAt + f.taps() * mTap;

  shape.channelTail = w.channels % block;
  shape.isCompact = isInCells;
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

/// (input, V | offset of the window's first pixel, distance of rows, offset in
/// V, distance of taps): one window of one channel block.
void WinogradEmitter::inputKernel(Value input, ArrayRef<Index> indices) {
  std::string name = "winograd" + std::to_string(f.m) + "_input";
  k.callMicroKernel(name, {input, scratch}, indices, [&](ValueRange a) {
    transformBlock(
        k, f, f.input,
        [&](Index lane, int64_t row, int64_t col) {
          Index at = k.add(k.add(a[2], lane), k.mul(a[3], row));
          return k.load(a[0], k.add(at, col * block), k.VL);
        },
        a[1], a[4], a[5]);
  });
}

/// (input, patch | offset of the window's first pixel, distance of rows, first
/// and last row and column inside): copies the pixels inside, dense.
void WinogradEmitter::gatherKernel(ArrayRef<Index> indices) {
  std::string name = "winograd" + std::to_string(f.m) + "_gather";
  k.callMicroKernel(name, {operands.in, scratch}, indices, [&](ValueRange a) {
    k.loop(a[4], a[5], 1, [&](Value row) {
      k.loop(a[6], a[7], 1, [&](Value col) {
        Index from = k.add(k.add(a[2], k.mul(row, a[3])), k.mul(col, block));
        Index to = k.mul(k.add(k.mul(row, f.t), col), block);
        for (int64_t lane = 0; lane < block; lane += k.VL)
          k.store(k.load(a[0], k.add(from, lane), k.VL), a[1], k.add(to, lane));
      });
    });
  });
}

void WinogradEmitter::forEachWindow(
    const PanelBlock &tile,
    llvm::function_ref<void(Index, const Window &)> body) {
  if (!isInCells)
    return k.loop(0, tile.rows, 1,
                  [&](Value i) { body(i, windowAt(k.add(tile.row, i))); });
  auto end = [&](int64_t size, int64_t extent, Index first) {
    return extent % size ? k.min(size, k.sub(extent, first)) : Index(size);
  };
  Index rows = end(grid.rowBlock, grid.rows, tile.row),
        cols = end(grid.colBlock, grid.cols, tile.col);
  k.loop(0, rows, 1, [&](Value row) {
    k.loop(0, cols, 1, [&](Value col) {
      body(k.add(k.mul(row, cols), col),
           {tile.batch, k.mul(k.add(tile.row, row), f.m),
            k.mul(k.add(tile.col, col), f.m)});
    });
  });
}

void WinogradEmitter::transformInput(const PanelBlock &tile) {
  int64_t inRow = w.width * block, plane = w.height * inRow;
  auto transform = [&](Value input, Index from, int64_t rowSize, Index channel,
                       Index window) {
    Index to = k.add(k.mul(channel, windowBlock * block), k.mul(window, block));
    inputKernel(input, {from, rowSize, k.add(to, vAt), vTap});
  };
  forEachWindow(tile, [&](Index i, const Window &window) {
    Index row = k.sub(window.row, w.top), col = k.sub(window.col, w.left);
    Index first = k.add(k.mul(window.image, g.inBlocks * plane),
                        k.add(k.mul(row, inRow), k.mul(col, block)));
    auto inside = [&]() -> Values {
      k.repeat(g.inBlocks, [&](Index channel) {
        transform(operands.in, k.add(first, k.mul(channel, plane)), inRow,
                  channel, i);
      });
      return {};
    };
    auto overBorder = [&]() -> Values {
      // Pixels outside stay zero for all channels.
      Value zero = k.fconst(0, k.vec(k.VL));
      k.loop(0, f.taps() * block, k.VL,
             [&](Value at) { k.store(zero, scratch, at); });
      auto low = [&](Index at) { return k.min(k.max(k.sub(0, at), 0), f.t); };
      auto high = [&](Index at, int64_t size) {
        return k.min(k.sub(size, at), f.t);
      };
      Index top = low(row), bottom = high(row, w.height), left = low(col),
            right = high(col, w.width);
      k.repeat(g.inBlocks, [&](Index channel) {
        gatherKernel({k.add(first, k.mul(channel, plane)), inRow, top, bottom,
                      left, right});
        transform(scratch, 0, f.t * block, channel, i);
      });
      return {};
    };
    if (!g.hasBorder()) {
      inside();
      return;
    }
    Value isInside = k.bitAnd(k.within(row, w.height - f.t + 1),
                              k.within(col, w.width - f.t + 1));
    k.ifElse(isInside, {}, inside, overBorder);
  });
}

//===----------------------------------------------------------------------===//
// Product
//===----------------------------------------------------------------------===//

/// A chunk of panels for a block of windows: product and output transform.
void WinogradEmitter::panelChunk(const PanelBlock &windows) {
  // The block's loops over one panel group at a time.
  PanelGrid group = grid;
  group.panelChunk = grid.tile.panels;
  group.panelChunks = divideCeil(grid.panels, grid.tile.panels);
  Index last = k.min(k.add(windows.firstPanel, grid.panelChunk), grid.panels);
  k.loop(windows.firstPanel, last, grid.tile.panels, [&](Value panel) {
    k.repeat(f.taps(), [&](Index tap) {
      PanelBlock b;
      b.memory.in = b.memory.out = scratch;
      b.memory.weights = operands.weights;
      b.at.in = k.add(k.mul(tap, vTap), vAt);
      b.at.blocks = w.channels / block;
      b.at.inBlock = windowBlock * block;
      b.at.weights = k.mul(tap, g.tapSize());
      b.at.weightPanel = g.panelSize();
      b.at.outPanel = windowBlock * panelWidth;
      b.at.out = k.sub(k.add(k.mul(tap, mTap), mAt),
                       k.mul(panel, windowBlock * panelWidth));
      b.firstPanel = panel;
      b.rows = windows.rows;
      if (!isInCells)
        return emitPanelBlock(k, shape, group, b);
      forBlockSize(k, windows.row, grid.rows, grid.rowBlock, [&](int64_t rows) {
        forBlockSize(
            k, windows.col, grid.cols, grid.colBlock, [&](int64_t cols) {
              b.rows = rows * cols;
              emitPanelBlock(k, shape, group.part(k.target, rows * cols, 1), b);
            });
      });
    });
    transformOutput(windows, panel,
                    k.min(grid.tile.panels, k.sub(last, panel)));
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// (M, result[, bias][, residual] | offset in M, distance of taps, offset of
/// the window's first result, distance of rows, offset of the bias[, rows,
/// columns][, channels from there on]): one window of one panel. A window that
/// is not whole, and one with a long epilogue, goes through a patch at the
/// beginning of the first memory.
void WinogradEmitter::outputKernel(bool isWhole, ArrayRef<Index> indices) {
  std::string name = "winograd" + std::to_string(f.m) + "_output" +
                     (isWhole ? "" : "_part") +
                     (g.hasPadding() ? "_padded" : "") + epilogue.suffix();
  Values memories = {scratch, operands.out, operands.bias, operands.residual};
  llvm::erase(memories, Value());
  k.callMicroKernel(name, memories, indices, [&](ValueRange a) {
    size_t next = 2;
    Value bias = epilogue.bias ? a[next++] : Value();
    Value residual = epilogue.residual ? a[next++] : Value();
    Index from = a[next], tap = a[next + 1], to = a[next + 2],
          outRow = a[next + 3], biasAt = a[next + 4];
    k.repeat(panelWidth / k.VL, [&](Index part) {
      Index lane = k.mul(part, k.VL);
      auto load = [&](int64_t row, int64_t col) {
        return k.load(
            a[0], k.add(k.add(from, lane), k.mul(tap, row * f.t + col)), k.VL);
      };
      Value biasValue =
          bias ? k.load(bias, k.add(biasAt, lane), k.VL) : Value();
      auto finish = [&](Value sum, Index at) {
        if (biasValue)
          sum = arith::AddFOp::create(k.b, sum, biasValue);
        sum =
            epilogue.apply(k, sum, [&] { return k.load(residual, at, k.VL); });
        if (g.hasPadding())
          sum = k.keepLanes(sum, k.sub(a.back(), lane));
        k.store(sum, a[1], at);
      };
      if (isWhole) {
        emitTransform2D(
            k, f.output, load, [&](int64_t row, int64_t col, Value x) {
              Index at = k.add(k.mul(outRow, row), col * panelWidth);
              finish(x, k.add(k.add(to, lane), at));
            });
        return;
      }
      emitTransform2D(k, f.output, load,
                      [&](int64_t row, int64_t col, Value x) {
                        k.store(x, a[0], (row * f.m + col) * k.VL);
                      });
      k.loop(0, a[next + 5], 1, [&](Value row) {
        k.loop(0, a[next + 6], 1, [&](Value col) {
          Index patch = k.mul(k.add(k.mul(row, f.m), col), k.VL);
          Index at = k.add(k.mul(row, outRow), k.mul(col, panelWidth));
          finish(k.load(a[0], patch, k.VL), k.add(k.add(to, lane), at));
        });
      });
    });
  });
}

void WinogradEmitter::transformOutput(const PanelBlock &tile, Index panel,
                                      Index panels) {
  int64_t outRow = w.outWidth * panelWidth, plane = w.outHeight * outRow;
  forEachWindow(tile, [&](Index i, const Window &window) {
    Index first =
        k.add(k.add(k.mul(window.image, g.panels * plane), k.mul(panel, plane)),
              k.add(k.mul(window.row, outRow), k.mul(window.col, panelWidth)));
    Index from = k.add(k.mul(i, panelWidth), mAt);
    auto each = [&](bool isWhole, ArrayRef<Index> sizes) {
      k.loop(0, panels, 1, [&](Value p) {
        SmallVector<Index> args = {
            k.add(from, k.mul(p, windowBlock * panelWidth)), mTap,
            k.add(first, k.mul(p, plane)), outRow,
            k.mul(k.add(panel, p), panelWidth)};
        args.append(sizes.begin(), sizes.end());
        if (g.hasPadding())
          args.push_back(
              k.sub(w.outChannels, k.mul(k.add(panel, p), panelWidth)));
        outputKernel(isWhole, args);
      });
    };
    auto whole = [&]() -> Values { return each(true, {}), Values(); };
    auto part = [&]() -> Values {
      each(false, {k.min(f.m, k.sub(w.outHeight, window.row)),
                   k.min(f.m, k.sub(w.outWidth, window.col))});
      return {};
    };
    if (epilogue.isLong())
      part();
    else if (!g.hasRest())
      whole();
    else
      k.ifElse(k.bitAnd(k.within(window.row, w.outHeight - f.m + 1),
                        k.within(window.col, w.outWidth - f.m + 1)),
               {}, whole, part);
  });
}

KernelInfo WinogradEmitter::emit(StringRef symbol) {
  // Elsewhere than in cells windows are numbered across rows of windows, so a
  // range of them is no box.
  KernelInfo info =
      emitPanelTiles(k, op, symbol, grid, epilogue, scratchSize * 4,
                     [&](const PanelBlock &b, Value memory) {
                       scratch = memory;
                       operands = b.memory;
                       k.ifThen(b.isNew, [&] { transformInput(b); });
                       panelChunk(b);
                     });
  if (isInCells)
    info.maps = {cellMap()};
  // Even a long epilogue reads a pixel's residual just before its result is
  // written.
  if (epilogue.residual)
    info.inPlaceOperands = {op->getNumOperands() - 1};
  return info;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// (U, packed | offset in U, distance of taps, offset of the first weight): one
/// input channel of one panel.
void weightKernel(KernelBuilder &k, const Winograd &f, ValueRange memories,
                  ArrayRef<Index> indices) {
  std::string name = "winograd" + std::to_string(f.m) + "_weights";
  k.callMicroKernel(name, memories, indices, [&](ValueRange a) {
    transformBlock(
        k, f, f.weights,
        [&](Index lane, int64_t row, int64_t col) {
          return k.load(
              a[1],
              k.add(k.add(a[4], lane), (row * 3 + col) * block * panelWidth),
              k.VL);
        },
        a[0], a[2], a[3]);
  });
}

/// Elements of the packed weights of a panel and a block of input channels.
constexpr int64_t packedBlock = 9 * block * panelWidth;

class ConvWinograd : public CpuRoutine {
public:
  ConvWinograd(int64_t m)
      : CpuRoutine("conv.winograd" + Twine(m) + ".nChw16c",
                   Twine("3x3 of stride 1 with ") +
                       (m == 2   ? "2.25"
                        : m == 4 ? "4"
                                 : "5") +
                       " times fewer products: F(" + Twine(m) + "x" + Twine(m) +
                       ", 3x3)"),
        m(m) {}
  std::string misfit(Operation *layer) const override {
    if (std::string reason = winogradMisfit(layer); !reason.empty())
      return reason;
    WindowGrid g(cast<nn::ConvOp>(layer), m);
    const WindowShape &w = g.w;
    // Transforming an input must be worth it, and so must be its remainder
    // windows: a quarter of the multiplications has to be saved at least.
    return w.channels >= 16 && w.outChannels >= 16 &&
                   double(g.f.taps() * g.rows * g.cols) <=
                       0.75 * double(9 * w.outHeight * w.outWidth)
               ? ""
               : "it has few channels, or saves too few multiplications";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, panelTag);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return WinogradEmitter(k, cast<nn::ConvOp>(layer), m).emit(symbol);
  }
  std::optional<Cells> cells(Operation *layer) const override;
  /// Sizes are rounded up to whole windows.
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    return WinogradEmitter(k, cast<nn::ConvOp>(layer), m, size).emit(symbol);
  }
  Work work(Operation *layer) const override;
  int64_t together(Operation *layer) const override { return m; }

  std::optional<WeightForm> weightForm(Operation *layer) const override {
    WindowGrid g(cast<nn::ConvOp>(layer), m);
    return WeightForm{1, "winograd" + std::to_string(m), g.formSize() * 4};
  }
  /// A tile is a block of input channels of a panel.
  KernelInfo emitTransform(KernelBuilder &k, Operation *layer,
                           StringRef symbol) const override {
    WindowGrid g(cast<nn::ConvOp>(layer), m);
    Type f32 = k.b.getF32Type();
    int64_t tail = g.w.channels % block;
    k.kernel(symbol, {f32, f32},
             [&](ValueRange operands, Value, Value begin, Value end) {
               k.loop(begin, end, 1, [&](Value tile) {
                 Index panel = k.div(tile, g.inBlocks);
                 Index first = k.mul(k.rem(tile, g.inBlocks), block);
                 Index count =
                     tail ? k.min(block, k.sub(g.w.channels, first)) : block;
                 Index to = k.add(k.mul(panel, g.panelSize()),
                                  k.mul(first, panelWidth));
                 k.loop(0, count, 1, [&](Value channel) {
                   Index offset = k.mul(channel, panelWidth);
                   weightKernel(k, g.f, operands,
                                {k.add(to, offset), g.tapSize(),
                                 k.add(k.mul(tile, packedBlock), offset)});
                 });
               });
             });
    return {g.panels * g.inBlocks,
            0,
            {TileMap::grid(
                {{g.panels, g.panelSize()},
                 {g.panelSize() / g.tapSize(), g.tapSize()},
                 {g.tapSize(), 1}},
                {{0, g.panels, 1}, {2, g.inBlocks, block * panelWidth}})}};
  }

  Work transformWork(Operation *layer) const override {
    WindowGrid g(cast<nn::ConvOp>(layer), m);
    Work work;
    work.multiplyAdds = double(g.panels * panelWidth * g.w.channels) *
                        transformOperations(g.f.weights);
    work.bytes = double(g.formSize() + g.panels * g.inBlocks * packedBlock) * 4;
    return work;
  }

  void transform(Operation *layer, const void *packed,
                 void *transformed) const override {
    WindowGrid g(cast<nn::ConvOp>(layer), m);
    auto *from = static_cast<const float *>(packed);
    auto *to = static_cast<float *>(transformed);
    for (int64_t panel = 0; panel < g.panels; ++panel)
      for (int64_t first = 0; first < g.w.channels; first += block)
        transform2D(g.f.weights, std::min(block, g.w.channels - first),
                    from + (panel * g.inBlocks + first / block) * packedBlock,
                    panelWidth, block * panelWidth,
                    to + panel * g.panelSize() + first * panelWidth, panelWidth,
                    g.tapSize());
  }

private:
  int64_t m;
};

std::optional<Cells> ConvWinograd::cells(Operation *layer) const {
  WindowGrid g(cast<nn::ConvOp>(layer), m);
  // A cell reads all of U, so that it needs more windows where U fills the
  // second-level cache of some CPUs.
  constexpr int64_t rowsOfPixels = 8, pixels = 8 * 16, manyBytes = 1 << 20;
  int64_t windows = std::max<int64_t>(8, pixels / (m * m));
  if (g.formSize() * 4 > manyBytes)
    windows = std::max<int64_t>(windows, 14);
  int64_t leastRows = std::max<int64_t>(2, rowsOfPixels / m);
  int64_t rows = std::max(pieceOf(g.rows, leastRows),
                          std::min<int64_t>(g.rows, 2)),
          cols = pieceOf(g.cols, divideCeil(windows, rows));
  return Cells{rows * m, cols * m};
}

Work ConvWinograd::work(Operation *layer) const {
  auto op = cast<nn::ConvOp>(layer);
  WindowGrid g(op, m);
  Work work = Routine::work(layer);
  work.bytes += double(g.formSize() - g.panels * g.inBlocks * packedBlock) * 4;
  work.multiplyAdds = g.multiplyAdds() +
                      double(g.windows() * block) *
                          (double(g.inBlocks) * transformOperations(g.f.input) +
                           double(g.panels) * transformOperations(g.f.output));
  return work;
}

} // namespace

Variants codegen::convWinogradRoutines() {
  static const ConvWinograd two(2), four(4), six(6);
  static const Routine *const all[] = {&four, &six, &two};
  return all;
}
