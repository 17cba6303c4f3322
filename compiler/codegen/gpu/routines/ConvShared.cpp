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
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/codegen/gpu/routines/SharedProduct.h"
#include "compiler/routines/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// Adds the parts of sums that several groups have left.
namespace parts {

struct SumPush {
  enum Word : unsigned {
    Vectors, ///< of the result; zero: nothing to do
    Count,   ///< of parts
    OutPixels,
    OutBlocks,
    OutChannels,
    Words
  };
};

void emit(GpuBuilder &k, const Epilogue &e, ValueRange memories) {
  PushEpilogue epilogue(k, e, SumPush::Words, memories[2], memories[3]);
  Value count = k.pushWord(SumPush::Vectors);
  FlatGrid::forEach(k, count, [&](Value place) {
    Value plane = arith::DivUIOp::create(
        k.b, place, k.val(k.mul(k.pushWord(SumPush::OutPixels), quads)));
    Value outBlock =
        arith::RemUIOp::create(k.b, plane, k.pushWord(SumPush::OutBlocks));
    Value quad = k.val(k.rem(Index(place), quads));
    Value start = epilogue.start(k.add(k.mul(outBlock, quads), quad));
    Value sum =
        k.loop(0, k.pushWord(SumPush::Count), 1, Values{start},
               [&](Value part, ValueRange before) {
                 Value x =
                     k.load(memories[1], k.add(k.mul(part, count), place));
                 return Values{arith::AddFOp::create(k.b, before[0], x)};
               })[0];
    ChannelMask mask(k, k.val(k.mul(k.add(k.mul(outBlock, quads), quad), 4)),
                     k.pushWord(SumPush::OutChannels));
    k.store(mask.apply(epilogue.finish(sum, place)), memories[0], place);
  });
}

} // namespace parts

class SharedRoutine : public GpuRoutine {
public:
  SharedRoutine(SharedProduct::Square square, bool isSplit)
      : GpuRoutine((isSplit ? "gpu.conv.split." : "gpu.conv.shared.") +
                       square.name(),
                   isSplit ? "convolutions with sums in parts, for few pixels "
                             "of many channels"
                           : "convolutions through shared memory"),
        square(square), isSplit(isSplit) {}

  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer,
                          panelTag(shapeOf(layer->getOperand(0)).size()));
  }
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const override;
  KernelNeeds needs(Operation *layer) const override {
    return PushEpilogue::needs(Epilogue::of(cast<nn::ConvOp>(layer)));
  }
  GpuSteps steps(Operation *layer) const override;
  void emit(GpuBuilder &k, Operation *layer, unsigned which,
            llvm::StringRef symbol) const override;

private:
  static WindowShape sizes(nn::ConvOp op) { return WindowShape(op); }
  SharedProduct product(nn::ConvOp op) const;
  SharedProduct::Kernel kernel(nn::ConvOp op) const;

  const SharedProduct::Square square;
  const bool isSplit;
};

SharedProduct SharedRoutine::product(nn::ConvOp op) const {
  WindowShape w = sizes(op);
  SharedProduct p;
  p.batch = w.batch;
  p.inBlocks = BlockedWindow::blocksOf(w.channels);
  p.outChannels = w.outChannels;
  p.outBlocks = BlockedWindow::blocksOf(w.outChannels);
  p.outWidth = w.outWidth, p.outPixels = w.outHeight * w.outWidth;
  p.inWidth = w.width, p.inPixels = w.height * w.width;
  p.strideRows = w.strideRows, p.strideCols = w.strideCols;
  p.window = {w.kernelRows, w.kernelCols, w.dilationRows, w.dilationCols,
              w.top,        w.left,       w.height};
  p.weightBlock = p.inBlocks * p.window.taps() * block * quads;
  if (isSplit) {
    // So many that there are work groups for a large GPU, each of some taps.
    constexpr int64_t wanted = 256, fewestTaps = 4;
    int64_t fewestBlocks = llvm::divideCeil(fewestTaps, p.window.taps());
    p.parts = std::max<int64_t>(
        1, std::min(p.inBlocks / fewestBlocks, wanted / p.groups(square)));
    // None is left without blocks.
    p.parts = llvm::divideCeil(p.inBlocks, p.partBlocks());
  }
  return p;
}

SharedProduct::Kernel SharedRoutine::kernel(nn::ConvOp op) const {
  WindowShape w = sizes(op);
  bool hasWindow = w.kernelRows != 1 || w.kernelCols != 1 || w.isPadded();
  return {square, hasWindow, isSplit ? Epilogue() : Epilogue::of(op)};
}

std::string SharedRoutine::misfit(Operation *layer) const {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || !hasBlockableWindow(op) || !isNonEmptyF32(op))
    return "it is no convolution of f32 with one or two spatial dimensions";
  WindowShape w = sizes(op);
  if (op.getGroups() > 1)
    return "it has groups";
  if (BlockedWindow::blocksOf(w.outChannels) *
          BlockedWindow::blocksOf(w.channels) * w.kernelRows * w.kernelCols *
          block * block * 4 >
      GpuTarget::maxBufferBytes)
    return "a tensor is larger than the buffers of every device (128 MiB)";
  if (std::string reason = BlockedWindow::refusal(w); !reason.empty())
    return reason;
  if (isSplit && product(op).parts < 2)
    return "it has work groups enough, or few channels";
  return "";
}

GpuSteps SharedRoutine::steps(Operation *layer) const {
  using Kind = GpuStepOperand::Kind;
  auto op = cast<nn::ConvOp>(layer);
  SharedProduct p = product(op);
  SharedProduct::Kernel product = kernel(op);
  Epilogue epilogue = Epilogue::of(op);
  GpuSteps result;
  result.kernels.push_back(product.key());
  GpuStep sums = p.step(product);
  sums.grid.bytes = bytesOf(layer);
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
  GpuStep last;
  last.kernel = 1;
  last.groups = FlatGrid::of(vectors);
  for (int64_t word :
       {vectors, p.parts, p.outPixels, p.outBlocks, p.outChannels})
    last.push.push_back(uint32_t(word));
  PushEpilogue::append(last.push, epilogue);
  last.operands = {{Kind::Result, 0}, {Kind::Temporary, 0}};
  PushEpilogue::append(last.operands, epilogue);
  last.grid.steps = double(p.parts);
  last.grid.bytes = double((p.parts + 1 + epilogue.residual) * vectors * 16);
  result.steps.push_back(last);
  return result;
}

void SharedRoutine::emit(GpuBuilder &k, Operation *layer, unsigned which,
                         llvm::StringRef symbol) const {
  auto op = cast<nn::ConvOp>(layer);
  Epilogue epilogue = Epilogue::of(op);
  if (which == 0)
    return kernel(op).emit(k, symbol);
  // Result, parts, bias, residual.
  SmallVector<GpuBuilder::Operand> operands(4, {k.vec(4)});
  operands.front().isWritten = true;
  k.kernel(symbol, operands, parts::SumPush::Words + PushEpilogue::Words,
           FlatGrid::localSize,
           [&](ValueRange memories) { parts::emit(k, epilogue, memories); });
}

} // namespace

const Routine *gpuConvSharedRoutine(bool isLarge, bool isSplit) {
  static const SharedRoutine routines[2][2] = {
      {{SharedProduct::small, false}, {SharedProduct::small, true}},
      {{SharedProduct::large, false}, {SharedProduct::large, true}}};
  return &routines[isLarge][isSplit];
}

} // namespace nnv12::codegen
