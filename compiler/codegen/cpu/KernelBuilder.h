//===- KernelBuilder.h - Writes kernels in vector/scf/arith -----*- C++ -*-===//
//
// A thin layer over MLIR builders in which the routines are written: index
// expressions with constant folding into the addressing displacement, loops
// with carried values, loads and stores of one vector or a part of it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
#define NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H

#include "compiler/codegen/cpu/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nnv12::codegen {

using Values = llvm::SmallVector<mlir::Value>;

/// An index: a value plus a constant, either of which may be absent.
struct Index {
  mlir::Value value;
  int64_t constant = 0;
  Index(int64_t c = 0) : constant(c) {}
  Index(mlir::Value v, int64_t c = 0) : value(v), constant(c) {}
  bool isConstant() const { return !value; }
};

/// Builds the functions of one target's module.
class KernelBuilder {
public:
  KernelBuilder(mlir::MLIRContext &context, const Target &target);

  mlir::ImplicitLocOpBuilder b;
  const Target &target;
  mlir::ModuleOp module;
  int VL; ///< f32 lanes of a vector

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
  mlir::VectorType vec(int64_t lanes, mlir::Type element = {}); ///< f32 default
  mlir::Value load(mlir::Value memory, Index offset);
  mlir::Value load(mlir::Value memory, Index offset, int64_t lanes);
  void store(mlir::Value x, mlir::Value memory, Index offset);
  /// The first `count` of `lanes`; the others are zero / untouched in memory.
  mlir::Value loadPart(mlir::Value memory, Index offset, int64_t lanes,
                       int64_t count);
  void storePart(mlir::Value x, mlir::Value memory, Index offset,
                 int64_t count);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);
  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value insert(mlir::Value scalar, mlir::Value vector, int64_t lane);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  void prefetch(mlir::Value memory, Index offset);

  /// for (i = lo; i < hi; i += step) with carried values; returns their last.
  Values loop(Index lo, Index hi, Index step, Values init,
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

  /// A micro-kernel: internal, never inlined, shared by name. Memory arguments
  /// of the given element types come first, then `indices` index arguments.
  /// `body` runs only if no function of this name exists yet.
  mlir::func::FuncOp
  microKernel(llvm::StringRef name, llvm::ArrayRef<mlir::Type> memories,
              int indices, llvm::function_ref<void(mlir::ValueRange)> body);
  void call(mlir::func::FuncOp f, mlir::ValueRange memories,
            llvm::ArrayRef<Index> indices);

  /// An entry point with the signature of artifact::KernelFn. `memories` are
  /// the element types of its operands; the body gets one memref for each, then
  /// a memref<f32> of scratch, and the tile range. Do not rely on operands
  /// being distinct memory: an output may be an input (in place).
  void
  kernel(llvm::StringRef name, llvm::ArrayRef<mlir::Type> memories,
         llvm::function_ref<void(mlir::ValueRange operands, mlir::Value scratch,
                                 mlir::Value begin, mlir::Value end)>
             body);
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
