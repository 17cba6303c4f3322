//===- BuilderBase.h - Writes arithmetic in arith/scf/vector ----*- C++ -*-===//
//
// A thin layer over MLIR builders in which kernels are written, for every
// processor: index expressions with constant folding into the addressing
// displacement, loops with carried values, loads and stores of whole vectors.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H
#define NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nnv12::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// `type` with another element type: scalar for scalar, vector for vector.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// An index: a value plus a constant, either of which may be absent.
struct Index {
  mlir::Value value;
  int64_t constant = 0;
  Index(int64_t c = 0) : constant(c) {}
  Index(mlir::Value v, int64_t c = 0) : value(v), constant(c) {}
  bool isConstant() const { return !value; }
};

/// Builds the functions of one module.
class BuilderBase {
public:
  /// `lanes`: f32 lanes of a vector. `fuses`: fma() rounds once. The module is
  /// the caller's to free.
  BuilderBase(mlir::MLIRContext &context, int lanes, bool fuses = true);

  mlir::ImplicitLocOpBuilder b;
  mlir::ModuleOp module;
  const int VL; ///< f32 lanes of a vector
  /// Whether fma() rounds once on every device; else it may round twice, and a
  /// function whose error is promised must not use it.
  const bool fuses;

  /// Memory seen as a flat array. Static and huge, so that the bare pointer
  /// calling convention holds. i1 tensors are memrefs of i8; unsigned integers
  /// are signless here: signedness comes from the tensor's type.
  mlir::MemRefType memory(mlir::Type element);

  // Index arithmetic, folded where operands are constants.
  mlir::Value constant(int64_t c);
  mlir::Value val(Index i);
  Index add(Index x, Index y);
  Index sub(Index x, Index y);
  Index mul(Index x, Index y);
  Index div(Index x, int64_t k); ///< unsigned
  Index rem(Index x, int64_t k);
  Index min(Index x, Index y);
  Index max(Index x, Index y);

  // Values: scalars or vectors of the element type.
  mlir::Value fconst(double c, mlir::Type type); ///< splat if a vector type
  mlir::Value iconst(int64_t c, mlir::Type type);
  /// A whole number as either of them.
  mlir::Value number(int64_t c, mlir::Type type);
  mlir::VectorType vec(int64_t lanes, mlir::Type element = {}); ///< f32 default
  // An element of memory is a scalar, or a vector where memory is of vectors.
  mlir::Value load(mlir::Value memory, Index offset);
  mlir::Value load(mlir::Value memory, Index offset, int64_t lanes);
  void store(mlir::Value x, mlir::Value memory, Index offset);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value scalar, mlir::Value vector, int64_t lane);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// Which of `lanes` lanes are the first `count`.
  mlir::Value firstLanes(int64_t lanes, int64_t count);
  /// A vector folded to a scalar, pairwise.
  mlir::Value
  horizontal(mlir::Value x,
             llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

  /// for (i = lo; i < hi; i += step) with carried values; returns their last.
  Values loop(Index lo, Index hi, Index step, const Values &init,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);
  void loop(Index lo, Index hi, Index step,
            llvm::function_ref<void(mlir::Value)> body);
  /// A loop of a count known now: nothing for 0, straight line for 1.
  void repeat(int64_t count, llvm::function_ref<void(Index)> body);
  Values ifElse(mlir::Value condition, mlir::TypeRange types,
                llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then);
  mlir::Value less(Index x, Index y); ///< signed

protected:
  static mlir::Type elementOf(mlir::Value memory);
  /// Vector accesses promise no more than the alignment of an element.
  static llvm::MaybeAlign alignOf(mlir::Type element);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H
