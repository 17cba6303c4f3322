//===- BuilderBase.h - Writes arithmetic in arith/scf/vector ----*- C++ -*-===//
//
// A thin layer over MLIR builders in which kernels are written, for every
// processor: index expressions with constant folding into the addressing
// displacement, loops with carried values, loads and stores of whole vectors.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H
#define NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nnv12::codegen {

namespace arith = mlir::arith;
using llvm::ArrayRef;
using llvm::function_ref;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::Operation;
using mlir::Type;
using mlir::TypeRange;
using mlir::Value;
using mlir::ValueRange;
using mlir::VectorType;

using Values = SmallVector<Value>;
using Order = arith::CmpIPredicate;

/// `type` with another element type: scalar for scalar, vector for vector.
Type withElement(Type type, Type element);

/// An index: a value plus a constant, either of which may be absent.
struct Index {
  Value value;
  int64_t constant = 0;
  Index(int64_t c = 0) : constant(c) {}
  Index(Value v, int64_t c = 0) : value(v), constant(c) {}
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
  mlir::MemRefType memory(Type element);

  // Index arithmetic, folded where operands are constants.
  Value constant(int64_t c) { return arith::ConstantIndexOp::create(b, c); }
  Value val(Index i);
  Index add(Index x, Index y);
  Index sub(Index x, Index y);
  Index mul(Index x, Index y);
  Index div(Index x, int64_t k); ///< unsigned
  Index rem(Index x, int64_t k);
  Index min(Index x, Index y);
  Index max(Index x, Index y);

  // Values: scalars or vectors of the element type.
  Value fconst(double c, Type type); ///< splat if a vector type
  Value iconst(int64_t c, Type type);
  /// A whole number as either of them.
  Value number(int64_t c, Type type);
  VectorType vec(int64_t lanes, Type element = {}); ///< f32 default
  // An element of memory is a scalar, or a vector where memory is of vectors.
  Value load(Value memory, Index offset);
  Value load(Value memory, Index offset, int64_t lanes);
  void store(Value x, Value memory, Index offset);
  Value broadcast(Value scalar, int64_t lanes);
  Value extract(Value vector, int64_t lane);
  Value insert(Value scalar, Value vector, int64_t lane);
  Value fma(Value x, Value y, Value z);
  /// Which of `lanes` lanes are the first `count`.
  Value firstLanes(int64_t lanes, int64_t count);
  /// A vector folded to a scalar, pairwise.
  Value horizontal(Value x, function_ref<Value(Value, Value)> combine);

  /// for (i = lo; i < hi; i += step) with carried values; returns their last.
  Values loop(Index lo, Index hi, Index step, const Values &init,
              function_ref<Values(Value, ValueRange)> body);
  void loop(Index lo, Index hi, Index step, function_ref<void(Value)> body);
  /// A loop of a count known now: nothing for 0, straight line for 1.
  void repeat(int64_t count, function_ref<void(Index)> body);
  /// Repeats: `test`, given the carried values, says whether to go on, and
  /// forwards values of `types`, which `body` turns into the next carried ones.
  /// Returns the values that the last test forwards.
  Values loopWhile(const Values &init, TypeRange types,
                   function_ref<std::pair<Value, Values>(ValueRange)> test,
                   function_ref<Values(ValueRange)> body);
  Values ifElse(Value condition, TypeRange types, function_ref<Values()> then,
                function_ref<Values()> otherwise);
  void ifThen(Value condition, function_ref<void()> then);
  /// As signed numbers.
  Value less(Index x, Index y) { return compare(Order::slt, val(x), val(y)); }

  // These take truth values or integers, scalars or vectors.
  Value compare(Order order, Value x, Value y) {
    return arith::CmpIOp::create(b, order, x, y);
  }
  Value bitAnd(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value bitOr(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value bitXor(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  /// condition ? x : y, of any type.
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }

protected:
  static Type elementOf(Value memory);
  /// Vector accesses promise no more than the alignment of an element.
  static llvm::MaybeAlign alignOf(Type element);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_BUILDERBASE_H
