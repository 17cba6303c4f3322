//===- FlatGrid.cpp - An invocation for each of many ----------------------===//

#include "compiler/codegen/gpu/routines/FlatGrid.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

using Dim = GpuBuilder::Dim;

std::array<uint32_t, 3> FlatGrid::ofGroups(int64_t groups) {
  constexpr int64_t longest = GpuTarget::maxGroups;
  int64_t rows = (groups + longest - 1) / longest;
  assert(rows <= longest && "buffers are no larger");
  return {uint32_t(std::min(groups, longest)), uint32_t(rows), 1};
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
