//===- Aliases.cpp - Tensors that lie in other tensors --------------------===//

#include "compiler/layers/Aliases.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/View.h"
#include "mlir/IR/Builders.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

/// Bytes between consecutive elements along `dim` when all memory outside of
/// that dimension is one piece, so that a range of `dim` is contiguous; 0 if
/// not.
static int64_t outermostStride(RankedTensorType type, int64_t dim) {
  nn::Layout layout = nn::Layout::of(type);
  for (const nn::Layout::Axis &axis : layout.axes()) {
    if (axis.dim == static_cast<unsigned>(dim))
      return axis.stride * nn::storageElementSize(type.getElementType()) /
             axis.step;
    if (axis.extent != 1)
      return 0;
  }
  return 0;
}

Aliases::Aliases(func::FuncOp main) {
  for (Operation &op : main.getBody().front()) {
    if (nn::isView(&op)) {
      parent[op.getResult(0)] = {op.getOperand(0), 0};
      withoutCode.insert(&op);
    } else if (auto slice = dyn_cast<nn::SliceOp>(op)) {
      // One dimension cut, whole blocks, nothing outside of it. The rest of a
      // block would be padding that is not zero.
      auto in = slice.getInput().getType(), out = slice.getType();
      int64_t cut = -1;
      bool simple =
          nn::layoutTag(in) == nn::layoutTag(out) && out.getNumElements() > 0;
      for (int64_t d = 0; d < in.getRank() && simple; ++d)
        if (in.getDimSize(d) != out.getDimSize(d)) {
          simple = cut < 0 && slice.getSteps()[d] == 1;
          cut = d;
        } else {
          simple = slice.getStarts()[d] == 0;
        }
      if (!simple || cut < 0)
        continue;
      int64_t stride = outermostStride(cast<RankedTensorType>(in), cut);
      int64_t block = nn::Layout::of(cast<RankedTensorType>(in)).block(cut);
      int64_t start = slice.getStarts()[cut], end = start + out.getDimSize(cut);
      if (!stride || start % block ||
          (end % block && end != in.getDimSize(cut)))
        continue;
      parent[op.getResult(0)] = {op.getOperand(0), start * stride};
      withoutCode.insert(&op);
    }
  }
  // The last concatenation first: its operands may be concatenations.
  for (Operation &op : llvm::reverse(main.getBody().front()))
    if (isa<nn::ConcatOp>(op) && joinConcat(&op))
      withoutCode.insert(&op);
}

bool Aliases::joinConcat(Operation *op) {
  auto concat = cast<nn::ConcatOp>(op);
  auto type = cast<RankedTensorType>(concat.getType());
  int64_t axis = concat.getAxis();
  int64_t stride = outermostStride(type, axis);
  int64_t block = nn::Layout::of(type).block(axis);
  if (!stride)
    return false;
  SmallVector<std::pair<Value, int64_t>> parts;
  int64_t position = 0;
  for (Value v : concat.getInputs()) {
    Operation *producer = v.getDefiningOp();
    // The part must be somebody's own fresh memory.
    if (!producer || isa<nn::ConstantOp>(producer) || parent.contains(v) ||
        withoutCode.contains(producer) || position % block ||
        nn::layoutTag(v.getType()) != nn::layoutTag(type) ||
        llvm::any_of(parts, [&](auto &p) { return p.first == v; }) ||
        llvm::any_of(v.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        }))
      return false;
    parts.push_back({v, position * stride});
    position += nn::typeOf(v).getDimSize(axis);
  }
  for (auto [v, offset] : parts)
    parent[v] = {concat.getOutput(), offset};
  return true;
}

Aliases::Place Aliases::find(Value value) const {
  Place place{value, 0};
  for (auto it = parent.find(value); it != parent.end();
       it = parent.find(place.base)) {
    place.offset += it->second.offset;
    place.base = it->second.base;
  }
  assert(place.offset >= 0 &&
         place.offset + nn::storageSize(value) <= nn::storageSize(place.base) &&
         "it lies inside of it");
  return place;
}
