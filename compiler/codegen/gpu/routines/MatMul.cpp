//===- MatMul.cpp - Matrix products on a GPU ------------------------------===//
//
// Push words say where elements lie, so that one module serves transposed and
// batched matrices, dense ones and such in panels of 16 columns.
//
// tile: a work group computes 64 x 64 elements, an invocation eight rows of
// four columns. All together bring 16 steps of the sums to shared memory at a
// time.
//
// row: a work group computes 16 columns of a row, whose sums eight invocations
// share: for few rows, where reading the right matrix is all there is to do.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include "dialects/nn/Layout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <optional>

using namespace mlir;
using llvm::divideCeil;
using llvm::product_of;

namespace nnv12::codegen {
namespace {

constexpr int64_t panel = 16; ///< columns

enum Word : unsigned {
  Rows, ///< of the result; zero: nothing to do
  Columns,
  Inner, ///< products of a sum
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
  ProductWords
};

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
  int64_t lhsRow, lhsInner;
  int64_t rhsInner, rhsColumn, rhsPanel;
  int64_t biasRow = 0, biasColumn = 0, biasMatrix = 0;
  Batches lhs, rhs;

  static std::optional<Product> of(nn::MatMulOp op);
  std::vector<uint32_t> words() const;
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

std::vector<uint32_t> Product::words() const {
  std::vector<uint32_t> result;
  for (int64_t word :
       {rows, columns, inner, lhsRow, lhsInner, lhs.div, lhs.mod,
        lhs.mod > 1 ? rows * inner : 0, rhsInner, rhsColumn, rhsPanel, rhs.div,
        rhs.mod, rhs.mod > 1 ? columns * inner : 0, biasRow, biasColumn,
        biasMatrix})
    result.push_back(uint32_t(word));
  assert(result.size() == ProductWords);
  return result;
}

/// What both kernels do with the words.
class Emitter {
public:
  Emitter(GpuBuilder &k, nn::MatMulOp op, ValueRange memories)
      : k(k), output(memories[0]), lhs(memories[1]), rhs(memories[2]),
        epilogue(k, Epilogue::of(op), ProductWords, memories[3], memories[4]) {
    Value z = k.groupId(GpuBuilder::Dim::Z);
    batch = z;
    lhsStart = startOf(z, LhsDiv, LhsMod, LhsMatrix);
    rhsStart = startOf(z, RhsDiv, RhsMod, RhsMatrix);
  }

protected:
  Value word(unsigned w) { return k.pushWord(w); }
  Value add(Index x, Index y) { return k.val(k.add(x, y)); }
  Value mul(Index x, Index y) { return k.val(k.mul(x, y)); }
  /// The last one that there is, where `i` is none.
  Value clamp(Value i, unsigned count) {
    return k.minUnsigned(i, k.val(k.sub(word(count), 1)));
  }
  Value loadLhs(Value row, Value step) {
    return k.load(lhs, add(add(lhsStart, mul(row, word(LhsRow))),
                           mul(step, word(LhsInner))));
  }
  Value loadRhs(Value step, Value column) {
    Index inPanel = k.rem(Index(column), panel);
    Value place = add(mul(k.div(Index(column), panel), word(RhsPanel)),
                      mul(inPanel, word(RhsColumn)));
    return k.load(rhs, add(add(rhsStart, place), mul(step, word(RhsInner))));
  }
  /// Stores an element that there is.
  void finish(Value row, Value column, Value sum) {
    Value bias =
        add(add(mul(row, word(BiasRow)), mul(column, word(BiasColumn))),
            mul(batch, word(BiasMatrix)));
    Value place =
        add(mul(add(mul(batch, word(Rows)), row), word(Columns)), column);
    sum = arith::AddFOp::create(k.b, sum, epilogue.start(bias));
    k.store(epilogue.finish(sum, place), output, place);
  }

  GpuBuilder &k;
  Value output, lhs, rhs;
  Value batch, lhsStart, rhsStart;

private:
  Value startOf(Value z, unsigned div, unsigned mod, unsigned matrix) {
    // With all words zero nothing may divide by one of them.
    auto atLeastOne = [&](unsigned w) {
      return Value(arith::MaxUIOp::create(k.b, word(w), k.constant(1)));
    };
    Value i = arith::DivUIOp::create(k.b, z, atLeastOne(div));
    i = arith::RemUIOp::create(k.b, i, atLeastOne(mod));
    return mul(i, word(matrix));
  }
  PushEpilogue epilogue;
};

/// 64 x 64 elements a group.
class Tile : Emitter {
public:
  static constexpr int64_t side = 64, invocations = 128, steps = 16;
  using Emitter::Emitter;
  void emit();

private:
  static constexpr int64_t quads = side / 4;
  static constexpr int64_t rows = 8; ///< of an invocation; columns: 4
  /// Vectors of a matrix that each invocation brings.
  static constexpr int64_t loads = quads * steps / invocations;
  /// Vectors from step to step in shared memory: neighbours use other banks.
  static constexpr int64_t stride = quads + 1;

  /// The four values that are brought to place i of a matrix, zero behind the
  /// last step.
  Value bring(Value step, llvm::function_ref<Value(int64_t i)> load);
};

Value Tile::bring(Value step, llvm::function_ref<Value(int64_t)> load) {
  Value isThere = k.lessUnsigned(step, word(Inner));
  Value zero = k.fconst(0, k.b.getF32Type());
  Value vector = k.fconst(0, k.vec(4));
  for (int64_t i = 0; i < 4; ++i)
    vector = k.insert(arith::SelectOp::create(k.b, isThere, load(i), zero),
                      vector, i);
  return vector;
}

void Tile::emit() {
  using Dim = GpuBuilder::Dim;
  VectorType four = k.vec(4);
  Value sharedLhs = k.shared(steps * stride, four),
        sharedRhs = k.shared(steps * stride, four);
  Value local = k.localId(Dim::X);
  Value firstColumn = mul(k.groupId(Dim::X), side),
        firstRow = mul(k.groupId(Dim::Y), side);
  // Neighbours bring what lies side by side: the steps of a row, or the quads
  // of a step.
  auto split = [&](unsigned innerStride, Value v) {
    Value isInner = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq,
                                          word(innerStride), k.constant(1));
    auto choose = [&](Index x, Index y) {
      return Value(arith::SelectOp::create(k.b, isInner, k.val(x), k.val(y)));
    };
    Index i = v;
    return std::pair(choose(k.rem(i, steps), k.div(i, quads)),
                     choose(k.div(i, steps), k.rem(i, quads)));
  };
  SmallVector<std::pair<Value, Value>> lhsPlaces, rhsPlaces;
  for (int64_t i = 0; i < loads; ++i) {
    Value v = add(local, i * invocations);
    lhsPlaces.push_back(split(LhsInner, v));
    rhsPlaces.push_back(split(RhsInner, v));
  }
  Value column = k.val(k.rem(Index(local), quads)),
        row = k.val(k.div(Index(local), quads));

  Values sums = k.loop(
      0, word(Inner), steps, Values(rows, k.fconst(0, four)),
      [&](Value first, ValueRange before) {
        Values brought;
        for (auto [step, quad] : lhsPlaces) {
          Value at = add(first, step), m = add(firstRow, mul(quad, 4));
          brought.push_back(bring(at, [&](int64_t i) {
            return loadLhs(clamp(add(m, i), Rows), clamp(at, Inner));
          }));
        }
        for (auto [step, quad] : rhsPlaces) {
          Value at = add(first, step), n = add(firstColumn, mul(quad, 4));
          brought.push_back(bring(at, [&](int64_t i) {
            return loadRhs(clamp(at, Inner), clamp(add(n, i), Columns));
          }));
        }
        k.barrier();
        for (int64_t i = 0; i < loads; ++i) {
          auto [lhsStep, lhsQuad] = lhsPlaces[i];
          auto [rhsStep, rhsQuad] = rhsPlaces[i];
          k.store(brought[i], sharedLhs, add(mul(lhsStep, stride), lhsQuad));
          k.store(brought[loads + i], sharedRhs,
                  add(mul(rhsStep, stride), rhsQuad));
        }
        k.barrier();
        constexpr int64_t unrolled = 4;
        return k.loop(
            0, steps, unrolled, Values(before),
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
      });
  for (int64_t i = 0; i < rows; ++i) {
    Value m = add(firstRow, k.add(k.mul(row, rows), i));
    k.ifThen(k.lessUnsigned(m, word(Rows)), [&] {
      for (int64_t j = 0; j < 4; ++j) {
        Value n = add(firstColumn, k.add(k.mul(column, 4), j));
        k.ifThen(k.lessUnsigned(n, word(Columns)),
                 [&] { finish(m, n, k.extract(sums[i], j)); });
      }
    });
  }
}

/// 16 columns of a row a group.
class Row : Emitter {
public:
  static constexpr int64_t invocations = 128, slices = invocations / panel;
  using Emitter::Emitter;
  void emit();
};

void Row::emit() {
  using Dim = GpuBuilder::Dim;
  Type f32 = k.b.getF32Type();
  Value shared = k.shared(invocations, f32);
  Value local = k.localId(Dim::X);
  Index lane = k.rem(Index(local), panel);
  Value slice = k.val(k.div(Index(local), panel));
  Value row = k.groupId(Dim::Y);
  Value column = add(k.mul(k.groupId(Dim::X), panel), lane);
  Value readColumn = clamp(column, Columns);
  Value sum =
      k.loop(slice, word(Inner), slices, Values{k.fconst(0, f32)},
             [&](Value step, ValueRange before) {
               return Values{k.fma(loadLhs(row, step),
                                   loadRhs(step, readColumn), before[0])};
             })[0];
  k.store(sum, shared, local);
  k.barrier();
  Value isFirst = k.lessUnsigned(local, k.constant(panel));
  Value isThere =
      arith::AndIOp::create(k.b, k.lessUnsigned(column, word(Columns)),
                            k.lessUnsigned(row, word(Rows)));
  k.ifThen(arith::AndIOp::create(k.b, isFirst, isThere), [&] {
    Value total = sum;
    for (int64_t i = 1; i < slices; ++i)
      total = arith::AddFOp::create(k.b, total,
                                    k.load(shared, k.add(local, i * panel)));
    finish(row, column, total);
  });
}

class MatMulRoutine : public GpuRoutine {
public:
  MatMulRoutine(bool isTile, bool hasPanels)
      : isTile(isTile), hasPanels(hasPanels),
        kernel(isTile ? "gpu.matmul.64x64" : "gpu.matmul.1x16"),
        name_(std::string(hasPanels ? "gpu.matmul.panels."
                                    : "gpu.matmul.dense.") +
              (isTile ? "64x64" : "1x16")) {}

  llvm::StringRef name() const override { return name_; }
  llvm::StringRef summary() const override {
    if (hasPanels)
      return isTile
                 ? "the right matrix is a constant, in panels of 16 columns"
                 : "few rows; the right matrix is a constant, in panels of 16 "
                   "columns";
    return isTile ? "any other matrices, through shared memory"
                  : "few rows, any other matrices";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = denseLayouts(layer);
    if (hasPanels)
      request.operands[1] =
          cast<nn::MatMulOp>(layer).getTransposeRhs() ? "Ab16a" : "Ba16b";
    return request;
  }
  Work work(Operation *layer) const override {
    return {definedMultiplyAdds(layer), bytesOf(layer)};
  }
  std::string refusal(Operation *layer, const GpuTarget &target) const override;
  GpuSteps steps(Operation *layer) const override;
  void emit(GpuBuilder &k, Operation *layer, unsigned,
            llvm::StringRef symbol) const override {
    auto op = cast<nn::MatMulOp>(layer);
    SmallVector<GpuBuilder::Operand> operands(5, {k.b.getF32Type()});
    operands.front().isWritten = true;
    int64_t invocations = isTile ? Tile::invocations : Row::invocations;
    k.kernel(symbol, operands, ProductWords + PushEpilogue::Words,
             {int32_t(invocations), 1, 1}, [&](ValueRange memories) {
               if (isTile)
                 Tile(k, op, memories).emit();
               else
                 Row(k, op, memories).emit();
             });
  }

private:
  std::array<int64_t, 3> groups(const Product &p) const {
    return {int64_t(divideCeil(p.columns, isTile ? Tile::side : panel)),
            int64_t(divideCeil(p.rows, isTile ? Tile::side : 1)), p.batch};
  }

  const bool isTile, hasPanels;
  const std::string kernel, name_;
};

std::string MatMulRoutine::refusal(Operation *layer,
                                   const GpuTarget &target) const {
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
  for (Value v : {op.getLhs(), op.getRhs(), op.getOutput()})
    if ((elementsOf(v) + panel * p->inner) * 4 > GpuTarget::maxBufferBytes)
      return "a tensor is larger than the buffers of every device (128 MiB)";
  for (int64_t count : groups(*p))
    if (count > GpuTarget::maxGroups)
      return "it has more work groups than every device takes";
  return refusalOfKernels(layer, target);
}

GpuSteps MatMulRoutine::steps(Operation *layer) const {
  auto op = cast<nn::MatMulOp>(layer);
  Product p = *Product::of(op);
  Epilogue epilogue = Epilogue::of(op);
  GpuDispatch dispatch;
  llvm::copy(groups(p), dispatch.groups.begin());
  dispatch.push = p.words();
  PushEpilogue::append(dispatch.push, epilogue);
  int64_t inner = divideCeil(p.inner, isTile ? Tile::steps : Row::slices);
  GpuSteps steps = oneStep(layer, kernel + PushEpilogue::suffix(epilogue),
                           std::move(dispatch), double(inner));
  for (GpuStep &step : steps.steps) {
    step.operands.resize(3); // result, both matrices
    PushEpilogue::append(step.operands, epilogue);
    step.grid.barriers = isTile ? unsigned(2 * inner) : 1;
  }
  return steps;
}

} // namespace

const Routine *gpuMatMulRoutine(bool isTile, bool hasPanels) {
  static const MatMulRoutine routines[2][2] = {{{false, false}, {false, true}},
                                               {{true, false}, {true, true}}};
  return &routines[isTile][hasPanels];
}

} // namespace nnv12::codegen
