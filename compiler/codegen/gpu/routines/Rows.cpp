//===- Rows.cpp - Rows of a tensor, and their readers ---------------------===//

#include "compiler/codegen/gpu/routines/Rows.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace nnv12::codegen;
using llvm::product_of;

RowView::RowView(ArrayRef<int64_t> shape, size_t first, size_t end)
    : outer(product_of(shape.take_front(first))),
      size(product_of(shape.slice(first, end - first))),
      inner(product_of(shape.drop_front(end))) {}

int64_t RowWalk::cutUnit(Operation *layer, unsigned dim, size_t first) {
  if (dim >= first)
    return 0;
  RankedTensorType type = nn::typeOf(layer->getResult(0));
  int64_t unit =
      std::max(positionsTogether(type, dim),
               positionsTogether(nn::typeOf(layer->getOperand(0)), dim));
  return FrontMemory::of(type, dim, unit).pieces == 1 ? unit : 0;
}

GpuDispatch RowWalk::dispatch(const RowView &view, const FrontMemory &front,
                              bool isShared, Result result) {
  int64_t rows = isShared ? 1 : FlatGrid::invocations; ///< of a group
  int64_t outer = front.all ? view.outer * front.size / front.all : 0;
  GpuDispatch dispatch;
  if (result == Result::Element) {
    dispatch = FlatGrid::over(front, rows);
  } else {
    TileMap memory = TileMap::grid({{view.outer, view.size * view.inner},
                                    {view.size, view.inner},
                                    {view.inner, 1}});
    memory.parts[0].box.hi[0] = outer;
    dispatch = FlatGrid::over(std::move(memory), {0, 2}, rows);
  }
  dispatch.append({outer * view.inner, view.size, view.inner});
  return dispatch;
}

RowWalk::RowWalk(GpuBuilder &k, bool isShared)
    : GpuEmitter(k), isShared(isShared) {
  Value zero = k.constant(0);
  local = k.localId(Dim::X);
  row = isShared ? FlatGrid::group(k) : FlatGrid::invocation(k);
  Value isThere = k.lessUnsigned(row, word(Rows));
  first = isShared ? local : zero;
  end = select(isThere, word(Size), zero);
  apart = k.constant(isShared ? FlatGrid::invocations : 1);
}

void RowWalk::once(llvm::function_ref<void()> body) {
  Value isThere = k.lessUnsigned(row, word(Rows));
  if (isShared)
    isThere = both(isThere, k.lessUnsigned(local, k.constant(1)));
  k.ifThen(isThere, body);
}
