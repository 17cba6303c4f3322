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

GpuDispatch RowWalk::dispatch(const RowView &view, bool isShared) {
  int64_t rows = view.rows();
  return {isShared ? FlatGrid::ofGroups(rows) : FlatGrid::of(rows),
          {uint32_t(rows), uint32_t(view.size), uint32_t(view.inner)}};
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
