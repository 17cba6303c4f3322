//===- MatrixKernel.cpp - Sums of products on a matrix unit ---------------===//

#include "compiler/codegen/cpu/routines/MatrixKernel.h"

#include "compiler/codegen/cpu/MatrixUnit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

static constexpr int64_t tileRows = MatrixUnit::mostRows;
static constexpr int64_t stepBytes = MatrixUnit::mostBytes;
/// A row of a tile of sums, or of weights.
static constexpr int64_t lineBytes = 4 * panelWidth;

bool codegen::suitsMatrixUnit(int64_t rows, int64_t terms, int64_t columns) {
  // To copy a row, to end its sums and to get tiles ready takes as long for
  // few terms as for many. Measured on an Emerald Rapids.
  double least = terms < 2 * stepBytes ? 5e6 : 5e5;
  return rows >= tileRows && terms >= stepBytes && columns > panelWidth &&
         double(rows) * double(terms) * double(columns) >= least;
}

MatrixRow::MatrixRow(int64_t terms)
    : bytes(llvm::alignTo(terms, stepBytes)), rest(terms % stepBytes),
      zeros(bytes - terms) {
  assert(terms >= stepBytes && terms % 4 == 0 && "a step is whole quads");
}

void MatrixRow::describe(PanelShape &shape) const {
  shape.kernelRows = shape.kernelCols = 1;
  shape.inChannel = 4;
  shape.channelBlock = stepBytes / 4;
  shape.channelTail = rest / 4;
  shape.weightChannel = lineBytes;
  shape.weightBlock = shape.channelBlock * lineBytes;
}

void MatrixRow::describe(PanelCall &call) const {
  call.blocks = bytes / stepBytes - (rest ? 1 : 0);
  call.inBlock = stepBytes;
}

PanelTile codegen::matrixTile(int64_t rows, int64_t panels, int64_t wanted) {
  // The CPU has eight tiles. Sums take three or four of them, operands the
  // rest.
  PanelTile tile;
  int64_t tiles = 2;
  tile.panels = 2;
  if (wanted == 1 || panels == 1)
    tiles = 3, tile.panels = 1;
  else if (wanted > 2 || rows <= tileRows)
    tiles = 1, tile.panels = std::min<int64_t>(panels, 3);
  tile.rows = std::min(rows, tiles * tileRows);
  return tile;
}

namespace {

/// Writes the body of one micro-kernel.
class MatrixEmitter {
public:
  MatrixEmitter(KernelBuilder &k, const PanelShape &shape,
                const PanelTile &tile)
      : k(k), unit(k), s(shape), t(tile), end(*shape.quantized),
        rows(t.rows * t.cols), tiles(divideCeil(rows, tileRows)),
        outRow(t.cols > 1 ? s.outCol : s.outRow) {
    assert((t.rows == 1 || t.cols == 1) && tiles * t.panels <= 4 &&
           "tiles hold the sums");
    assert(s.kernelCols == 1 && s.channelBlock * 4 <= stepBytes &&
           "a step is a block");
    assert(k.VL == panelWidth && "a vector has the lanes of a tile");
  }

  void emit(ValueRange args);

private:
  /// Rows of tile `tile` of a group.
  int64_t rowsOf(int64_t tile) const {
    return std::min(tileRows, rows - tile * tileRows);
  }
  TileSize sumsSize(int64_t tile) const { return {rowsOf(tile), lineBytes}; }
  /// The place of a row's sums for a panel.
  int64_t sumsAt(int64_t panel, int64_t row) const {
    return (panel * rows + row) * lineBytes;
  }
  int64_t lanes(int64_t panel) const {
    return panel + 1 == t.panels ? t.lastLanes : panelWidth;
  }
  int64_t stored(int64_t panel) const {
    return s.blockedResult ? panelWidth : lanes(panel);
  }
  Value column(Value memory, int64_t panel) {
    return k.loadPart(memory, k.add(a.bias, panel * panelWidth), panelWidth,
                      stored(panel));
  }

  void prepare();
  Values firstSums();
  /// A block of each row.
  Values step(Values sums, Index in, Index weights);
  Values compute(Index in);
  Values lineOfGroups(Index line, Value before);
  void keep(const Values &sums);
  void finish(Index first);
  void finishRows(Index first, Index row, int64_t count);

  KernelBuilder &k;
  MatrixUnit unit;
  const PanelShape &s;
  const PanelTile &t;
  const QuantizedEnd &end;
  const int64_t rows;   ///< of a group
  const int64_t tiles;  ///< of those
  const int64_t outRow; ///< distance of their results
  LinearMemory memory;
  PanelCall a;
  MatrixPlane plane;
  Value frame;  ///< for the sums of a group
  Value biases; ///< a line for each panel
  SmallVector<QuantizedEnd::Columns> columns;
  QuantizedEnd::Shared shared;
};

/// Loads the operands that every group needs.
void MatrixEmitter::prepare() {
  frame = unit.allocate(t.panels * rows * lineBytes);
  if (end.bias)
    biases = unit.allocate(t.panels * lineBytes);
  for (int64_t panel = 0; panel < t.panels; ++panel) {
    if (end.bias)
      unit.storeRow(column(memory.bias, panel),
                    unit.advance(biases, panel * lineBytes));
    columns.push_back(
        end.columns(memory, [&](Value from) { return column(from, panel); }));
  }
  shared = end.shared(k, memory);
}

Values MatrixEmitter::firstSums() {
  Values sums;
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t panel = 0; panel < t.panels; ++panel)
      sums.push_back(
          end.bias ? unit.loadRepeated(unit.advance(biases, panel * lineBytes),
                                       rowsOf(tile))
                   : unit.zero(sumsSize(tile)));
  return sums;
}

Values MatrixEmitter::step(Values sums, Index in, Index weights) {
  int64_t bytes = 4 * s.channelBlock;
  auto loadX = [&](int64_t tile) {
    Index at = k.add(in, k.mul(plane.row, tile * tileRows));
    return unit.load(memory.in, at, plane.row, {rowsOf(tile), bytes});
  };
  auto loadW = [&](int64_t panel) {
    Index at = k.add(weights, k.mul(a.weightPanel, panel));
    return unit.load(memory.weights, at, lineBytes,
                     {s.channelBlock, lineBytes});
  };
  Values w(t.panels);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    Value x = loadX(tile);
    for (int64_t panel = 0; panel < t.panels; ++panel) {
      if (!w[panel])
        w[panel] = loadW(panel);
      Value &sum = sums[tile * t.panels + panel];
      sum = unit.multiplyAdd(sum, x, w[panel], rowsOf(tile), bytes);
    }
  }
  return sums;
}

/// The sums of the group whose first row is at `in`.
Values MatrixEmitter::compute(Index in) {
  Index weights = a.weights;
  Values sums = firstSums();
  if (s.channelTail) { // the block that has zeros
    sums = step(sums, in, weights);
    in = k.add(in, stepBytes);
    weights = k.add(weights, s.channelTail * s.weightChannel);
  }
  return k.loop(0, a.blocks, 1, sums, [&](Value i, ValueRange carried) {
    Values inner(carried);
    for (int64_t y = 0; y < s.kernelRows; ++y)
      inner = step(
          inner, k.add(k.add(in, k.mul(i, a.inBlock)), k.mul(a.kernelRow, y)),
          k.add(weights, k.add(k.mul(i, s.weightBlock), y * s.weightRow)));
    return inner;
  });
}

void MatrixEmitter::keep(const Values &sums) {
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t panel = 0; panel < t.panels; ++panel)
      unit.store(sums[tile * t.panels + panel],
                 unit.advance(frame, sumsAt(panel, tile * tileRows)),
                 sumsSize(tile));
}

/// The results of the sums that were kept, of the group whose first row has
/// this number.
void MatrixEmitter::finish(Index first) {
  // Four vectors of bytes are stored at once.
  constexpr int64_t atOnce = 4;
  int64_t whole = rows / atOnce * atOnce;
  k.loop(0, whole, atOnce, [&](Value row) { finishRows(first, row, atOnce); });
  if (whole < rows)
    finishRows(first, whole, rows - whole);
}

/// Rows [row, row + count) of the group.
void MatrixEmitter::finishRows(Index first, Index row, int64_t count) {
  Index place = k.add(first, row);
  Values terms;
  for (int64_t i = 0; end.rows && i < count; ++i)
    terms.push_back(k.broadcast(
        k.load(memory.rows, k.add(k.add(a.terms, place), i)), panelWidth));
  Index out = k.add(a.out, k.mul(place, outRow));
  SmallVector<Index> panels;
  for (int64_t panel = 0; panel < t.panels; ++panel)
    panels.push_back(s.blockedResult
                         ? Index(k.val(k.add(out, k.mul(a.outPanel, panel))))
                         : k.add(k.val(out), panel * panelWidth));
  SmallVector<QuantizedEnd::Piece> pieces;
  auto add = [&](int64_t panel, int64_t i) {
    Value sum = unit.loadRow(
        unit.advance(frame, k.add(k.mul(row, lineBytes), sumsAt(panel, i))));
    if (end.rows)
      sum = arith::AddIOp::create(k.b, sum, terms[i]);
    pieces.push_back({sum, columns[panel], k.add(panels[panel], i * outRow),
                      lanes(panel), stored(panel)});
  };
  // In the order of memory.
  if (s.blockedResult)
    for (int64_t panel = 0; panel < t.panels; ++panel)
      for (int64_t i = 0; i < count; ++i)
        add(panel, i);
  else
    for (int64_t i = 0; i < count; ++i)
      for (int64_t panel = 0; panel < t.panels; ++panel)
        add(panel, i);
  end.store(k, pieces, memory, shared);
}

void MatrixEmitter::emit(ValueRange args) {
  memory = end.take(args);
  size_t next = 0;
  for (Index *index : {&a.in, &a.weights, &a.out, &a.bias, &a.blocks,
                       &a.inBlock, &a.kernelRow, &a.weightPanel, &a.outPanel,
                       &plane.lines, &plane.rows, &plane.line, &plane.row})
    *index = args[next++];
  if (end.rows)
    a.terms = args[next++];
  prepare();
  // A group's end comes while the tiles of the next one work.
  Values none = {k.constant(-1)};
  Value last = k.loop(0, plane.lines, 1, none,
                      [&](Value line, ValueRange carried) -> Values {
                        return lineOfGroups(line, carried.front());
                      })[0];
  finish(last);
}

/// The groups of a line. `before`: the first row of a group whose sums are
/// kept, or -1; returns that of the last one.
Values MatrixEmitter::lineOfGroups(Index line, Value before) {
  Index in = k.add(a.in, k.mul(line, plane.line)),
        place = k.mul(line, plane.rows), last = k.sub(plane.rows, rows);
  return k.loop(0, plane.rows, rows, {before},
                [&](Value i, ValueRange carried) -> Values {
                  Index first = k.min(i, last), kept = carried.front();
                  Values sums = compute(k.add(in, k.mul(first, plane.row)));
                  k.ifThen(k.less(-1, kept), [&] { finish(kept); });
                  keep(sums);
                  return {k.val(k.add(place, first))};
                });
}

/// A name that tells all that the micro-kernel depends on.
std::string nameOf(const PanelShape &s, const PanelTile &t) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "matrix_" << t.rows * t.cols << 'x' << t.panels;
  if (t.lastLanes != panelWidth)
    os << (s.blockedResult ? "_z" : "_l") << t.lastLanes;
  os << (s.blockedResult ? "_b" : "_d") << (t.cols > 1 ? s.outCol : s.outRow)
     << "_k" << s.kernelRows << '_' << s.channelBlock << '_' << s.channelTail
     << '_' << s.weightBlock;
  if (s.kernelRows > 1)
    os << "_y" << s.weightRow;
  os << s.quantized->suffix();
  if (s.quantized->rows)
    os << "_t";
  return name;
}

} // namespace

void codegen::callMatrixKernel(KernelBuilder &k, const PanelShape &shape,
                               const PanelTile &tile,
                               const LinearMemory &memory,
                               const PanelCall &args,
                               const MatrixPlane &plane) {
  SmallVector<Index> indices = {args.in,        args.weights,     args.out,
                                args.bias,      args.blocks,      args.inBlock,
                                args.kernelRow, args.weightPanel, args.outPanel,
                                plane.lines,    plane.rows,       plane.line,
                                plane.row};
  if (shape.quantized->rows)
    indices.push_back(args.terms);
  k.callMicroKernel(
      nameOf(shape, tile), memory.arguments(), indices,
      [&](ValueRange args) { MatrixEmitter(k, shape, tile).emit(args); });
}
