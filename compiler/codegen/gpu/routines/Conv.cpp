//===- Conv.cpp - Convolutions of blocked channels ------------------------===//

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/routines/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

enum class ConvKind {
  Flat,     ///< 1x1 of stride 1 and no padding
  Window,   ///< any other
  First,    ///< of up to four channels, which are dense
  Depthwise ///< each channel by itself
};

/// Writes the kernel of a convolution.
class ConvEmitter : BlockedWindow {
public:
  ConvEmitter(GpuBuilder &k, nn::ConvOp op, ConvKind kind, ValueRange memories);
  void emit();

private:
  Values sumFlat(const Values &init);
  Values sumWindow(const Values &init);
  Values sumFirst(const Values &init);
  Values sumDepthwise(const Values &init);
  void finish(const Values &sums);

  ConvKind kind;
  Value output, input, weights;
  PushEpilogue epilogue;
  Value firstInBlock; ///< of the input, batch included
};

/// Push words before those of the epilogue.
unsigned pushWords(ConvKind kind) {
  return kind == ConvKind::Flat ? BlockedWindow::FlatWords
                                : BlockedWindow::WindowWords;
}

ConvEmitter::ConvEmitter(GpuBuilder &k, nn::ConvOp op, ConvKind kind,
                         ValueRange memories)
    : BlockedWindow(k), kind(kind), output(memories[0]), input(memories[1]),
      weights(memories[2]),
      epilogue(k, Epilogue::of(op), pushWords(kind), memories[3], memories[4]) {
}

void ConvEmitter::emit() {
  forPlace([&] {
    Values init(pixels, epilogue.start(add(times(outBlock, quads), quad)));
    if (kind == ConvKind::Depthwise)
      return finish(sumDepthwise(init));
    if (kind == ConvKind::First)
      return finish(sumFirst(init));
    Value group = arith::DivUIOp::create(k.b, outBlock, word(GroupOutBlocks));
    firstInBlock =
        add(mul(batch, word(InBlocks)), mul(group, word(GroupInBlocks)));
    finish(kind == ConvKind::Flat ? sumFlat(init) : sumWindow(init));
  });
}

Values ConvEmitter::sumFlat(const Values &init) {
  Value inPixels = word(InPixels), blocks = word(GroupInBlocks);
  Value panel = mul(outBlock, blocks);
  return k.loop(0, blocks, 1, init, [&](Value b, ValueRange sums) {
    Value plane = mul(add(firstInBlock, b), inPixels);
    Value weight = add(times(add(panel, b), block * quads), quad);
    return addBlock(sums, input, vectorsIn(plane, pixel), {}, weights, weight);
  });
}

Values ConvEmitter::sumWindow(const Values &init) {
  Value inPixels = word(InPixels), blocks = word(GroupInBlocks);
  Value panel = mul(outBlock, blocks);
  Value taps = mul(word(KernelRows), word(KernelCols));
  return k.loop(0, blocks, 1, init, [&](Value b, ValueRange carried) {
    Value plane = mul(add(firstInBlock, b), inPixels);
    Value firstTap = mul(add(panel, b), taps);
    return forTaps(Values(carried), [&](Value tap, const Four &rows,
                                        const Four &cols, ValueRange sums) {
      Four inside, place;
      placesOf(rows, cols, inside, place);
      Value weight = add(times(add(firstTap, tap), block * quads), quad);
      return addBlock(sums, input, vectorsIn(plane, place), inside, weights,
                      weight);
    });
  });
}

Values ConvEmitter::sumFirst(const Values &init) {
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
      Value w = k.load(weights, add(times(add(firstTap, tap), quads), quad));
      Values sums(before);
      for (int64_t i = 0; i < pixels; ++i) {
        Value x = k.load(input, add(plane, place[i]));
        x = arith::SelectOp::create(k.b, inside[i], x,
                                    k.fconst(0, x.getType()));
        sums[i] = k.fma(k.broadcast(x, 4), w, sums[i]);
      }
      return sums;
    });
  });
}

Values ConvEmitter::sumDepthwise(const Values &init) {
  Value plane = mul(add(mul(batch, word(InBlocks)), outBlock), word(InPixels));
  Value firstTap = mul(outBlock, mul(word(KernelRows), word(KernelCols)));
  return forTaps(init, [&](Value tap, const Four &rows, const Four &cols,
                           ValueRange carried) {
    Four inside, place;
    placesOf(rows, cols, inside, place);
    Value w = k.load(weights, add(times(add(firstTap, tap), quads), quad));
    Values sums(carried);
    for (auto [i, from] : llvm::enumerate(vectorsIn(plane, place))) {
      Value x = k.load(input, add(from, quad));
      sums[i] = k.fma(select(inside[i], x, k.fconst(0, four)), w, sums[i]);
    }
    return sums;
  });
}

void ConvEmitter::finish(const Values &sums) {
  storeResults(output, [&](int64_t i, Value place) {
    return epilogue.finish(sums[i], place);
  });
}

class ConvRoutine : public GpuRoutine {
public:
  ConvRoutine(ConvKind kind, const char *name, const char *summary)
      : GpuRoutine(name, summary), kind(kind) {}

  LayoutRequest layouts(Operation *layer) const override {
    size_t rank = shapeOf(layer->getOperand(0)).size();
    bool isColumn = kind == ConvKind::Depthwise || kind == ConvKind::First;
    LayoutRequest request =
        blockedLayouts(layer, isColumn ? columnTag(rank) : panelTag(rank));
    if (kind == ConvKind::First)
      request.operands[0] = ""; // dense
    return request;
  }
  Work work(Operation *layer) const override {
    return {kind == ConvKind::Depthwise ? definedMultiplyAdds(layer)
                                        : blockedMultiplyAdds(layer),
            bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const override;
  KernelNeeds needs(Operation *layer) const override {
    return PushEpilogue::needs(Epilogue::of(cast<nn::ConvOp>(layer)));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned,
            llvm::StringRef symbol) const override {
    // Result, input, weights, bias, residual.
    SmallVector<GpuBuilder::Operand> operands(5, {k.vec(4)});
    operands.front().isWritten = true;
    if (kind == ConvKind::First)
      operands[1].element = k.b.getF32Type();
    k.kernel(symbol, operands, pushWords(kind) + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               ConvEmitter(k, cast<nn::ConvOp>(layer), kind, memories).emit();
             });
  }
  GpuSteps steps(Operation *layer) const override {
    auto op = cast<nn::ConvOp>(layer);
    Epilogue epilogue = Epilogue::of(op);
    GpuDispatch dispatch =
        BlockedWindow::dispatch(sizes(op), op.getGroups(), pushWords(kind));
    if (kind == ConvKind::First)
      dispatch.push[BlockedWindow::InBlocks] = uint32_t(sizes(op).channels);
    PushEpilogue::append(dispatch.push, epilogue);
    GpuSteps steps =
        oneStep(layer, name().str() + PushEpilogue::suffix(epilogue),
                std::move(dispatch), inner(op));
    for (GpuStep &step : steps.steps) {
      PushEpilogue::bind(step, epilogue);
      WindowShape w = sizes(op);
      step.grid.stepsInTurn =
          BlockedWindow::groupsInTurn(w.outHeight * w.outWidth) *
          double(step.groups[1]) * double(step.groups[2]) * stepsInTurn(op);
      if (kind != ConvKind::Window)
        continue;
      // Taps cost beside the channels.
      step.variant = w.kernelRows * w.kernelCols > 1 ? "window" : "flat";
    }
    return steps;
  }

private:
  static WindowShape sizes(nn::ConvOp op) { return WindowShape(op); }
  static double taps(nn::ConvOp op) {
    WindowShape w = sizes(op);
    return double(w.kernelRows * w.kernelCols);
  }
  /// That a sum goes over.
  double blocks(nn::ConvOp op) const {
    int64_t channels = sizes(op).channels / op.getGroups();
    return double(kind == ConvKind::First ? channels
                                          : BlockedWindow::blocksOf(channels));
  }
  /// Products of blocks that a sum has.
  double inner(nn::ConvOp op) const { return taps(op) * blocks(op); }
  double stepsInTurn(nn::ConvOp op) const {
    return kind == ConvKind::Flat
               ? blocks(op)
               : BlockedWindow::stepsInTurn(blocks(op), taps(op));
  }
  ConvKind kind;
};

std::string ConvRoutine::misfit(Operation *layer) const {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || !hasBlockableWindow(op) || !isNonEmptyF32(op))
    return "it is no convolution of f32 with one or two spatial dimensions";
  WindowShape w = sizes(op);
  int64_t groups = op.getGroups();
  if (kind == ConvKind::Depthwise) {
    if (groups == 1 || groups != w.channels || groups != w.outChannels)
      return "its groups have more than a channel";
  } else if (kind == ConvKind::First) {
    if (groups > 1 || w.channels > 4)
      return "it has groups, or more than four input channels";
  } else if (groups > 1 && (w.channels / groups % block != 0 ||
                            w.outChannels / groups % block != 0)) {
    return "its groups are no whole blocks of 16 channels";
  }
  bool isFlat = w.kernelRows == 1 && w.kernelCols == 1 && w.strideRows == 1 &&
                w.strideCols == 1 && !w.isPadded();
  if (kind == ConvKind::Flat && !isFlat)
    return "it has a window, a stride or padding";
  int64_t weights = BlockedWindow::blocksOf(w.outChannels) * block *
                    BlockedWindow::blocksOf(w.channels / groups) * block *
                    w.kernelRows * w.kernelCols;
  if (weights * 4 > GpuTarget::maxBufferBytes)
    return "a tensor is larger than the buffers of every device (128 MiB)";
  return BlockedWindow::refusal(w);
}

} // namespace

const Routine *gpuConvDepthwiseRoutine() {
  static const ConvRoutine routine(ConvKind::Depthwise, "gpu.conv.depthwise",
                                   "convolutions of each channel by itself");
  return &routine;
}

const Routine *gpuConvDirectRoutine() {
  static const ConvRoutine routine(ConvKind::Window, "gpu.conv.direct.16x4",
                                   "convolutions with any window");
  return &routine;
}

const Routine *gpuConvFirstRoutine() {
  static const ConvRoutine routine(ConvKind::First, "gpu.conv.first",
                                   "convolutions of up to four dense channels");
  return &routine;
}

const Routine *gpuConvGemmRoutine() {
  static const ConvRoutine routine(ConvKind::Flat, "gpu.conv.gemm.16x4",
                                   "convolutions of 1x1 and stride 1");
  return &routine;
}

} // namespace nnv12::codegen
