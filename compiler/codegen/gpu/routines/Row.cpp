//===- Row.cpp - Layers that look at whole rows ---------------------------===//
//
// Softmax, normalisation and reductions of f32 along dimensions that follow
// each other in memory, [outer][size][inner].
//
// Where a row's elements follow each other, a work group takes a row: each
// invocation folds every 64th element, then a tree in shared memory the folds.
// Where neighbours in memory are of other rows, an invocation takes a row.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/Rows.h"
#include "compiler/codegen/gpu/routines/SharedTree.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include "dialects/nn/Layout.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <optional>

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The view of a reduction in blocks of 16 channels over all dimensions behind
/// the channels: memory is [batch, blocks][spatial][16].
std::optional<RowView> viewOfBlocks(nn::ReduceOp op, size_t first, size_t end) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  StringRef in = nn::layoutTag(op.getInput().getType()),
            out = nn::layoutTag(op.getOutput().getType());
  bool isWhole = shape.size() > 1 && shape[1] % block == 0;
  if (in != blockedTag(shape.size()) || first != 2 || end != shape.size() ||
      !(out == in || (out.empty() && isWhole)))
    return std::nullopt;
  RowView view(shape, first, end);
  view.outer = shape[0] * divideCeil(shape[1], block);
  view.inner = block;
  return view;
}

/// None where the layer's rows are no such ones.
std::optional<RowView> viewOf(Operation *layer) {
  auto isDense = [](Value v) { return nn::layoutTag(v.getType()).empty(); };
  bool allDense = isDense(layer->getOperand(0)) && isDense(layer->getResult(0));
  ArrayRef<int64_t> shape = shapeOf(layer->getOperand(0));
  if (auto op = dyn_cast<nn::SoftmaxOp>(layer); op && allDense)
    return RowView(shape, op.getAxis(), op.getAxis() + 1);
  if (auto op = dyn_cast<nn::NormalizeOp>(layer); op && allDense)
    return RowView(shape, op.getAxis(), shape.size());
  auto op = dyn_cast<nn::ReduceOp>(layer);
  if (!op || op.getAxes().empty())
    return std::nullopt;
  SmallVector<int64_t> axes(op.getAxes());
  llvm::sort(axes);
  size_t first = axes.front(), end = first + axes.size();
  if (axes.back() + 1 != int64_t(end))
    return std::nullopt;
  if (allDense)
    return RowView(shape, first, end);
  return viewOfBlocks(op, first, end);
}

using Combine = llvm::function_ref<Value(Value, Value)>;

class RowEmitter : GpuEmitter {
public:
  enum Word : unsigned {
    Epsilon = RowWalk::Words, ///< f32, of a normalisation
    Words
  };

  RowEmitter(GpuBuilder &k, Operation *layer, bool isTree, ValueRange memories)
      : GpuEmitter(k), layer(layer), m(k, k.b.getF32Type()),
        output(memories[0]), input(memories[1]), walk(k, isTree) {}
  void emit() {
    findPlace();
    if (auto op = dyn_cast<nn::SoftmaxOp>(layer))
      softmax(op.getLog());
    else if (isa<nn::NormalizeOp>(layer))
      normalize();
    else
      reduce(cast<nn::ReduceOp>(layer).getKind());
  }

private:
  void findPlace() {
    if (walk.isShared) {
      start = mul(walk.row, word(RowWalk::Size));
      step = k.constant(1);
      tree.emplace(k, FlatGrid::invocations, /*lanes=*/1,
                   Type(k.b.getF32Type()));
      return;
    }
    step = word(RowWalk::Inner);
    start = add(mul(walk.outer(), mul(word(RowWalk::Size), step)), walk.lane());
  }

  Value place(Value i) { return add(start, mul(i, step)); }
  /// Folds term(x) over the row; all FlatGrid::invocations of a tree get the
  /// result.
  Value fold(Value identity, llvm::function_ref<Value(Value)> term,
             Combine combine) {
    Value own = k.loop(walk.first, walk.end, walk.apart, Values{identity},
                       [&](Value i, ValueRange before) {
                         Value x = term(k.load(input, place(i)));
                         return Values{combine(before[0], x)};
                       })[0];
    if (!walk.isShared)
      return own;
    auto both = [&](ValueRange x, ValueRange y) {
      return Values{combine(x[0], y[0])};
    };
    (void)tree->fold(walk.local, {own}, both);
    return tree->toAll()[0];
  }

  Value sum(llvm::function_ref<Value(Value)> term) {
    return fold(m.c(0), term, [&](Value x, Value y) { return m.add(x, y); });
  }
  Value sizeAsFloat() {
    Type i32 = k.b.getI32Type();
    Value size = arith::IndexCastOp::create(k.b, i32, word(RowWalk::Size));
    return arith::UIToFPOp::create(k.b, k.b.getF32Type(), size);
  }
  /// Stores function(x) of each element.
  void map(llvm::function_ref<Value(Value)> function) {
    k.loop(walk.first, walk.end, walk.apart, [&](Value i) {
      Value at = place(i);
      k.store(function(k.load(input, at)), output, at);
    });
  }

  void softmax(bool isLog) {
    Value max = fold(
        m.c(-infinity), [](Value x) { return x; },
        [&](Value x, Value y) { return m.select(m.greater(x, y), x, y); });
    auto power = [&](Value x) { return m.expUpTo88(m.sub(x, max)); };
    Value total = sum(power);
    if (isLog) {
      Value log = m.log(total);
      return map([&](Value x) { return m.sub(m.sub(x, max), log); });
    }
    Value factor = m.div(m.c(1), total);
    map([&](Value x) { return m.mul(power(x), factor); });
  }

  void normalize() {
    Value count = sizeAsFloat();
    Value mean = m.div(sum([](Value x) { return x; }), count);
    Value squares = sum([&](Value x) {
      Value distance = m.sub(x, mean);
      return m.mul(distance, distance);
    });
    Value deviation =
        m.sqrt(m.add(m.div(squares, count), k.pushFloat(Epsilon)));
    Value factor = m.div(m.c(1), deviation);
    map([&](Value x) { return m.mul(m.sub(x, mean), factor); });
  }

  void reduce(nn::ReduceKind kind) {
    auto itself = [](Value x) { return x; };
    Value result;
    switch (kind) {
    case nn::ReduceKind::sum:
      result = sum(itself);
      break;
    case nn::ReduceKind::mean:
      result = m.div(sum(itself), sizeAsFloat());
      break;
    case nn::ReduceKind::max:
      result = fold(m.c(-infinity), itself,
                    [&](Value x, Value y) { return m.max(x, y); });
      break;
    case nn::ReduceKind::min:
      result = fold(m.c(infinity), itself,
                    [&](Value x, Value y) { return m.min(x, y); });
      break;
    case nn::ReduceKind::prod:
      result =
          fold(m.c(1), itself, [&](Value x, Value y) { return m.mul(x, y); });
      break;
    }
    walk.once([&] { k.store(result, output, walk.row); });
  }

  Operation *layer;
  FloatMath m;
  Value output, input;
  RowWalk walk;
  std::optional<SharedTree> tree;
  Value start, step; ///< of the row's elements
};

class RowRoutine : public GpuRoutine {
public:
  RowRoutine()
      : GpuRoutine("gpu.row",
                   "softmax, normalisation and reductions along a row") {}
  LayoutRequest layouts(Operation *layer) const override {
    // Reductions take blocks of channels as well.
    return isa<nn::ReduceOp>(layer) ? anyLayouts(layer)
                                    : Routine::layouts(layer);
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
  std::string misfit(Operation *layer) const override {
    if (!isa<nn::SoftmaxOp, nn::NormalizeOp, nn::ReduceOp>(layer) ||
        !isNonEmptyF32(layer))
      return "it is no softmax, normalisation or reduction of f32";
    if (!viewOf(layer))
      return "its rows do not lie in memory one after another";
    if (nn::storageSize(layer->getOperand(0)) > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
    return "";
  }

  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return RowWalk::cutUnit(layer, dim, firstAxis(layer));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    bool isTree = viewOf(layer)->inner == 1;
    Type f32 = k.b.getF32Type();
    k.kernel({f32, f32}, RowEmitter::Words, FlatGrid::localSize,
             [&](ValueRange memories) {
               RowEmitter(k, layer, isTree, memories).emit();
             });
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override;

private:
  static size_t firstAxis(Operation *layer) {
    if (auto op = dyn_cast<nn::SoftmaxOp>(layer))
      return op.getAxis();
    if (auto op = dyn_cast<nn::NormalizeOp>(layer))
      return op.getAxis();
    return *llvm::min_element(cast<nn::ReduceOp>(layer).getAxes());
  }
  static std::string kindOf(Operation *layer) {
    if (auto op = dyn_cast<nn::SoftmaxOp>(layer))
      return op.getLog() ? "log_softmax" : "softmax";
    if (auto op = dyn_cast<nn::ReduceOp>(layer))
      return nn::stringifyReduceKind(op.getKind()).str();
    return "normalize";
  }
};

GpuSteps RowRoutine::stepsOf(Operation *layer, Cut cut) const {
  RowView view = *viewOf(layer);
  bool isTree = view.inner == 1;
  GpuDispatch dispatch =
      RowWalk::dispatch(view, frontOfResult(layer, cut), isTree,
                        isa<nn::ReduceOp>(layer) ? RowWalk::Result::Element
                                                 : RowWalk::Result::Row);
  float epsilon = 0;
  if (auto op = dyn_cast<nn::NormalizeOp>(layer))
    epsilon = float(op.getEpsilon().convertToDouble());
  dispatch.push.push_back(llvm::bit_cast<uint32_t>(epsilon));
  GpuSteps steps = oneStep(
      layer, cut,
      (name() + "_" + kindOf(layer) + (isTree ? "" : "_strided")).str(),
      std::move(dispatch),
      double(divideCeil(view.size, isTree ? FlatGrid::invocations : 1)));
  // The barriers of each fold, and one behind it.
  unsigned folds = isa<nn::ReduceOp>(layer) ? 1 : 2;
  for (GpuStep &step : steps.steps) {
    step.grid.barriers =
        isTree ? folds * (SharedTree::barriers(FlatGrid::invocations) + 1) : 0;
    step.variant = isa<nn::SoftmaxOp>(layer)     ? "softmax"
                   : isa<nn::NormalizeOp>(layer) ? "normalize"
                                                 : "reduce";
    step.variant += isTree ? ".tree" : ".strided";
  }
  return steps;
}

} // namespace

const Routine *gpuRowRoutine() { return theRoutine<RowRoutine>(); }

} // namespace nnv12::codegen
