//===- Conv.cpp - Convolutions of blocked channels ------------------------===//

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"

using namespace mlir;
using llvm::alignTo;

namespace nnv12::codegen {
namespace {

/// Push words before those of the epilogue.
unsigned pushWords(ConvKind kind) {
  return kind == ConvKind::Flat ? BlockedWindow::FlatWords
                                : BlockedWindow::WindowWords;
}

/// Writes the kernel of a convolution.
class ConvEmitter : BlockedWindow {
public:
  ConvEmitter(GpuBuilder &k, nn::ConvOp op, ConvKind kind, ValueRange memories)
      : BlockedWindow(k), kind(kind), output(memories[0]), input(memories[1]),
        weights(memories[2]),
        epilogue(k, Epilogue::of(op), pushWords(kind), memories) {}

  void emit() {
    forPlace([&] {
      Values init(pixels, epilogue.start(add(mul(outBlock, quads), quad)));
      if (kind == ConvKind::Depthwise)
        return finish(sumDepthwise(init));
      if (kind == ConvKind::First)
        return finish(sumFirst(init));
      Value group = div(outBlock, word(GroupOutBlocks));
      firstInBlock =
          add(mul(batch, word(InBlocks)), mul(group, word(GroupInBlocks)));
      finish(kind == ConvKind::Flat ? sumFlat(init) : sumWindow(init));
    });
  }

private:
  Values sumFlat(const Values &init) {
    Value inPixels = word(InPixels), blocks = word(GroupInBlocks);
    Value panel = mul(outBlock, blocks);
    return k.loop(0, blocks, 1, init, [&](Value b, ValueRange sums) {
      Value plane = mul(add(firstInBlock, b), inPixels);
      Value weight = add(mul(add(panel, b), block * quads), quad);
      return addBlock(sums, input, vectorsIn(plane, pixel), {}, weights,
                      weight);
    });
  }

  Values sumWindow(const Values &init) {
    Value inPixels = word(InPixels), blocks = word(GroupInBlocks);
    Value panel = mul(outBlock, blocks);
    Value taps = mul(word(KernelRows), word(KernelCols));
    return k.loop(0, blocks, 1, init, [&](Value b, ValueRange sums) {
      Value plane = mul(add(firstInBlock, b), inPixels);
      Value firstTap = mul(add(panel, b), taps);
      return addTaps(sums, input, plane, weights, firstTap);
    });
  }

  Values sumFirst(const Values &init) {
    // A channel is a block of its own here.
    Value channels = word(InBlocks);
    Value taps = mul(word(KernelRows), word(KernelCols));
    return k.loop(0, channels, 1, init, [&](Value c, ValueRange carried) {
      Value plane = mul(add(mul(batch, channels), c), word(InPixels));
      Value firstTap = mul(add(mul(outBlock, channels), c), taps);
      return forTaps(Values(carried), [&](Value tap, const Four &rows,
                                          const Four &cols, ValueRange before) {
        Four inside, place;
        placesOf(rows, cols, inside, place);
        Value w = k.load(weights, add(mul(add(firstTap, tap), quads), quad));
        Values sums(before);
        for (int64_t i = 0; i < pixels; ++i) {
          Value x = k.load(input, add(plane, place[i]));
          x = select(inside[i], x, k.fconst(0, x.getType()));
          sums[i] = k.fma(k.broadcast(x, 4), w, sums[i]);
        }
        return sums;
      });
    });
  }

  Values sumDepthwise(const Values &init) {
    Value plane =
        mul(add(mul(batch, word(InBlocks)), outBlock), word(InPixels));
    Value firstTap = mul(outBlock, mul(word(KernelRows), word(KernelCols)));
    return forTaps(init, [&](Value tap, const Four &rows, const Four &cols,
                             ValueRange carried) {
      Four inside, place;
      placesOf(rows, cols, inside, place);
      Value w = k.load(weights, add(mul(add(firstTap, tap), quads), quad));
      Values sums(carried);
      for (auto [i, from] : llvm::enumerate(vectorsIn(plane, place))) {
        Value x = k.load(input, add(from, quad));
        sums[i] = k.fma(select(inside[i], x, k.fconst(0, four)), w, sums[i]);
      }
      return sums;
    });
  }

  void finish(const Values &sums) {
    storeResults(output, [&](int64_t i, Value place) {
      return epilogue.finish(sums[i], place);
    });
  }

  ConvKind kind;
  Value output, input, weights;
  PushEpilogue epilogue;
  Value firstInBlock; ///< of the input, batch included
};

class ConvRoutine : public ConvolutionRoutine<nn::ConvOp> {
public:
  ConvRoutine(ConvKind kind, const char *name, const char *summary)
      : ConvolutionRoutine(name, summary), kind(kind) {}

  LayoutRequest layouts(Operation *layer) const override {
    bool isColumn = kind == ConvKind::Depthwise || kind == ConvKind::First;
    LayoutRequest request =
        blockedLayouts(layer, isColumn ? columnTag : panelTag);
    if (kind == ConvKind::First)
      request.operands[0] = ""; // dense
    return request;
  }
  Work work(Operation *layer) const override {
    return {kind == ConvKind::Depthwise ? definedMultiplyAdds(layer)
                                        : blockedMultiplyAdds(layer),
            bytesOf(layer)};
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    // Result, input, weights, bias, residual.
    SmallVector<Type> operands(5, k.vec(4));
    if (kind == ConvKind::First)
      operands[1] = k.b.getF32Type();
    k.kernel(operands, pushWords(kind) + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               ConvEmitter(k, cast<nn::ConvOp>(layer), kind, memories).emit();
             });
  }
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return BlockedWindow::cutUnit(layer, dim);
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    auto op = cast<nn::ConvOp>(layer);
    WindowFront w(op, cut);
    GpuDispatch dispatch = BlockedWindow::dispatch(
        w, op.getGroups(), BlockedWindow::Part::Quad, pushWords(kind));
    // A sum goes over these blocks.
    int64_t channels = w.channels / op.getGroups(),
            blocks = BlockedWindow::blocksOf(channels);
    if (kind == ConvKind::First) {
      blocks = channels;
      dispatch.push[BlockedWindow::InBlocks] = uint32_t(channels);
    }
    const double taps = BlockedWindow::taps(w);
    GpuSteps steps = oneSum(layer, cut, name().str(), std::move(dispatch),
                            taps * double(blocks));
    for (GpuStep &step : steps.steps) {
      step.grid.stepsInTurn =
          BlockedWindow::groupsInTurn(w.outPixels()) * double(step.groups[1]) *
          double(step.groups[2]) *
          (kind == ConvKind::Flat
               ? double(blocks)
               : BlockedWindow::stepsInTurn(double(blocks), taps));
      // Taps cost beside the channels.
      if (kind == ConvKind::Window)
        step.variant = taps > 1 ? "window" : "flat";
    }
    return steps;
  }

private:
  std::string windowMisfit(nn::ConvOp op, const WindowShape &w) const override {
    int64_t groups = op.getGroups();
    if (kind == ConvKind::Depthwise) {
      if (groups == 1 || groups != w.channels || groups != w.outChannels)
        return "its groups have more than a channel";
    } else if (kind == ConvKind::First) {
      if (groups > 1 || w.channels > 4)
        return "it has groups, or more than four input channels";
    } else if (cutsBlocks(groups, w)) {
      return "its groups are no whole blocks of 16 channels";
    }
    bool isFlat = w.kernelRows == 1 && w.kernelCols == 1 && w.strideRows == 1 &&
                  w.strideCols == 1 && !w.isPadded();
    if (kind == ConvKind::Flat && !isFlat)
      return "it has a window, a stride or padding";
    return BlockedWindow::refusal(w, alignTo(w.outChannels, block) *
                                         alignTo(w.channels / groups, block));
  }

  const ConvKind kind;
};

} // namespace

const Routine *gpuConvRoutine(ConvKind kind) {
  static const ConvRoutine routines[] = {
      {ConvKind::Flat, "gpu.conv.gemm.16x4",
       "convolutions of 1x1 and stride 1"},
      {ConvKind::Window, "gpu.conv.direct.16x4",
       "convolutions with any window"},
      {ConvKind::First, "gpu.conv.first",
       "convolutions of up to four dense channels"},
      {ConvKind::Depthwise, "gpu.conv.depthwise",
       "convolutions of each channel by itself"}};
  return &routines[unsigned(kind)];
}

} // namespace nnv12::codegen
