//===- MatMul.cpp - Matrix products ---------------------------------------===//
//
// Both take and give dense row-major matrices and run the panel micro-kernel on
// a tile of rows and 16-column panels.
//
// matmul.panels: the right matrix is a constant, stored as panels
// [N/16][K][16]; the left one's batches are more rows.
//
//   for tile = (row block, chunk of panels)
//     for panel group, row group: micro-kernel over K
//
// With one row the micro-kernel takes eight panels at a time, which reads the
// weights, once, at the speed of memory.
//
// matmul.panels64: the same, but the panels of four groups lie side by side,
// [N/64][K][64], a form computed from the packed one. The micro-kernel always
// takes four panels and reads one stream, where matmul.panels reads one a
// panel: some 5 % faster with many rows (196 x 512 x 768 on AVX-512); with one
// row and large K, where memory is the limit, several streams are faster.
//
// matmul.packing: any other right matrix.
//
//   for tile = (batch, chunk of panels)
//     pack the chunk's columns to scratch (with few rows of an untransposed
//     matrix, not worth it: they are read where they are)
//     for band of rows, panel group, row group: micro-kernel over K
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/Matrices.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// The kinds of bias for the micro-kernel.
enum class BiasKind { None, Columns, Full, Other };

BiasKind biasKind(nn::MatMulOp op) {
  if (!op.getBias())
    return BiasKind::None;
  ArrayRef<int64_t> bias = shapeOf(op.getBias()), out = shapeOf(op.getOutput());
  if (!bias.empty() && bias.back() == out.back() &&
      llvm::product_of(bias) == out.back())
    return BiasKind::Columns;
  // Added as a residual is, if nothing comes between.
  if (llvm::product_of(bias) == llvm::product_of(out) && !op.getResidual() &&
      !op.getActivation())
    return BiasKind::Full;
  return BiasKind::Other;
}

struct MatMulShape {
  int64_t m, n, k;
  SmallVector<int64_t> batch, lhsBatch, rhsBatch; ///< without matrix dimensions
  bool transposeLhs, transposeRhs;

  explicit MatMulShape(nn::MatMulOp op)
      : transposeLhs(op.getTransposeLhs()), transposeRhs(op.getTransposeRhs()) {
    ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs()),
                      out = shapeOf(op.getOutput());
    m = out[out.size() - 2];
    n = out.back();
    k = lhs[lhs.size() - (transposeLhs ? 2 : 1)];
    batch.assign(out.begin(), out.end() - 2);
    lhsBatch.assign(lhs.begin(), lhs.end() - 2);
    rhsBatch.assign(rhs.begin(), rhs.end() - 2);
  }
  /// Sees the batches, which share the right matrix, as more rows.
  void mergeBatches() {
    m *= llvm::product_of(batch);
    batch.clear();
    lhsBatch.clear();
  }
  /// matrixNumber() of an operand with these batch dimensions.
  Index matrix(KernelBuilder &k, Index index, ArrayRef<int64_t> own) const {
    return matrixNumber(k, index, batch, own);
  }
};

std::string misfitOf(nn::MatMulOp op) {
  return op && isNonEmptyF32(op) && biasKind(op) != BiasKind::Other
             ? ""
             : "it is no product of matrices of f32 with a bias by column";
}

PanelGrid gridOf(const MatMulShape &s) {
  PanelGrid grid;
  grid.batches = llvm::product_of(s.batch);
  grid.rows = s.m;
  grid.panels = divideCeil(s.n, panelWidth);
  grid.panelWeights = s.k * panelWidth;
  grid.sharesWeights = s.rhsBatch.empty();
  grid.lastLanes = s.n - (grid.panels - 1) * panelWidth;
  return grid;
}

PanelGrid::Costs costsOf(const MatMulShape &s, const PanelGrid &grid) {
  PanelGrid::Costs costs;
  costs.weightBytes = grid.panels * panelWidth * s.k * 4;
  costs.inputRowBytes = s.k * 4;
  costs.multiplyAdds =
      double(grid.batches) * double(s.m) * double(costs.weightBytes / 4);
  return costs;
}

/// Everything but the right matrix.
struct Parts {
  const MatMulShape &s;
  PanelShape shape;

  Parts(nn::MatMulOp op, const MatMulShape &s) : s(s) {
    assert(biasKind(op) != BiasKind::Other && "isSupported() has looked");
    shape.epilogue = Epilogue::of(op);
    if (biasKind(op) == BiasKind::Full) {
      shape.epilogue.bias = false;
      shape.epilogue.residual = true;
    }
    shape.inRow = s.transposeLhs ? 1 : s.k;
    shape.inChannel = s.transposeLhs ? s.m : 1;
    shape.outRow = s.n;
    shape.blockedResult = false;
    shape.channelTail = s.k % shape.channelBlock;
  }
  PanelCall call() const {
    PanelCall call;
    call.blocks = s.k / panelWidth;
    call.inBlock = shape.inChannel * panelWidth;
    call.outPanel = panelWidth;
    return call;
  }
};

/// Rows [row, row + rows) of `columns` elements, in scratch from `start` on,
/// apart by 16 more. `scales`: by columns, at the beginning of scratch.
void copyRows(KernelBuilder &k, Value in, Index row, Index rows,
              int64_t columns, Value scratch, int64_t start, bool scales) {
  int64_t whole = columns / k.VL * k.VL, rest = columns - whole;
  k.loop(0, rows, 1, [&](Value i) {
    Index from = k.mul(k.add(row, i), columns),
          to = k.add(k.mul(i, columns + panelWidth), start);
    auto copy = [&](Index c, int64_t count) {
      Value x = k.loadPart(in, k.add(from, c), k.VL, count);
      if (scales)
        x = arith::MulFOp::create(k.b, x, k.loadPart(scratch, c, k.VL, count));
      k.storePart(x, scratch, k.add(to, c), count);
    };
    k.loop(0, whole, k.VL, [&](Value c) { copy(c, k.VL); });
    if (rest)
      copy(whole, rest);
  });
}

class MatMulPanels : public PanelRoutine {
public:
  explicit MatMulPanels(const PanelTuning &tuning)
      : PanelRoutine("matmul.panels",
                     "the right matrix is a constant, in panels of 16 columns",
                     tuning) {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::MatMulOp>(layer);
    if (std::string reason = misfitOf(op); !reason.empty())
      return reason;
    if (shapeOf(op.getRhs()).size() != 2 ||
        !op.getRhs().getDefiningOp<nn::ConstantOp>())
      return "its right matrix is no constant";
    return (!op.getTransposeLhs() ||
            (shapeOf(op.getLhs()).size() == 2 && !tuning.scalesInputs())) &&
                   tuning.fits(gridOf(MatMulShape(op)).panels)
               ? ""
               : "its left matrices are transposed, or it has too few columns "
                 "for the tile";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = Routine::layouts(layer);
    request.operands[1] =
        cast<nn::MatMulOp>(layer).getTransposeRhs() ? "Ab16a" : "Ba16b";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitWith(k, layer, symbol, 1);
  }

protected:
  using PanelRoutine::PanelRoutine;
  /// `sideBySide`: panels whose rows alternate in memory, all of a tile.
  KernelInfo emitWith(KernelBuilder &k, Operation *layer, StringRef symbol,
                      int64_t sideBySide) const;
};

KernelInfo MatMulPanels::emitWith(KernelBuilder &k, Operation *layer,
                                  StringRef symbol, int64_t sideBySide) const {
  auto op = cast<nn::MatMulOp>(layer);
  MatMulShape s(op);
  s.mergeBatches();
  PanelGrid grid = gridOf(s);
  grid.plan(k.target, costsOf(s, grid), tuning);
  assert((sideBySide == 1 || sideBySide == grid.tile.panels) &&
         "the panels of a tile alternate");
  Parts parts(op, s);
  // Scaled inputs are copies. Rows a multiple of 4 KiB apart fall into one set
  // of the first cache.
  bool collides = !s.transposeLhs && s.k % 1024 == 0 && s.m >= 8 && s.n >= 64;
  bool copies = collides || tuning.scalesInputs();
  int64_t rowsAt = tuning.scalesInputs() ? llvm::alignTo(s.k, panelWidth) : 0;
  if (copies)
    parts.shape.inRow = s.k + panelWidth;
  parts.shape.scalesColumns = grid.scalesColumns();
  parts.shape.weightChannel = sideBySide * panelWidth;
  parts.shape.weightBlock = sideBySide * panelWidth * panelWidth;
  int64_t scratchBytes =
      copies ? (rowsAt + grid.rowBlock * parts.shape.inRow) * 4 : 0;
  auto tile = [&](PanelBlock b, Value scratch) {
    b.at = parts.call();
    b.at.in = k.mul(b.row, parts.shape.inRow);
    if (copies) {
      k.ifThen(b.isNew, [&] {
        if (tuning.scalesInputs())
          emitScales(k, b.memory.weights, 0, s.k, scratch, 0);
        copyRows(k, b.memory.in, b.row, b.rows, s.k, scratch, rowsAt,
                 tuning.scalesInputs());
      });
      b.memory.in = scratch;
      b.at.in = rowsAt;
    }
    b.at.out = k.mul(b.row, s.n);
    b.at.weightPanel = s.k * panelWidth;
    if (sideBySide > 1) {
      b.weightStep = b.at.weightPanel;
      b.at.weightPanel = panelWidth;
    }
    emitPanelBlock(k, parts.shape, grid, b);
  };
  KernelInfo info = emitPanelTiles(k, layer, symbol, grid, parts.shape.epilogue,
                                   scratchBytes, tile);
  info.maps = {grid.denseMap(s.n)};
  return info;
}

class MatMulPanels64 : public MatMulPanels {
public:
  MatMulPanels64()
      : MatMulPanels("matmul.panels64",
                     "the right matrix is a constant, in panels of 64 columns: "
                     "one stream",
                     PanelTuning{"", "", sideBySide}) {}
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitWith(k, layer, symbol, sideBySide);
  }
  Work work(Operation *layer) const override {
    Work work = MatMulPanels::work(layer);
    Shape s(layer);
    work.bytes += double(s.formSize() - s.packedSize()) * 4;
    return work;
  }

  std::optional<WeightForm> weightForm(Operation *layer) const override {
    return WeightForm{1, "panels64", Shape(layer).formSize() * 4};
  }
  KernelInfo emitTransform(KernelBuilder &k, Operation *layer,
                           StringRef symbol) const override {
    Shape s(layer);
    Type f32 = k.b.getF32Type();
    k.kernel(
        symbol, {f32, f32},
        [&](ValueRange operands, Value, Value begin, Value end) {
          k.loop(begin, end, 1, [&](Value group) {
            k.repeat(s.k, [&](Index row) {
              for (int64_t p = 0; p < sideBySide; ++p)
                for (int64_t v = 0; v < panelWidth; v += k.VL) {
                  Index panel = k.add(k.mul(group, sideBySide), p);
                  Index from =
                      k.add(k.mul(k.min(panel, s.panels - 1), s.k * panelWidth),
                            k.add(k.mul(row, panelWidth), v));
                  // Panels that do not exist repeat the last one; nobody
                  // reads them.
                  Index to = k.add(k.mul(group, sideBySide * s.k * panelWidth),
                                   k.add(k.mul(row, sideBySide * panelWidth),
                                         p * panelWidth + v));
                  k.store(k.load(operands[1], from, k.VL), operands[0], to);
                }
            });
          });
        });
    int64_t size = sideBySide * s.k * panelWidth;
    return {s.groups,
            0,
            {TileMap::grid({{s.groups, size}, {size, 1}}, {{0, s.groups, 1}})}};
  }

  Work transformWork(Operation *layer) const override {
    Shape s(layer);
    return {double(s.formSize()), double(s.formSize() + s.packedSize()) * 4};
  }
  void transform(Operation *layer, const void *packed,
                 void *transformed) const override {
    Shape s(layer);
    auto *from = static_cast<const float *>(packed);
    auto *to = static_cast<float *>(transformed);
    for (int64_t group = 0; group < s.groups; ++group)
      for (int64_t row = 0; row < s.k; ++row)
        for (int64_t p = 0; p < sideBySide; ++p, to += panelWidth) {
          int64_t panel = std::min(group * sideBySide + p, s.panels - 1);
          std::copy_n(from + (panel * s.k + row) * panelWidth, panelWidth, to);
        }
  }

private:
  static constexpr int64_t sideBySide = 4;
  /// The shape of the weights, in elements.
  struct Shape {
    int64_t k, panels, groups;
    explicit Shape(Operation *layer) {
      MatMulShape s(cast<nn::MatMulOp>(layer));
      k = s.k;
      panels = gridOf(s).panels;
      groups = divideCeil(panels, sideBySide);
    }
    int64_t packedSize() const { return panels * k * panelWidth; }
    int64_t formSize() const { return groups * sideBySide * k * panelWidth; }
  };
};

/// Copies columns of a dense row-major matrix into panels [column /
/// 16][row][16] at the beginning of scratch; columns that do not exist become
/// zero.
struct PanelPack {
  int64_t rows, columns;
  bool isTransposed; ///< memory holds the matrix with columns outermost

  int64_t panelSize() const { return rows * panelWidth; }
  /// Panels [first, first + count).
  void emit(KernelBuilder &k, Value in, Index inOffset, Value scratch,
            Index firstPanel, Index count) const;
};

/// Rows [row, row + count) of a panel of `columns` columns, count <= VL.
void packTransposed(KernelBuilder &k, Value in, Index from, int64_t stride,
                    Value out, Index to, int64_t columns, int64_t count) {
  assert(count >= 1 && count <= k.VL && "rows of one vector");
  for (int64_t first = 0; first < panelWidth; first += k.VL) {
    Values lines;
    for (int64_t l = 0; l < k.VL; ++l)
      lines.push_back(
          first + l < columns
              ? k.loadPart(in, k.add(from, (first + l) * stride), k.VL, count)
              : k.fconst(0, k.vec(k.VL)));
    lines = transpose(k, lines);
    for (int64_t i = 0; i < count; ++i)
      k.store(lines[i], out, k.add(to, i * panelWidth + first));
  }
}

void PanelPack::emit(KernelBuilder &k, Value in, Index inOffset, Value scratch,
                     Index firstPanel, Index count) const {
  int64_t whole = columns / panelWidth, rest = columns % panelWidth;
  auto panel = [&](Index index, int64_t present) {
    Index to = k.mul(k.sub(index, firstPanel), panelSize());
    Index from = k.add(
        inOffset, k.mul(index, isTransposed ? panelWidth * rows : panelWidth));
    if (!isTransposed) {
      k.loop(0, rows, 1, [&](Value row) {
        for (int64_t v = 0; v < panelWidth; v += k.VL)
          k.store(k.loadPart(in, k.add(from, k.add(k.mul(row, columns), v)),
                             k.VL, std::clamp<int64_t>(present - v, 0, k.VL)),
                  scratch, k.add(to, k.add(k.mul(row, panelWidth), v)));
      });
      return;
    }
    int64_t done = rows / k.VL * k.VL;
    if (done)
      k.loop(0, done, k.VL, [&](Value row) {
        packTransposed(k, in, k.add(from, row), rows, scratch,
                       k.add(to, k.mul(row, panelWidth)), present, k.VL);
      });
    if (done < rows)
      packTransposed(k, in, k.add(from, done), rows, scratch,
                     k.add(to, done * panelWidth), present, rows - done);
  };
  Index last = k.add(firstPanel, count);
  if (whole)
    k.loop(firstPanel, k.min(last, whole), 1,
           [&](Value index) { panel(index, panelWidth); });
  if (rest)
    k.ifThen(k.less(whole, last), [&] { panel(whole, rest); });
}

class MatMulPacking : public PanelRoutine {
public:
  MatMulPacking()
      : PanelRoutine("matmul.packing",
                     "any right matrix, packed to scratch by each tile") {}
  std::string misfit(Operation *layer) const override {
    return misfitOf(dyn_cast<nn::MatMulOp>(layer));
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
};

KernelInfo MatMulPacking::emit(KernelBuilder &k, Operation *layer,
                               StringRef symbol) const {
  auto op = cast<nn::MatMulOp>(layer);
  MatMulShape s(op);
  if (s.rhsBatch.empty() && !s.transposeLhs)
    s.mergeBatches();
  constexpr int64_t fewRows = 16;
  bool packs = s.transposeRhs || s.m > fewRows;
  PanelGrid grid = gridOf(s);
  PanelGrid::Costs costs = costsOf(s, grid);
  PanelPack pack{s.k, s.n, s.transposeRhs};
  if (packs)
    grid.planPacking(k.target, costs, pack.panelSize() * 4);
  else
    grid.plan(k.target, costs);
  Parts parts(op, s);
  if (!packs) {
    parts.shape.plainWeights = true;
    parts.shape.weightChannel = s.n;
    parts.shape.weightBlock = s.n * panelWidth;
  }
  int64_t chunk = std::min(grid.panelChunk, grid.panels);
  KernelInfo info = emitPanelTiles(
      k, layer, symbol, grid, parts.shape.epilogue,
      packs ? chunk * pack.panelSize() * 4 : 0,
      [&](PanelBlock b, Value scratch) {
        Index rhs = k.mul(s.matrix(k, b.batch, s.rhsBatch), s.k * s.n);
        b.at = parts.call();
        b.at.in = k.add(k.mul(s.matrix(k, b.batch, s.lhsBatch), s.m * s.k),
                        k.mul(b.row, parts.shape.inRow));
        b.at.out = k.add(k.mul(b.batch, s.m * s.n), k.mul(b.row, s.n));
        b.at.weightPanel = packs ? pack.panelSize() : panelWidth;
        b.at.weights = rhs;
        if (packs) {
          Index count =
              k.min(grid.panelChunk, k.sub(grid.panels, b.firstPanel));
          pack.emit(k, b.memory.weights, rhs, scratch, b.firstPanel, count);
          b.memory.weights = scratch;
          // Scratch begins with the chunk's first panel.
          b.at.weights = k.mul(k.mul(b.firstPanel, pack.panelSize()), -1);
        }
        emitPanelBlock(k, parts.shape, grid, b);
      });
  info.maps = {grid.denseMap(s.n)};
  return info;
}

} // namespace

Variants codegen::matmulPanelsRoutines() {
  return tunedRoutines<MatMulPanels>(/*scalesInputs=*/true);
}
Variants codegen::matmulPanels64Routine() {
  return onlyRoutine<MatMulPanels64>();
}
Variants codegen::matmulPackingRoutine() {
  return onlyRoutine<MatMulPacking>();
}
