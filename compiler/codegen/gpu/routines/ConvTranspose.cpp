//===- ConvTranspose.cpp - Transposed convolutions of blocked channels ----===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"
#include "compiler/codegen/gpu/routines/TransposedWindow.h"

using namespace mlir;
using llvm::alignTo;

namespace nnv12::codegen {
namespace {

class ConvTransposeEmitter : TransposedWindow {
public:
  ConvTransposeEmitter(GpuBuilder &k, nn::ConvTransposeOp op,
                       ValueRange memories)
      : TransposedWindow(k), output(memories[0]), input(memories[1]),
        weights(memories[2]),
        epilogue(k, Epilogue::of(op), TransposeWords, memories) {}
  void emit() {
    forPlace([&] {
      Values init(pixels, epilogue.start(add(mul(outBlock, quads), quad)));
      Values sums = sum(init);
      storeResults(output, [&](int64_t i, Value place) {
        return epilogue.finish(sums[i], place);
      });
    });
  }

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
  return k.loop(0, word(GroupInBlocks), 1, init, [&](Value b, ValueRange sums) {
    Value from = add(firstBlock, b);
    Value plane = mul(add(mul(batch, inBlocks), from), word(InPixels));
    Value firstTap = mul(add(panel, from), taps);
    return addTaps(sums, input, plane, weights, firstTap);
  });
}

class ConvTransposeRoutine : public ConvolutionRoutine<nn::ConvTransposeOp> {
public:
  ConvTransposeRoutine()
      : ConvolutionRoutine(
            "gpu.conv_transpose.16x4",
            "transposed convolutions, each phase of the strides by itself") {}
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    auto op = cast<nn::ConvTransposeOp>(layer);
    // Result, input, weights, bias, residual.
    k.kernel(SmallVector<Type>(5, k.vec(4)),
             TransposedWindow::TransposeWords + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               ConvTransposeEmitter(k, op, memories).emit();
             });
  }
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return BlockedWindow::cutUnit(layer, dim);
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    auto op = cast<nn::ConvTransposeOp>(layer);
    WindowFront w(op, cut);
    double blocks =
        double(BlockedWindow::blocksOf(w.channels / op.getGroups()));
    GpuSteps steps = oneSum(layer, cut, name().str(),
                            TransposedWindow::dispatch(w, op.getGroups()),
                            TransposedWindow::taps(w) * blocks);
    for (GpuStep &step : steps.steps)
      step.grid.stepsInTurn = TransposedWindow::stepsInTurn(w, blocks) *
                              double(BlockedWindow::blocksOf(w.outChannels));
    return steps;
  }

private:
  std::string windowMisfit(nn::ConvTransposeOp op,
                           const WindowShape &w) const override {
    int64_t groups = op.getGroups();
    if (cutsBlocks(groups, w))
      return "its groups are no whole blocks of 16 channels";
    return TransposedWindow::refusal(w, alignTo(w.outChannels / groups, block) *
                                            alignTo(w.channels, block));
  }
};

} // namespace

const Routine *gpuConvTransposeRoutine() {
  return theRoutine<ConvTransposeRoutine>();
}

} // namespace nnv12::codegen
