//===- FlatGrid.cpp - An invocation for each of many ----------------------===//

#include "compiler/codegen/gpu/routines/FlatGrid.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

using Dim = GpuBuilder::Dim;

GpuDispatch FlatGrid::over(TileMap memory, ArrayRef<unsigned> axes,
                           int64_t positions) {
  constexpr int64_t longest = GpuTarget::maxGroups;
  int64_t all = 1;
  for (unsigned axis : axes)
    all *= memory.parts[0].box.extent(axis);
  int64_t groups = divideCeil(all, positions),
          rows = divideCeil(groups, longest);
  assert(rows <= longest && "buffers are no larger");
  GpuDispatch result;
  result.groups = {uint32_t(std::min(groups, longest)), uint32_t(rows), 1};
  // The last groups of a folded grid may have nothing to compute.
  if (memory.shareOut(axes, positions) &&
      memory.tiles() == std::min(groups, longest) * rows)
    result.maps.push_back(std::move(memory));
  return result;
}

GpuDispatch FlatGrid::over(const FrontMemory &front, int64_t positions) {
  TileMap memory = front.map();
  if (memory.axes.size() == 1)
    return over(std::move(memory), {0}, positions);
  return over(std::move(memory), {0, 1}, positions);
}

Value FlatGrid::group(GpuBuilder &k) {
  // There is a second row only behind one of the full length.
  return k.val(
      k.add(k.mul(k.groupId(Dim::Y), GpuTarget::maxGroups), k.groupId(Dim::X)));
}

Value FlatGrid::invocation(GpuBuilder &k) {
  return k.val(k.add(k.mul(group(k), invocations), k.localId(Dim::X)));
}

void FlatGrid::forEach(GpuBuilder &k, Value count,
                       llvm::function_ref<void(Value)> body) {
  Value i = invocation(k);
  k.ifThen(k.lessUnsigned(i, count), [&] { body(i); });
}
