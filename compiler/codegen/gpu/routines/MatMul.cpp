//===- MatMul.cpp - Matrix products on a GPU ------------------------------===//
//
// Push words say where elements lie, so that one module serves transposed and
// batched matrices, dense ones and such in panels of 16 columns.
//
// tile: a work group computes 64 x 64 elements, an invocation eight rows of
// four columns. All together bring 16 steps of the sums to shared memory at a
// time; the next ones are on their way from memory meanwhile.
//
// row: a work group computes 16 columns of a row, whose sums its invocations
// share: for few rows, where reading the right matrix is all there is to do.
// Panels are read in vectors of four columns.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/GpuEmitter.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/SharedTree.h"
#include "compiler/codegen/gpu/routines/SumRoutine.h"

#include "dialects/nn/Layout.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <optional>

using namespace mlir;
using llvm::divideCeil;
using llvm::product_of;

namespace nnv12::codegen {
namespace {

constexpr int64_t panel = 16; ///< columns

/// Which matrix of an operand each batch takes.
struct Batches {
  int64_t div = 1, mod = 1;

  /// None where the batches that it has are not side by side.
  static std::optional<Batches> of(ArrayRef<int64_t> own,
                                   ArrayRef<int64_t> all) {
    Batches result;
    // Behind those that it has, then those that it has, then the rest.
    enum { Behind, Has, Before } state = Behind;
    for (size_t d = 0; d < all.size(); ++d) {
      int64_t extent = all[all.size() - 1 - d];
      int64_t size = d < own.size() ? own[own.size() - 1 - d] : 1;
      if (extent == 1)
        continue;
      if (size == 1) {
        if (state == Behind)
          result.div *= extent;
        else
          state = Before;
        continue;
      }
      if (state == Before)
        return std::nullopt;
      state = Has;
      result.mod *= extent;
    }
    return result;
  }
};

/// A product as the kernels see it.
struct Product {
  int64_t rows, columns, inner, batch = 1;
  /// The front of the result that is computed.
  struct {
    int64_t rows = 0, columns = 0, batch = 0;
  } front;
  int64_t lhsRow, lhsInner;
  int64_t rhsInner, rhsColumn, rhsPanel;
  int64_t biasRow = 0, biasColumn = 0, biasMatrix = 0;
  Batches lhs, rhs;

  static std::optional<Product> of(nn::MatMulOp op);
  static Product of(nn::MatMulOp op, Cut cut);
  void appendWords(GpuDispatch &dispatch) const;
};

bool isInPanels(Value rhs) { return !nn::layoutTag(rhs.getType()).empty(); }

std::optional<Product> Product::of(nn::MatMulOp op) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()),
                    out = shapeOf(op.getOutput());
  bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();
  Product p;
  p.rows = out[out.size() - 2];
  p.columns = out.back();
  p.inner = lhs[lhs.size() - (transposeLhs ? 2 : 1)];
  p.lhsRow = transposeLhs ? 1 : p.inner;
  p.lhsInner = transposeLhs ? p.rows : 1;
  if (isInPanels(op.getRhs())) {
    p.rhsInner = panel, p.rhsColumn = 1, p.rhsPanel = p.inner * panel;
  } else {
    p.rhsInner = transposeRhs ? 1 : p.columns;
    p.rhsColumn = transposeRhs ? p.inner : 1;
    p.rhsPanel = panel * p.rhsColumn;
  }
  ArrayRef<int64_t> batch = out.drop_back(2);
  p.batch = product_of(batch);
  if (op.getBias()) {
    ArrayRef<int64_t> bias = shapeOf(op.getBias());
    auto extent = [&](size_t fromEnd) {
      return fromEnd < bias.size() ? bias[bias.size() - 1 - fromEnd] : 1;
    };
    p.biasColumn = extent(0) > 1;
    p.biasRow = extent(1) > 1 ? extent(0) : 0;
    int64_t matrices = product_of(bias) / (extent(0) * extent(1));
    if (matrices != 1 && matrices != p.batch)
      return std::nullopt;
    p.biasMatrix = matrices > 1 ? extent(0) * extent(1) : 0;
  }
  // The batches of a left matrix are more rows, if nothing tells them apart.
  bool isRows = !transposeLhs && product_of(rhs.drop_back(2)) == 1 &&
                product_of(lhs.drop_back(2)) == p.batch &&
                (p.biasRow == 0 || p.biasMatrix > 0 || p.batch == 1) &&
                (p.biasMatrix == 0 || p.biasRow > 0);
  if (isRows) {
    p.rows *= p.batch;
    p.batch = 1;
    p.biasMatrix = 0;
    return p;
  }
  auto left = Batches::of(lhs.drop_back(2), batch),
       right = Batches::of(rhs.drop_back(2), batch);
  if (!left || !right)
    return std::nullopt;
  p.lhs = *left;
  p.rhs = *right;
  return p;
}

Product Product::of(nn::MatMulOp op, Cut cut) {
  Product p = *Product::of(op);
  p.front = {p.rows, p.columns, p.batch};
  if (isWholeCut(op, cut))
    return p;
  int64_t rank = shapeOf(op.getOutput()).size();
  if (cut.dim == rank - 1)
    p.front.columns = cut.at;
  else // It is the first rows of the only matrix, or the first matrices.
    (p.batch > 1 ? p.front.batch : p.front.rows) =
        (p.batch > 1 ? p.batch : p.rows) / cutExtent(op, cut.dim) * cut.at;
  return p;
}

/// The code that both kernels share for the words.
class MatMulEmitter : protected GpuEmitter {
public:
  enum Word : unsigned {
    Rows,    ///< of the result; zero: nothing to do
    Columns, ///< that a dispatch computes
    Inner,   ///< products of a sum
    // Elements from one to the next; matrix i of an operand is that of batch
    // i / Div % Mod.
    LhsRow,
    LhsInner,
    LhsDiv,
    LhsMod,
    LhsMatrix,
    RhsInner,
    RhsColumn, ///< in a panel
    RhsPanel,
    RhsDiv,
    RhsMod,
    RhsMatrix,
    BiasRow,
    BiasColumn,
    BiasMatrix,
    // The columns that a dispatch computes may be a part of the result's.
    ResultColumns,
    FirstColumn,
    Words
  };

  MatMulEmitter(GpuBuilder &k, nn::MatMulOp op, ValueRange memories)
      : GpuEmitter(k), output(memories[0]), lhs(memories[1]), rhs(memories[2]),
        batch(k.groupId(Dim::Z)),
        epilogue(k, Epilogue::of(op), Words, memories) {
    lhsStart = startOf(LhsDiv, LhsMod, LhsMatrix);
    rhsStart = startOf(RhsDiv, RhsMod, RhsMatrix);
  }

protected:
  /// The last one that there is, where `i` is none.
  Value clamp(Value i, unsigned count) {
    return k.minUnsigned(i, sub(word(count), 1));
  }
  /// Where the sums of a row of the left matrix begin.
  Value lhsPlace(Value row) { return add(lhsStart, mul(row, word(LhsRow))); }
  /// Where those of a column of the right one do.
  Value rhsPlace(Value column) {
    Value inPanel = rem(column, panel);
    Value place = add(mul(div(column, panel), word(RhsPanel)),
                      mul(inPanel, word(RhsColumn)));
    return add(rhsStart, place);
  }
  /// Stores an element that there is.
  void finish(Value row, Value columnOfPart, Value sum) {
    Value column = add(word(FirstColumn), columnOfPart);
    Value bias =
        add(add(mul(row, word(BiasRow)), mul(column, word(BiasColumn))),
            mul(batch, word(BiasMatrix)));
    Value place =
        add(mul(add(mul(batch, word(Rows)), row), word(ResultColumns)), column);
    sum = arith::AddFOp::create(k.b, sum, epilogue.start(bias));
    k.store(epilogue.finish(sum, place), output, place);
  }

  Value output, lhs, rhs;
  Value batch, lhsStart, rhsStart;

private:
  Value startOf(unsigned perMatrix, unsigned matrices, unsigned matrix) {
    Value i = div(batch, atLeastOne(perMatrix));
    i = rem(i, atLeastOne(matrices));
    return mul(i, word(matrix));
  }
  PushEpilogue epilogue;
};

/// 64 x 64 elements a group.
class Tile : MatMulEmitter {
public:
  static constexpr int64_t side = 64, invocations = 128, steps = 16;
  using MatMulEmitter::MatMulEmitter;
  void emit();

private:
  static constexpr int64_t quads = side / 4;
  static constexpr int64_t rows = 8; ///< of an invocation; columns: 4
  /// Vectors of a matrix that each invocation brings.
  static constexpr int64_t loads = quads * steps / invocations;
  /// Vectors from step to step in shared memory: neighbours use other banks.
  static constexpr int64_t stride = quads + 1;

  /// Four places of a matrix that an invocation brings: where they lie at the
  /// first step, and which of the group's steps they belong to.
  struct Four {
    Value step;
    std::array<Value, 4> place;
  };
  /// From `first` on; zeros behind the last step.
  Value bring(Value matrix, const Four &from, Value first, unsigned inner) {
    Value isThere = k.lessUnsigned(add(first, from.step), word(Inner));
    Value offset = select(isThere, mul(first, word(inner)), k.constant(0));
    Value vector = k.fconst(0, k.vec(4));
    for (int64_t i = 0; i < 4; ++i)
      vector = k.insert(k.load(matrix, add(from.place[i], offset)), vector, i);
    return select(isThere, vector, k.fconst(0, k.vec(4)));
  }
};

void Tile::emit() {
  VectorType four = k.vec(4);
  Value sharedLhs = k.shared(steps * stride, four),
        sharedRhs = k.shared(steps * stride, four);
  Value local = k.localId(Dim::X);
  Value firstColumn = mul(k.groupId(Dim::X), side),
        firstRow = mul(k.groupId(Dim::Y), side);
  // Neighbours bring elements that lie side by side: the steps of a row, or the
  // quads of a step.
  auto split = [&](unsigned innerStride, Value v) {
    Value isInner = k.compare(Order::eq, word(innerStride), k.constant(1));
    return std::pair(select(isInner, rem(v, steps), div(v, quads)),
                     select(isInner, div(v, steps), rem(v, quads)));
  };
  std::array<Four, loads> lhsFours, rhsFours;
  std::array<Value, loads> lhsShared, rhsShared; ///< where they are put
  for (int64_t i = 0; i < loads; ++i) {
    Value v = add(local, i * invocations);
    auto places = [&](Four &four, Value &shared, Value first, unsigned inner,
                      unsigned count, llvm::function_ref<Value(Value)> place) {
      auto [step, quad] = split(inner, v);
      four.step = step;
      // A step that is not there at all reads another one's, which is.
      Value readStep = clamp(step, Inner);
      for (int64_t j = 0; j < 4; ++j) {
        Value at = clamp(add(first, k.add(k.mul(quad, 4), j)), count);
        four.place[j] = add(place(at), mul(readStep, word(inner)));
      }
      shared = add(mul(step, stride), quad);
    };
    places(lhsFours[i], lhsShared[i], firstRow, LhsInner, Rows,
           [&](Value row) { return lhsPlace(row); });
    places(rhsFours[i], rhsShared[i], firstColumn, RhsInner, Columns,
           [&](Value column) { return rhsPlace(column); });
  }
  auto bringAll = [&](Value first) {
    Values brought;
    for (const Four &four : lhsFours)
      brought.push_back(bring(lhs, four, first, LhsInner));
    for (const Four &four : rhsFours)
      brought.push_back(bring(rhs, four, first, RhsInner));
    return brought;
  };
  Value column = rem(local, quads), row = div(local, quads);

  // Carried: the sums, and the vectors that have been brought.
  Values carried(rows, k.fconst(0, four));
  llvm::append_range(carried, bringAll(k.constant(0)));
  Values sums = k.loop(
      0, word(Inner), steps, carried, [&](Value first, ValueRange before) {
        ValueRange brought = before.drop_front(rows);
        k.barrier();
        for (int64_t i = 0; i < loads; ++i) {
          k.store(brought[i], sharedLhs, lhsShared[i]);
          k.store(brought[loads + i], sharedRhs, rhsShared[i]);
        }
        k.barrier();
        Values next = bringAll(add(first, steps));
        constexpr int64_t unrolled = 4;
        Values after = k.loop(
            0, steps, unrolled, Values(before.take_front(rows)),
            [&](Value step, ValueRange carried) {
              Values next(carried);
              for (int64_t s = 0; s < unrolled; ++s) {
                Value line = mul(add(step, s), stride);
                Value right = k.load(sharedRhs, k.add(line, column));
                for (int64_t half = 0; half < rows / 4; ++half) {
                  Value left =
                      k.load(sharedLhs,
                             k.add(line, k.add(k.mul(row, rows / 4), half)));
                  for (int64_t i = 0; i < 4; ++i) {
                    Value &sum = next[half * 4 + i];
                    sum = k.fma(k.broadcast(k.extract(left, i), 4), right, sum);
                  }
                }
              }
              return next;
            });
        llvm::append_range(after, next);
        return after;
      });
  sums.truncate(rows);
  // The epilogue's code is there once, for one element at a time.
  k.forEach(sums, [&](Value i, Value sum) {
    Value m = add(firstRow, add(k.mul(row, rows), i));
    Values elements;
    for (int64_t j = 0; j < 4; ++j)
      elements.push_back(k.extract(sum, j));
    k.ifThen(k.lessUnsigned(m, word(Rows)), [&] {
      k.forEach(elements, [&](Value j, Value x) {
        Value n = add(firstColumn, add(k.mul(column, 4), j));
        k.ifThen(k.lessUnsigned(n, word(Columns)), [&] { finish(m, n, x); });
      });
    });
  });
}

/// 16 columns of a row a group; each invocation `width` of them, four where the
/// right matrix is vectors of a panel.
class Row : MatMulEmitter {
public:
  static constexpr int64_t invocations = 128;
  static int64_t width(bool hasPanels) { return hasPanels ? 4 : 1; }
  /// Invocations that share a sum.
  static int64_t slices(bool hasPanels) {
    return invocations * width(hasPanels) / panel;
  }
  Row(GpuBuilder &k, nn::MatMulOp op, ValueRange memories, bool hasPanels)
      : MatMulEmitter(k, op, memories), hasPanels(hasPanels) {}
  void emit();

private:
  /// The sum with the product of a step.
  Value product(Value sum, Value lhsRow, Value rhsColumn, Value step) {
    // Behind the last step that one is read again, and not added.
    Value isThere = k.lessUnsigned(step, word(Inner));
    Value at = clamp(step, Inner);
    Value x = k.load(lhs, add(lhsRow, mul(at, word(LhsInner))));
    Value place = add(rhsColumn, mul(at, word(RhsInner)));
    if (!hasPanels)
      return select(isThere, k.fma(x, k.load(rhs, place), sum), sum);
    Value y = k.load(rhs, div(place, 4));
    return select(isThere, k.fma(k.broadcast(x, 4), y, sum), sum);
  }

  const bool hasPanels;
};

void Row::emit() {
  const int64_t width = Row::width(hasPanels), lanes = panel / width,
                slices = Row::slices(hasPanels);
  constexpr int64_t unrolled = 4; ///< steps whose loads are under way at once
  Type type = hasPanels ? Type(k.vec(4)) : Type(k.b.getF32Type());
  SharedTree tree(k, invocations, lanes, type);
  Value local = k.localId(Dim::X);
  Value slice = div(local, lanes);
  Value row = k.groupId(Dim::Y);
  Value column =
      add(mul(k.groupId(Dim::X), panel), mul(rem(local, lanes), width));
  Value lhsRow = lhsPlace(row);
  Value rhsColumn = rhsPlace(hasPanels ? column : clamp(column, Columns));
  Values sums = k.loop(slice, word(Inner), slices * unrolled,
                       Values(unrolled, k.fconst(0, type)),
                       [&](Value step, ValueRange before) {
                         Values after;
                         for (int64_t i = 0; i < unrolled; ++i)
                           after.push_back(product(before[i], lhsRow, rhsColumn,
                                                   add(step, i * slices)));
                         return after;
                       });
  auto plus = [&](Value x, Value y) {
    return Value(arith::AddFOp::create(k.b, x, y));
  };
  Value total = tree.fold(
      local, {plus(plus(sums[0], sums[1]), plus(sums[2], sums[3]))},
      [&](ValueRange x, ValueRange y) { return Values{plus(x[0], y[0])}; })[0];
  Value isTotal = both(k.lessUnsigned(local, k.constant(lanes)),
                       k.lessUnsigned(row, word(Rows)));
  k.ifThen(isTotal, [&] {
    Values elements = {total};
    if (hasPanels) {
      elements.clear();
      for (int64_t i = 0; i < width; ++i)
        elements.push_back(k.extract(total, i));
    }
    k.forEach(elements, [&](Value i, Value x) {
      Value at = add(column, i);
      k.ifThen(k.lessUnsigned(at, word(Columns)), [&] { finish(row, at, x); });
    });
  });
}

void Product::appendWords(GpuDispatch &dispatch) const {
  dispatch.append({front.rows, columns, inner, lhsRow, lhsInner, lhs.div,
                   lhs.mod, lhs.mod > 1 ? rows * inner : 0, rhsInner, rhsColumn,
                   rhsPanel, rhs.div, rhs.mod,
                   rhs.mod > 1 ? columns * inner : 0, biasRow, biasColumn,
                   biasMatrix, columns, 0});
  assert(dispatch.push.size() == MatMulEmitter::Words);
}

class MatMulRoutine : public SumRoutine {
public:
  MatMulRoutine(bool isTile, bool hasPanels)
      : SumRoutine(
            Twine(hasPanels ? "gpu.matmul.panels." : "gpu.matmul.dense.") +
                (isTile ? "64x64" : "1x16"),
            (isTile ? Twine()
                    : Twine(hasPanels ? "few rows; " : "few rows, ")) +
                (hasPanels
                     ? "the right matrix is a constant, in panels of 16 columns"
                 : isTile ? "any other matrices, through shared memory"
                          : "any other matrices")),
        isTile(isTile), hasPanels(hasPanels),
        kernel(isTile ? "gpu.matmul.64x64" : name()) {}

  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = Routine::layouts(layer);
    if (hasPanels)
      request.operands[1] =
          cast<nn::MatMulOp>(layer).getTransposeRhs() ? "Ab16a" : "Ba16b";
    return request;
  }
  std::string misfit(Operation *layer) const override;
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    ArrayRef<int64_t> shape = shapeOf(layer->getResult(0));
    if (dim + 1 == shape.size())
      return panel;
    return product_of(shape.take_front(dim)) == 1 ? 1 : 0;
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override {
    auto op = cast<nn::MatMulOp>(layer);
    // Result, both matrices, bias, residual.
    SmallVector<Type> operands(5, k.b.getF32Type());
    if (!isTile && hasPanels)
      operands[2] = k.vec(4);
    int64_t invocations = isTile ? Tile::invocations : Row::invocations;
    k.kernel(operands, MatMulEmitter::Words + PushEpilogue::Words,
             {int32_t(invocations), 1, 1}, [&](ValueRange memories) {
               if (isTile)
                 Tile(k, op, memories).emit();
               else
                 Row(k, op, memories, hasPanels).emit();
             });
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override;

private:
  /// Columns of a dispatch: as many panels as a binding can be. Parts begin
  /// where memory of GPUs can be bound, of halves as well.
  int64_t columnsAtOnce(const Product &p) const {
    constexpr int64_t panels = 8; ///< 256 bytes whatever the steps
    int64_t bytes = p.inner * panel * panels * 4;
    int64_t most = GpuTarget::maxBufferBytes / bytes * panels * panel;
    return hasPanels && most < p.columns ? most : p.columns;
  }
  /// A grid that computes `columns` of the result, from `first` on.
  GpuDispatch dispatch(const Product &p, int64_t first, int64_t columns) const {
    TileMap result = TileMap::grid(
        {{p.batch, p.rows * p.columns}, {p.rows, p.columns}, {p.columns, 1}});
    TileMap::Box &box = result.parts[0].box;
    box.lo[2] = first;
    box.hi = {p.front.batch, p.front.rows, first + columns};
    return GpuDispatch::over(std::move(result), {isTile ? Tile::side : panel,
                                                 isTile ? Tile::side : 1, 1});
  }

  const bool isTile, hasPanels;
  const std::string kernel;
};

std::string MatMulRoutine::misfit(Operation *layer) const {
  constexpr int64_t mostRows = 16; ///< that read the right matrix again
  auto op = dyn_cast<nn::MatMulOp>(layer);
  if (!op || !isNonEmptyF32(op))
    return "it is no product of matrices of f32";
  ArrayRef<int64_t> rhs = shapeOf(op.getRhs());
  if (hasPanels &&
      (rhs.size() != 2 || !op.getRhs().getDefiningOp<nn::ConstantOp>()))
    return "its right matrix is no constant";
  std::optional<Product> p = Product::of(op);
  if (!p)
    return "its operands broadcast in parts of the batch";
  if (!isTile && p->rows > mostRows)
    return "it has many rows";
  // Panels are bound in parts.
  SmallVector<Value> whole = {op.getLhs(), op.getOutput()};
  if (!hasPanels)
    whole.push_back(op.getRhs());
  for (Value v : whole)
    if (elementsOf(v) * 4 > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
  if (columnsAtOnce(*p) == 0 || elementsOf(op.getRhs()) > INT32_MAX)
    return GpuTarget::tooLarge;
  Product all = Product::of(op, wholeCut(op));
  for (int64_t count : dispatch(all, 0, all.columns).groups)
    if (count > GpuTarget::maxGroups)
      return GpuTarget::tooManyGroups;
  return "";
}

GpuSteps MatMulRoutine::stepsOf(Operation *layer, Cut cut) const {
  auto op = cast<nn::MatMulOp>(layer);
  Product p = Product::of(op, cut);
  int64_t inner =
      divideCeil(p.inner, isTile ? Tile::steps : Row::slices(hasPanels));
  int64_t atOnce = columnsAtOnce(p);
  GpuSteps all;
  for (int64_t first = 0; first < p.front.columns; first += atOnce) {
    int64_t columns = std::min(atOnce, p.front.columns - first);
    GpuDispatch part = dispatch(p, first, columns);
    p.appendWords(part);
    part.push[MatMulEmitter::Columns] = uint32_t(columns);
    part.push[MatMulEmitter::FirstColumn] = uint32_t(first);
    GpuSteps one = oneSum(layer, cut, kernel, std::move(part), double(inner));
    all.kernels = one.kernels;
    for (GpuStep &step : one.steps) {
      if (atOnce < p.columns)
        for (GpuStepOperand &operand : step.operands)
          // The panels, which also stand for a missing bias or residual.
          if (operand.kind == GpuStepOperand::Kind::Operand &&
              operand.index == 1) {
            operand.offset = first * p.inner * 4;
            operand.size =
                int64_t(divideCeil(columns, panel)) * panel * p.inner * 4;
          }
      step.grid.barriers = isTile ? unsigned(2 * inner) : 1;
      double share = double(columns) / double(p.front.columns);
      step.grid.bytes *= share;
      step.grid.multiplyAdds *= share;
      all.steps.push_back(step);
    }
  }
  return all;
}

} // namespace

const Routine *gpuMatMulRowRoutine(RightMatrix right) {
  static const MatMulRoutine routines[] = {
      {/*isTile=*/false, /*hasPanels=*/false},
      {/*isTile=*/false, /*hasPanels=*/true}};
  return &routines[unsigned(right)];
}

const Routine *gpuMatMulTileRoutine(RightMatrix right) {
  static const MatMulRoutine routines[] = {
      {/*isTile=*/true, /*hasPanels=*/false},
      {/*isTile=*/true, /*hasPanels=*/true}};
  return &routines[unsigned(right)];
}

} // namespace nnv12::codegen
