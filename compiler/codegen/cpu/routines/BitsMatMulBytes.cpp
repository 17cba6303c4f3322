//===- BitsMatMulBytes.cpp - Bytes times weights of few bits --------------===//
//
// bits_matmul.bytes: the left matrix has 8 bits and a scale for each block of a
// row, as the weights have, whose codes are in panels of quads of bytes:
// [N/16][bytes of a row / 4][16 n][4].
//
//   for tile = (row block, chunk of panels)
//     prepare the block's rows in scratch
//     for panel group, row group: micro-kernel over blocks, in order
//
// The micro-kernel sums a block's products of codes and bytes exactly, and adds
// the sum, times both scales, to the result.
//
// In scratch a block of a row is its term, an i32, then its bytes as signed
// numbers. Bytes that meet codes of four bits are in the order of these: even
// places of eight, then odd ones.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/DotProduct.h"
#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "dialects/nn/Layout.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

namespace {

constexpr int64_t termSize = 4, quad = 4;

class ByteBitsEmitter {
public:
  ByteBitsEmitter(KernelBuilder &k, nn::BitsMatMulOp op)
      : k(k), bits(op.getBits()), block(op.getBlock()),
        depth(nn::typeOf(op.getLhs()).getShape().back()),
        rows(elementsOf(op.getLhs()) / depth),
        columns(nn::typeOf(op.getOutput()).getShape().back()),
        blocks(depth / block), panelBytes(depth * bits / 8 * panelWidth),
        zero(op.getZero().convertToDouble()), hasZeros(bool(op.getZeros())),
        isZeroWhole(!hasZeros && zero == std::floor(zero) &&
                    std::abs(zero) <= 255),
        flipsCodes(bits == 8 && DotProduct::flips(k.target)),
        vectors(panelWidth / k.VL), dot(k, /*isSmall=*/bits == 4) {
    epilogue.bias = bool(op.getBias());
    epilogue.activation = op.getActivationAttr();
  }
  KernelInfo emit(nn::BitsMatMulOp op, StringRef symbol);

private:
  struct Memory {
    Value out, in, codes, scales, zeros, inScales, bias;
    /// Takes them from `args`, in this order.
    static Memory take(ValueRange &args, bool hasZeros, bool hasBias);
  };

  int64_t perByte() const { return 8 / bits; }
  /// The bytes that a row takes in scratch.
  int64_t rowSize() const { return blocks * (block + termSize); }
  PanelGrid plan() const;
  std::string nameOf(const PanelTile &tile) const;
  void prepare(const Memory &memory, Index row, Index count, Value scratch);
  void microKernel(ValueRange args, const PanelTile &tile);
  /// Sums of the products of a block whose bytes begin at `in` and codes at
  /// `codes`.
  Values blockSums(const Memory &memory, const PanelTile &tile, Index in,
                   Index codes);
  /// The i32 at an offset of memory of bytes.
  Value term(Value bytes, Index at) {
    return k.extract(vector::BitCastOp::create(k.b, k.vec(1, k.b.getI32Type()),
                                               k.load(bytes, at, termSize)),
                     0);
  }

  KernelBuilder &k;
  const int64_t bits, block;
  const int64_t depth, rows, columns; ///< of the matrices
  const int64_t blocks, panelBytes;   ///< of a row; of a panel of codes
  const double zero;
  const bool hasZeros;
  /// Whether terms are those that a sum begins with: the zero times the sum of
  /// the block's bytes. Else they are these sums.
  const bool isZeroWhole;
  /// Codes of bytes are multiplied less 128, as signed ones.
  const bool flipsCodes;
  const int64_t vectors; ///< of a panel
  const DotProduct dot;
  Epilogue epilogue;
};

} // namespace

ByteBitsEmitter::Memory
ByteBitsEmitter::Memory::take(ValueRange &args, bool hasZeros, bool hasBias) {
  Memory m;
  m.out = takeIf(args, true);
  m.in = takeIf(args, true);
  m.codes = takeIf(args, true);
  m.scales = takeIf(args, true);
  m.zeros = takeIf(args, hasZeros);
  m.inScales = takeIf(args, true);
  m.bias = takeIf(args, hasBias);
  return m;
}

std::string ByteBitsEmitter::nameOf(const PanelTile &tile) const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "bytebits" << bits << '_' << block << '_' << depth << '_' << columns
     << '_' << tile.rows << 'x' << tile.panels << "_l" << tile.lastLanes;
  if (hasZeros)
    os << "_z";
  else
    os << '_' << llvm::format_hex(llvm::bit_cast<uint64_t>(zero), 1);
  os << epilogue.suffix();
  return name;
}

PanelGrid ByteBitsEmitter::plan() const {
  PanelGrid grid;
  grid.rows = rows;
  grid.panels = divideCeil(columns, panelWidth);
  grid.panelWeights = panelBytes;
  grid.sharesWeights = true;
  grid.quads = true;
  grid.lastLanes = columns - (grid.panels - 1) * panelWidth;
  PanelGrid::Costs costs;
  costs.weightBytes = grid.panels * panelBytes;
  costs.inputRowBytes = rowSize();
  costs.multiplyAdds =
      double(rows) * double(grid.panels * panelWidth) * double(depth);
  // Each position has a sum of the block, and one of all blocks. Codes, scales
  // and an input take the other registers.
  int64_t positions = (k.target.vectorRegisters - 6) / (2 * vectors);
  PanelTuning tuning;
  tuning.panels = std::clamp<int64_t>(positions / rows, 1,
                                      std::min<int64_t>(grid.panels, 4));
  grid.plan(k.target, costs, tuning);
  grid.tile.rows = std::clamp<int64_t>(positions / grid.tile.panels, 1, rows);
  grid.rowBlock = llvm::alignTo(std::min(grid.rowBlock, rows), grid.tile.rows);
  grid.rowBlocks = divideCeil(rows, grid.rowBlock);
  return grid;
}

/// Rows [row, row + count) of the left matrix, in scratch.
void ByteBitsEmitter::prepare(const Memory &memory, Index row, Index count,
                              Value scratch) {
  Type i8 = k.b.getI8Type(), i32 = k.b.getI32Type();
  int64_t lanes = std::min(block, quad * k.VL);
  Value flip = k.iconst(-128, k.vec(lanes, i8));
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back(bits == 8 ? lane
                              : lane / 8 * 8 + lane % 4 * 2 + lane % 8 / 4);
  auto one = [&](Index from, Index to) {
    Value sum = k.iconst(0, i32);
    for (int64_t at = 0; at < block; at += lanes) {
      Value x = k.bitXor(k.load(memory.in, k.add(from, at), lanes), flip);
      k.store(vector::ShuffleOp::create(k.b, x, x, order), scratch,
              k.add(to, termSize + at));
      Value wide = arith::ExtSIOp::create(k.b, k.vec(lanes, i32), x);
      sum = vector::ReductionOp::create(k.b, vector::CombiningKind::ADD, wide,
                                        sum);
    }
    // Codes less 128 have a zero that is less by as much.
    int64_t factor = isZeroWhole ? (flipsCodes ? 128 : 0) - int64_t(zero) : -1;
    Value term = arith::MulIOp::create(k.b, sum, k.iconst(factor, i32));
    k.store(vector::BitCastOp::create(k.b, k.vec(termSize, i8),
                                      k.broadcast(term, 1)),
            scratch, to);
  };
  k.loop(0, count, 1, [&](Value i) {
    Index from = k.mul(k.add(row, i), depth), to = k.mul(i, rowSize());
    k.loop(0, blocks, 1, [&](Value number) {
      one(k.add(from, k.mul(number, block)),
          k.add(to, k.mul(number, block + termSize)));
    });
  });
}

Values ByteBitsEmitter::blockSums(const Memory &memory, const PanelTile &tile,
                                  Index in, Index codes) {
  Type i8 = k.b.getI8Type(), i32 = k.b.getI32Type();
  int64_t width = tile.panels * vectors;
  VectorType words = k.vec(k.VL, i32), bytes = k.vec(quad * k.VL, i8);
  Values sums(tile.rows * width, k.iconst(0, words));
  for (int64_t row = 0; (isZeroWhole || flipsCodes) && row < tile.rows; ++row) {
    Value first = term(memory.in, k.add(in, row * rowSize()));
    if (!isZeroWhole)
      first = arith::MulIOp::create(k.b, first, k.iconst(-128, i32));
    for (int64_t j = 0; j < width; ++j)
      sums[row * width + j] = k.broadcast(first, k.VL);
  }
  // A vector of codes is multiplied by one quad of bytes of each row, or two.
  auto step = [&](Index index, Values state) {
    SmallVector<SmallVector<Values>> parts(perByte());
    for (int64_t j = 0; j < width; ++j) {
      Index at = k.add(k.add(codes, k.mul(index, quad * panelWidth)),
                       j / vectors * panelBytes + j % vectors * quad * k.VL);
      Value raw = k.load(memory.codes, at, quad * k.VL);
      for (int64_t part = 0; part < perByte(); ++part) {
        Value code = raw;
        if (part) {
          code = vector::BitCastOp::create(k.b, words, code);
          code = arith::ShRUIOp::create(k.b, code, k.iconst(bits, words));
          code = vector::BitCastOp::create(k.b, bytes, code);
        }
        if (bits == 4)
          code = k.bitAnd(code, k.iconst(15, bytes));
        if (flipsCodes)
          code = k.bitXor(code, k.iconst(-128, bytes));
        parts[part].push_back(dot.unsignedQuads(code));
      }
    }
    for (int64_t row = 0; row < tile.rows; ++row)
      for (int64_t part = 0; part < perByte(); ++part) {
        Index at = k.add(k.add(in, row * rowSize() + termSize + part * quad),
                         k.mul(index, perByte() * quad));
        Value x = k.broadcast(term(memory.in, at), k.VL);
        Values ready =
            dot.signedQuads(vector::BitCastOp::create(k.b, bytes, x));
        for (int64_t j = 0; j < width; ++j) {
          Value &sum = state[row * width + j];
          sum = dot.add(sum, parts[part][j], ready);
        }
      }
    return state;
  };
  int64_t steps = block * bits / 8 / quad;
  int64_t unroll = std::min<int64_t>(steps, 4);
  return k.loop(0, steps, unroll, sums, [&](Value index, ValueRange carried) {
    Values state(carried);
    for (int64_t u = 0; u < unroll; ++u)
      state = step(Index(index, u), state);
    return state;
  });
}

/// Arguments: the memories, the first of bytes in scratch, then the offsets of
/// these bytes, of their scales, of codes, scales, result and bias.
void ByteBitsEmitter::microKernel(ValueRange args, const PanelTile &tile) {
  Memory memory = Memory::take(args, hasZeros, epilogue.bias);
  Value in = args[0], inScales = args[1], codes = args[2], scales = args[3],
        out = args[4], bias = args[5];
  int64_t width = tile.panels * vectors, size = tile.rows * width;
  VectorType floats = k.vec(k.VL);
  Values acc(size, k.fconst(0, floats));
  acc = k.loop(0, blocks, 1, acc, [&](Value number, ValueRange carried) {
    Index first = k.add(in, k.mul(number, block + termSize));
    Values sums =
        blockSums(memory, tile, first,
                  k.add(codes, k.mul(number, block * bits / 8 * panelWidth)));
    Values next(carried);
    for (int64_t row = 0; row < tile.rows; ++row) {
      Value scale =
          k.load(memory.inScales, k.add(k.add(inScales, number), row * blocks));
      scale = k.broadcast(scale, k.VL);
      Value less;
      if (!isZeroWhole)
        less = k.broadcast(arith::SIToFPOp::create(
                               k.b, k.b.getF32Type(),
                               term(memory.in, k.add(first, row * rowSize()))),
                           k.VL);
      for (int64_t j = 0; j < width; ++j) {
        Index at =
            k.add(k.add(scales, k.mul(number, panelWidth)),
                  j / vectors * blocks * panelWidth + j % vectors * k.VL);
        Value sum = arith::SIToFPOp::create(k.b, floats, sums[row * width + j]);
        if (!isZeroWhole)
          sum = k.fma(less,
                      hasZeros ? k.load(memory.zeros, at, k.VL)
                               : k.fconst(zero, floats),
                      sum);
        Value both =
            arith::MulFOp::create(k.b, k.load(memory.scales, at, k.VL), scale);
        Value &result = next[row * width + j];
        result = k.fma(sum, both, result);
      }
    }
    return next;
  });
  storeDenseTile(k, tile, acc, epilogue,
                 {memory.out, out, columns, memory.bias, bias});
}

KernelInfo ByteBitsEmitter::emit(nn::BitsMatMulOp op, StringRef symbol) {
  PanelGrid grid = plan();
  Memory memory;
  auto memoryOf = [&](ValueRange operands) {
    memory = Memory::take(operands, hasZeros, epilogue.bias);
    return LinearMemory();
  };
  auto tile = [&](PanelBlock b, Value scratch) {
    k.ifThen(b.isNew, [&] { prepare(memory, b.row, b.rows, scratch); });
    auto call = [&](const PanelTile &tile, Index panel, Index row) {
      Index own = k.add(b.row, row), column = k.mul(panel, panelWidth);
      Values memories = {memory.out,    scratch,      memory.codes,
                         memory.scales, memory.zeros, memory.inScales,
                         memory.bias};
      llvm::erase(memories, Value());
      k.callMicroKernel(nameOf(tile), memories,
                        {k.mul(row, rowSize()), k.mul(own, blocks),
                         k.mul(panel, panelBytes),
                         k.mul(panel, blocks * panelWidth),
                         k.add(k.mul(own, columns), column), column},
                        [&](ValueRange args) { microKernel(args, tile); });
    };
    emitPanelGroups(
        k, grid, b,
        [&](const PanelBlock &b, const PanelTile &tile, Index panel) {
          emitRowGroups(k, grid, b, tile,
                        [&](const PanelTile &tile, Index row) {
                          call(tile, panel, row);
                        });
        });
  };
  KernelInfo info = emitPanelTiles(k, op, symbol, grid, k.b.getI8Type(),
                                   grid.rowBlock * rowSize(), memoryOf, tile);
  info.maps = {grid.denseMap(columns)};
  return info;
}

namespace {

class BitsMatMulBytes : public CpuRoutine {
public:
  BitsMatMulBytes()
      : CpuRoutine("bits_matmul.bytes",
                   "8-bit integers times weights of four or eight bits in "
                   "panels of 16 rows") {}
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::BitsMatMulOp>(layer);
    if (!op || !op.getLhsScales())
      return "it is no product of bytes with weights of few bits";
    if (op.getBlock() < 16 || !llvm::isPowerOf2_64(op.getBlock()))
      return "its blocks are no power of two from 16 on";
    return elementsOf(op.getOutput()) > 0 && elementsOf(op.getLhs()) > 0
               ? ""
               : "a tensor of it is empty";
  }
  Extension extension(Operation *) const override {
    return Extension::DotProducts;
  }
  LayoutRequest layouts(Operation *layer) const override {
    auto op = cast<nn::BitsMatMulOp>(layer);
    LayoutRequest request = Routine::layouts(layer);
    request.operands[1] = "AB16a4b";
    request.operands[2] = "Ab16a";
    if (op.getZeros())
      request.operands[3] = "Ab16a";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    auto op = cast<nn::BitsMatMulOp>(layer);
    return ByteBitsEmitter(k, op).emit(op, symbol);
  }
  Work work(Operation *layer) const override {
    // A step of a block multiplies four products of a lane.
    return {blockedMultiplyAdds(layer) / 3, bytesOf(layer)};
  }
};

} // namespace

Variants codegen::bitsMatMulBytesRoutine() {
  return onlyRoutine<BitsMatMulBytes>();
}
