//===- Scatter.cpp - Updates at indices -----------------------------------===//
//
// scatter_elements, scatter_nd: dense, one tile, since the order of updates
// decides the result where indices repeat.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/routines/Routines.h"
#include "compiler/codegen/cpu/routines/Rows.h"

#include <functional>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// See clampIndex().
Index readIndex(KernelBuilder &k, const Elements &indices, Index at,
                int64_t size) {
  Value x = emitCast(k, indices.load(at), indices.element, k.b.getI64Type());
  return Index(Value(arith::IndexCastOp::create(k.b, k.b.getIndexType(),
                                                clampIndex(k, x, size))));
}

/// The binary function that a reduction is named after; none for "none".
std::optional<nn::BinaryKind> combination(nn::ScatterReduction reduction) {
  return nn::symbolizeBinaryKind(nn::stringifyScatterReduction(reduction));
}

void copyAll(KernelBuilder &k, Value target, Value source, int64_t n) {
  forVectors(k, n, k.VL, [&](Index i, int64_t active) {
    k.storePart(k.loadPart(source, i, k.VL, active), target, i, active);
  });
}

void emitElements(KernelBuilder &k, nn::ScatterElementsOp op,
                  const Elements &out, const Elements &indices,
                  const Elements &updates) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput()),
                    count = shapeOf(op.getUpdates());
  auto combine = combination(op.getReduction());
  int64_t axis = op.getAxis();
  // A loop a dimension; `from` and `to` are offsets in updates and result.
  std::function<void(size_t, Index, Index)> nest = [&](size_t d, Index from,
                                                       Index to) {
    if (d == count.size()) {
      Index place = readIndex(k, indices, from, shape[axis]);
      Index at =
          k.add(to, k.mul(place, llvm::product_of(shape.drop_front(axis + 1))));
      Value x = updates.load(from);
      if (combine)
        x = emitBinary(k, *combine, out.load(at), x,
                       out.element.isUnsignedInteger());
      out.store(x, at);
      return;
    }
    int64_t step = llvm::product_of(count.drop_front(d + 1));
    int64_t stride =
        int64_t(d) == axis ? 0 : llvm::product_of(shape.drop_front(d + 1));
    k.repeat(count[d], [&](Index i) {
      nest(d + 1, k.add(from, k.mul(i, step)), k.add(to, k.mul(i, stride)));
    });
  };
  nest(0, Index(0), Index(0));
}

void emitND(KernelBuilder &k, nn::ScatterNDOp op, const Elements &out,
            const Elements &indices, const Elements &updates) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput()),
                    tuples = shapeOf(op.getIndices());
  auto combine = combination(op.getReduction());
  int64_t length = tuples.back(), count = llvm::product_of(tuples.drop_back());
  int64_t slice = llvm::product_of(shape.drop_front(length));
  if (slice == 0)
    return;
  k.repeat(count, [&](Index t) {
    Index to = 0;
    for (int64_t d = 0; d < length; ++d) {
      Index place = readIndex(k, indices, k.add(k.mul(t, length), d), shape[d]);
      to = k.add(to, k.mul(place, llvm::product_of(shape.drop_front(d + 1))));
    }
    Index from = k.mul(t, slice);
    if (slice == 1) {
      Value x = updates.load(from);
      if (combine)
        x = emitBinary(k, *combine, out.load(to), x,
                       out.element.isUnsignedInteger());
      return out.store(x, to);
    }
    forVectors(k, slice, k.VL, [&](Index i, int64_t active) {
      Value x = updates.load(k.add(from, i), k.VL, active);
      if (combine)
        x = emitBinary(k, *combine, out.load(k.add(to, i), k.VL, active), x,
                       out.element.isUnsignedInteger());
      out.store(x, k.add(to, i), active);
    });
  });
}

class ScatterRoutine : public CpuRoutine {
public:
  ScatterRoutine() : CpuRoutine("scatter", "updates at indices, in order") {}
  std::string misfit(Operation *layer) const override {
    return isa<nn::ScatterElementsOp, nn::ScatterNDOp>(layer)
               ? ""
               : "it scatters nothing";
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    Value input = layer->getOperand(0), output = layer->getResult(0);
    int64_t n = llvm::product_of(shapeOf(input));
    KernelInfo info;
    info.tiles = n ? 1 : 0;
    info.maps = {TileMap::grid({{n, 1}}, {})};
    info.inPlaceOperands = {0};
    k.kernel(
        symbol, layer, [&](ValueRange operands, Value, Value begin, Value end) {
          if (n == 0)
            return;
          Elements out(k, operands[0], output),
              indices(k, operands[2], layer->getOperand(1)),
              updates(k, operands[3], layer->getOperand(2));
          k.loop(begin, end, 1, [&](Value) {
            copyAll(k, operands[0], operands[1], n);
            if (auto op = dyn_cast<nn::ScatterElementsOp>(layer))
              emitElements(k, op, out, indices, updates);
            else
              emitND(k, cast<nn::ScatterNDOp>(layer), out, indices, updates);
          });
        });
    return info;
  }
};

} // namespace

Variants codegen::scatterRoutine() { return onlyRoutine<ScatterRoutine>(); }
