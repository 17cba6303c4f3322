//===- ConvIm2col.cpp - Convolution as a product with patches -------------===//
//
// conv.im2col.nChw16c: input, result and weights as conv.direct has them. The
// pixels of a block, which may begin and end in the middle of a row, are
// gathered into a matrix of patches [I/16][kh*kw][pixel][16], whose product
// with the weights is one of contiguous memory whatever stride, dilation and
// padding:
//
//   for tile = (image and group, pixel block, chunk of output panels)
//     if the pixels changed: gather their patches to scratch
//     for panel group, pixel group: micro-kernel
//       for channel block, kernel element, channel: multiply-add
//
// Worth the copy where the rows of the result do not fill the micro-kernel's
// tiles (7, 9, 17 pixels), or strides make each row of the input a stream.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/ConvPanels.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// Elements of a patch: more would make scratch of several megabytes.
constexpr int64_t mostPatch = 32 * 1024;

/// Copies patches to scratch.
class Gather {
public:
  Gather(KernelBuilder &k, const ConvPanels &c, int64_t pixels)
      : k(k), c(c), w(c.w), pixels(pixels) {}

  /// Elements between the same pixel of neighbouring kernel elements.
  int64_t tapSize() const { return pixels * block; }
  int64_t size() const { return c.inBlocks * c.taps() * tapSize(); }
  /// Gathers the elements of output pixels [first, last) of the group that
  /// begins at `in`.
  void emit(Value memory, Index in, Index first, Index last,
            Value scratch) const;

private:
  struct Segment {
    Index lo, hi;     ///< columns of the result
    Index begin, end; ///< those whose input is inside
  };
  Index select(Value condition, Index x, Index y) const {
    return Index(k.select(condition, k.val(x), k.val(y)));
  }
  /// The part of columns [lo, hi) whose input column lies inside the input,
  /// none where the row does not.
  Segment segment(Index lo, Index hi, Index kernelCol, Value isInside) const {
    auto columnsBefore = [&](int64_t inputCol) {
      Index distance =
          k.max(0, k.sub(inputCol + w.left, k.mul(kernelCol, w.dilationCols)));
      return k.div(k.add(distance, w.strideCols - 1), w.strideCols);
    };
    Segment s{lo, hi, lo, hi};
    if (w.isPadded()) {
      s.begin = select(isInside, k.min(k.max(columnsBefore(0), lo), hi), hi);
      s.end = k.max(k.min(columnsBefore(w.width), hi), s.begin);
    }
    return s;
  }

  /// `count` pixels, `step` elements apart, or zeros where `from` is null.
  void copy(Index count, Value from, Index at, int64_t step, Value scratch,
            Index to) const {
    k.loop(0, count, 1, [&](Value i) {
      for (int64_t v = 0; v < block; v += k.VL) {
        Value x = from ? k.load(from, k.add(k.add(at, k.mul(i, step)), v), k.VL)
                       : k.fconst(0, k.vec(k.VL));
        k.store(x, scratch, k.add(k.add(to, k.mul(i, block)), v));
      }
    });
  }

  KernelBuilder &k;
  const ConvPanels &c;
  const WindowShape &w;
  int64_t pixels;
};

void Gather::emit(Value memory, Index in, Index first, Index last,
                  Value scratch) const {
  Index firstRow = k.div(first, w.outWidth);
  Index lastRow = k.add(k.div(k.sub(last, 1), w.outWidth), 1);
  k.repeat(w.kernelRows, [&](Index kernelRow) {
    k.repeat(w.kernelCols, [&](Index kernelCol) {
      Index tap = k.add(k.mul(kernelRow, w.kernelCols), kernelCol);
      k.loop(firstRow, lastRow, 1, [&](Value row) {
        Index start = k.mul(row, w.outWidth); // pixel of column 0
        Index y = k.add(k.sub(k.mul(row, w.strideRows), w.top),
                        k.mul(kernelRow, w.dilationRows));
        Value isInside = k.within(y, w.height);
        Segment s =
            segment(k.max(k.sub(first, start), 0),
                    k.min(k.sub(last, start), w.outWidth), kernelCol, isInside);
        Index to = k.add(k.mul(tap, tapSize()),
                         k.mul(k.sub(k.add(start, s.lo), first), block));
        Index x = k.add(k.sub(k.mul(s.begin, w.strideCols), w.left),
                        k.mul(kernelCol, w.dilationCols));
        Index from =
            k.add(in, k.add(k.mul(y, w.width * block), k.mul(x, block)));
        k.repeat(c.inBlocks, [&](Index channelBlock) {
          auto place = [&](Index col) {
            return k.add(k.add(to, k.mul(channelBlock, c.taps() * tapSize())),
                         k.mul(k.sub(col, s.lo), block));
          };
          Index plane =
              k.add(from, k.mul(channelBlock, w.height * w.width * block));
          if (w.isPadded())
            copy(k.sub(s.begin, s.lo), Value(), 0, 0, scratch, place(s.lo));
          copy(k.sub(s.end, s.begin), memory, plane, w.strideCols * block,
               scratch, place(s.begin));
          if (w.isPadded())
            copy(k.sub(s.hi, s.end), Value(), 0, 0, scratch, place(s.end));
        });
      });
    });
  });
}

class ConvIm2col : public PanelConvRoutine {
public:
  explicit ConvIm2col(const PanelTuning &tuning)
      : PanelConvRoutine(
            "conv.im2col.nChw16c",
            "patches gathered to scratch, then a product of matrices", tuning) {
  }
  std::string misfit(Operation *layer) const override {
    auto c = blockedConv(layer);
    if (!c)
      return noBlockedConv;
    return !c->isFlat() && c->inBlocks * block * c->taps() <= mostPatch
               ? ""
               : "its window has one tap, or too many numbers to be copied";
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
  /// A patch is summed in the order of blocks, rows, columns and channels, as
  /// the window of a copy with its padding.
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    return emitConvPanels(k, layer, symbol,
                          ConvPanels(cast<nn::ConvOp>(layer), block), tuning,
                          size);
  }
  Work work(Operation *layer) const override {
    ConvPanels c(cast<nn::ConvOp>(layer), block);
    Work work = PanelConvRoutine::work(layer);
    work.multiplyAdds += double(c.w.batch * c.groups * c.inBlocks * block) *
                         double(c.taps() * c.w.outHeight * c.w.outWidth);
    return work;
  }
};

KernelInfo ConvIm2col::emit(KernelBuilder &k, Operation *layer,
                            StringRef symbol) const {
  ConvPanels c(cast<nn::ConvOp>(layer), block);
  int64_t pixels = c.w.outHeight * c.w.outWidth;
  PanelGrid grid = c.grid(pixels, 1);
  PanelGrid::Costs costs = c.costs();
  costs.inputRowBytes = c.inBlocks * block * c.taps() * 4;
  costs.copiesInput = true;
  grid.plan(k.target, costs, tuning);
  Gather gather(k, c, std::min(grid.rowBlock, pixels));

  PanelShape shape = c.shape();
  shape.kernelRows = 1;
  shape.kernelCols = c.taps();
  shape.inRow = shape.outRow = block;
  shape.kernelCol = gather.tapSize();
  shape.scalesColumns = grid.scalesColumns();
  int64_t blocks = c.channels / block, inBlock = c.taps() * gather.tapSize();
  if (shape.channelTail == 0) { // kernel elements are more channel blocks
    blocks *= c.taps();
    inBlock = gather.tapSize();
    shape.kernelCols = 1;
    shape.weightBlock = c.tapWeights();
  }

  KernelInfo info =
      emitPanelTiles(k, layer, symbol, grid, c.epilogue, gather.size() * 4,
                     [&](PanelBlock b, Value scratch) {
                       k.ifThen(b.isNew, [&] {
                         gather.emit(b.memory.in, k.mul(b.batch, c.inSize()),
                                     b.row, k.add(b.row, b.rows), scratch);
                       });
                       b.memory.in = scratch;
                       b.at = c.call(k, b.batch);
                       b.at.out = k.add(b.at.out, k.mul(b.row, block));
                       b.at.blocks = blocks;
                       b.at.inBlock = inBlock;
                       emitPanelBlock(k, shape, grid, b);
                     });
  info.maps = {grid.blockedMap(c.outPanel(), shape.outRow)};
  return info;
}

} // namespace

Variants codegen::convIm2colRoutines() { return tunedRoutines<ConvIm2col>(); }
