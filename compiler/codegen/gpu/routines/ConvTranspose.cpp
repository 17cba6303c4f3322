//===- ConvTranspose.cpp - Transposed convolutions of blocked channels ----===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/codegen/gpu/routines/TransposedWindow.h"
#include "compiler/routines/Layouts.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

class ConvTransposeEmitter : TransposedWindow {
public:
  ConvTransposeEmitter(GpuBuilder &k, nn::ConvTransposeOp op,
                       ValueRange memories)
      : TransposedWindow(k), output(memories[0]), input(memories[1]),
        weights(memories[2]),
        epilogue(k, Epilogue::of(op), TransposedWindow::TransposeWords,
                 memories[3], memories[4]) {}
  void emit();

private:
  Values sum(const Values &init);

  Value output, input, weights;
  PushEpilogue epilogue;
};

Values ConvTransposeEmitter::sum(const Values &init) {
  Value inBlocks = word(InBlocks), outBlocks = word(GroupOutBlocks);
  Value firstBlock = mul(div(outBlock, outBlocks), word(GroupInBlocks));
  // Panels are those of a group's outputs, with the inputs of all groups.
  Value panel = mul(rem(outBlock, outBlocks), inBlocks);
  Value taps = mul(word(KernelRows), word(KernelCols));
  return k.loop(
      0, word(GroupInBlocks), 1, init, [&](Value b, ValueRange carried) {
        Value from = add(firstBlock, b);
        Value plane = mul(add(mul(batch, inBlocks), from), word(InPixels));
        Value firstTap = mul(add(panel, from), taps);
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

void ConvTransposeEmitter::emit() {
  forPlace([&] {
    Values init(pixels, epilogue.start(add(times(outBlock, quads), quad)));
    Values sums = sum(init);
    storeResults(output, [&](int64_t i, Value place) {
      return epilogue.finish(sums[i], place);
    });
  });
}

class ConvTransposeRoutine : public GpuRoutine {
public:
  ConvTransposeRoutine()
      : GpuRoutine(
            "gpu.conv_transpose.16x4",
            "transposed convolutions, each phase of the strides by itself") {}
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, transposedPanelTag(rankOf(layer)));
  }
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const override;
  KernelNeeds needs(Operation *layer) const override {
    return PushEpilogue::needs(Epilogue::of(cast<nn::ConvTransposeOp>(layer)));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned,
            llvm::StringRef symbol) const override {
    // Result, input, weights, bias, residual.
    SmallVector<GpuBuilder::Operand> operands(5, {k.vec(4)});
    operands.front().isWritten = true;
    k.kernel(symbol, operands,
             TransposedWindow::TransposeWords + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               ConvTransposeEmitter(k, cast<nn::ConvTransposeOp>(layer),
                                    memories)
                   .emit();
             });
  }
  GpuSteps steps(Operation *layer) const override;

private:
  static int64_t rankOf(Operation *layer) {
    return int64_t(shapeOf(layer->getOperand(0)).size());
  }
  static WindowShape sizes(nn::ConvTransposeOp op) { return WindowShape(op); }
};

GpuSteps ConvTransposeRoutine::steps(Operation *layer) const {
  auto op = cast<nn::ConvTransposeOp>(layer);
  Epilogue epilogue = Epilogue::of(op);
  WindowShape w = sizes(op);
  GpuDispatch dispatch = TransposedWindow::dispatch(w, op.getGroups());
  PushEpilogue::append(dispatch.push, epilogue);
  int64_t blocks = BlockedWindow::blocksOf(w.channels / op.getGroups());
  GpuSteps steps =
      oneStep(layer, name().str() + PushEpilogue::suffix(epilogue),
              std::move(dispatch), TransposedWindow::taps(w) * double(blocks));
  for (GpuStep &step : steps.steps) {
    PushEpilogue::bind(step, epilogue);
    step.grid.stepsInTurn = TransposedWindow::stepsInTurn(w, double(blocks)) *
                            double(BlockedWindow::blocksOf(w.outChannels));
  }
  return steps;
}

std::string ConvTransposeRoutine::misfit(Operation *layer) const {
  auto op = dyn_cast<nn::ConvTransposeOp>(layer);
  if (!op || !hasBlockableWindow(op) || !isNonEmptyF32(op))
    return "it is no transposed convolution of f32 with one or two spatial "
           "dimensions";
  WindowShape w = sizes(op);
  int64_t groups = op.getGroups();
  if (groups > 1 &&
      (w.channels / groups % block != 0 || w.outChannels / groups % block != 0))
    return "its groups are no whole blocks of 16 channels";
  if (BlockedWindow::blocksOf(w.outChannels / groups) *
          BlockedWindow::blocksOf(w.channels) * block * block * w.kernelRows *
          w.kernelCols * 4 >
      GpuTarget::maxBufferBytes)
    return "a tensor is larger than the buffers of every device (128 MiB)";
  return TransposedWindow::refusal(w);
}

} // namespace

const Routine *gpuConvTransposeRoutine() {
  static const ConvTransposeRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
