//===- KernelTable.h - The kernels that a program needs ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_KERNELTABLE_H
#define NNV12_COMPILER_EMIT_KERNELTABLE_H

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace nnv12 {

/// The kernels of one target, emitted as they are asked for. Layers that are
/// equal in kind, attributes, types, routine, and in which operands are
/// constant share one.
class KernelTable {
public:
  /// The memory that an operand of a kernel points at.
  struct Memory {
    int64_t bytes;
    mlir::Type element;
  };
  struct Kernel {
    std::string symbol;
    std::string name; ///< for people: the routine
    /// See descriptorOf(). Empty for kernels that compute no layer.
    std::string descriptor;
    /// No other kernel of the table has it. See executeId().
    std::string id;
    unsigned operands = 2, outputs = 1;
    codegen::KernelInfo info;
    /// The one that its code uses.
    codegen::Extension extension = codegen::Extension::None;
    /// Facts of the whole grid; none for copy().
    KernelFacts facts;
    /// By operand, results first; empty for copy(), which knows no size.
    llvm::SmallVector<Memory> memories;
  };

  /// Emits into the module of `builder`, which must outlive the table. For
  /// checks of bounds, each layer has kernels of its own that know its name.
  explicit KernelTable(codegen::KernelBuilder &builder, bool forBounds = false)
      : builder(builder), forBounds(forBounds) {}

  /// Indices of kernels, which are emitted where nobody has asked for them yet.
  unsigned execute(mlir::Operation *layer, const Routine &routine);
  /// The same layer in cells of this size. The routine has cells for it.
  unsigned cells(mlir::Operation *layer, const Routine &routine,
                 const Cells &size);
  /// The same layer in tiles for parts along dimension `dim` (PartGrid.h): the
  /// kernel of execute(), where its tiles are such. There is a part grid.
  unsigned part(mlir::Operation *layer, const Routine &routine, unsigned dim);
  /// From packed weights to the routine's weight form.
  unsigned transform(mlir::Operation *layer, const Routine &routine);
  /// From dense weights to the layout that `type` names.
  unsigned pack(mlir::RankedTensorType type);
  /// From narrow weights to the packed ones of this type.
  unsigned widen(mlir::RankedTensorType packed, plan::Narrowing narrowing);

  /// Bytes that a tile of copy() copies.
  static constexpr uint64_t copyTile = 4096;
  /// From memory to memory, of as many tiles as an operation has.
  unsigned copy();

  /// The ids of such kernels.
  std::string executeId(mlir::Operation *layer, const Routine &routine) const;
  std::string cellsId(mlir::Operation *layer, const Routine &routine) const;
  std::string partId(mlir::Operation *layer, const Routine &routine,
                     unsigned dim) const;
  std::string transformId(mlir::Operation *layer, const Routine &routine) const;
  static std::string packId(mlir::RankedTensorType type);
  static std::string widenId(mlir::RankedTensorType packed,
                             plan::Narrowing narrowing);

  llvm::ArrayRef<Kernel> kernels() const { return kernels_; }
  const Kernel &operator[](unsigned index) const { return kernels_[index]; }

private:
  /// Fills in a kernel that `emit` emits for the routine.
  void describe(Kernel &kernel, mlir::Operation *layer, const Routine &routine,
                llvm::function_ref<codegen::KernelInfo()> emit);
  /// The kernel of this id. `emit` makes a new one, of which name and symbol
  /// are there, and fills in the rest.
  unsigned add(std::string id, llvm::StringRef name, mlir::Location layer,
               llvm::function_ref<void(Kernel &)> emit);

  codegen::KernelBuilder &builder;
  bool forBounds;
  std::vector<Kernel> kernels_;
  llvm::StringMap<unsigned> known;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_KERNELTABLE_H
