//===- ElementTypes.h - In which types elements are computed ----*- C++ -*-===//
//
// An element function (Element.h) declares the types of the values that it
// writes. Here they become the types of a whole program, by the same recursion:
// tensors that are not read do not count.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_ELEMENTTYPES_H
#define NNV12_COMPILER_CODEGEN_COMMON_ELEMENTTYPES_H

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/common/Math.h"
#include "llvm/ADT/DenseSet.h"

namespace nnv12::codegen {

class ElementTypes : public TypesUsed {
public:
  explicit ElementTypes(const ElementProgram &program);

  Types memory;        ///< elements of operands, result and tables
  unsigned tables = 0; ///< ElementEmitter::table: as many at most

  // For element functions. Types of tensors are those that kernels compute
  // their elements in (Math.h).
  static Type typeOf(Value tensor);
  void read(Value tensor);
  /// A layer's types, where it moves the elements of its first operand.
  static void moved(ElementTypes &t, Operation *op) {
    t.read(op->getOperand(0));
  }
  void computeIn(Value tensor) { compute(typeOf(tensor)); }
  /// ElementEmitter::indexFrom(tensor, …, size).
  void readIndices(Value tensor, int64_t size);
  void addTable(Type element);
  bool isLeaf(Value tensor) const { return leaves.contains(tensor); }
  // Simplification makes one step of casts, and computes with a cast's input
  // instead of its output.
  /// The layer that computes the tensor's elements, which are moved at most
  /// from there; null where they are read.
  Operation *originOf(Value tensor) const;
  nn::CastOp castBehind(Value tensor) const {
    return mlir::dyn_cast_or_null<nn::CastOp>(originOf(tensor));
  }
  /// The integer that castBehind() converts to a type that is stored as it is
  /// computed, or null.
  Type castFrom(Value tensor) const;

private:
  llvm::SmallDenseSet<Value, 8> leaves, seen;
  bool readsLeaf = false;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_ELEMENTTYPES_H
