//===- ConvShared.cpp - Convolutions through shared memory ----------------===//
//
// gpu.conv.shared: one product, of any window. Large GPUs starve where layers
// have many channels and few pixels: there gpu.conv.split has sums split among
// groups as well, which leave parts to a second kernel.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SharedProduct.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"

using namespace mlir;
using llvm::alignTo;

namespace nnv12::codegen {
namespace {

/// Adds the parts of sums that several groups have left.
class PartsEmitter : GpuEmitter {
public:
  enum Word : unsigned {
    Vectors, ///< of the result; zero: nothing to do
    Count,   ///< of parts
    OutPixels,
    Gap, ///< vectors of the result between the fronts of two planes
    OutBlocks,
    OutChannels,
    Words
  };

  using GpuEmitter::GpuEmitter;
  void emit(const Epilogue &e, ValueRange memories) {
    PushEpilogue epilogue(k, e, Words, memories);
    Value count = word(Vectors);
    FlatGrid::forEach(k, count, [&](Value place) {
      Value plane = div(place, mul(word(OutPixels), quads));
      Value outBlock = rem(plane, word(OutBlocks)), quad = rem(place, quads);
      Value start = epilogue.start(k.add(k.mul(outBlock, quads), quad));
      Value to = add(place, mul(plane, word(Gap)));
      Value sum = k.loop(
          0, word(Count), 1, Values{start}, [&](Value part, ValueRange before) {
            Value x = k.load(memories[1], add(mul(part, count), place));
            return Values{arith::AddFOp::create(k.b, before[0], x)};
          })[0];
      ChannelMask mask(k, mul(add(mul(outBlock, quads), quad), 4),
                       word(OutChannels));
      k.store(mask.apply(epilogue.finish(sum, to)), memories[0], to);
    });
  }
};

class SharedRoutine : public ConvolutionRoutine<nn::ConvOp> {
public:
  SharedRoutine(SharedProduct::Square square, bool isSplit)
      : ConvolutionRoutine(
            (isSplit ? "gpu.conv.split." : "gpu.conv.shared.") + square.name(),
            isSplit ? "convolutions with sums in parts, for few pixels of many "
                      "channels"
                    : "convolutions through shared memory"),
        square(square), isSplit(isSplit) {}

  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return BlockedWindow::cutUnit(layer, dim);
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned which) const override {
    if (which == 0)
      return kernel(cast<nn::ConvOp>(layer)).emit(k);
    // Result, parts, bias, residual.
    k.kernel(SmallVector<Type>(4, k.vec(4)),
             PartsEmitter::Words + PushEpilogue::Words, FlatGrid::localSize,
             [&](ValueRange memories) {
               PartsEmitter(k).emit(epilogueOf(layer), memories);
             });
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    using Kind = GpuStepOperand::Kind;
    auto op = cast<nn::ConvOp>(layer);
    WindowFront w(op, cut);
    SharedProduct p = product(w);
    p.parts = partsOf(op);
    SharedProduct::Kernel product = kernel(op);
    Epilogue epilogue = Epilogue::of(op);
    GpuSteps result;
    result.kernels.push_back(product.key());
    GpuStep sums = p.step(product, isSplit ? p.result() : blockedMemory(w));
    sums.grid.bytes = workOfFront(work(layer), layer, cut).bytes;
    sums.operands = {{Kind::Result, 0}, {Kind::Operand, 0}, {Kind::Operand, 1}};
    PushEpilogue::append(sums.operands, product.epilogue);
    result.steps.push_back(sums);
    if (!isSplit)
      return result;

    int64_t vectors = p.batch * p.outBlocks * p.outPixels * quads;
    result.steps[0].operands[0] = {Kind::Temporary, 0};
    result.steps[0].grid.bytes += double((p.parts - 1) * vectors * 16);
    result.temporaries.push_back(p.parts * vectors * 16);
    result.kernels.push_back("gpu.conv.parts" + PushEpilogue::suffix(epilogue));
    GpuStep last = {FlatGrid::over(frontOfResult(layer, cut),
                                   FlatGrid::invocations * lanes)};
    last.kernel = 1;
    last.append({vectors, p.parts, p.outPixels,
                 (w.outPlane() - p.outPixels) * quads, p.outBlocks,
                 p.outChannels});
    PushEpilogue::append(last.push, epilogue);
    last.operands = {{Kind::Result, 0}, {Kind::Temporary, 0}};
    PushEpilogue::append(last.operands, epilogue);
    last.grid.steps = double(p.parts);
    last.grid.bytes = double((p.parts + 1 + epilogue.residual) * vectors * 16);
    result.steps.push_back(last);
    return result;
  }

private:
  std::string windowMisfit(nn::ConvOp op, const WindowShape &w) const override {
    if (op.getGroups() > 1)
      return "it has groups";
    if (std::string reason = BlockedWindow::refusal(
            w, alignTo(w.outChannels, block) * alignTo(w.channels, block));
        !reason.empty())
      return reason;
    if (isSplit && partsOf(op) < 2)
      return "it has work groups enough, or few channels";
    return "";
  }

  static SharedProduct product(const WindowFront &w) {
    SharedProduct p;
    p.batch = w.batch;
    p.inBlocks = BlockedWindow::blocksOf(w.channels);
    p.outChannels = w.outChannels;
    p.outBlocks = BlockedWindow::blocksOf(w.outChannels);
    p.outWidth = w.outWidth, p.outPixels = w.outPixels();
    p.inWidth = w.width, p.inPixels = w.height * w.width;
    p.strideRows = w.strideRows, p.strideCols = w.strideCols;
    p.window = {w.kernelRows, w.kernelCols, w.dilationRows, w.dilationCols,
                w.top,        w.left,       w.height};
    p.weightBlock = p.inBlocks * p.window.taps() * block * quads;
    return p;
  }

  /// How many groups share a sum. The whole layer decides, so that fronts add
  /// up in the same order.
  int64_t partsOf(nn::ConvOp op) const {
    if (!isSplit)
      return 1;
    // So many that there are work groups for a large GPU, each of some taps.
    constexpr int64_t wanted = 256, fewestTaps = 4;
    SharedProduct p = product(WindowFront(op, wholeCut(op)));
    int64_t fewestBlocks = llvm::divideCeil(fewestTaps, p.window.taps());
    p.parts = std::max<int64_t>(
        1, std::min(p.inBlocks / fewestBlocks, wanted / p.groups(square)));
    // None is left without blocks.
    return int64_t(llvm::divideCeil(p.inBlocks, p.partBlocks()));
  }

  SharedProduct::Kernel kernel(nn::ConvOp op) const {
    WindowShape w = sizes(op);
    bool hasWindow = w.kernelRows != 1 || w.kernelCols != 1 || w.isPadded();
    return {square, hasWindow, isSplit ? Epilogue() : Epilogue::of(op)};
  }

  const SharedProduct::Square square;
  const bool isSplit;
};

} // namespace

const Routine *gpuConvSharedRoutine(SquareSize size) {
  static const SharedRoutine routines[] = {{SharedProduct::small, false},
                                           {SharedProduct::large, false}};
  return &routines[unsigned(size)];
}

const Routine *gpuConvSplitRoutine(SquareSize size) {
  static const SharedRoutine routines[] = {{SharedProduct::small, true},
                                           {SharedProduct::large, true}};
  return &routines[unsigned(size)];
}

} // namespace nnv12::codegen
