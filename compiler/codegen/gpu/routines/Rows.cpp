//===- Rows.cpp - Rows of a tensor, and their readers ---------------------===//

#include "compiler/codegen/gpu/routines/Rows.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nnv12::codegen;
using llvm::product_of;

RowView::RowView(ArrayRef<int64_t> shape, size_t first, size_t end)
    : outer(product_of(shape.take_front(first))),
      size(product_of(shape.slice(first, end - first))),
      inner(product_of(shape.drop_front(end))) {}

GpuDispatch RowWalk::dispatch(const RowView &view, bool isShared,
                              Result result) {
  int64_t rows = isShared ? 1 : FlatGrid::invocations; ///< of a group
  GpuDispatch dispatch =
      result == Result::Element
          ? FlatGrid::over(view.rows(), rows)
          : FlatGrid::over(TileMap::grid({{view.outer, view.size * view.inner},
                                          {view.size, view.inner},
                                          {view.inner, 1}}),
                           {0, 2}, rows);
  dispatch.append({view.rows(), view.size, view.inner});
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
