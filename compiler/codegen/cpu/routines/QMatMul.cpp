//===- QMatMul.cpp - Matrix products of 8-bit integers --------------------===//
//
// qmatmul.panels: the right matrix is a constant, stored as panels of quads
// [N/16][K/16][4][16 n][4 k]; the left one's batches are more rows. Matrices
// in memory are dense and row-major.
//
//   for tile = (row block, chunk of panels)
//     for panel group, row group: micro-kernel over K
//
// On CPUs with AMX its micro-kernel is that of MatrixKernel.h.
//
// qmatmul.packing: any other right matrix.
//
//   for tile = (batch, chunk of panels)
//     pack the chunk's columns to scratch, as such panels
//     for panel group, row group: micro-kernel over K
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DotProduct.h"
#include "compiler/codegen/cpu/MatrixUnit.h"
#include "compiler/codegen/cpu/routines/Matrices.h"
#include "compiler/codegen/cpu/routines/MatrixKernel.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

struct QMatMulShape {
  int64_t m, n, k;   ///< rows, of all batches where these share a right matrix
  bool smallWeights; ///< see PanelShape
  SmallVector<int64_t> batch, lhsBatch, rhsBatch;

  explicit QMatMulShape(nn::QMatMulOp op) : smallWeights(op.getSmallWeights()) {
    ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()),
                      out = shapeOf(op.getOutput());
    k = lhs.back();
    m = out[out.size() - 2];
    n = out.back();
    if (llvm::product_of(rhs.drop_back(2)) == 1) {
      m = llvm::product_of(out.drop_back());
      return;
    }
    batch.assign(out.begin(), out.end() - 2);
    lhsBatch.assign(lhs.begin(), lhs.end() - 2);
    rhsBatch.assign(rhs.begin(), rhs.end() - 2);
  }
  int64_t panels() const { return divideCeil(n, panelWidth); }
  /// Bytes of a panel.
  int64_t panelSize() const { return llvm::alignTo(k, 16) * panelWidth; }

  /// The matrix unit takes rows as they lie in memory, in whole blocks.
  bool suitsMatrixUnit() const {
    return codegen::suitsMatrixUnit(m, k, n) && k % MatrixUnit::mostBytes == 0;
  }

  /// With a tile that suits all of it.
  PanelGrid grid() const {
    PanelGrid grid;
    grid.batches = llvm::product_of(batch);
    grid.rows = m;
    grid.panels = panels();
    grid.panelWeights = panelSize();
    grid.sharesWeights = batch.empty();
    grid.quads = true;
    grid.smallWeights = smallWeights;
    grid.lastLanes = n - (grid.panels - 1) * panelWidth;
    return grid;
  }
  PanelGrid::Costs costs() const {
    PanelGrid::Costs costs;
    costs.weightBytes = panels() * panelSize();
    costs.inputRowBytes = k;
    costs.multiplyAdds =
        double(llvm::product_of(batch)) * double(m) * double(costs.weightBytes);
    return costs;
  }
  PanelShape shape(const QuantizedEnd &end) const {
    PanelShape shape;
    shape.quantized = end;
    shape.smallWeights = smallWeights;
    shape.inRow = k;
    shape.inChannel = 4;
    shape.channelBlock = 4;
    shape.channelTail = divideCeil(k % 16, int64_t(4));
    shape.lastQuad = k % 4 ? k % 4 : 4;
    shape.weightChannel = 4 * panelWidth;
    shape.outRow = n;
    shape.blockedResult = false;
    return shape;
  }
  PanelCall call() const {
    PanelCall call;
    call.blocks = k / 16;
    call.inBlock = 16;
    call.outPanel = panelWidth;
    call.weightPanel = panelSize();
    return call;
  }
};

/// Why no routine of this file computes the layer; empty where one does.
std::string misfitOfMatrices(Operation *layer) {
  auto op = dyn_cast<nn::QMatMulOp>(layer);
  if (!op)
    return "it is no product of matrices of 8-bit integers";
  auto isUnsigned = [](Value v) {
    return getElementTypeOrSelf(v).isUnsignedInteger();
  };
  if (!isUnsigned(op.getLhs()) || isUnsigned(op.getRhs()))
    return "its left matrix is not unsigned, or its right one is not signed";
  return elementsOf(op.getLhs()) == 0 || elementsOf(op.getOutput()) == 0
             ? "a tensor of it is empty"
             : "";
}

class QMatMulPanels : public PanelRoutine {
public:
  explicit QMatMulPanels(const PanelTuning &tuning)
      : PanelRoutine("qmatmul.panels",
                     "8-bit integers; the right matrix is a constant, in "
                     "panels of 16 columns",
                     tuning) {}
  std::string misfit(Operation *layer) const override;
  Extension extension(Operation *layer) const override {
    QMatMulShape s(cast<nn::QMatMulOp>(layer));
    return s.suitsMatrixUnit() ? Extension::MatrixProducts
                               : Extension::DotProducts;
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = Routine::layouts(layer);
    request.operands[1] = cast<nn::QMatMulOp>(layer).getTransposeRhs()
                              ? "AB4b16a4b"
                              : "BA4a16b4a";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
};

} // namespace

std::string QMatMulPanels::misfit(Operation *layer) const {
  if (std::string misfit = misfitOfMatrices(layer); !misfit.empty())
    return misfit;
  auto op = cast<nn::QMatMulOp>(layer);
  if (shapeOf(op.getRhs()).size() != 2 ||
      !op.getRhs().getDefiningOp<nn::ConstantOp>())
    return "its right matrix is no constant";
  return tuning.fits(QMatMulShape(op).panels())
             ? ""
             : "it has too few columns for the tile";
}

/// Rows [row, row + rows) of `columns` bytes, in scratch, apart by 64 more.
static constexpr int64_t rowGap = 64;
static void copyByteRows(KernelBuilder &k, Value in, Index row, Index rows,
                         int64_t columns, Value scratch) {
  int64_t lanes = 4 * k.VL;
  assert(columns % lanes == 0 && "a row is whole vectors");
  k.loop(0, rows, 1, [&](Value i) {
    Index from = k.mul(k.add(row, i), columns), to = k.mul(i, columns + rowGap);
    k.loop(0, columns, lanes, [&](Value c) {
      k.store(k.load(in, k.add(from, c), lanes), scratch, k.add(to, c));
    });
  });
}

KernelInfo QMatMulPanels::emit(KernelBuilder &k, Operation *layer,
                               StringRef symbol) const {
  auto op = cast<nn::QMatMulOp>(layer);
  QMatMulShape s(op);
  QuantizedEnd end = QuantizedEnd::of(op);

  PanelGrid grid = s.grid();
  grid.hasMatrixUnit = MatrixUnit::isIn(k.target);
  grid.plan(k.target, s.costs(), tuning);
  PanelShape shape = s.shape(end);
  if (grid.hasMatrixUnit)
    MatrixRow(s.k).describe(shape);
  // Rows a multiple of 4 KiB apart fall into one set of the first cache.
  bool copies = s.k % 4096 == 0 && s.m >= 8 && s.n >= 64;
  if (copies)
    shape.inRow = s.k + rowGap;
  auto tile = [&](PanelBlock b, Value scratch) {
    b.at = s.call();
    if (grid.hasMatrixUnit)
      MatrixRow(s.k).describe(b.at);
    b.at.in = k.mul(b.row, s.k);
    if (copies) {
      k.ifThen(b.isNew, [&] {
        copyByteRows(k, b.memory.in, b.row, b.rows, s.k, scratch);
      });
      b.memory.in = scratch;
      b.at.in = 0;
    }
    b.at.out = k.mul(b.row, s.n);
    b.at.terms = b.row;
    emitPanelBlock(k, shape, grid, b);
  };
  KernelInfo info =
      emitPanelTiles(k, layer, symbol, grid, end,
                     copies ? grid.rowBlock * shape.inRow : 0, tile);
  info.maps = {grid.denseMap(s.n)};
  return info;
}

namespace {

/// Copies columns of a dense row-major matrix of bytes into panels of quads
/// [column / 16][row / 16][4][16][4] at the beginning of scratch; rows and
/// columns that do not exist become zero.
struct QuadPack {
  KernelBuilder &k;
  int64_t rows, columns;
  bool isTransposed; ///< memory holds the matrix with columns outermost

  int64_t panelSize() const { return llvm::alignTo(rows, 16) * panelWidth; }
  /// Panels [first, first + count).
  void emit(Value in, Index inOffset, Value scratch, Index firstPanel,
            Index count) const;

private:
  void panel(Value in, Index from, Value scratch, Index to,
             int64_t present) const;
  void transposedPanel(Value in, Index from, Value scratch, Index to,
                       int64_t present) const;
};

} // namespace

void QuadPack::panel(Value in, Index from, Value scratch, Index to,
                     int64_t present) const {
  auto quad = [&](Index row, int64_t count) {
    Values lines;
    for (int64_t i = 0; i < 4; ++i)
      lines.push_back(k.loadPart(in, k.add(from, k.mul(k.add(row, i), columns)),
                                 panelWidth, i < count ? present : 0));
    k.store(interleavedQuads(k, lines), scratch,
            k.add(to, k.mul(row, panelWidth)));
  };
  int64_t whole = rows / 4 * 4;
  k.loop(0, whole, 4, [&](Value row) { quad(row, 4); });
  for (int64_t row = whole; row < int64_t(llvm::alignTo(rows, 16)); row += 4)
    quad(row, std::max<int64_t>(rows - row, 0));
}

void QuadPack::transposedPanel(Value in, Index from, Value scratch, Index to,
                               int64_t present) const {
  Type i32 = k.b.getI32Type();
  VectorType quads = k.vec(k.VL, i32), bytes = k.vec(4 * k.VL, k.b.getI8Type());
  Value none = k.iconst(0, quads);
  int64_t step = 4 * k.VL, whole = rows / step * step;
  auto store = [&](Value x, Index row, int64_t first) {
    k.store(vector::BitCastOp::create(k.b, bytes, x), scratch,
            k.add(k.add(to, k.mul(row, panelWidth)), first * 4));
  };
  for (int64_t first = 0; first < panelWidth; first += k.VL) {
    k.loop(0, whole, step, [&](Value row) {
      Values lines;
      for (int64_t l = 0; l < k.VL; ++l) {
        Index at = k.add(k.add(from, (first + l) * rows), row);
        lines.push_back(
            first + l < present
                ? vector::BitCastOp::create(k.b, quads, k.load(in, at, step))
                : none);
      }
      lines = transpose(k, lines);
      for (int64_t i = 0; i < k.VL; ++i)
        store(lines[i], k.add(row, 4 * i), first);
    });
    // The rest, a quad of each column at a time.
    for (int64_t row = whole; row < int64_t(llvm::alignTo(rows, 16));
         row += 4) {
      Value line = none;
      int64_t count = std::clamp<int64_t>(rows - row, 0, 4);
      for (int64_t l = 0; count && l < k.VL && first + l < present; ++l) {
        Value quad =
            k.loadPart(in, k.add(from, (first + l) * rows + row), 4, count);
        quad = vector::BitCastOp::create(k.b, k.vec(1, i32), quad);
        line = k.insert(k.extract(quad, 0), line, l);
      }
      store(line, row, first);
    }
  }
}

void QuadPack::emit(Value in, Index inOffset, Value scratch, Index firstPanel,
                    Index count) const {
  int64_t whole = columns / panelWidth, rest = columns % panelWidth;
  auto pack = [&](Index index, int64_t present) {
    Index to = k.mul(k.sub(index, firstPanel), panelSize());
    Index from = k.add(
        inOffset, k.mul(index, isTransposed ? panelWidth * rows : panelWidth));
    if (isTransposed)
      transposedPanel(in, from, scratch, to, present);
    else
      panel(in, from, scratch, to, present);
  };
  Index last = k.add(firstPanel, count);
  if (whole)
    k.loop(firstPanel, k.min(last, whole), 1,
           [&](Value index) { pack(index, panelWidth); });
  if (rest)
    k.ifThen(k.less(whole, last), [&] { pack(whole, rest); });
}

namespace {

class QMatMulPacking : public PanelRoutine {
public:
  QMatMulPacking()
      : PanelRoutine("qmatmul.packing",
                     "8-bit integers; any right matrix, packed to scratch by "
                     "each tile") {}
  std::string misfit(Operation *layer) const override {
    return misfitOfMatrices(layer);
  }
  Extension extension(Operation *) const override {
    return Extension::DotProducts;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
};

} // namespace

KernelInfo QMatMulPacking::emit(KernelBuilder &k, Operation *layer,
                                StringRef symbol) const {
  auto op = cast<nn::QMatMulOp>(layer);
  QMatMulShape s(op);
  QuantizedEnd end = QuantizedEnd::of(op);
  PanelGrid grid = s.grid();
  grid.planPacking(k.target, s.costs(), s.panelSize());
  PanelShape shape = s.shape(end);
  QuadPack pack{k, s.k, s.n, op.getTransposeRhs()};
  int64_t chunk = std::min(grid.panelChunk, grid.panels);
  auto tile = [&](PanelBlock b, Value scratch) {
    b.at = s.call();
    b.at.in =
        k.add(k.mul(matrixNumber(k, b.batch, s.batch, s.lhsBatch), s.m * s.k),
              k.mul(b.row, s.k));
    b.at.out = k.add(k.mul(b.batch, s.m * s.n), k.mul(b.row, s.n));
    b.at.terms = k.add(k.mul(b.batch, s.m), b.row);
    Index rhs = k.mul(matrixNumber(k, b.batch, s.batch, s.rhsBatch), s.k * s.n);
    Index count = k.min(grid.panelChunk, k.sub(grid.panels, b.firstPanel));
    pack.emit(b.memory.weights, rhs, scratch, b.firstPanel, count);
    b.memory.weights = scratch;
    // Scratch begins with the chunk's first panel.
    b.at.weights = k.mul(k.mul(b.firstPanel, pack.panelSize()), -1);
    emitPanelBlock(k, shape, grid, b);
  };
  KernelInfo info = emitPanelTiles(k, layer, symbol, grid, end,
                                   chunk * pack.panelSize(), tile);
  info.maps = {grid.denseMap(s.n)};
  return info;
}

Variants codegen::qmatmulPackingRoutine() {
  return onlyRoutine<QMatMulPacking>();
}
Variants codegen::qmatmulPanelsRoutines() {
  return byteRoutines<QMatMulPanels>();
}
