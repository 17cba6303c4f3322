//===- Recurrent.cpp - RNN, GRU and LSTM over time ------------------------===//
//
// recurrent: one tile a batch entry. A step is one or two products of the
// hidden state with the recurrent weights, whose columns are taken as vectors
// (so the weights lie transposed), and the cell's functions of the gates.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/common/MathExpand.h"
#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"
#include "compiler/routines/Work.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class RecurrentRoutine : public CpuRoutine {
public:
  RecurrentRoutine() : CpuRoutine("recurrent", "RNN, GRU and LSTM over time") {}
  std::string misfit(Operation *layer) const override {
    return isa<nn::RecurrentOp>(layer) &&
                   isa<FloatType>(getElementTypeOrSelf(layer->getResult(0)))
               ? ""
               : "it is no recurrent layer of floats";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request = Routine::layouts(layer);
    request.operands[1] = "ba";
    return request;
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override;
  Work work(Operation *layer) const override {
    // A gate's function is an exponential and a division.
    return {definedMultiplyAdds(layer) +
                16.0 * double(elementsOf(layer->getOperand(0))),
            bytesOf(layer)};
  }
};

class Cell {
public:
  Cell(KernelBuilder &k, nn::RecurrentOp op, ValueRange operands, Value scratch)
      : k(k), op(op), scratch(scratch), all(k, operands[0], op.getAll()),
        lastH(k, operands[1], op.getLastH()),
        lastC(k, operands[2], op.getLastC()),
        gates(k, operands[3], op.getGates()),
        weights(k, operands[4], op.getRecurrentWeights()) {
    unsigned next = 5;
    auto optional = [&](Value tensor) -> std::optional<Elements> {
      if (!tensor)
        return std::nullopt;
      return Elements(k, operands[next++], tensor);
    };
    recurrentBias = optional(op.getRecurrentBias());
    initialH = optional(op.getInitialH());
    initialC = optional(op.getInitialC());
    peepholes = optional(op.getPeepholes());
    lengths = optional(op.getLengths());
    assert(next == operands.size() && "each operand is read once");
    steps = shapeOf(op.getGates())[0];
    batch = shapeOf(op.getGates())[1];
    columns = shapeOf(op.getGates())[2];
    hidden = shapeOf(op.getRecurrentWeights())[1];
    words = getElementTypeOrSelf(op.getAll()).isF64() ? 2 : 1;
  }

  void emitBatch(Index b);

private:
  using At = llvm::function_ref<Value(Index)>;

  // Scratch holds the gates' sums, then, a vector apart (for vectors are stored
  // whole), GRU's reset state. It is typed f32; f64 takes two words an element.
  int64_t spare() const { return columns + k.VL; }
  Value loadScratch(Index at, int64_t lanes) {
    Value x = k.load(scratch, k.mul(at, words), lanes * words);
    if (words == 1)
      return x;
    return vector::BitCastOp::create(k.b, k.vec(lanes, k.b.getF64Type()), x);
  }

  Value loadScratchScalar(Index at) {
    if (words == 1)
      return k.load(scratch, at);
    return k.extract(loadScratch(at, 1), 0);
  }

  void storeScratch(Value x, Index at) {
    if (words == 2)
      x = vector::BitCastOp::create(k.b, k.vec(2 * k.VL), x);
    k.store(x, scratch, k.mul(at, words));
  }

  /// scratch[c] = (a gate's input, if `withGates`) + sum over i of state(i) *
  /// weights[c, i] for columns from `first` on.
  void product(int64_t first, int64_t count, Index gate, bool withGates,
               At state);
  Value activate(unsigned i, Value x) {
    return emitUnary(k, cast<nn::FunctionAttr>(op.getActivations()[i]), x);
  }

  Value limited(Value x) {
    if (!op.getClip())
      return x;
    FloatMath m(k, x.getType());
    double limit = op.getClip()->convertToDouble();
    return m.clamp(x, m.c(-limit), m.c(limit));
  }

  void step(Index t, Index b) {
    Index row = k.add(k.mul(t, batch), b);
    Index gate = k.mul(row, columns), out = k.mul(row, hidden),
          h = k.mul(b, hidden);
    auto state = [&](Index i) { return lastH.load(k.add(h, i)); };
    switch (op.getKind()) {
    case nn::RecurrentKind::rnn:
      product(0, hidden, gate, true, state);
      return rnn(h, out);
    case nn::RecurrentKind::gru:
      product(0, 2 * hidden, gate, true, state);
      if (op.getLinearBeforeReset())
        product(2 * hidden, hidden, gate, false, state);
      return gru(h, gate, out);
    case nn::RecurrentKind::lstm:
      product(0, 4 * hidden, gate, true, state);
      return lstm(h, out);
    }
  }

  void rnn(Index h, Index out) {
    vectors([&](Index j, int64_t active) {
      Value x = activate(0, limited(loadScratch(j, k.VL)));
      lastH.store(x, k.add(h, j), active);
      lastC.store(x, k.add(h, j), active);
      all.store(x, k.add(out, j), active);
    });
  }

  void gru(Index h, Index gate, Index out);
  void lstm(Index h, Index out);
  void vectors(llvm::function_ref<void(Index, int64_t)> body) {
    forVectors(k, hidden, k.VL, body);
  }

  KernelBuilder &k;
  nn::RecurrentOp op;
  Value scratch;
  Elements all, lastH, lastC, gates, weights;
  std::optional<Elements> recurrentBias, initialH, initialC, peepholes, lengths;
  int64_t steps, batch, columns, hidden, words;
};

void Cell::product(int64_t first, int64_t count, Index gate, bool withGates,
                   At state) {
  Type type = k.vec(k.VL, gates.compute());
  // `vectors` columns at once, the last of them with `active` lanes.
  auto block = [&](Index column, int64_t vectors, int64_t active) {
    auto lanesOf = [&](int64_t v) { return v == vectors - 1 ? active : k.VL; };
    Values sums;
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(withGates
                         ? gates.load(k.add(gate, k.add(column, v * k.VL)),
                                      k.VL, lanesOf(v))
                         : k.fconst(0, type));
    sums = k.loop(0, hidden, 1, sums, [&](Value i, ValueRange s) {
      Values next(s);
      Value x = k.broadcast(state(Index(i)), k.VL);
      Index row = k.add(k.mul(Index(i), columns), column);
      for (int64_t v = 0; v < vectors; ++v)
        next[v] = k.fma(x, weights.load(k.add(row, v * k.VL), k.VL, lanesOf(v)),
                        next[v]);
      return next;
    });
    for (int64_t v = 0; v < vectors; ++v)
      storeScratch(sums[v], k.add(column, v * k.VL));
  };
  constexpr int64_t unroll = 8;
  int64_t width = unroll * k.VL;
  k.repeat(count / width, [&](Index i) {
    block(k.add(k.mul(i, width), first), unroll, k.VL);
  });
  if (int64_t rest = count % width) {
    int64_t tail = rest % k.VL;
    block(Index(first + count - rest), (rest + k.VL - 1) / k.VL,
          tail ? tail : k.VL);
  }
}

void Cell::gru(Index h, Index gate, Index out) {
  FloatMath m(k, k.vec(k.VL, gates.compute()));
  auto old = [&](Index j, int64_t active) {
    return lastH.load(k.add(h, j), k.VL, active);
  };
  Value unit = m.c(1);
  if (!op.getLinearBeforeReset()) {
    // The reset state goes through the weights of the hidden gate.
    vectors([&](Index j, int64_t active) {
      Value r = activate(0, limited(loadScratch(k.add(j, hidden), k.VL)));
      storeScratch(m.mul(r, old(j, active)), k.add(j, spare()));
    });
    product(2 * hidden, hidden, gate, true,
            [&](Index i) { return loadScratchScalar(k.add(i, spare())); });
  }
  vectors([&](Index j, int64_t active) {
    Value z = activate(0, limited(loadScratch(j, k.VL)));
    Value x = loadScratch(k.add(j, 2 * hidden), k.VL);
    if (op.getLinearBeforeReset()) {
      Value r = activate(0, limited(loadScratch(k.add(j, hidden), k.VL)));
      if (recurrentBias)
        x = m.add(x, recurrentBias->load(j, k.VL, active));
      x = m.fma(r, x,
                gates.load(k.add(k.add(gate, 2 * hidden), j), k.VL, active));
    }
    x = activate(1, limited(x));
    Value y = m.fma(z, old(j, active), m.mul(m.sub(unit, z), x));
    lastH.store(y, k.add(h, j), active);
    lastC.store(y, k.add(h, j), active);
    all.store(y, k.add(out, j), active);
  });
}

void Cell::lstm(Index h, Index out) {
  FloatMath m(k, k.vec(k.VL, gates.compute()));
  vectors([&](Index j, int64_t active) {
    auto gate = [&](int64_t g) {
      return loadScratch(k.add(j, g * hidden), k.VL);
    };
    auto peep = [&](int64_t g, Value x, Value c) {
      if (!peepholes)
        return x;
      return m.fma(peepholes->load(k.add(j, g * hidden), k.VL, active), c, x);
    };
    Index place = k.add(h, j);
    Value old = lastC.load(place, k.VL, active);
    Value i = activate(0, limited(peep(0, gate(0), old)));
    Value f = op.getInputForget() ? m.sub(m.c(1), i)
                                  : activate(0, limited(peep(2, gate(2), old)));
    Value g = activate(1, limited(gate(3)));
    Value c = m.fma(f, old, m.mul(i, g));
    Value o = activate(0, limited(peep(1, gate(1), c)));
    Value y = m.mul(o, activate(2, c));
    lastC.store(c, place, active);
    lastH.store(y, place, active);
    all.store(y, k.add(out, j), active);
  });
}

void Cell::emitBatch(Index b) {
  Index h = k.mul(b, hidden);
  Type type = k.vec(k.VL, gates.compute());
  Value zero = k.fconst(0, type);
  bool lstm = op.getKind() == nn::RecurrentKind::lstm;
  // The states live in the results from the start.
  vectors([&](Index j, int64_t active) {
    Index at = k.add(h, j);
    Value x = initialH ? initialH->load(at, k.VL, active) : zero;
    Value c = !lstm ? x : initialC ? initialC->load(at, k.VL, active) : zero;
    lastH.store(x, at, active);
    lastC.store(c, at, active);
  });
  Index length = steps;
  if (lengths) {
    Type i64 = k.b.getI64Type();
    Value n = emitCast(k, lengths->load(b), lengths->element, i64);
    n = arith::MaxSIOp::create(k.b, n, k.iconst(0, i64));
    n = arith::MinSIOp::create(k.b, n, k.iconst(steps, i64));
    length =
        Index(Value(arith::IndexCastOp::create(k.b, k.b.getIndexType(), n)));
  }
  k.loop(0, length, 1, [&](Value i) {
    Index t = op.getReverse() ? k.sub(k.sub(length, 1), Index(i)) : Index(i);
    step(t, b);
  });
  if (lengths) // steps beyond a sequence are zero
    k.loop(length, steps, 1, [&](Value t) {
      Index out = k.mul(k.add(k.mul(Index(t), batch), b), hidden);
      vectors([&](Index j, int64_t active) {
        all.store(zero, k.add(out, j), active);
      });
    });
}

KernelInfo RecurrentRoutine::emit(KernelBuilder &k, Operation *layer,
                                  StringRef symbol) const {
  auto op = cast<nn::RecurrentOp>(layer);
  KernelInfo info;
  int64_t batch = shapeOf(op.getGates())[1],
          columns = shapeOf(op.getGates())[2];
  int64_t hidden = shapeOf(op.getRecurrentWeights())[1];
  info.tiles = hidden ? batch : 0;
  int64_t steps = shapeOf(op.getGates())[0];
  TileMap states =
      TileMap::grid({{batch, hidden}, {hidden, 1}}, {{0, batch, 1}});
  info.maps.assign(op->getNumResults(), states);
  info.maps[0] = TileMap::grid(
      {{steps, batch * hidden}, {batch, hidden}, {hidden, 1}}, {{1, batch, 1}});
  int64_t size = getElementTypeOrSelf(op.getAll()).isF64() ? 8 : 4;
  info.scratchBytes = (columns + hidden + 3 * k.VL) * size;
  k.kernel(symbol, layer,
           [&](ValueRange operands, Value scratch, Value begin, Value end) {
             if (info.tiles == 0)
               return;
             Cell cell(k, op, operands, scratch);
             k.loop(begin, end, 1, [&](Value b) { cell.emitBatch(Index(b)); });
           });
  return info;
}

} // namespace

Variants codegen::recurrentRoutine() { return onlyRoutine<RecurrentRoutine>(); }
