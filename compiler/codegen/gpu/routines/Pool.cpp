//===- Pool.cpp - Maxima and averages of windows --------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/gpu/routines/BlockedWindow.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/routines/Layouts.h"

#include <limits>

using namespace mlir;

namespace nnv12::codegen {
namespace {

/// Push words behind those of the window, for averages: a tap counts whose row
/// and column, moved by the first two, are below the others.
enum : unsigned {
  CountedTop = BlockedWindow::WindowWords,
  CountedLeft,
  CountedHeight,
  CountedWidth,
  PoolWords
};

class PoolEmitter : BlockedWindow {
public:
  PoolEmitter(GpuBuilder &k, bool isMax, ValueRange memories)
      : BlockedWindow(k), isMax(isMax), output(memories[0]),
        input(memories[1]) {}
  void emit() {
    forPlace([&] {
      Value plane =
          mul(add(mul(batch, word(InBlocks)), outBlock), word(InPixels));
      Values last = forTaps(init(), [&](Value, const Four &rows,
                                        const Four &cols, ValueRange carried) {
        return combine(carried, rows, cols, plane);
      });
      storeResults(output, [&](int64_t i, Value) -> Value {
        if (isMax)
          return last[i];
        return arith::DivFOp::create(k.b, last[i],
                                     k.broadcast(last[pixels + i], 4));
      });
    });
  }

private:
  /// Carried from tap to tap: the pixels' results, then how many taps counted.
  Values init() {
    if (isMax)
      return Values(pixels,
                    k.fconst(-std::numeric_limits<double>::infinity(), four));
    Values sums(pixels, k.fconst(0, four));
    sums.append(pixels, k.fconst(0, k.b.getF32Type()));
    return sums;
  }

  Values combine(ValueRange carried, const Four &rows, const Four &cols,
                 Value plane) {
    FloatMath m(k, four);
    Values next(carried);
    Four inside, place;
    placesOf(rows, cols, inside, place);
    for (int64_t i = 0; i < pixels; ++i) {
      Value x = k.load(input, add(mul(add(plane, place[i]), quads), quad));
      if (isMax) {
        next[i] = select(inside[i], m.max(next[i], x), next[i]);
        continue;
      }
      next[i] = m.add(next[i], select(inside[i], x, m.c(0)));
      Value counts = both(
          k.lessUnsigned(add(rows[i], word(CountedTop)), word(CountedHeight)),
          k.lessUnsigned(add(cols[i], word(CountedLeft)), word(CountedWidth)));
      Type f32 = k.b.getF32Type();
      Value one = select(counts, k.fconst(1, f32), k.fconst(0, f32));
      next[pixels + i] = arith::AddFOp::create(k.b, next[pixels + i], one);
    }
    return next;
  }

  bool isMax;
  Value output, input;
};

class PoolRoutine : public GpuRoutine {
public:
  PoolRoutine() : GpuRoutine("gpu.pool", "maximum or average of a window") {}
  LayoutRequest layouts(Operation *layer) const override {
    std::string tag = blockedTag(shapeOf(layer->getOperand(0)).size());
    return {{tag}, {tag}};
  }
  Work work(Operation *layer) const override {
    WindowShape w = sizes(cast<nn::PoolOp>(layer));
    return {w.insideTaps() *
                double(BlockedWindow::blocksOf(w.channels) * block),
            bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::PoolOp>(layer);
    if (!op || !hasBlockableWindow(op))
      return noBlockableWindow<nn::PoolOp>;
    return BlockedWindow::refusal(sizes(op));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    bool isMax = cast<nn::PoolOp>(layer).getKind() == nn::PoolKind::max;
    k.kernel(
        {k.vec(4), k.vec(4)}, PoolWords, BlockedWindow::localSize,
        [&](ValueRange memories) { PoolEmitter(k, isMax, memories).emit(); });
  }
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return BlockedWindow::cutUnit(layer, dim);
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override;

private:
  static WindowShape sizes(nn::PoolOp op) { return WindowShape(op); }
};

GpuSteps PoolRoutine::stepsOf(Operation *layer, Cut cut) const {
  auto op = cast<nn::PoolOp>(layer);
  WindowFront w(op, cut);
  GpuDispatch dispatch = BlockedWindow::dispatch(w, 1);
  bool padded = op.getCountIncludePad();
  ArrayRef<int64_t> high = countedPadsHigh(op);
  int64_t bottom = high.size() == 1 ? 0 : high[0], right = high.back();
  if (padded)
    dispatch.append(
        {w.top, w.left, w.top + w.height + bottom, w.left + w.width + right});
  else
    dispatch.append({0, 0, w.height, w.width});
  bool isMax = op.getKind() == nn::PoolKind::max;
  // Windows that are apart share few inputs.
  bool isStrided =
      llvm::any_of(op.getStrides(), [](int64_t s) { return s > 1; });
  GpuSteps steps =
      oneStep(layer, cut, name().str() + (isMax ? "_max" : "_average"),
              std::move(dispatch), BlockedWindow::taps(w));
  for (GpuStep &step : steps.steps) {
    step.variant =
        std::string(isMax ? "max" : "average") + (isStrided ? ".strided" : "");
    step.grid.stepsInTurn =
        BlockedWindow::stepsInTurn(w, /*blocks=*/1) * double(step.groups[1]);
  }
  return steps;
}

} // namespace

const Routine *gpuPoolRoutine() { return theRoutine<PoolRoutine>(); }

} // namespace nnv12::codegen
