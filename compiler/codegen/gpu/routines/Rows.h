//===- Rows.h - Rows of a tensor, and their readers -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_ROWS_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_ROWS_H

#include "compiler/codegen/gpu/FrontMemory.h"
#include "compiler/codegen/gpu/routines/GpuEmitter.h"

namespace nnv12::codegen {

/// Where rows lie in memory, which is [outer][size][inner].
struct RowView {
  int64_t outer = 1, size = 1, inner = 1;

  int64_t rows() const { return outer * inner; }
  /// The rows along dimensions `first` to `end` - 1 of a dense tensor.
  RowView(ArrayRef<int64_t> shape, size_t first, size_t end);
};

/// The elements of a row that an invocation looks at: every one of them, or,
/// where a work group takes a row, those that are its own.
class RowWalk : GpuEmitter {
public:
  /// The first push words of a kernel of rows.
  enum Word : unsigned {
    Rows, ///< zero: nothing to do
    Size,
    Inner,
    Words
  };
  /// A layer makes an element of each row, or a row.
  enum class Result { Element, Row };
  /// GpuRoutine::cutUnit(): a front is the rows that memory begins with. They
  /// lie along dimensions of the operand from `first` on.
  static int64_t cutUnit(Operation *layer, unsigned dim, size_t first);
  /// Groups for the rows of a front of the result, and those words.
  static GpuDispatch dispatch(const RowView &view, const FrontMemory &front,
                              bool isShared, Result result);

  RowWalk(GpuBuilder &k, bool isShared);

  const bool isShared; ///< a work group takes a row, else an invocation
  Value row;
  Value local; ///< the invocation's number in its group
  /// Elements to look at. Invocations that have no row look at none, and come
  /// to all barriers.
  Value first, end, apart;

  /// Where the row is in [outer][inner].
  Value outer() { return div(row, atLeastOne(Inner)); }
  Value lane() { return rem(row, atLeastOne(Inner)); }
  /// Emits `body` for the invocation that has the row's result.
  void once(function_ref<void()> body);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_ROWS_H
