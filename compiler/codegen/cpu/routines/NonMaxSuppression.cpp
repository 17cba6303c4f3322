//===- NonMaxSuppression.cpp - The best boxes that overlap no better one --===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// One image and class.
class Selection {
public:
  Selection(KernelBuilder &k, nn::NonMaxSuppressionOp op, ValueRange operands,
            Value scratch, Index unit);

  void emit();
  /// Floats of scratch: a list of all boxes, then the corners of those that
  /// are taken, each coordinate on its own.
  static int64_t scratchSize(KernelBuilder &k, nn::NonMaxSuppressionOp op) {
    return boxesOf(op) + 4 * takenSize(k, op);
  }
  static int64_t boxesOf(nn::NonMaxSuppressionOp op) {
    return shapeOf(op.getBoxes())[1];
  }

private:
  /// Low and high coordinates: y, x, y, x, or x, y, x, y.
  using Corners = std::array<Value, 4>;

  static int64_t takenSize(KernelBuilder &k, nn::NonMaxSuppressionOp op) {
    return llvm::alignTo(op.getMost(), k.VL);
  }
  Value loadScore(Value i) { return k.load(scores, k.add(scoreRow, Index(i))); }
  Value greater(Value x, Value y) {
    return emitBinary(k, nn::BinaryKind::greater, x, y);
  }
  /// Whether box i, of score x, comes before box j, of score y.
  Value isBetter(Value i, Value x, Value j, Value y);
  /// Lists the boxes that count; returns how many.
  Value list();
  /// Lets box `moved` sink from place `from` of the heap that is the first
  /// `size` of the list to where no box below is better.
  void sift(Value moved, Value from, Value size);
  Corners cornersOf(Value i);
  Value area(const Corners &box);
  /// Whether the box overlaps one of the first `taken` that were taken.
  Value overlaps(const Corners &box, Value taken);

  KernelBuilder &k;
  nn::NonMaxSuppressionOp op;
  Value out, boxes, scores, iouThreshold, scoreThreshold, count, scratch;
  IndexList heap;
  Index outRow, boxRow, scoreRow;
  int64_t n, most;
};

Selection::Selection(KernelBuilder &k, nn::NonMaxSuppressionOp op,
                     ValueRange operands, Value scratch, Index unit)
    : k(k), op(op), out(operands[0]), boxes(operands[1]), scores(operands[2]),
      iouThreshold(k.load(operands[3], 0)),
      scoreThreshold(k.load(operands[4], 0)), count(operands[5]),
      scratch(scratch), heap{k, scratch}, n(boxesOf(op)), most(op.getMost()) {
  int64_t classes = shapeOf(op.getScores())[1];
  outRow = k.mul(unit, most);
  boxRow = k.mul(k.div(unit, classes), n * 4);
  scoreRow = k.mul(unit, n);
}

Value Selection::isBetter(Value i, Value x, Value j, Value y) {
  Value isEqual = emitBinary(k, nn::BinaryKind::equal, x, y);
  return k.bitOr(greater(x, y), k.bitAnd(isEqual, k.compare(Order::slt, i, j)));
}

Value Selection::list() {
  Value all =
      arith::IndexCastOp::create(k.b, k.b.getIndexType(), k.load(count, 0));
  Index limit = k.max(k.min(Index(all), n), 0);
  if (!op.getFiltered()) {
    k.loop(0, limit, 1, [&](Value i) { heap.set(Index(i), i); });
    return k.val(limit);
  }
  auto append = [&](Value i, Value size) {
    heap.set(Index(size), i);
    Value counts = arith::ExtUIOp::create(
        k.b, k.b.getI64Type(), greater(loadScore(i), scoreThreshold));
    Value step = arith::IndexCastOp::create(k.b, k.b.getIndexType(), counts);
    return arith::AddIOp::create(k.b, size, step).getResult();
  };
  // Few boxes count as a rule: whole vectors of scores are passed over.
  Value limits = k.broadcast(scoreThreshold, k.VL);
  Index whole = k.mul(k.div(limit, k.VL), k.VL);
  Value zero = k.constant(0);
  Values size =
      k.loop(0, whole, k.VL, {zero}, [&](Value start, ValueRange sizes) {
        Value x = k.load(scores, k.add(scoreRow, Index(start)), k.VL);
        Value any = vector::ReductionOp::create(k.b, vector::CombiningKind::OR,
                                                greater(x, limits));
        return k.ifElse(
            any, {k.b.getIndexType()},
            [&] {
              return k.loop(Index(start), Index(start, k.VL), 1, {sizes[0]},
                            [&](Value i, ValueRange s) {
                              return Values{append(i, s[0])};
                            });
            },
            [&] { return Values{sizes[0]}; });
      });
  return k.loop(whole, limit, 1, size, [&](Value i, ValueRange s) {
    return Values{append(i, s[0])};
  })[0];
}

void Selection::sift(Value moved, Value from, Value size) {
  Type index = k.b.getIndexType();
  Value score = loadScore(moved);
  Value place = k.loopWhile(
      {from}, {index, index, index},
      [&](ValueRange at) {
        // A place behind the heap is read as its last, and not taken.
        Index first = k.add(k.mul(Index(at[0]), 2), 1);
        Index last = k.max(k.sub(Index(size), 1), 0);
        Value left = k.val(k.min(first, last)),
              right = k.val(k.min(k.add(first, 1), last));
        Value i = heap[Index(left)], j = heap[Index(right)];
        Value x = loadScore(i), y = loadScore(j);
        Value takesRight = isBetter(j, y, i, x);
        Value child = k.select(takesRight, j, i);
        Value isAbove =
            isBetter(child, k.select(takesRight, y, x), moved, score);
        Value goesOn = k.bitAnd(k.less(first, Index(size)), isAbove);
        return std::pair(
            goesOn, Values{at[0], k.select(takesRight, right, left), child});
      },
      [&](ValueRange step) {
        heap.set(Index(step[0]), step[2]);
        return Values{step[1]};
      })[0];
  heap.set(Index(place), moved);
}

Selection::Corners Selection::cornersOf(Value i) {
  Index at = k.add(boxRow, k.mul(Index(i), 4));
  Corners v, corners;
  for (int64_t d = 0; d < 4; ++d)
    v[d] = k.load(boxes, k.add(at, d));
  for (int64_t d = 0; d < 2; ++d) {
    Value first = v[d], second = v[2 + d];
    if (op.getCentered()) {
      Value half =
          arith::MulFOp::create(k.b, second, k.fconst(0.5, k.b.getF32Type()));
      first = arith::SubFOp::create(k.b, v[d], half);
      second = arith::AddFOp::create(k.b, v[d], half);
    }
    corners[d] = emitBinary(k, nn::BinaryKind::min, first, second);
    corners[2 + d] = emitBinary(k, nn::BinaryKind::max, first, second);
  }
  return corners;
}

Value Selection::area(const Corners &box) {
  return arith::MulFOp::create(
      k.b, arith::SubFOp::create(k.b, box[2], box[0]).getResult(),
      arith::SubFOp::create(k.b, box[3], box[1]).getResult());
}

Value Selection::overlaps(const Corners &box, Value taken) {
  Corners a;
  for (int64_t d = 0; d < 4; ++d)
    a[d] = k.broadcast(box[d], k.VL);
  Value areaOfA = area(a), limits = k.broadcast(iouThreshold, k.VL);
  Value zero = k.fconst(0, limits.getType());
  Value none = k.iconst(0, k.vec(k.VL, k.b.getI1Type()));
  // Places behind the taken ones hold boxes without an area.
  Value any = k.loop(0, Index(taken), k.VL, {none}, [&](Value i, ValueRange s) {
    Corners b, common;
    for (int64_t d = 0; d < 4; ++d)
      b[d] = k.load(scratch, k.add(Index(i), n + d * takenSize(k, op)), k.VL);
    for (int64_t d = 0; d < 4; ++d)
      common[d] = emitBinary(
          k, d < 2 ? nn::BinaryKind::max : nn::BinaryKind::min, a[d], b[d]);
    Value areaOfB = area(b), shared = area(common);
    Value joined = arith::SubFOp::create(
        k.b, arith::AddFOp::create(k.b, areaOfA, areaOfB).getResult(), shared);
    Value part = arith::DivFOp::create(k.b, shared, joined);
    Value is = greater(part, limits);
    for (auto [high, low] :
         {std::pair(common[2], common[0]), std::pair(common[3], common[1]),
          std::pair(areaOfA, zero), std::pair(areaOfB, zero),
          std::pair(joined, zero)})
      is = k.bitAnd(is, greater(high, low));
    return Values{k.bitOr(s[0], is)};
  })[0];
  return vector::ReductionOp::create(k.b, vector::CombiningKind::OR, any);
}

void Selection::emit() {
  Type index = k.b.getIndexType();
  Value zero = k.constant(0), one = k.constant(1);
  Value size = list();
  Index parents = k.div(Index(size), 2);
  k.loop(0, parents, 1, [&](Value i) {
    Value at = k.val(k.sub(k.sub(parents, 1), Index(i)));
    sift(heap[Index(at)], at, size);
  });
  int64_t corners = 4 * takenSize(k, op);
  forVectors(k, corners, k.VL, [&](Index i, int64_t) {
    k.store(k.fconst(0, k.vec(k.VL)), scratch, k.add(n, i));
  });
  Value taken = k.loopWhile(
      {size, zero}, {index, index},
      [&](ValueRange s) {
        Value goesOn =
            k.bitAnd(k.less(Index(0), Index(s[0])), k.less(Index(s[1]), most));
        return std::pair(goesOn, Values(s));
      },
      [&](ValueRange s) {
        Value best = heap[Index(0)];
        Value rest = k.val(k.sub(Index(s[0]), 1));
        sift(heap[Index(rest)], zero, rest);
        Corners box = cornersOf(best);
        Values next = k.ifElse(
            overlaps(box, s[1]), {index}, [&] { return Values{s[1]}; },
            [&] {
              k.store(arith::IndexCastOp::create(k.b, k.b.getI64Type(), best),
                      out, k.add(outRow, Index(s[1])));
              for (int64_t d = 0; d < 4; ++d)
                k.store(box[d], scratch,
                        k.add(Index(s[1]), n + d * takenSize(k, op)));
              return Values{arith::AddIOp::create(k.b, s[1], one).getResult()};
            });
        return Values{rest, next[0]};
      })[1];
  k.loop(Index(taken), most, 1, [&](Value i) {
    k.store(k.iconst(-1, k.b.getI64Type()), out, k.add(outRow, Index(i)));
  });
}

/// non_max_suppression: dense. A heap of the boxes that count gives the best,
/// one after the other, until enough are taken.
class NonMaxSuppressionRoutine : public CpuRoutine {
public:
  NonMaxSuppressionRoutine()
      : CpuRoutine("non_max_suppression",
                   "the best boxes that overlap no better one, by a heap") {}
  std::string misfit(Operation *layer) const override {
    return isa<nn::NonMaxSuppressionOp>(layer) ? "" : "it selects no boxes";
  }
  Work work(Operation *layer) const override {
    auto op = cast<nn::NonMaxSuppressionOp>(layer);
    return {unitWork(op) * units(op), bytesOf(layer)};
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::NonMaxSuppressionOp>(layer);
    UnitGrid grid({op.getMost() ? units(op) : 0}, unitWork(op));
    AxisView view(shapeOf(op.getOutput()), 2);
    KernelInfo info =
        emitUnits(k, op, symbol, grid,
                  TileMap::grid({{view.outer, view.size}, {view.size, 1}},
                                grid.cuts({0}, {1})),
                  [&](ValueRange operands, Value scratch, Index unit) {
                    Selection(k, op, operands, scratch, unit).emit();
                  });
    info.scratchBytes = Selection::scratchSize(k, op) * sizeof(float);
    return info;
  }

private:
  static int64_t units(nn::NonMaxSuppressionOp op) {
    ArrayRef<int64_t> shape = shapeOf(op.getOutput());
    return shape[0] * shape[1];
  }
  /// Every score is looked at. Each box that is taken was compared with those
  /// taken before.
  static double unitWork(nn::NonMaxSuppressionOp op) {
    double most = op.getMost();
    return 2.0 * Selection::boxesOf(op) + 20 * most + most * most;
  }
};

} // namespace

Variants codegen::nonMaxSuppressionRoutine() {
  return onlyRoutine<NonMaxSuppressionRoutine>();
}
