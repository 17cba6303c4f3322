//===- ConvTranspose.cpp - Transposed convolutions of blocked channels ----===//
//
// Results whose rows and columns differ by multiples of the strides take the
// same taps. Each such phase is a part of the grid's third dimension, next to
// the batch, so that invocations of a work group take the same way.
//
// Along one dimension output o takes tap k from input (o + pad - k * dilation)
// / stride where that is whole. With g = gcd(stride, dilation), s = stride / g
// and d = dilation / g, phase p has taps where g divides p + pad: the first is
//
//   (p + pad) / g * inverse(d) mod s
//
// and each s-th after that, whose inputs lie d before one another.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/routines/Layouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <tuple>
#include <utility>

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

/// Push words behind those of the window.
enum : unsigned {
  Phases = BlockedWindow::WindowWords,
  PhaseCols, ///< phases of a row of the result
  // Output rows plus stride less one: a phase's share is this less the phase,
  // by the stride. Likewise columns.
  RowShare,
  ColShare,
  CommonRows, ///< the greatest divisor that stride and dilation share
  CommonCols,
  InverseRows, ///< of dilation, modulo stride, both by their divisor
  InverseCols,
  TransposeWords
};

/// A layer along one of its dimensions.
struct Extents {
  int64_t outputs, stride, dilation, pad;

  int64_t phases() const { return std::min(stride, outputs); }
  int64_t common() const { return std::gcd(stride, dilation); }
  int64_t inverse() const;
};

int64_t Extents::inverse() const {
  int64_t modulus = stride / common(), step = dilation / common();
  // Euclid's algorithm: `x` and `y` times the step are `a` and `b`.
  int64_t a = step % modulus, b = modulus, x = 1, y = 0;
  while (a > 1) {
    int64_t quotient = b / a;
    std::tie(a, b) = std::pair(b - quotient * a, a);
    std::tie(x, y) = std::pair(y - quotient * x, x);
  }
  return a == 0 ? 0 : (x % modulus + modulus) % modulus;
}

class Emitter : BlockedWindow {
public:
  Emitter(GpuBuilder &k, nn::ConvTransposeOp op, ValueRange memories)
      : BlockedWindow(k), output(memories[0]), input(memories[1]),
        weights(memories[2]), epilogue(k, Epilogue::of(op), TransposeWords,
                                       memories[3], memories[4]) {}
  void emit();

private:
  /// The taps of a phase along one dimension.
  struct Taps {
    Value first, count, step;
    Value back; ///< how far the input goes back from tap to tap
    Value from; ///< input of the first output and tap; may be below zero
  };
  /// The words of one dimension.
  struct Words {
    unsigned kernel, stride, dilation, pad, common, inverse;
  };
  Taps tapsOf(Value phase, const Words &words);
  Values sum(const Values &init, const Taps &rows, const Taps &cols,
             const Four &top, const Four &left);

  /// Where a word may be zero, since the layer is warmed up or the code runs
  /// whether there is something to compute or not.
  Value divisor(unsigned w) { return k.val(k.max(word(w), 1)); }
  Value div(Value x, Value y) { return arith::DivUIOp::create(k.b, x, y); }
  Value rem(Value x, Value y) { return arith::RemUIOp::create(k.b, x, y); }
  Value sub(Value x, Value y) { return k.val(k.sub(x, y)); }

  Value output, input, weights;
  PushEpilogue epilogue;
};

Emitter::Taps Emitter::tapsOf(Value phase, const Words &words) {
  Value stride = divisor(words.stride), common = divisor(words.common);
  Value dilation = word(words.dilation), place = add(phase, word(words.pad));
  Taps taps;
  taps.step = div(stride, common);
  taps.back = div(dilation, common);
  taps.first = rem(mul(rem(div(place, common), taps.step), word(words.inverse)),
                   taps.step);
  // A first tap beyond the kernel gives none.
  Value count = div(
      sub(add(word(words.kernel), sub(taps.step, k.constant(1))), taps.first),
      taps.step);
  Value zero = k.constant(0);
  Value isWhole = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq,
                                        rem(place, common), zero);
  taps.count = arith::SelectOp::create(k.b, isWhole, count, zero);
  // The first tap is below the stride: with as many dilations more nothing is
  // below zero before it is divided.
  Value far = add(place, mul(dilation, sub(stride, taps.first)));
  taps.from = sub(div(far, stride), dilation);
  return taps;
}

Values Emitter::sum(const Values &init, const Taps &rows, const Taps &cols,
                    const Four &top, const Four &left) {
  Value group = div(outBlock, divisor(GroupOutBlocks)),
        inGroup = rem(outBlock, divisor(GroupOutBlocks));
  Value firstBlock = mul(group, word(GroupInBlocks));
  Value kernelCols = word(KernelCols);
  Value allTaps = mul(word(KernelRows), kernelCols);
  Value firstTap = add(mul(rows.first, kernelCols), cols.first),
        rowStep = mul(rows.step, kernelCols);
  return k.loop(
      0, word(GroupInBlocks), 1, init, [&](Value b, ValueRange carried) {
        Value inBlock = add(firstBlock, b);
        Value plane =
            mul(add(mul(batch, word(InBlocks)), inBlock), word(InPixels));
        Value panel = add(mul(inGroup, word(InBlocks)), inBlock);
        Value tap = add(mul(panel, allTaps), firstTap);
        return k.loop(
            0, rows.count, 1, Values(carried),
            [&](Value r, ValueRange carried) {
              Value up = mul(r, rows.back), rowTap = add(tap, mul(r, rowStep));
              Four row;
              for (Value y : top)
                row.push_back(sub(y, up));
              return k.loop(
                  0, cols.count, 1, Values(carried),
                  [&](Value c, ValueRange sums) {
                    Value before = mul(c, cols.back);
                    Four col, inside, place;
                    for (Value x : left)
                      col.push_back(sub(x, before));
                    placesOf(row, col, inside, place);
                    Value at = add(rowTap, mul(c, cols.step));
                    Value weight = add(times(at, block * quads), quad);
                    return addBlock(sums, input, vectorsIn(plane, place),
                                    inside, weights, weight);
                  });
            });
      });
}

void Emitter::emit() {
  Value z = k.groupId(GpuBuilder::Dim::Z), phases = divisor(Phases);
  batch = div(z, phases);
  Value phase = rem(z, phases);
  Value phaseRow = div(phase, divisor(PhaseCols)),
        phaseCol = rem(phase, divisor(PhaseCols));
  Value height = div(sub(word(RowShare), phaseRow), divisor(StrideRows)),
        width = div(sub(word(ColShare), phaseCol), divisor(StrideCols));
  forPixels(mul(height, width), [&] {
    Taps rows = tapsOf(phaseRow, {KernelRows, StrideRows, DilationRows, Top,
                                  CommonRows, InverseRows});
    Taps cols = tapsOf(phaseCol, {KernelCols, StrideCols, DilationCols, Left,
                                  CommonCols, InverseCols});
    Four top, left;
    for (Value &p : pixel) {
      Value y = div(p, width), x = rem(p, width);
      top.push_back(add(rows.from, y));
      left.push_back(add(cols.from, x));
      // From the number in the phase to that in the result.
      Value row = add(phaseRow, mul(y, word(StrideRows))),
            col = add(phaseCol, mul(x, word(StrideCols)));
      p = add(mul(row, word(OutWidth)), col);
    }
    Values init(pixels, epilogue.start(add(times(outBlock, quads), quad)));
    Values sums = sum(init, rows, cols, top, left);
    for (int64_t i = 0; i < pixels; ++i)
      k.ifThen(isPresent[i], [&] {
        Value place = resultPlace(i);
        k.store(epilogue.finish(sums[i], place), output, place);
      });
  });
}

class ConvTransposeRoutine : public GpuRoutine {
public:
  // Its family is that of convolutions: profiles that were made without it say
  // what those take.
  llvm::StringRef name() const override { return "gpu.conv.transpose.16x4"; }
  llvm::StringRef summary() const override {
    return "transposed convolutions, each phase of the strides by itself";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer, transposedPanelTag(rankOf(layer)));
  }
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
  std::string refusal(Operation *layer, const GpuTarget &target) const override;
  void emit(GpuBuilder &k, Operation *layer, unsigned,
            llvm::StringRef symbol) const override {
    // Result, input, weights, bias, residual.
    SmallVector<GpuBuilder::Operand> operands(5, {k.vec(4)});
    operands.front().isWritten = true;
    k.kernel(symbol, operands, TransposeWords + PushEpilogue::Words,
             BlockedWindow::localSize, [&](ValueRange memories) {
               Emitter(k, cast<nn::ConvTransposeOp>(layer), memories).emit();
             });
  }
  GpuSteps steps(Operation *layer) const override;

private:
  static int64_t rankOf(Operation *layer) {
    return int64_t(shapeOf(layer->getOperand(0)).size());
  }
  static WindowShape sizes(nn::ConvTransposeOp op) {
    return WindowShape(op, shapeOf(op.getWeights()).drop_front(2));
  }
  static Extents rowsOf(const WindowShape &w) {
    return {w.outHeight, w.strideRows, w.dilationRows, w.top};
  }
  static Extents colsOf(const WindowShape &w) {
    return {w.outWidth, w.strideCols, w.dilationCols, w.left};
  }
};

GpuSteps ConvTransposeRoutine::steps(Operation *layer) const {
  auto op = cast<nn::ConvTransposeOp>(layer);
  Epilogue epilogue = Epilogue::of(op);
  WindowShape w = sizes(op);
  Extents rows = rowsOf(w), cols = colsOf(w);
  int64_t phases = rows.phases() * cols.phases();
  GpuDispatch dispatch =
      BlockedWindow::dispatch(w, op.getGroups(), TransposeWords);
  // The first phase has most pixels.
  auto most = divideCeil(rows.outputs, rows.stride) *
              divideCeil(cols.outputs, cols.stride);
  dispatch.groups[0] = uint32_t(divideCeil(most, BlockedWindow::groupPixels));
  dispatch.groups[2] = uint32_t(w.batch * phases);
  auto set = [&](unsigned word, int64_t value) {
    dispatch.push[word] = uint32_t(value);
  };
  set(Phases, phases);
  set(PhaseCols, cols.phases());
  set(RowShare, rows.outputs + rows.stride - 1);
  set(ColShare, cols.outputs + cols.stride - 1);
  set(CommonRows, rows.common());
  set(CommonCols, cols.common());
  set(InverseRows, rows.inverse());
  set(InverseCols, cols.inverse());
  PushEpilogue::append(dispatch.push, epilogue);
  // A phase has its part of the taps.
  double taps = double(w.kernelRows * w.kernelCols) / double(phases);
  int64_t blocks = BlockedWindow::blocksOf(w.channels / op.getGroups());
  GpuSteps steps = oneStep(layer, name().str() + PushEpilogue::suffix(epilogue),
                           std::move(dispatch), taps * double(blocks));
  for (GpuStep &step : steps.steps) {
    step.operands.resize(3); // result, input, weights
    PushEpilogue::append(step.operands, epilogue);
  }
  return steps;
}

std::string ConvTransposeRoutine::refusal(Operation *layer,
                                          const GpuTarget &target) const {
  constexpr int64_t block = BlockedWindow::block;
  auto op = dyn_cast<nn::ConvTransposeOp>(layer);
  if (!op || !hasBlockableWindow(op) || !isNonEmptyF32(op))
    return "it is no transposed convolution of f32 with one or two spatial "
           "dimensions";
  WindowShape w = sizes(op);
  int64_t groups = op.getGroups();
  if (groups > 1 &&
      (w.channels / groups % block != 0 || w.outChannels / groups % block != 0))
    return "its groups are no whole blocks of 16 channels";
  // Places are computed in 32 bits, below zero where a tap is in the padding.
  constexpr int64_t mostStep = 1 << 14, mostPad = 1 << 29;
  for (const Extents &of : {rowsOf(w), colsOf(w)}) {
    if (std::max(of.stride, of.dilation) > mostStep)
      return "a stride or dilation is more than 16384";
    if (of.pad < 0 || of.pad > mostPad)
      return "padding in front is below zero or more than 2^29";
  }
  if (BlockedWindow::blocksOf(w.outChannels / groups) *
          BlockedWindow::blocksOf(w.channels) * block * block * w.kernelRows *
          w.kernelCols * 4 >
      GpuTarget::maxBufferBytes)
    return "a tensor is larger than the buffers of every device (128 MiB)";
  std::string reason = BlockedWindow::refusal(w);
  if (!reason.empty())
    return reason;
  if (w.batch * rowsOf(w).phases() * colsOf(w).phases() > GpuTarget::maxGroups)
    return "it has more work groups than every device takes";
  return refusalOfKernels(layer, target);
}

} // namespace

const Routine *gpuConvTransposeRoutine() {
  static const ConvTransposeRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
