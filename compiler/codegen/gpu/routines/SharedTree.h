//===- SharedTree.h - Folds the values of a work group ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDTREE_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDTREE_H

#include "compiler/codegen/gpu/GpuBuilder.h"

namespace nnv12::codegen {

/// A tree in shared memory, of the values that a work group's invocations found
/// each by itself. The group folds in lanes: invocation i is of lane
/// i % lanes, and the first `lanes` ones get the results.
class SharedTree {
public:
  /// Folds tuples of `types` over `invocations` of a work group in `lanes`,
  /// both powers of two. Takes the memory.
  SharedTree(GpuBuilder &k, int64_t invocations, int64_t lanes,
             ArrayRef<Type> types);

  /// Barriers that each invocation meets in a fold in one lane.
  static unsigned barriers(int64_t invocations);

  using Combine = function_ref<Values(ValueRange x, ValueRange y)>;
  /// Folds `own` of all invocations, of which each must come here: `x` is of a
  /// lower number than `y` in combine(x, y). The first `lanes` invocations get
  /// the result of their lane, others get garbage, as long as toAll() is not
  /// called.
  Values fold(Value localId, const Values &own, Combine combine);
  /// The result of lane 0, for all invocations, which must come here.
  Values toAll();

private:
  GpuBuilder &k;
  const int64_t invocations, lanes;
  Values memories; ///< one for each type, an element an invocation
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SHAREDTREE_H
