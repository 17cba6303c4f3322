//===- PanelKernel.cpp - The micro-kernel of sums of products -------------===//

#include "compiler/codegen/cpu/routines/PanelKernel.h"

#include "compiler/codegen/cpu/ArmProducts.h"
#include "compiler/codegen/cpu/DotProduct.h"
#include "llvm/ADT/Twine.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

int64_t codegen::maxPositions(const Target &target, int64_t panels, bool quads,
                              bool smallWeights) {
  if (const TileCosts *costs = quads ? target.quadCosts : target.tileCosts)
    return costs->maxPositions(panels);
  if (quads)
    return DotProduct::maxPositions(target, panels, smallWeights);
  int64_t vectors = panels * panelWidth / target.vectorLanes;
  int64_t registers = target.vectorRegisters - 1;
  // A single position needs each weight once: it is no more than an operand.
  int64_t least = vectors + 2 <= registers ? 1 : 0;
  // Besides the accumulators: the weights of one step, and the inputs, which
  // AVX-512 takes from memory, AVX2 from one register.
  return std::max(least, (registers - 1 - vectors) / vectors);
}

double codegen::tileCost(const Target &target, int64_t positions,
                         int64_t panels, bool quads, bool smallWeights) {
  if (const TileCosts *costs = quads ? target.quadCosts : target.tileCosts)
    return costs->of(positions, panels);
  int64_t vectors = panels * panelWidth / target.vectorLanes;
  if (quads) {
    // Inputs and weights take a load, or some instructions to be made ready.
    auto steps = double(DotProduct::steps(target, smallWeights)),
         ready = double(DotProduct::readySteps(target, smallWeights));
    return std::max({double(positions * vectors) * steps,
                     double(positions + vectors) * ready, 8.0}) +
           1.0;
  }
  double multiply = double(positions * vectors);
  double loads = double(vectors + positions);
  // Two multiply-adds a cycle of latency four need eight in flight.
  return std::max({multiply, loads, 8.0}) + 1.0;
}

static Type weightElement(const LinearMemory &memory) {
  return cast<MemRefType>(memory.weights.getType()).getElementType();
}

Value codegen::loadScales(KernelBuilder &k, Value weights, Index at,
                          int64_t lanes) {
  Value raw = k.load(weights, at, lanes * int64_t(sizeof(float)));
  return vector::BitCastOp::create(k.b, k.vec(lanes), raw);
}

Value codegen::widenedVector(KernelBuilder &k, Value narrow, Value scales) {
  auto type = cast<VectorType>(narrow.getType());
  int64_t lanes = type.getNumElements();
  if (type.getElementType().isF16())
    return arith::ExtFOp::create(k.b, k.vec(lanes), narrow);
  Value whole =
      arith::ExtSIOp::create(k.b, k.vec(lanes, k.b.getI32Type()), narrow);
  Value number = arith::SIToFPOp::create(k.b, k.vec(lanes), whole);
  return arith::MulFOp::create(k.b, number, scales);
}

namespace {

/// Writes the body of one micro-kernel.
class PanelEmitter {
public:
  PanelEmitter(KernelBuilder &k, const PanelShape &shape, const PanelTile &tile)
      : k(k), s(shape), t(tile), vectors(panelWidth / k.VL),
        width(t.panels * vectors), accumulators(t.rows * t.cols * width) {
    assert(t.rows * t.cols >= 1 &&
           t.rows * t.cols <= maxPositions(k.target, t.panels,
                                           s.quantized.has_value(),
                                           s.smallWeights) &&
           "registers hold the tile");
    assert(t.lastLanes >= 1 && t.lastLanes <= panelWidth &&
           s.channelTail >= 0 && s.channelTail <= s.channelBlock &&
           "a rest is a part");
    // Bodies of more than a few hundred multiply-adds overflow the decoded
    // instruction cache, short ones pay for the loop.
    unroll = 16;
    int64_t least = 4, most = 128;
    if (s.isCompact)
      least = k.target.multiplyByElement || s.quantized ? 4 : 2, most = 48;
    while (unroll > least && unroll * accumulators > most)
      unroll /= 2;
    while (s.isCompact && unroll > least && s.channelTail % unroll)
      unroll /= 2;
    countsChannels = s.isCompact && !s.quantized && s.channelBlock > unroll &&
                     s.channelTail % unroll == 0;
  }

  void emit(ValueRange args);
  /// A name that tells all that the micro-kernel depends on.
  std::string nameFor(Type weights) const;
  /// The arguments behind the memories.
  SmallVector<Index> argumentsOf(const PanelCall &call) const;

private:
  /// Columns of vector j (of all panels) that exist.
  int64_t lanes(int64_t j) const {
    j += first;
    if (j / vectors != t.panels - 1)
      return k.VL;
    return std::clamp<int64_t>(t.lastLanes - j % vectors * k.VL, 0, k.VL);
  }
  /// The number of those lanes that lie in memory.
  int64_t stored(int64_t j) const { return s.blockedResult ? k.VL : lanes(j); }
  /// Whether columns of the last panel are an argument.
  bool countsLanes() const {
    return s.isCompact && s.blockedResult && !s.quantized &&
           t.lastLanes != panelWidth;
  }
  /// `x` with zeros in the columns that do not exist.
  Value keepColumns(Value x, int64_t j) {
    if (countsLanes() && (j + first) / vectors == t.panels - 1)
      return k.keepLanes(x, k.sub(a.lanes, (j + first) % vectors * k.VL));
    return k.keepLanes(x, lanes(j));
  }
  Index position(int64_t p, Index row, int64_t col) const {
    return k.add(k.mul(row, p / t.cols), p % t.cols * col);
  }
  Index inPosition(int64_t p) const {
    return position(p, s.isCompact ? a.inRow : Index(s.inRow), s.inCol);
  }
  Index outPosition(int64_t p) const {
    return position(p, s.isCompact ? a.outRow : Index(s.outRow), s.outCol);
  }
  Value loadWeights(Index at, int64_t j) {
    Index offset =
        k.add(k.add(at, k.mul(a.weightPanel, j / vectors)), j % vectors * k.VL);
    if (s.plainWeights)
      return k.loadPart(memory.weights, offset, k.VL, lanes(j));
    Value weights = k.load(memory.weights, offset, k.VL);
    if (weightElement(memory).isF32())
      return weights;
    return widenedVector(k, weights, scales.empty() ? Value() : scales[j]);
  }

  /// The weights sixteen steps after step `u`; a panel's step is one cache
  /// line.
  void prefetch(Index weights, int64_t u) {
    for (int64_t panel = 0; panel < t.panels; ++panel)
      k.prefetch(memory.weights,
                 k.add(k.add(weights, k.mul(a.weightPanel, panel)),
                       (u + 16) * s.weightChannel));
  }
  Values steps(Values acc, Index in, Index weights, int64_t count);
  Values quadSteps(Values acc, Index in, Index weights, int64_t count);
  Values armSteps(Values acc, Index in, Index weights, int64_t count);
  Values channels(Values acc, Index in, Index weights, const Index &counted) {
    auto body = [&](Value c, ValueRange carried) {
      return steps(Values(carried), k.add(in, k.mul(c, s.inChannel)),
                   k.add(weights, k.mul(c, s.weightChannel)), unroll);
    };
    if (!counted.isConstant())
      return k.loop(0, counted, unroll, acc, body);
    int64_t count = counted.constant;
    assert(count > 0 && "there is a channel");
    int64_t chunk = std::min(unroll, count), chunks = count / chunk;
    if (chunks == 1)
      acc = steps(acc, in, weights, chunk);
    else
      acc = k.loop(
          0, chunks * chunk, chunk, acc, [&](Value c, ValueRange carried) {
            return steps(Values(carried), k.add(in, k.mul(c, s.inChannel)),
                         k.add(weights, k.mul(c, s.weightChannel)), chunk);
          });
    int64_t done = chunks * chunk;
    if (done < count)
      acc = steps(acc, k.add(in, done * s.inChannel),
                  k.add(weights, done * s.weightChannel), count - done);
    return acc;
  }

  Values kernelRow(Values acc, Index in, Index weights, const Index &count) {
    // Few columns in a straight line, but only where each is a loop over
    // channels: neighbouring columns read the same inputs, and LLVM would keep
    // them all in registers that are not there.
    bool isStraight = s.kernelCols <= 3 && !s.isCompact && count.isConstant() &&
                      count.constant > unroll;
    if (s.kernelCols == 1 || isStraight) {
      for (int64_t x = 0; x < s.kernelCols; ++x)
        acc = channels(acc, k.add(in, x * s.kernelCol),
                       k.add(weights, x * s.weightCol), count);
      return acc;
    }
    return k.loop(0, s.kernelCols, 1, acc, [&](Value x, ValueRange carried) {
      return channels(Values(carried), k.add(in, k.mul(x, s.kernelCol)),
                      k.add(weights, k.mul(x, s.weightCol)), count);
    });
  }

  Values window(Values acc, Index in, Index weights, const Index &count) {
    if (s.kernelRows == 1)
      return kernelRow(acc, in, weights, count);
    acc.push_back(k.val(in));
    acc.push_back(k.val(weights));
    acc = k.loop(0, s.kernelRows, 1, acc, [&](Value, ValueRange carried) {
      Values inner(carried.drop_back(2));
      Value row = carried[accumulators], rowWeights = carried[accumulators + 1];
      inner = kernelRow(inner, row, rowWeights, count);
      inner.push_back(k.val(k.add(row, a.kernelRow)));
      inner.push_back(k.val(k.add(rowWeights, s.weightRow)));
      return inner;
    });
    acc.resize(accumulators);
    return acc;
  }

  /// Fetches the lines of a result in blocks, each a position of a panel.
  void prefetchResult() {
    for (int64_t panel = 0; panel < t.panels; ++panel)
      for (int64_t row = 0; row < t.rows; ++row) {
        Index at = place(outPosition(row * t.cols), panel * vectors);
        k.repeat(t.cols, [&](Index col) {
          k.prefetchForStore(memory.out, k.add(at, k.mul(col, s.outCol)));
        });
      }
  }
  /// The columns of vectors [first, first + width).
  void columns();
  void finish(const Values &acc);
  void finishQuantized(const Values &acc);
  /// Where the result of vector j of a position is.
  Index place(Index position, int64_t j) const {
    return k.add(k.add(a.out, position),
                 k.add(k.mul(a.outPanel, j / vectors), j % vectors * k.VL));
  }
  /// Numbers of the columns of vector j.
  Value column(Value memory, int64_t j) {
    return k.loadPart(memory, k.add(a.bias, (first + j) * k.VL), k.VL,
                      stored(j));
  }

  KernelBuilder &k;
  const PanelShape &s;
  const PanelTile &t;
  int64_t vectors, width, accumulators, unroll;
  int64_t first = 0;              ///< of the vectors that are computed
  bool isTail = false;            ///< behind the whole blocks
  bool countsChannels;            ///< whole and partial blocks share a loop
  std::optional<ArmProducts> arm; ///< how bytes are multiplied, where it is so
  LinearMemory memory;
  PanelCall a;
  Values scales; ///< of 8-bit weights, by vector
};

/// `count` channels in a straight line.
Values PanelEmitter::steps(Values acc, Index in, Index weights, int64_t count) {
  if (arm)
    return armSteps(acc, in, weights, count);
  if (s.quantized)
    return quadSteps(acc, in, weights, count);
  int64_t positions = t.rows * t.cols;
  bool byElement =
      k.target.multiplyByElement && s.inChannel == 1 && count % 4 == 0;
  Values quads(positions);
  for (int64_t u = 0; u < count; ++u) {
    auto loadWeight = [&](int64_t j) {
      return loadWeights(k.add(weights, u * s.weightChannel), j);
    };
    auto loadInput = [&](int64_t p) {
      Index at = k.add(in, k.add(inPosition(p), u * s.inChannel));
      Value x;
      if (byElement) {
        if (u % 4 == 0)
          quads[p] = k.load(memory.in, at, 4);
        x = k.extract(quads[p], u % 4);
      } else {
        x = k.load(memory.in, at);
      }
      return k.broadcast(x, k.VL);
    };
    auto multiplyAdd = [&](int64_t p, int64_t j, Value x, Value weight) {
      Value &sum = acc[p * width + j];
      sum = k.fma(x, weight, sum);
    };
    if (k.target.multiplyByElement) {
      // Inputs wait in registers for four steps, so a weight comes when it is
      // used: all of a step's would not fit beside the sums.
      Values x;
      for (int64_t p = 0; p < positions; ++p)
        x.push_back(loadInput(p));
      for (int64_t j = 0; j < width; ++j) {
        Value weight = loadWeight(j);
        for (int64_t p = 0; p < positions; ++p)
          multiplyAdd(p, j, x[p], weight);
      }
      continue;
    }
    Values w;
    for (int64_t j = 0; j < width; ++j)
      w.push_back(loadWeight(j));
    if (!s.plainWeights)
      prefetch(weights, u);
    for (int64_t p = 0; p < positions; ++p) {
      Value x = loadInput(p);
      for (int64_t j = 0; j < width; ++j)
        multiplyAdd(p, j, x, w[j]);
    }
  }
  return acc;
}

Values PanelEmitter::quadSteps(Values acc, Index in, Index weights,
                               int64_t count) {
  DotProduct dot(k, s.smallWeights);
  for (int64_t u = 0; u < count; ++u) {
    SmallVector<Values> w;
    for (int64_t j = 0; j < width; ++j)
      w.push_back(
          dot.w(memory.weights, k.add(k.add(weights, u * s.weightChannel),
                                      k.add(k.mul(a.weightPanel, j / vectors),
                                            j % vectors * k.VL * 4))));
    prefetch(weights, u);
    int64_t bytes = isTail && u + 1 == count ? s.lastQuad : 4;
    for (int64_t p = 0; p < t.rows * t.cols; ++p) {
      Index at = k.add(in, k.add(inPosition(p), u * s.inChannel));
      Values x = dot.x(memory.in, at, bytes);
      for (int64_t j = 0; j < width; ++j)
        acc[p * width + j] = dot.add(acc[p * width + j], x, w[j]);
    }
  }
  return acc;
}

Values PanelEmitter::armSteps(Values acc, Index in, Index weights,
                              int64_t count) {
  VectorType quads = k.vec(4, k.b.getI32Type());
  // Two or four quads are one access, if memory has all of their bytes.
  int64_t bytes = isTail ? s.lastQuad : 4;
  bool isOne = bytes == 4 && (count == 2 || count == 4);
  auto input = [&](int64_t p, int64_t count) -> Value {
    Index at = k.add(in, inPosition(p));
    Value x = k.iconst(0, quads);
    for (int64_t u = 0; u < count && !isOne; ++u) {
      Value quad = k.loadPart(memory.in, k.add(at, u * s.inChannel), 4,
                              u + 1 == count ? bytes : 4);
      quad = vector::BitCastOp::create(k.b, k.vec(1, k.b.getI32Type()), quad);
      x = k.insert(k.extract(quad, 0), x, u);
    }
    if (isOne && count == 2) {
      Value both = k.load(memory.in, at, 8);
      both = vector::BitCastOp::create(k.b, k.vec(1, k.b.getI64Type()), both);
      x = k.insert(k.extract(both, 0), k.iconst(0, k.vec(2, k.b.getI64Type())),
                   0);
    }
    if (isOne && count == 4)
      x = k.load(memory.in, at, 16);
    return vector::BitCastOp::create(k.b, k.vec(16, k.b.getI8Type()), x);
  };
  // A load from below an address is one step of a Neoverse N1, one from above
  // it two.
  int64_t block = count * s.weightChannel;
  SmallVector<Index> ends = {k.hide(k.add(weights, block))};
  for (int64_t panel = 1; panel < t.panels; ++panel)
    ends.push_back(k.add(ends.back(), a.weightPanel));
  return arm->steps(acc, count, input, [&](int64_t panel, int64_t offset) {
    return k.load(memory.weights, k.add(ends[panel], offset - block), 16);
  });
}

void PanelEmitter::emit(ValueRange args) {
  memory = s.quantized ? s.quantized->take(args)
                       : LinearMemory::take(args, s.epilogue, s.scalesColumns);
  memory.prepared = takeIf(args, s.addsPrepared);
  size_t next = 0;
  for (Index *index :
       {&a.in, &a.weights, &a.out, &a.bias, &a.blocks, &a.inBlock, &a.kernelRow,
        &a.weightPanel, &a.outPanel, &a.scale})
    *index = args[next++];
  bool hasTerms = s.quantized && s.quantized->rows;
  if (hasTerms)
    a.terms = args[next++];
  if (s.addsPrepared)
    a.prepared = args[next++];
  if (s.isCompact)
    for (Index *index : {&a.inRow, &a.outRow, &a.channels, &a.lanes})
      *index = args[next++];
  // As a constant the distance would become part of each address. An
  // instruction of aarch64 has no room for most, and registers for one each run
  // out.
  bool arePanelsApart =
      t.panels > 1 && (s.quantized || s.weightChannel == panelWidth);
  if (k.target.multiplyByElement && arePanelsApart)
    a.weightPanel = k.hide(a.weightPanel);

  if (!s.quantized || !ArmProducts::isFor(k.target))
    return columns();
  int64_t positions = t.rows * t.cols, all = width,
          most = ArmProducts::mostVectors(k.target, positions);
  for (; first < all; first += width) {
    width = std::min(most, all - first);
    arm.emplace(k, positions, first, width, s.hasFlippedInputs);
    accumulators = arm->registers();
    columns();
  }
}

void PanelEmitter::columns() {
  // The old results, which cells write over, are in no cache of the core.
  if (s.isCompact && s.blockedResult && !s.quantized)
    prefetchResult();
  bool hasTerms = s.quantized && s.quantized->rows;
  VectorType sums = k.vec(k.VL, s.quantized ? Type(k.b.getI32Type()) : Type());
  Values acc(t.rows * t.cols * width, k.number(0, sums));
  bool hasScales = !s.quantized && weightElement(memory).isInteger(8);
  for (int64_t j = 0; hasScales && j < width; ++j)
    scales.push_back(
        loadScales(k, memory.weights,
                   k.add(a.scale, j * k.VL * int64_t(sizeof(float))), k.VL));
  // Sums of integers are exact, so that a bias costs nothing in front.
  if (s.quantized && s.quantized->bias)
    for (int64_t j = 0; j < width; ++j) {
      Value bias = column(memory.bias, j);
      for (int64_t p = 0; p < t.rows * t.cols; ++p)
        acc[p * width + j] = bias;
    }
  for (int64_t j = 0; s.addsPrepared && j < width; ++j) {
    Value bytes =
        k.load(memory.prepared, k.add(a.prepared, (first + j) * 4 * k.VL), 16);
    Value base = vector::BitCastOp::create(k.b, sums, bytes);
    for (int64_t p = 0; p < t.rows * t.cols; ++p)
      acc[p * width + j] = arith::AddIOp::create(k.b, acc[p * width + j], base);
  }
  for (int64_t p = 0; hasTerms && p < t.rows * t.cols; ++p) {
    Value term = k.load(memory.rows, k.add(a.terms, position(p, s.termRow, 1)));
    term = k.broadcast(term, k.VL);
    for (int64_t j = 0; j < width; ++j)
      acc[p * width + j] = arith::AddIOp::create(k.b, acc[p * width + j], term);
  }
  if (arm)
    acc = arm->enter(acc);
  acc.push_back(k.val(a.in));
  acc.push_back(k.val(a.weights));
  Index last = k.sub(a.blocks, 1);
  acc = k.loop(0, a.blocks, 1, acc, [&](Value block, ValueRange carried) {
    Values inner(carried.drop_back(2));
    Value in = carried[accumulators], weights = carried[accumulators + 1];
    Index count = s.channelBlock;
    if (countsChannels)
      count = k.select(k.less(block, last), k.val(count), k.val(a.channels));
    inner = window(inner, in, weights, count);
    inner.push_back(k.val(k.add(in, a.inBlock)));
    inner.push_back(k.val(k.add(weights, s.weightBlock)));
    return inner;
  });
  Value in = acc[accumulators], weights = acc[accumulators + 1];
  acc.resize(accumulators);
  isTail = true;
  if (s.channelTail && !countsChannels)
    acc = window(acc, in, weights, s.channelTail);
  isTail = false;
  if (arm)
    acc = arm->leave(acc);

  if (s.quantized)
    return finishQuantized(acc);
  if (s.scalesColumns)
    for (int64_t j = 0; j < width; ++j) {
      Value scale = k.load(memory.scale, k.add(a.scale, j * k.VL), k.VL);
      for (int64_t p = 0; p < t.rows * t.cols; ++p)
        acc[p * width + j] =
            arith::MulFOp::create(k.b, acc[p * width + j], scale);
    }
  // The bias comes last: added first, it would cost the small products their
  // low bits.
  if (s.epilogue.bias)
    for (int64_t j = 0; j < width; ++j) {
      Value bias = column(memory.bias, j);
      for (int64_t p = 0; p < t.rows * t.cols; ++p)
        acc[p * width + j] =
            arith::AddFOp::create(k.b, acc[p * width + j], bias);
    }
  finish(acc);
}

void PanelEmitter::finishQuantized(const Values &acc) {
  const QuantizedEnd &end = *s.quantized;
  SmallVector<QuantizedEnd::Columns> columns(width);
  SmallVector<Index> panels;
  int64_t firstPanel = first / vectors;
  for (int64_t j = 0; j < width && stored(j) > 0; ++j) {
    columns[j] =
        end.columns(memory, [&](Value from) { return column(from, j); });
    // Panels of a dense result follow each other.
    int64_t panel = (first + j) / vectors;
    bool isNew = firstPanel + int64_t(panels.size()) == panel;
    if (isNew && s.blockedResult)
      panels.push_back(k.val(k.add(a.out, k.mul(a.outPanel, panel))));
    else if (isNew)
      panels.push_back(k.add(a.out, panel * panelWidth));
  }
  SmallVector<QuantizedEnd::Piece> pieces;
  auto add = [&](int64_t p, int64_t j) {
    if (stored(j) > 0)
      pieces.push_back({acc[p * width + j], columns[j],
                        k.add(k.add(panels[(first + j) / vectors - firstPanel],
                                    (first + j) % vectors * k.VL),
                              outPosition(p)),
                        lanes(j), stored(j)});
  };
  // In the order of memory.
  int64_t positions = t.rows * t.cols;
  if (!s.blockedResult)
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t j = 0; j < width; ++j)
        add(p, j);
  for (int64_t j = 0, next; s.blockedResult && j < width; j = next) {
    next = std::min(width, j + vectors - (first + j) % vectors);
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t v = j; v < next; ++v)
        add(p, v);
  }
  end.store(k, pieces, memory, end.shared(k, memory));
}

void PanelEmitter::finish(const Values &acc) {
  auto store = [&](Value x, Index at, int64_t j) {
    if (s.blockedResult)
      x = keepColumns(x, j);
    k.storePart(x, memory.out, at, stored(j));
  };
  auto storeResult = [&](Value sum, Index at, int64_t j) {
    Value result = s.epilogue.apply(k, sum, [&] {
      return k.loadPart(memory.residual, at, k.VL, stored(j));
    });
    store(result, at, j);
  };
  bool isLong = s.epilogue.isLong();
  for (int64_t p = 0; p < t.rows * t.cols; ++p)
    for (int64_t j = 0; j < width && stored(j) > 0; ++j) {
      Index at = place(outPosition(p), j);
      if (isLong)
        store(acc[p * width + j], at, j);
      else
        storeResult(acc[p * width + j], at, j);
    }
  if (!isLong)
    return;
  k.repeat(t.rows, [&](Index row) {
    k.repeat(t.cols, [&](Index col) {
      Index position =
          k.add(k.mul(row, s.isCompact ? a.outRow : Index(s.outRow)),
                k.mul(col, s.outCol));
      for (int64_t j = 0; j < width && stored(j) > 0; ++j) {
        Index at = place(position, j);
        storeResult(k.loadPart(memory.out, at, k.VL, stored(j)), at, j);
      }
    });
  });
}

std::string PanelEmitter::nameFor(Type weights) const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "panel_" << t.rows << 'x' << t.cols << 'x' << t.panels;
  if (countsLanes())
    os << "_z";
  else if (t.lastLanes != panelWidth)
    os << (s.blockedResult ? "_z" : "_l") << t.lastLanes;
  os << "_k" << s.kernelRows << 'x' << s.kernelCols;
  if (t.cols > 1)
    os << "_c" << s.inCol << '_' << s.outCol;
  if (s.isCompact)
    os << "_u" << unroll;
  else if (t.rows > 1)
    os << "_r" << s.inRow << '_' << s.outRow;
  if (s.kernelCols > 1)
    os << "_x" << s.kernelCol << '_' << s.weightCol;
  if (s.kernelRows > 1)
    os << "_y" << s.weightRow;
  os << "_b" << s.channelBlock << '_';
  if (!countsChannels)
    os << s.channelTail << '_';
  os << s.inChannel << '_' << s.weightChannel << '_' << s.weightBlock;
  if (s.plainWeights)
    os << "_plain";
  if (!s.quantized && !weights.isF32())
    os << (weights.isF16() ? "_f16" : "_q8");
  if (s.scalesColumns)
    os << "_s";
  if (s.quantized) {
    os << "_q";
    if (s.smallWeights)
      os << 's';
    if (s.lastQuad != 4)
      os << s.lastQuad;
    if (s.quantized->rows)
      os << "_t" << s.termRow;
    os << s.quantized->suffix() << (s.addsPrepared ? "_prepared" : "")
       << (s.hasFlippedInputs ? "_flipped" : "");
  }
  os << s.epilogue.suffix();
  return name;
}

SmallVector<Index> PanelEmitter::argumentsOf(const PanelCall &call) const {
  SmallVector<Index> result = {call.in,        call.weights,     call.out,
                               call.bias,      call.blocks,      call.inBlock,
                               call.kernelRow, call.weightPanel, call.outPanel,
                               call.scale};
  if (s.quantized && s.quantized->rows)
    result.push_back(call.terms);
  if (s.addsPrepared)
    result.push_back(call.prepared);
  if (!s.isCompact)
    return result;
  bool hasPartial = s.channelTail > 0;
  if (countsChannels && hasPartial)
    result[4] = k.add(call.blocks, 1);
  result.append({s.inRow, s.outRow, hasPartial ? s.channelTail : s.channelBlock,
                 t.lastLanes});
  return result;
}

} // namespace

void codegen::callPanelKernel(KernelBuilder &k, const PanelShape &shape,
                              const PanelTile &tile, const LinearMemory &memory,
                              const PanelCall &args) {
  assert(
      (shape.quantized || (bool(memory.bias) == shape.epilogue.bias &&
                           bool(memory.residual) == shape.epilogue.residual &&
                           bool(memory.scale) == shape.scalesColumns)) &&
      "bias, residual and scales have memory");
  PanelEmitter emitter(k, shape, tile);
  k.callMicroKernel(emitter.nameFor(weightElement(memory)), memory.arguments(),
                    emitter.argumentsOf(args),
                    [&](ValueRange args) { emitter.emit(args); });
}

void codegen::storeDenseTile(KernelBuilder &k, const PanelTile &tile,
                             const Values &sums, const Epilogue &epilogue,
                             const DenseTile &to) {
  int64_t vectors = panelWidth / k.VL, width = tile.panels * vectors;
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t j = 0; j < width; ++j) {
      int64_t lanes = k.VL;
      if (j / vectors == tile.panels - 1)
        lanes =
            std::clamp<int64_t>(tile.lastLanes - j % vectors * k.VL, 0, k.VL);
      if (lanes == 0)
        continue;
      Value x = sums[row * width + j];
      if (epilogue.bias)
        x = arith::AddFOp::create(
            k.b, x,
            k.loadPart(to.bias, k.add(to.biasAt, j * k.VL), k.VL, lanes));
      x = epilogue.apply(k, x, [] { return Value(); });
      k.storePart(x, to.out, k.add(to.at, row * to.columns + j * k.VL), lanes);
    }
}
