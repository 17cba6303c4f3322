//===- Rows.h - The base of routines along one axis -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/codegen/cpu/UnitGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/Work.h"

namespace nnv12::codegen {

/// A dense tensor seen around one axis: [outer, size, inner].
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  AxisView(ArrayRef<int64_t> shape, int64_t axis);
  int64_t elements() const { return outer * size * inner; }
  /// Where tiles of a grid over (outer, groups of `lanes` inner elements)
  /// write, all along the axis.
  TileMap tileMap(const UnitGrid &grid, int64_t lanes) const;
};

/// Elements of one tensor, read and written in the compute type.
struct Elements {
  KernelBuilder *k;
  Value memory;
  Type element; ///< the tensor's
  Elements(KernelBuilder &k, Value memory, Value tensor);

  Type compute() const { return computeType(element); }
  Value load(Index offset) const;
  /// The first `active` of `lanes`; the others are zero.
  Value load(Index offset, int64_t lanes, int64_t active) const;
  void store(Value x, Index offset) const;
  void store(Value x, Index offset, int64_t active) const;
};

/// Indices in scratch memory, which is of f32: they travel as bits.
struct IndexList {
  KernelBuilder &k;
  Value memory;

  Value operator[](Index at) const;
  void set(Index at, Value i) const;
};

/// body(offset, active) for every vector of `n` consecutive elements.
void forVectors(KernelBuilder &k, int64_t n, int64_t lanes,
                function_ref<void(Index, int64_t)> body);
/// Folds term(offset, active) over the vectors of `n` elements, then the lanes.
/// The lanes that are not active take the value `identity` (a scalar).
Value foldRow(KernelBuilder &k, int64_t n, Value identity,
              function_ref<Value(Index, int64_t)> term,
              function_ref<Value(Value, Value)> combine);

/// A routine of the layers `Op`, which compute dense rows along an axis of
/// operand 0.
template <typename Op> class RowsRoutine : public CpuRoutine {
public:
  using CpuRoutine::CpuRoutine;
  std::string misfit(Operation *layer) const override {
    return llvm::isa<Op>(layer) ? ""
                                : ("it is no " + Op::getOperationName()).str();
  }
  Work work(Operation *layer) const override {
    auto op = llvm::cast<Op>(layer);
    return {stepsPerElement(op) * double(elementsOf(op.getInput())),
            bytesOf(layer)};
  }
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    return emitOp(k, llvm::cast<Op>(layer), symbol);
  }

protected:
  virtual KernelInfo emitOp(KernelBuilder &k, Op op,
                            StringRef symbol) const = 0;
  virtual double stepsPerElement(Op op) const = 0;
};

/// Emits a kernel that computes the units of `grid`, which write to each result
/// as `map` says.
KernelInfo emitUnits(
    KernelBuilder &k, Operation *layer, StringRef symbol, const UnitGrid &grid,
    const TileMap &map,
    function_ref<void(ValueRange operands, Value scratch, Index unit)> body);

/// Rows of operand 0 and of the result, `lanes` side by side: a vector of them,
/// or one where the axis is the innermost.
struct RowGroups {
  AxisView view;
  int64_t lanes, groups;
  RowGroups(KernelBuilder &k, const AxisView &view);

  /// Emits a kernel whose units are (outer, group), in place.
  KernelInfo
  emit(KernelBuilder &k, Operation *layer, StringRef symbol,
       double stepsPerElement,
       function_ref<void(const Elements &in, const Elements &out, Index unit)>
           body) const;
  /// body(active) where a group has so many rows.
  void forActive(KernelBuilder &k, Index group,
                 function_ref<void(int64_t)> body) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_ROWS_H
