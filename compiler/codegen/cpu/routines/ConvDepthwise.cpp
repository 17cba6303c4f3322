//===- ConvDepthwise.cpp - Convolution with few channels a group ----------===//
//
// conv.depthwise.nChw16c: groups of 1, 2, 4 or 8 input and as many output
// channels (1 is depthwise). Input and result in blocks of 16 channels, weights
// [O/16][channel of group][kh][kw][16 o].
//
//   for tile = (image, channel block, row block)
//     for output row, column tile: micro-kernel
//       for vector of the block, channel of group, kernel row: multiply-add
//         every input pixel of the row is loaded once and used for all columns
//
// Lane l needs channel i of its group, which is a shuffle of the pixel's
// channels (none for depthwise). See SlidingWindow.h for the borders.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Widen.h"
#include "compiler/codegen/cpu/routines/LinearMemory.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/SlidingWindow.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelBuilder &k, nn::ConvOp op,
                   std::optional<plan::Narrowing> narrow,
                   const std::optional<Cells> &cells = std::nullopt)
      : k(k), narrow(narrow), window(k.target, WindowShape(op), cells),
        w(window.w), group(w.channels / op.getGroups()),
        epilogue(Epilogue::of(op)) {
    assert(w.channels == w.outChannels && group < block &&
           llvm::isPowerOf2_64(group) && "groups lie inside of blocks");
  }
  KernelInfo emit(nn::ConvOp op, StringRef symbol);

private:
  std::string nameOf(const ColumnTile &tile, bool allRows) const {
    std::string name;
    llvm::raw_string_ostream os(name);
    os << "depthwise_g" << group << "_k" << w.kernelRows << 'x' << w.kernelCols
       << "_s" << w.strideCols << "_d" << w.dilationCols;
    if (!window.isCompact())
      os << '_' << w.dilationRows * w.width;
    os << (window.hasPadding() ? "_padded" : "")
       << (allRows ? "_all_" : "_some_") << tile.name << epilogue.suffix();
    return name;
  }

  /// Channel `channel` of each lane's group, for one vector of the block.
  Value input(Value in, Index pixel, Index vector, int64_t channel) {
    Index first = k.mul(vector, k.VL);
    if (group > k.VL) { // all lanes are of one group
      Index at = k.add(k.mul(k.div(first, group), group), channel);
      return k.broadcast(k.load(in, k.add(pixel, at)), k.VL);
    }
    Value x = k.load(in, k.add(pixel, first), k.VL);
    if (group == 1)
      return x;
    SmallVector<int64_t> lanes;
    for (int64_t l = 0; l < k.VL; ++l)
      lanes.push_back(l / group * group + channel);
    return vector::ShuffleOp::create(k.b, x, x, lanes);
  }

  Values kernelRow(Values acc, const LinearMemory &memory, Index row,
                   Index rowWeights, Index vector, int64_t channel,
                   const ColumnTile &tile) {
    Values columns(w.kernelCols);
    for (auto &[column, taps] : tile.columns) {
      Value x = input(memory.in, k.add(row, column * block), vector, channel);
      for (ColumnTile::Tap tap : taps) {
        Value &weight = columns[tap.kernelCol];
        if (!weight)
          weight = k.load(memory.weights,
                          k.add(k.add(rowWeights, tap.kernelCol * block),
                                k.mul(vector, k.VL)),
                          k.VL);
        acc[tap.pixel] = k.fma(x, weight, acc[tap.pixel]);
      }
    }
    return acc;
  }

  void microKernel(ValueRange args, const ColumnTile &tile, bool allRows);

  KernelBuilder &k;
  std::optional<plan::Narrowing> narrow;
  SlidingWindow window;
  const WindowShape &w;
  int64_t group;
  Epilogue epilogue;
};

/// Arguments: in, weights, out, bias?, residual?, then the offsets of in,
/// weights, out and bias, the number of kernel rows, where the kernel is
/// compact, their distance and, where blocks have padding, the number of
/// channels from the block's first one on. The offset of `in`
/// is that of the first kernel row and of column 0 of the first pixel, which
/// may be outside.
void DepthwiseEmitter::microKernel(ValueRange args, const ColumnTile &tile,
                                   bool allRows) {
  LinearMemory memory = LinearMemory::take(args, epilogue);
  Value inAt = args[0], weightsAt = args[1], outAt = args[2], biasAt = args[3],
        kernelRows = args[4];
  Index rowStep = window.isCompact() ? Index(args[5]) : window.rowStep();
  int64_t rowWeights = w.kernelCols * block;
  auto compute = [&](Index vector) {
    Index lane = k.mul(vector, k.VL);
    Value initial = epilogue.bias
                        ? k.load(memory.bias, k.add(biasAt, lane), k.VL)
                        : k.fconst(0, k.vec(k.VL));
    Values acc(tile.count, initial);
    for (int64_t channel = 0; channel < group; ++channel) {
      Index first(weightsAt, channel * w.kernelRows * rowWeights);
      if (allRows) {
        for (int64_t ky = 0; ky < w.kernelRows; ++ky)
          acc = kernelRow(acc, memory, k.add(inAt, k.mul(rowStep, ky)),
                          k.add(first, ky * rowWeights), vector, channel, tile);
        continue;
      }
      acc = k.loop(0, kernelRows, 1, acc, [&](Value ky, ValueRange carried) {
        return kernelRow(
            Values(carried), memory, k.add(inAt, k.mul(ky, rowStep)),
            k.add(first, k.mul(ky, rowWeights)), vector, channel, tile);
      });
    }
    auto finish = [&](Value sum, Index p) {
      Index at = k.add(k.add(outAt, lane), k.mul(p, block));
      Value result = epilogue.apply(
          k, sum, [&] { return k.load(memory.residual, at, k.VL); });
      if (window.hasPadding())
        result = k.keepLanes(result, k.sub(args.back(), lane));
      k.store(result, memory.out, at);
    };
    bool isLong = epilogue.isLong();
    for (int64_t p = 0; p < tile.count; ++p)
      if (isLong)
        k.store(acc[p], memory.out, k.add(k.add(outAt, p * block), lane));
      else
        finish(acc[p], p);
    if (isLong)
      k.repeat(tile.count, [&](Index p) {
        finish(k.load(memory.out, k.add(k.add(outAt, lane), k.mul(p, block)),
                      k.VL),
               p);
      });
  };
  if (window.isCompact())
    k.repeat(block / k.VL, compute);
  else
    for (int64_t vector = 0; vector < block / k.VL; ++vector)
      compute(vector);
}

KernelInfo DepthwiseEmitter::emit(nn::ConvOp op, StringRef symbol) {
  KernelInfo info = window.plan(
      double(w.outHeight * w.outWidth * w.kernelRows * w.kernelCols * group));
  if (epilogue.allowsInPlace())
    info.inPlaceOperands.push_back(op->getNumOperands() - 1);
  // The straight-line form is for small windows.
  bool straight = w.kernelRows * w.kernelCols * group * window.tileCols <= 400;

  int64_t inPlane = w.height * w.width * block,
          outPlane = w.outHeight * w.outWidth * block;
  int64_t weightBlock = group * w.kernelRows * w.kernelCols * block;
  auto body = [&](ValueRange operands, Value scratch, Value begin, Value end) {
    LinearMemory memory = LinearMemory::of(operands, epilogue);
    Value stored = memory.weights;
    if (narrow)
      memory.weights = scratch;
    Values memories = memory.arguments();
    auto blockOf = [&](Index plane) {
      return k.rem(k.val(plane), window.blocks);
    };
    auto widen = [&](Index plane) {
      if (narrow)
        emitWidened(k, nn::typeOf(op.getWeights()), *narrow, stored,
                    k.mul(blockOf(plane), weightBlock), weightBlock, scratch,
                    0);
    };
    auto row = [&](const OutputRow &at) {
      Index plane = at.plane, y = at.row;
      Index channelBlock = blockOf(plane);
      KernelRows rows = window.kernelRows(k, y);
      Index out = k.add(k.mul(plane, outPlane), k.mul(y, w.outWidth * block));
      auto rowOf = [&](bool allRows) {
        Index low = allRows ? Index(0) : rows.low;
        Index firstRow = k.add(rows.top, k.mul(low, w.dilationRows));
        Index in = k.add(k.add(k.mul(plane, inPlane), -w.left * block),
                         k.mul(firstRow, w.width * block));
        Index weights =
            k.add(narrow ? Index(0) : k.mul(channelBlock, weightBlock),
                  k.mul(low, w.kernelCols * block));
        window.forEachTile(k, at, [&](const ColumnTile &tile, Index first) {
          SmallVector<Index> at = {
              k.add(in, k.mul(first, w.strideCols * block)), weights,
              k.add(out, k.mul(first, block)), k.mul(channelBlock, block),
              k.sub(rows.high, rows.low)};
          if (window.isCompact())
            at.push_back(window.rowStep());
          if (window.hasPadding())
            at.push_back(k.sub(w.channels, k.mul(channelBlock, block)));
          k.callMicroKernel(
              nameOf(tile, allRows), memories, at,
              [&](ValueRange args) { microKernel(args, tile, allRows); });
        });
      };
      if (!straight || window.isCompact())
        return rowOf(false);
      Value all = k.compare(Order::eq, k.val(k.sub(rows.high, rows.low)),
                            k.constant(w.kernelRows));
      k.ifElse(
          all, {}, [&] { return rowOf(true), Values(); },
          [&] { return rowOf(false), Values(); });
    };
    window.forEachRow(k, memory.out, begin, end, row, widen);
  };
  Type weights = narrow ? narrowElementType(k.b.getContext(), *narrow) : Type();
  k.kernel(symbol, op, body, weights);
  if (narrow)
    info.scratchBytes = weightBlock * int64_t(sizeof(float));
  return info;
}

class ConvDepthwise : public CpuRoutine {
public:
  ConvDepthwise()
      : CpuRoutine(
            "conv.depthwise.nChw16c",
            "groups of 1, 2, 4 or 8 channels; lanes are channels, borders cost "
            "no copy") {}
  explicit ConvDepthwise(plan::Narrowing narrow)
      : CpuRoutine(llvm::Twine("conv.depthwise.nChw16c.") + plan::text(narrow),
                   narrowSummary(narrow)),
        narrow(narrow) {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::ConvOp>(layer);
    if (!op || !hasBlockableWindow(op))
      return noBlockableWindow<nn::ConvOp>;
    ArrayRef<int64_t> in = shapeOf(op.getInput()),
                      out = shapeOf(op.getOutput());
    int64_t group = in[1] / op.getGroups();
    if (op.getGroups() == 1 || in[1] != out[1] || group >= block ||
        !llvm::isPowerOf2_64(group))
      return "its groups are not 1, 2, 4 or 8 channels each, of input and "
             "output";
    return misfitOfColumns(shapeOf(op.getWeights()).back());
  }
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, columnTag);
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return DepthwiseEmitter(k, cast<nn::ConvOp>(layer), narrow)
        .emit(cast<nn::ConvOp>(layer), symbol);
  }
  std::optional<Cells> cells(Operation *layer) const override {
    return cellsOfPlane(layer, SlidingWindow::cellCols, CellGrain::Fine);
  }
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    auto op = cast<nn::ConvOp>(layer);
    return DepthwiseEmitter(k, op, narrow, size).emit(op, symbol);
  }
  Work work(Operation *layer) const override {
    auto op = cast<nn::ConvOp>(layer);
    WindowShape w(op);
    int64_t group = w.channels / op.getGroups();
    Work work = {w.insideTaps() *
                     double(llvm::alignTo(w.channels, block) * group),
                 bytesOf(layer)};
    if (std::optional<WeightForm> form = weightForm(layer))
      work.bytes -= double(nn::storageSize(op.getWeights()) - form->bytes);
    return work;
  }
  std::optional<WeightForm> weightForm(Operation *layer) const override {
    return narrowForm(layer, narrow);
  }

private:
  const std::optional<plan::Narrowing> narrow;
};

} // namespace

Variants codegen::convDepthwiseRoutines() {
  static const ConvDepthwise plain, halves(plan::Narrowing::f16),
      scaled(plan::Narrowing::f16Outputs), bytes(plan::Narrowing::q8);
  static const Routine *const all[] = {&plain, &halves, &scaled, &bytes};
  return all;
}
