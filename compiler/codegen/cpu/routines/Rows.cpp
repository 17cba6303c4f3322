//===- Rows.cpp - The base of routines along one axis ---------------------===//

#include "compiler/codegen/cpu/routines/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

AxisView::AxisView(ArrayRef<int64_t> shape, int64_t axis) {
  assert(axis >= 0 && axis < int64_t(shape.size()) && "an axis of the shape");
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < axis ? outer : d == axis ? size : inner) *= shape[d];
}

Type codegen::elementTypeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

Elements::Elements(KernelBuilder &k, Value memory, Value tensor)
    : k(&k), memory(memory), element(elementTypeOf(tensor)) {}

Value Elements::load(Index offset) const {
  return toCompute(*k, k->load(memory, offset), element);
}
Value Elements::load(Index offset, int64_t lanes, int64_t active) const {
  return toCompute(*k, k->loadPart(memory, offset, lanes, active), element);
}
void Elements::store(Value x, Index offset) const {
  k->store(toStorage(*k, x, element), memory, offset);
}
void Elements::store(Value x, Index offset, int64_t active) const {
  k->storePart(toStorage(*k, x, element), memory, offset, active);
}

SmallVector<Type> codegen::memoriesOf(Operation *layer) {
  SmallVector<Type> types;
  for (Value v : layer->getResults())
    types.push_back(storageType(elementTypeOf(v)));
  for (Value v : layer->getOperands())
    types.push_back(storageType(elementTypeOf(v)));
  return types;
}

void codegen::forVectors(KernelBuilder &k, int64_t n, int64_t lanes,
                         llvm::function_ref<void(Index, int64_t)> body) {
  k.repeat(n / lanes, [&](Index i) { body(k.mul(i, lanes), lanes); });
  if (n % lanes)
    body(Index(n / lanes * lanes), n % lanes);
}

Value codegen::foldRow(KernelBuilder &k, int64_t n, Value identity,
                       llvm::function_ref<Value(Index, int64_t)> term,
                       llvm::function_ref<Value(Value, Value)> combine) {
  int64_t lanes = k.VL, whole = n / lanes;
  // Independent chains hide the latency of the combination.
  int64_t chains = whole >= 8 ? 4 : 1;
  Value start = k.broadcast(identity, lanes);
  Values sums(chains, start);
  auto run = [&](int64_t from, int64_t to, int64_t unroll) {
    if (to <= from)
      return;
    sums = k.loop(from * lanes, to * lanes, unroll * lanes, sums,
                  [&](Value i, ValueRange s) {
                    Values next(s);
                    for (int64_t u = 0; u < unroll; ++u)
                      next[u] =
                          combine(next[u], term(Index(i, u * lanes), lanes));
                    return next;
                  });
  };
  run(0, whole / chains * chains, chains);
  run(whole / chains * chains, whole, 1);
  if (int64_t rest = n % lanes) {
    Value mask = k.firstLanes(lanes, rest);
    Value x = arith::SelectOp::create(k.b, mask,
                                      term(Index(whole * lanes), rest), start);
    sums[0] = combine(sums[0], x);
  }
  Value x = sums[0];
  for (int64_t u = 1; u < chains; ++u)
    x = combine(x, sums[u]);
  return k.horizontal(x, combine);
}

TileMap AxisView::tileMap(const UnitGrid &grid, int64_t lanes) const {
  return TileMap::grid({{outer, size * inner}, {size, inner}, {inner, 1}},
                       grid.cuts({0, 2}, {1, lanes}));
}

void codegen::forUnits(KernelBuilder &k, const UnitGrid &grid, Value begin,
                       Value end, llvm::function_ref<void(Index)> body) {
  grid.forRanges(k, Index(begin), Index(end), [&](Index first, Index last) {
    k.loop(first, last, 1, [&](Value unit) { body(Index(unit)); });
  });
}
