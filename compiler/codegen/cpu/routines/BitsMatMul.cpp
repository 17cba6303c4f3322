//===- BitsMatMul.cpp - Products with weights of few bits -----------------===//
//
// bits_matmul.panels: weights are codes of 4 or 8 bits with a scale for each
// block of a row, in panels of 16 rows [N/16][bytes of a row][16 n]; the
// products' lanes are these rows.
//
//   for tile = chunk of panels
//     for panel group
//       with few rows of the left matrix: micro-kernel, which makes a weight of
//         a code where it needs it
//       else: make the group's weights in scratch, then the micro-kernel of
//         floats for all rows
//
// The first one sums a block's products with the codes, less their zero, and
// scales the sum. The second one sums as a product with floats would.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DotProduct.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "dialects/nn/Layout.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

/// So many rows are multiplied by weights that stay in registers.
constexpr int64_t mostDirectRows = 4;

class BitsEmitter {
public:
  BitsEmitter(KernelBuilder &k, nn::BitsMatMulOp op)
      : k(k), bits(op.getBits()), block(op.getBlock()),
        depth(nn::typeOf(op.getLhs()).getShape().back()),
        rows(elementsOf(op.getLhs()) / depth),
        columns(nn::typeOf(op.getOutput()).getShape().back()),
        blocks(divideCeil(depth, block)),
        rowBytes(divideCeil(depth * bits, int64_t(8))),
        zero(op.getZero().convertToDouble()), hasZeros(bool(op.getZeros())),
        vectors(panelWidth / k.VL) {
    epilogue.bias = bool(op.getBias());
    epilogue.activation = op.getActivationAttr();
  }
  KernelInfo emit(nn::BitsMatMulOp op, StringRef symbol);

private:
  /// Codes, and their scales and zeros.
  struct Weights {
    Value codes, scales, zeros; ///< the last one is null without any
    Index codesAt, scalesAt;    ///< of the first panel
  };
  /// A block of codes of some panels.
  struct Block {
    Index number;
    int64_t count;        ///< of codes in a row
    Values scales, zeros; ///< by vector of the panels
  };
  /// Gets index k of codes, the part of their bytes that they are, and a
  /// difference (code - zero) for each vector.
  using Body = llvm::function_ref<Values(Index index, int64_t part,
                                         ArrayRef<Value> codes, ValueRange)>;

  int64_t perByte() const { return 8 / bits; }
  std::string nameOf(const PanelTile &tile) const;
  /// Calls body(block, carried) for the blocks of some panels, in order.
  Values
  forEachBlock(const Weights &from, int64_t panels, Values carried,
               llvm::function_ref<Values(const Block &, ValueRange)> body);
  /// Calls `body` for the codes of a block, in order.
  Values forEachCode(const Weights &from, const Block &b, Values carried,
                     Body body);
  Value differenceOf(Value bytes, int64_t part, Value zeros);
  void microKernel(ValueRange args, const PanelTile &tile);

  KernelBuilder &k;
  const int64_t bits, block;
  const int64_t depth, rows, columns; ///< of the matrices
  const int64_t blocks, rowBytes;     ///< of a row of weights
  const double zero;
  const bool hasZeros;
  const int64_t vectors; ///< of a panel
  Epilogue epilogue;
};

} // namespace

std::string BitsEmitter::nameOf(const PanelTile &tile) const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "bits" << bits << '_' << block << '_' << depth << '_' << columns << '_'
     << tile.rows << 'x' << tile.panels << "_l" << tile.lastLanes;
  if (hasZeros)
    os << "_z";
  else
    os << '_' << llvm::format_hex(llvm::bit_cast<uint64_t>(zero), 1);
  os << epilogue.suffix();
  return name;
}

Value BitsEmitter::differenceOf(Value bytes, int64_t part, Value zeros) {
  VectorType ints = k.vec(k.VL, k.b.getI32Type()), floats = k.vec(k.VL);
  Value code = arith::ExtUIOp::create(k.b, ints, bytes);
  if (part)
    code = arith::ShRUIOp::create(k.b, code, k.iconst(bits * part, ints));
  if (bits == 4 && !zeros && k.VL == 16) {
    // A table of the differences, which looks at the low four bits alone.
    SmallVector<float> table;
    for (int64_t q = 0; q < 16; ++q)
      table.push_back(float(q) - float(zero));
    Value values = arith::ConstantOp::create(
        k.b, DenseElementsAttr::get(floats, ArrayRef<float>(table)));
    return callIntrinsic(k, "llvm.x86.avx512.permvar.sf.512", {values, code},
                         floats);
  }
  if (bits == 4)
    code = k.bitAnd(code, k.iconst(15, ints));
  return arith::SubFOp::create(k.b, arith::SIToFPOp::create(k.b, floats, code),
                               zeros ? zeros : k.fconst(float(zero), floats));
}

Values BitsEmitter::forEachCode(const Weights &from, const Block &b,
                                Values carried, Body body) {
  Index start = k.mul(b.number, block), firstByte = k.div(start, perByte());
  auto byte = [&](Index index, int64_t codes, Values state) {
    Values raw;
    for (size_t j = 0; j < b.scales.size(); ++j)
      raw.push_back(k.load(
          from.codes,
          k.add(k.add(from.codesAt, k.mul(k.add(firstByte, index), panelWidth)),
                int64_t(j) / vectors * rowBytes * panelWidth +
                    int64_t(j) % vectors * k.VL),
          k.VL));
    for (int64_t part = 0; part < codes; ++part) {
      Values differences;
      for (size_t j = 0; j < b.scales.size(); ++j)
        differences.push_back(
            differenceOf(raw[j], part, hasZeros ? b.zeros[j] : Value()));
      state = body(k.add(start, k.add(k.mul(index, perByte()), part)), part,
                   differences, state);
    }
    return state;
  };
  int64_t whole = b.count / perByte(), rest = b.count % perByte();
  constexpr int64_t unroll = 4;
  int64_t unrolled = whole / unroll * unroll;
  if (unrolled)
    carried = k.loop(0, unrolled, unroll, carried,
                     [&](Value index, ValueRange state) {
                       Values next(state);
                       for (int64_t u = 0; u < unroll; ++u)
                         next = byte(Index(index, u), perByte(), next);
                       return next;
                     });
  for (int64_t index = unrolled; index < whole; ++index)
    carried = byte(index, perByte(), carried);
  return rest ? byte(whole, rest, carried) : carried;
}

Values BitsEmitter::forEachBlock(
    const Weights &from, int64_t panels, Values carried,
    llvm::function_ref<Values(const Block &, ValueRange)> body) {
  auto one = [&](Index number, int64_t count, ValueRange state) {
    Block b = {number, count, {}, {}};
    for (int64_t j = 0; j < panels * vectors; ++j) {
      Index at = k.add(k.add(from.scalesAt, k.mul(number, panelWidth)),
                       j / vectors * blocks * panelWidth + j % vectors * k.VL);
      b.scales.push_back(k.load(from.scales, at, k.VL));
      if (hasZeros)
        b.zeros.push_back(k.load(from.zeros, at, k.VL));
    }
    return body(b, state);
  };
  int64_t whole = depth / block;
  if (whole)
    carried = k.loop(0, whole, 1, carried, [&](Value number, ValueRange state) {
      return one(number, block, state);
    });
  return depth % block ? one(whole, depth % block, carried) : carried;
}

/// Arguments: left matrix, codes, scales, zeros?, result, bias?, then the
/// offsets of codes, scales, result and bias.
void BitsEmitter::microKernel(ValueRange args, const PanelTile &tile) {
  auto next = [&](bool isThere) { return takeIf(args, isThere); };
  Weights from;
  Value in = next(true);
  from.codes = next(true);
  from.scales = next(true);
  from.zeros = next(hasZeros);
  Value out = next(true), bias = next(epilogue.bias);
  from.codesAt = args[0], from.scalesAt = args[1];
  Value outAt = args[2], biasAt = args[3];
  int64_t width = tile.panels * vectors;
  Values acc(tile.rows * width, k.fconst(0, k.vec(k.VL)));
  int64_t size = tile.rows * width;
  acc = forEachBlock(
      from, tile.panels, acc, [&](const Block &b, ValueRange state) {
        // A chain of sums for each part of a byte.
        Values sums(size * perByte(), k.fconst(0, k.vec(k.VL)));
        sums = forEachCode(from, b, sums,
                           [&](Index index, int64_t part, ArrayRef<Value> codes,
                               ValueRange before) {
                             Values next(before);
                             for (int64_t row = 0; row < tile.rows; ++row) {
                               Value x = k.broadcast(
                                   k.load(in, k.add(index, row * depth)), k.VL);
                               for (int64_t j = 0; j < width; ++j) {
                                 Value &sum =
                                     next[part * size + row * width + j];
                                 sum = k.fma(x, codes[j], sum);
                               }
                             }
                             return next;
                           });
        Values next(state);
        for (int64_t i = 0; i < size; ++i) {
          if (perByte() == 2)
            sums[i] = arith::AddFOp::create(k.b, sums[i], sums[size + i]);
          next[i] = k.fma(sums[i], b.scales[i % width], next[i]);
        }
        return next;
      });
  storeDenseTile(k, tile, acc, epilogue, {out, outAt, columns, bias, biasAt});
}

KernelInfo BitsEmitter::emit(nn::BitsMatMulOp op, StringRef symbol) {
  bool isDirect = rows <= mostDirectRows;
  PanelGrid grid;
  grid.rows = rows;
  grid.panels = divideCeil(columns, panelWidth);
  grid.panelWeights = depth * panelWidth;
  grid.sharesWeights = true;
  grid.lastLanes = columns - (grid.panels - 1) * panelWidth;
  PanelGrid::Costs costs;
  costs.weightBytes = grid.panels * rowBytes * panelWidth;
  costs.multiplyAdds =
      double(rows) * double(grid.panels * panelWidth) * double(depth);
  costs.inputRowBytes = 1; // weights are made once, for all rows
  PanelTuning tuning;
  if (isDirect) // sums, scales and zeros stay in registers
    tuning.panels = std::min<int64_t>(
        grid.panels,
        std::max<int64_t>(1, (rows == 1 ? 4 : 2) * k.target.vectorRegisters *
                                 k.VL / (32 * panelWidth)));
  grid.plan(k.target, costs, tuning);
  grid.rowBlock = rows;
  grid.rowBlocks = 1;
  if (isDirect)
    grid.tile.rows = rows;

  PanelShape shape;
  shape.epilogue = epilogue;
  shape.inRow = depth;
  shape.outRow = columns;
  shape.blockedResult = false;
  shape.channelTail = depth % shape.channelBlock;
  Weights from;
  auto memoryOf = [&](ValueRange operands) {
    LinearMemory memory;
    memory.out = operands[0];
    memory.in = operands[1];
    from.codes = operands[2];
    from.scales = operands[3];
    from.zeros = hasZeros ? operands[4] : Value();
    memory.bias = epilogue.bias ? operands.back() : Value();
    return memory;
  };
  auto group = [&](const PanelBlock &b, const PanelTile &tile, Index panel,
                   Value scratch) {
    from.codesAt = k.mul(panel, rowBytes * panelWidth);
    from.scalesAt = k.mul(panel, blocks * panelWidth);
    Index column = k.mul(panel, panelWidth);
    if (isDirect) {
      Values memories = {b.memory.in, from.codes,   from.scales,
                         from.zeros,  b.memory.out, b.memory.bias};
      llvm::erase(memories, Value());
      k.callMicroKernel(nameOf(tile), memories,
                        {from.codesAt, from.scalesAt, column, column},
                        [&](ValueRange args) { microKernel(args, tile); });
      return;
    }
    forEachBlock(from, tile.panels, {}, [&](const Block &block, ValueRange) {
      return forEachCode(
          from, block, {},
          [&](Index index, int64_t, ArrayRef<Value> codes, ValueRange) {
            for (size_t j = 0; j < codes.size(); ++j)
              k.store(arith::MulFOp::create(k.b, codes[j], block.scales[j]),
                      scratch,
                      k.add(k.mul(index, panelWidth),
                            int64_t(j) / vectors * depth * panelWidth +
                                int64_t(j) % vectors * k.VL));
            return Values();
          });
    });
    PanelBlock made = b;
    made.memory.weights = scratch;
    made.at.weights = 0;
    made.weightStep = 0;
    emitPanelGroup(k, shape, grid, made, tile, panel);
  };
  auto tile = [&](PanelBlock b, Value scratch) {
    b.at.blocks = depth / panelWidth;
    b.at.inBlock = panelWidth;
    b.at.outPanel = panelWidth;
    b.at.weightPanel = depth * panelWidth;
    emitPanelGroups(k, grid, b,
                    [&](const PanelBlock &b, const PanelTile &tile,
                        Index panel) { group(b, tile, panel, scratch); });
  };
  KernelInfo info = emitPanelTiles(
      k, op, symbol, grid, k.b.getF32Type(),
      isDirect ? 0 : grid.tile.panels * depth * panelWidth * 4, memoryOf, tile);
  info.maps = {grid.denseMap(columns)};
  return info;
}

namespace {

class BitsMatMul : public CpuRoutine {
public:
  BitsMatMul()
      : CpuRoutine("bits_matmul.panels",
                   "floats times weights of four or eight bits in panels of 16 "
                   "rows") {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::BitsMatMulOp>(layer);
    return op && !op.getLhsScales() && elementsOf(op.getOutput()) > 0 &&
                   elementsOf(op.getLhs()) > 0
               ? ""
               : "it is no product of floats with weights of few bits";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = Routine::layouts(layer);
    for (auto [i, operand] : llvm::enumerate(layer->getOperands()))
      if (i > 0 && shapeOf(operand).size() == 2)
        request.operands[i] = "Ab16a";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::BitsMatMulOp>(layer);
    return BitsEmitter(k, op).emit(op, symbol);
  }
  Work work(Operation *layer) const override {
    // To make a weight takes about as long as two multiply-adds.
    auto op = cast<nn::BitsMatMulOp>(layer);
    double codes = double(elementsOf(op.getCodes())) * 8 / double(op.getBits());
    return {blockedMultiplyAdds(layer) + 2 * codes, bytesOf(layer)};
  }
};

} // namespace

Variants codegen::bitsMatMulRoutine() { return onlyRoutine<BitsMatMul>(); }
