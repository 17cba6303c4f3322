//===- ConvFew.cpp - Convolutions to very few channels --------------------===//
//
// One to three output channels would leave most of a block of 16 empty: the
// result is dense, and an invocation computes a pixel of it. Vectors are input
// channels, as on CPUs, whose weights these are: [O][I/16][kh][kw][16 i].
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"
#include "compiler/codegen/gpu/routines/TransposedWindow.h"

using namespace mlir;
using llvm::alignTo;

namespace nnv12::codegen {
namespace {

constexpr int64_t mostChannels = 3;

template <typename Op>
using WindowOf =
    std::conditional_t<isTransposed<Op>, TransposedWindow, BlockedWindow>;

template <typename Op> class FewChannelsEmitter : WindowOf<Op> {
public:
  FewChannelsEmitter(GpuBuilder &k, Op op, ValueRange memories)
      : Window(k), outChannels(shapeOf(op.getOutput())[1]), output(memories[0]),
        input(memories[1]), weights(memories[2]),
        epilogue(k, Epilogue::of(op), Window::allWords, memories) {}
  void emit() {
    this->forPlace([&] { finish(sum()); }, Window::Part::Pixel);
  }

private:
  using Window = WindowOf<Op>;
  using Four = typename Window::Four;
  using Window::add, Window::mul, Window::word, Window::k;

  /// A vector for each output channel, whose lanes are to be added up.
  Values sum() {
    Value blocks = word(Window::InBlocks);
    Value taps = mul(word(Window::KernelRows), word(Window::KernelCols));
    Value zero = k.fconst(0, this->four);
    return k.loop(
        0, blocks, 1, Values(outChannels, zero),
        [&](Value b, ValueRange carried) {
          Value plane =
              mul(add(mul(this->batch, blocks), b), word(Window::InPixels));
          Values firstTaps;
          for (int64_t o = 0; o < outChannels; ++o)
            firstTaps.push_back(mul(add(mul(blocks, o), b), taps));
          return this->forTaps(Values(carried), [&](Value tap, const Four &rows,
                                                    const Four &cols,
                                                    ValueRange before) {
            Four inside, place;
            this->placesOf(rows, cols, inside, place);
            Value from = this->vectorsIn(plane, place).front();
            Values panels, sums(before);
            for (Value first : firstTaps)
              panels.push_back(mul(add(first, tap), quads));
            for (int64_t q = 0; q < quads; ++q) {
              Value x = this->select(inside.front(),
                                     k.load(input, k.add(from, q)), zero);
              for (auto [to, panel] : llvm::zip(sums, panels))
                to = k.fma(x, k.load(weights, k.add(panel, q)), to);
            }
            return sums;
          });
        });
  }

  void finish(const Values &sums) {
    Value outPlane = word(Window::OutPlane),
          first = mul(this->batch, outChannels);
    for (auto [o, vector] : llvm::enumerate(sums)) {
      Value sum = epilogue.start(int64_t(o));
      for (int64_t lane = 0; lane < 4; ++lane)
        sum = arith::AddFOp::create(k.b, sum, k.extract(vector, lane));
      Value plane = add(first, int64_t(o));
      Value place = add(mul(plane, outPlane), this->pixel.front());
      k.store(epilogue.finish(sum, place), output, place);
    }
  }

  const int64_t outChannels;
  Value output, input, weights;
  PushEpilogue epilogue;
};

template <typename Op> class ConvFewRoutine : public ConvolutionRoutine<Op> {
public:
  ConvFewRoutine()
      : ConvolutionRoutine<Op>(
            isTransposed<Op> ? "gpu.conv_transpose.few" : "gpu.conv.few",
            Twine(isTransposed<Op> ? "transposed " : "") +
                "convolutions to up to three dense channels") {}
  LayoutRequest layouts(Operation *layer) const override {
    int64_t rank = int64_t(shapeOf(layer->getOperand(0)).size());
    LayoutRequest request = Routine::layouts(layer);
    request.operands[0] = blockedTag(rank);
    request.operands[1] =
        isTransposed<Op> ? transposedRowTag(rank) : blockedTag(rank);
    return request;
  }
  Work work(Operation *layer) const override {
    int64_t channels = shapeOf(layer->getOperand(0))[1];
    return {definedMultiplyAdds(layer) / double(channels) *
                double(BlockedWindow::blocksOf(channels)) * double(block),
            bytesOf(layer)};
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    Type f32 = k.b.getF32Type(), four = k.vec(4);
    // Result, input, weights, bias, residual.
    k.kernel({f32, four, four, f32, f32},
             WindowOf<Op>::allWords + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               FewChannelsEmitter<Op>(k, cast<Op>(layer), memories).emit();
             });
  }
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    // How many channels there are is code.
    return dim == 1 ? 0 : BlockedWindow::cutUnit(layer, dim);
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    using Window = WindowOf<Op>;
    WindowFront w(cast<Op>(layer), cut);
    double blocks = double(BlockedWindow::blocksOf(w.channels));
    GpuSteps steps = this->oneSum(
        layer, cut, this->name().str() + "_" + std::to_string(w.outChannels),
        Window::dispatch(w, 1, Window::Part::Pixel), Window::taps(w) * blocks);
    for (GpuStep &step : steps.steps)
      step.grid.stepsInTurn =
          Window::stepsInTurn(w, blocks, BlockedWindow::Part::Pixel);
    return steps;
  }

private:
  std::string windowMisfit(Op op, const WindowShape &w) const override {
    if (op.getGroups() > 1 || w.outChannels > mostChannels)
      return "it has groups, or more than three output channels";
    return WindowOf<Op>::refusal(w, w.outChannels * alignTo(w.channels, block));
  }
};

} // namespace

const Routine *gpuConvFewRoutine() {
  return theRoutine<ConvFewRoutine<nn::ConvOp>>();
}

const Routine *gpuConvTransposeFewRoutine() {
  return theRoutine<ConvFewRoutine<nn::ConvTransposeOp>>();
}

} // namespace nnv12::codegen
