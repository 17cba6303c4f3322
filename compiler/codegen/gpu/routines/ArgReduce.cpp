//===- ArgReduce.cpp - Where the largest or smallest of a row is ----------===//
//
// Each invocation folds pairs (value, number) of its elements, then, where a
// work group takes a row, a tree in shared memory the pairs of all.
//
// What is searched is data. The smallest is the largest of what has some bits
// the other way round; the last one of equal ones is the first in a row that is
// walked from its end. So a kernel serves all of these.
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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using llvm::divideCeil;

namespace nnv12::codegen {
namespace {

constexpr int64_t invocations = FlatGrid::invocations;

enum Word : unsigned {
  FlippedLow = RowWalk::Words, ///< bits that turn the order round
  FlippedHigh,                 ///< of elements of 64 bits
  IsBackward,
  ArgWords
};

RowView viewOf(nn::ArgReduceOp op) {
  return {shapeOf(op.getInput()), size_t(op.getAxis()),
          size_t(op.getAxis()) + 1};
}

/// Whether a work group takes a row: where its invocations have something to
/// share, and rows lie behind each other, or are so few that an invocation each
/// would leave a GPU idle. Else invocations side by side read what lies side by
/// side.
bool isShared(const RowView &view) {
  constexpr int64_t leastElements = 32, fewRows = 1024;
  return view.size >= leastElements &&
         (view.inner == 1 || view.rows() <= fewRows);
}

Type elementOf(nn::ArgReduceOp op) {
  return cast<RankedTensorType>(op.getInput().getType()).getElementType();
}

/// In which elements are compared: no device needs arithmetic of 8 or 16 bits.
Type comparedType(Type element) {
  Type compute = computeType(element);
  bool isNarrow = compute.isInteger() && compute.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Type(IntegerType::get(element.getContext(), 32)) : compute;
}

/// The bits of what is compared that, the other way round, have the element
/// that is searched as the largest. Unsigned numbers are compared as signed
/// ones.
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

class Emitter {
public:
  Emitter(GpuBuilder &k, nn::ArgReduceOp op, ValueRange memories)
      : k(k), element(elementOf(op)), compared(comparedType(element)),
        output(memories[0]), input(memories[1]), isTree(isShared(viewOf(op))),
        walk(k, isTree, /*isStrided=*/true) {}
  void emit();

private:
  Type i32() { return k.b.getI32Type(); }
  Value as32(Value index) {
    return arith::IndexCastOp::create(k.b, i32(), index);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(k.b, condition, x, y);
  }
  Value compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers,
                Value x, Value y);
  /// The bits that turn the order round, as an integer of what is compared.
  Value flipped();
  /// An element, as it is compared.
  Value load(Value place);
  /// Less than every element, or equal and behind them.
  Values none();
  /// The pair of the larger value, of equal ones the one in front. NaN is no
  /// value, so none() stays.
  Values better(ValueRange x, ValueRange y);
  void store(Value number, Value firstPlace);

  GpuBuilder &k;
  Type element, compared;
  Value output, input;
  bool isTree;
  RowWalk walk;
  Value isBackward, last; ///< `last`: number of a row's last element
};

Value Emitter::compare(arith::CmpFPredicate floats,
                       arith::CmpIPredicate integers, Value x, Value y) {
  if (isa<FloatType>(compared))
    return arith::CmpFOp::create(k.b, floats, x, y);
  return arith::CmpIOp::create(k.b, integers, x, y);
}

Value Emitter::flipped() {
  Value low = as32(k.pushWord(FlippedLow));
  if (compared.getIntOrFloatBitWidth() == 32)
    return low;
  Type i64 = k.b.getI64Type();
  Value high = arith::ExtUIOp::create(k.b, i64, as32(k.pushWord(FlippedHigh)));
  high = arith::ShLIOp::create(k.b, high, k.iconst(32, i64));
  return arith::OrIOp::create(k.b, high, arith::ExtUIOp::create(k.b, i64, low));
}

Value Emitter::load(Value place) {
  Value x = toCompute(k, k.load(input, place), element), bits = flipped();
  if (isa<FloatType>(compared)) {
    // A product with -1 may take denormals for zero.
    x = arith::BitcastOp::create(k.b, bits.getType(), x);
    x = arith::XOrIOp::create(k.b, x, bits);
    return arith::BitcastOp::create(k.b, compared, x);
  }
  if (x.getType() != compared)
    x = element.isUnsignedInteger()
            ? Value(arith::ExtUIOp::create(k.b, compared, x))
            : Value(arith::ExtSIOp::create(k.b, compared, x));
  return arith::XOrIOp::create(k.b, x, bits);
}

Values Emitter::none() {
  Value least =
      isa<FloatType>(compared)
          ? k.fconst(-std::numeric_limits<double>::infinity(), compared)
          : k.iconst(llvm::minIntN(compared.getIntOrFloatBitWidth()), compared);
  return {least, k.iconst(-1, i32())};
}

Values Emitter::better(ValueRange x, ValueRange y) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  Value isLarger = compare(F::OGT, I::sgt, y[0], x[0]),
        isEqual = compare(F::OEQ, I::eq, y[0], x[0]);
  Value isBefore = arith::CmpIOp::create(k.b, I::ult, y[1], x[1]);
  Value isFirst = arith::AndIOp::create(k.b, isEqual, isBefore);
  Value wins = arith::OrIOp::create(k.b, isLarger, isFirst);
  return {select(wins, y[0], x[0]), select(wins, y[1], x[1])};
}

void Emitter::store(Value number, Value firstPlace) {
  Value zero = k.iconst(0, i32());
  Value result = select(isBackward,
                        arith::SubIOp::create(k.b, as32(last), number), number);
  // Nothing is larger than NaN: one in front stays.
  if (isa<FloatType>(compared)) {
    Value front = load(firstPlace);
    Value isNaN =
        arith::CmpFOp::create(k.b, arith::CmpFPredicate::UNO, front, front);
    result = select(isNaN, zero, result);
  }
  // Numbers of 64 bits as two, which every device has.
  Index place = k.mul(walk.row, 2);
  k.store(result, output, place);
  k.store(zero, output, k.add(place, 1));
}

void Emitter::emit() {
  Value zero = k.constant(0), firstPlace = walk.start;
  isBackward = arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne,
                                     k.pushWord(IsBackward), zero);
  last = k.val(k.sub(k.pushWord(RowWalk::Size), 1));
  Value lastPlace = walk.place(last);
  walk.start = select(isBackward, lastPlace, firstPlace);
  walk.step = select(isBackward, k.val(k.sub(zero, walk.step)), walk.step);

  auto combine = [&](ValueRange x, ValueRange y) { return better(x, y); };
  Values found =
      k.loop(walk.first, walk.end, walk.apart, none(),
             [&](Value i, ValueRange before) {
               return better(before, Values{load(walk.place(i)), as32(i)});
             });
  if (isTree) {
    SharedTree tree(k, invocations, /*lanes=*/1, {compared, i32()});
    found = tree.fold(walk.local, found, combine);
  }
  walk.once([&] { store(found[1], firstPlace); });
}

class ArgReduceRoutine : public GpuRoutine {
public:
  llvm::StringRef name() const override { return "gpu.arg_reduce"; }
  llvm::StringRef summary() const override {
    return "where the largest or smallest element of a row is";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return denseLayouts(layer);
  }
  Work work(Operation *layer) const override {
    return {elementSteps(layer) * double(elementsOf(layer->getResult(0))),
            bytesOf(layer)};
  }
  std::string refusal(Operation *layer, const GpuTarget &target) const override;
  GpuSteps steps(Operation *layer) const override;
  void emit(GpuBuilder &k, Operation *layer, unsigned,
            llvm::StringRef symbol) const override {
    auto op = cast<nn::ArgReduceOp>(layer);
    k.kernel(
        symbol,
        {{k.b.getI32Type(), /*isWritten=*/true}, {storageType(elementOf(op))}},
        ArgWords, FlatGrid::localSize,
        [&](ValueRange memories) { Emitter(k, op, memories).emit(); });
  }
};

std::string ArgReduceRoutine::refusal(Operation *layer,
                                      const GpuTarget &target) const {
  auto op = dyn_cast<nn::ArgReduceOp>(layer);
  if (!op || llvm::is_contained(shapeOf(op.getInput()), 0))
    return "it does not search a largest or smallest element";
  Type element = elementOf(op);
  if (element.getIntOrFloatBitWidth() < 8 || nn::smallFloat(element))
    return "its elements are of less than 8 bits, or floats of 8";
  if (nn::storageSize(op.getInput()) > GpuTarget::maxBufferBytes ||
      nn::storageSize(op.getOutput()) > GpuTarget::maxBufferBytes)
    return "a tensor is larger than the buffers of every device (128 MiB)";
  return refusalOfKernels(layer, target);
}

GpuSteps ArgReduceRoutine::steps(Operation *layer) const {
  auto op = cast<nn::ArgReduceOp>(layer);
  RowView view = viewOf(op);
  bool isTree = isShared(view);
  GpuDispatch dispatch = RowWalk::dispatch(view, isTree);
  uint64_t flipped = flippedBits(op);
  dispatch.push.insert(dispatch.push.end(),
                       {uint32_t(flipped), uint32_t(flipped >> 32),
                        uint32_t(op.getSelectLast())});
  std::string key;
  llvm::raw_string_ostream(key)
      << name() << "_" << elementOf(op) << (isTree ? "" : "_serial");
  GpuSteps steps =
      oneStep(layer, std::move(key), std::move(dispatch),
              double(divideCeil(view.size, isTree ? invocations : 1)));
  for (GpuStep &step : steps.steps) {
    step.grid.barriers = isTree ? SharedTree::barriers(invocations) : 0;
    step.variant = isTree ? "tree" : "serial";
  }
  return steps;
}

} // namespace

const Routine *gpuArgReduceRoutine() {
  static const ArgReduceRoutine routine;
  return &routine;
}

} // namespace nnv12::codegen
