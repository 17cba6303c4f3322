//===- ExecutionOrder.h - The order of layers and their memory --*- C++ -*-===//
#ifndef NNV12_COMPILER_LAYERS_EXECUTIONORDER_H
#define NNV12_COMPILER_LAYERS_EXECUTIONORDER_H

#include "compiler/layers/Aliases.h"
#include "compiler/layers/Arena.h"

#include <optional>
#include <vector>

namespace nnv12 {

/// The layers of a model that have an execute (no constants, none that is in
/// place already), in their order, and how long each tensor is needed. Costs
/// and memory plans are made of the same one.
class ExecutionOrder {
public:
  explicit ExecutionOrder(mlir::func::FuncOp main);

  /// A tensor between two layers in the session's own memory: no input, output
  /// or constant. Numbers are those of layers(), both included.
  struct Tensor {
    mlir::Value value;
    size_t first, last;
    bool hasAliases = false; ///< other tensors lie in it
  };

  llvm::ArrayRef<mlir::Operation *> layers() const { return layers_; }
  /// In the order in which they are touched first.
  llvm::ArrayRef<Tensor> tensors() const { return tensors_; }
  /// The lifetimes of tensors(). No result takes the memory of an operand yet:
  /// that depends on the routines, and costs count these to choose them.
  std::vector<Lifetime> lifetimes() const;
  /// Index into tensors() of a base; none where it is something else.
  std::optional<unsigned> tensorOf(mlir::Value base) const {
    return lookup(tensorOf_, base);
  }
  /// Number of the model's input or output that a base is, if it is one.
  std::optional<unsigned> inputOf(mlir::Value base) const {
    return lookup(inputs_, base);
  }
  std::optional<unsigned> outputOf(mlir::Value base) const {
    return lookup(outputs_, base);
  }

  Aliases::Place placeOf(mlir::Value value) const {
    return aliases.find(value);
  }
  mlir::Value baseOf(mlir::Value value) const { return placeOf(value).base; }

private:
  using Numbers = llvm::DenseMap<mlir::Value, unsigned>;
  static std::optional<unsigned> lookup(const Numbers &numbers, mlir::Value v) {
    auto it = numbers.find(v);
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }
  void touch(mlir::Value value, size_t layer);

  Aliases aliases;
  std::vector<mlir::Operation *> layers_;
  std::vector<Tensor> tensors_;
  Numbers tensorOf_, inputs_, outputs_;
};

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_EXECUTIONORDER_H
