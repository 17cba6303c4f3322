//===- Rows.cpp - The base of routines along one axis ---------------------===//

#include "compiler/codegen/cpu/routines/Rows.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

AxisView::AxisView(ArrayRef<int64_t> shape, int64_t axis) {
  assert(axis >= 0 && axis < int64_t(shape.size()) && "an axis of the shape");
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    (d < axis ? outer : d == axis ? size : inner) *= shape[d];
}

Elements::Elements(KernelBuilder &k, Value memory, Value tensor)
    : k(&k), memory(memory), element(getElementTypeOrSelf(tensor)) {}

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

Value IndexList::operator[](Index at) const {
  Value bits =
      arith::BitcastOp::create(k.b, k.b.getI32Type(), k.load(memory, at));
  return arith::IndexCastOp::create(k.b, k.b.getIndexType(), bits);
}
void IndexList::set(Index at, Value i) const {
  Value bits = arith::IndexCastOp::create(k.b, k.b.getI32Type(), i);
  k.store(arith::BitcastOp::create(k.b, k.b.getF32Type(), bits), memory, at);
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
    Value x = k.select(mask, term(Index(whole * lanes), rest), start);
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

KernelInfo
codegen::emitUnits(KernelBuilder &k, Operation *layer, StringRef symbol,
                   const UnitGrid &grid, const TileMap &map,
                   llvm::function_ref<void(ValueRange, Value, Index)> body) {
  k.kernel(symbol, layer,
           [&](ValueRange operands, Value scratch, Value begin, Value end) {
             grid.forRanges(k, begin, end, [&](Index first, Index last) {
               k.loop(first, last, 1,
                      [&](Value unit) { body(operands, scratch, unit); });
             });
           });
  KernelInfo info;
  info.tiles = grid.tiles();
  info.maps.assign(layer->getNumResults(), map);
  return info;
}

RowGroups::RowGroups(KernelBuilder &k, const AxisView &view)
    : view(view), lanes(view.inner > 1 ? k.VL : 1),
      groups((view.inner + lanes - 1) / lanes) {}

KernelInfo RowGroups::emit(
    KernelBuilder &k, Operation *layer, StringRef symbol,
    double stepsPerElement,
    llvm::function_ref<void(const Elements &, const Elements &, Index)> body)
    const {
  UnitGrid grid({view.elements() ? view.outer : 0, groups},
                stepsPerElement * view.size * lanes);
  KernelInfo info =
      emitUnits(k, layer, symbol, grid, view.tileMap(grid, lanes),
                [&](ValueRange operands, Value, Index unit) {
                  body(Elements(k, operands[1], layer->getOperand(0)),
                       Elements(k, operands[0], layer->getResult(0)), unit);
                });
  info.inPlaceOperands = {0};
  return info;
}

void RowGroups::forActive(KernelBuilder &k, Index group,
                          llvm::function_ref<void(int64_t)> body) const {
  int64_t tail = view.inner % lanes;
  if (tail == 0 || groups == 1)
    return body(tail ? tail : lanes);
  k.ifElse(
      k.less(group, groups - 1), {}, [&] { return body(lanes), Values(); },
      [&] { return body(tail), Values(); });
}
