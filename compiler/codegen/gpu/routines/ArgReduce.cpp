//===- ArgReduce.cpp - Where the largest or smallest of a row is ----------===//
//
// Each invocation folds pairs (value, number) of its elements, then, where a
// work group takes a row, a tree in shared memory the pairs of all.
//
// Push words name the element that is searched. The smallest is the largest
// once some bits are the other way round; the last one of equal ones is the
// first in a row that is walked from its end. So a kernel serves all of these.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/Rows.h"
#include "compiler/codegen/gpu/routines/SharedTree.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/SmallTypes.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <limits>

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

bool isBlocked(nn::ArgReduceOp op) {
  return !nn::layoutTag(op.getInput().getType()).empty();
}

RowView viewOf(nn::ArgReduceOp op) {
  return {shapeOf(op.getInput()), size_t(op.getAxis()),
          size_t(op.getAxis()) + 1};
}

/// OuterStep to BlockStep.
std::array<int64_t, 4> stepsInMemory(nn::ArgReduceOp op) {
  RowView view = viewOf(op);
  if (isBlocked(op))
    return {int64_t(llvm::alignTo(view.size, block)) * view.inner, block, 1,
            block * view.inner};
  return {view.size * view.inner, 1, view.inner, block * view.inner};
}

/// Whether a work group takes a row: where its FlatGrid::invocations have
/// something to share, and rows lie behind each other, or are so few that an
/// invocation each would leave a GPU idle. Else FlatGrid::invocations side by
/// side read elements that lie side by side.
bool isShared(const RowView &view) {
  constexpr int64_t leastElements = 32, fewRows = 1024;
  return view.size >= leastElements &&
         (view.inner == 1 || view.rows() <= fewRows);
}

Type elementOf(nn::ArgReduceOp op) {
  return nn::typeOf(op.getInput()).getElementType();
}

/// In which elements are compared: no device needs arithmetic of 8 or 16 bits.
Type comparedType(Type element) {
  Type compute = computeType(element);
  bool isNarrow = compute.isInteger() && compute.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Type(IntegerType::get(element.getContext(), 32)) : compute;
}

/// The bits of compared values that, the other way round, make the element that
/// is searched the largest. Unsigned numbers are compared as signed ones.
uint64_t flippedBits(nn::ArgReduceOp op) {
  Type element = elementOf(op), compared = comparedType(element);
  unsigned bits = compared.getIntOrFloatBitWidth();
  uint64_t all = llvm::maskTrailingOnes<uint64_t>(bits), sign = all ^ all >> 1;
  bool isMin = op.getKind() == nn::ReduceKind::min;
  if (isa<FloatType>(compared))
    return isMin ? sign : 0;
  bool isUnsigned =
      element.isUnsignedInteger() && compared == computeType(element);
  return (isMin ? all : 0) ^ (isUnsigned ? sign : 0);
}

class ArgReduceEmitter : GpuEmitter {
public:
  enum Word : unsigned {
    // Steps through memory, in elements. A row is cut into blocks of 16: `Step`
    // leads on within a block, `BlockStep` to the next one. Dense rows have
    // both, too.
    OuterStep = RowWalk::Words,
    LaneStep, ///< from row to row
    Step,     ///< from element to element
    BlockStep,
    // The order of the elements, and the direction of the search.
    FlippedLow,  ///< bits that turn the order round
    FlippedHigh, ///< of elements of 64 bits
    IsBackward,
    Words
  };

  ArgReduceEmitter(GpuBuilder &k, nn::ArgReduceOp op, ValueRange memories)
      : GpuEmitter(k), element(elementOf(op)), compared(comparedType(element)),
        output(memories[0]), input(memories[1]), walk(k, isShared(viewOf(op))) {
  }
  void emit() {
    Value outer = mul(walk.outer(), word(OuterStep)),
          lane = mul(walk.lane(), word(LaneStep));
    start = add(outer, lane);
    isBackward = k.compare(Order::ne, word(IsBackward), k.constant(0));
    last = sub(word(RowWalk::Size), 1);

    Values found = k.loop(walk.first, walk.end, walk.apart, none(),
                          [&](Value i, ValueRange before) {
                            Value x = load(walked(i));
                            return better(before, Values{x, as32(i)});
                          });
    if (walk.isShared) {
      SharedTree tree(k, FlatGrid::invocations, /*lanes=*/1, {compared, i32()});
      auto combine = [&](ValueRange x, ValueRange y) { return better(x, y); };
      found = tree.fold(walk.local, found, combine);
    }
    walk.once([&] { store(found[1]); });
  }

private:
  Type i32() { return k.b.getI32Type(); }
  Value as32(Value index) {
    return arith::IndexCastOp::create(k.b, i32(), index);
  }
  Value compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers,
                Value x, Value y) {
    if (isa<FloatType>(compared))
      return arith::CmpFOp::create(k.b, floats, x, y);
    return k.compare(integers, x, y);
  }

  /// The number of the `i`-th element, as the row is walked; it is its own
  /// inverse.
  Value walked(Value i) { return select(isBackward, sub(last, i), i); }
  /// The bits that turn the order round, as wide as a compared value.
  Value flipped() {
    Value low = as32(word(FlippedLow));
    if (compared.getIntOrFloatBitWidth() == 32)
      return low;
    Type i64 = k.b.getI64Type();
    Value high = arith::ExtUIOp::create(k.b, i64, as32(word(FlippedHigh)));
    high = arith::ShLIOp::create(k.b, high, k.iconst(32, i64));
    return k.bitOr(high, arith::ExtUIOp::create(k.b, i64, low));
  }

  /// Element `number` of the row, as it is compared.
  Value load(Value number) {
    Value inBlock = mul(rem(number, block), word(Step)),
          ofBlock = mul(div(number, block), word(BlockStep));
    Value place = add(start, add(ofBlock, inBlock));
    Value x = toCompute(k, k.load(input, place), element), bits = flipped();
    if (isa<FloatType>(compared)) {
      // A product with -1 may take denormals for zero.
      x = arith::BitcastOp::create(k.b, bits.getType(), x);
      x = k.bitXor(x, bits);
      return arith::BitcastOp::create(k.b, compared, x);
    }
    if (x.getType() != compared)
      x = element.isUnsignedInteger()
              ? Value(arith::ExtUIOp::create(k.b, compared, x))
              : Value(arith::ExtSIOp::create(k.b, compared, x));
    return k.bitXor(x, bits);
  }

  /// Less than every element, or equal and behind them.
  Values none() {
    Value least =
        isa<FloatType>(compared)
            ? k.fconst(-std::numeric_limits<double>::infinity(), compared)
            : k.iconst(llvm::minIntN(compared.getIntOrFloatBitWidth()),
                       compared);
    return {least, k.iconst(-1, i32())};
  }

  /// The pair of the larger value, of equal ones the one in front. NaN is no
  /// value, so none() stays.
  Values better(ValueRange x, ValueRange y) {
    using F = arith::CmpFPredicate;
    using I = arith::CmpIPredicate;
    Value isLarger = compare(F::OGT, I::sgt, y[0], x[0]),
          isEqual = compare(F::OEQ, I::eq, y[0], x[0]);
    Value isBefore = k.compare(I::ult, y[1], x[1]);
    Value isFirst = both(isEqual, isBefore);
    Value wins = k.bitOr(isLarger, isFirst);
    return {select(wins, y[0], x[0]), select(wins, y[1], x[1])};
  }

  void store(Value number) {
    Value zero = k.iconst(0, i32());
    Value index = arith::IndexCastOp::create(k.b, k.b.getIndexType(), number);
    Value result = as32(walked(index));
    // Nothing is larger than NaN: one in front stays.
    if (isa<FloatType>(compared)) {
      Value front = load(k.constant(0));
      Value isNaN =
          arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNO, front, front);
      result = select(isNaN, zero, result);
    }
    // Numbers of 64 bits as two, which every device has.
    Index place = k.mul(walk.row, 2);
    k.store(result, output, place);
    k.store(zero, output, k.add(place, 1));
  }

  Type element, compared;
  Value output, input;
  RowWalk walk;
  Value start;            ///< of the row, in memory
  Value isBackward, last; ///< `last`: number of a row's last element
};

class ArgReduceRoutine : public GpuRoutine {
public:
  ArgReduceRoutine()
      : GpuRoutine("gpu.arg_reduce",
                   "where the largest or smallest element of a row is") {}
  LayoutRequest layouts(Operation *layer) const override {
    // The operand may be in blocks of channels, too.
    LayoutRequest request = Routine::layouts(layer);
    request.operands[0].reset();
    return request;
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::ArgReduceOp>(layer);
    if (!op || llvm::is_contained(shapeOf(op.getInput()), 0))
      return "it does not search a largest or smallest element";
    Type element = elementOf(op);
    if (element.getIntOrFloatBitWidth() < 8 || nn::smallFloat(element))
      return "its elements are of less than 8 bits, or floats of 8";
    ArrayRef<int64_t> shape = shapeOf(op.getInput());
    StringRef tag = nn::layoutTag(op.getInput().getType());
    if (!tag.empty() && (tag != blockedTag(shape.size()) || op.getAxis() != 1))
      return "its rows are neither dense nor channels in blocks of 16";
    if (nn::storageSize(op.getInput()) > GpuTarget::maxBufferBytes ||
        nn::storageSize(op.getOutput()) > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
    return "";
  }

  KernelNeeds needs(Operation *layer) const override {
    Type element = elementOf(cast<nn::ArgReduceOp>(layer)),
         compared = comparedType(element);
    TypesUsed types;
    loadTypes(types, element);
    types.compute(compared);
    // Bits are flipped.
    types.compute(IntegerType::get(element.getContext(),
                                   compared.getIntOrFloatBitWidth()));
    KernelNeeds needs(types);
    needs.addMemory(storageType(element));
    return needs;
  }

  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    return RowWalk::cutUnit(layer, dim, cast<nn::ArgReduceOp>(layer).getAxis());
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    auto op = cast<nn::ArgReduceOp>(layer);
    k.kernel(
        {k.b.getI32Type(), storageType(elementOf(op))}, ArgReduceEmitter::Words,
        FlatGrid::localSize,
        [&](ValueRange memories) { ArgReduceEmitter(k, op, memories).emit(); });
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    auto op = cast<nn::ArgReduceOp>(layer);
    RowView view = viewOf(op);
    bool isTree = isShared(view);
    GpuDispatch dispatch = RowWalk::dispatch(view, frontOfResult(layer, cut),
                                             isTree, RowWalk::Result::Element);
    uint64_t flipped = flippedBits(op);
    dispatch.append(stepsInMemory(op));
    dispatch.append(
        {int64_t(flipped), int64_t(flipped >> 32), op.getSelectLast()});
    std::string key;
    llvm::raw_string_ostream(key)
        << name() << "_" << elementOf(op) << (isTree ? "" : "_serial");
    GpuSteps steps = oneStep(
        layer, cut, std::move(key), std::move(dispatch),
        double(divideCeil(view.size, isTree ? FlatGrid::invocations : 1)));
    for (GpuStep &step : steps.steps) {
      step.grid.barriers =
          isTree ? SharedTree::barriers(FlatGrid::invocations) : 0;
      step.variant = isTree ? "tree" : "serial";
    }
    return steps;
  }
};

} // namespace

const Routine *gpuArgReduceRoutine() { return theRoutine<ArgReduceRoutine>(); }

} // namespace nnv12::codegen
