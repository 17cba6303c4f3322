//===- GpuBuilder.h - Writes kernels for a GPU ------------------*- C++ -*-===//
//
// A kernel of a GPU is a function that each invocation of a grid runs. It finds
// its place in the grid by its ids, its operands in storage buffers, one each,
// and numbers that differ between dispatches in 32-bit words (push constants).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUBUILDER_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUBUILDER_H

#include "compiler/codegen/common/BuilderBase.h"
#include "compiler/codegen/gpu/GpuTarget.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVEnums.h"
#include "llvm/ADT/DenseSet.h"

#include <array>

namespace nnv12::codegen {

/// The attributes that the lowering finds on a kernel's function. All arguments
/// but the last are operands, the last one the push constants.
struct GpuKernelAttributes {
  static constexpr llvm::StringLiteral localSize = "nnv12.local_size";
  static constexpr llvm::StringLiteral written = "nnv12.written"; ///< bits
  /// Contents of the operands behind the builder's, once they are bound.
  static constexpr llvm::StringLiteral tables = "nnv12.tables";
};

/// Builds one kernel: a module holds one entry point, since drivers have faults
/// with several. There are no vectors in `VL`: an invocation is a lane.
class GpuBuilder : public BuilderBase {
public:
  /// `half`: a bit a binding: memory of f16 where operands are of f32 or
  /// vectors of it. load() and store() convert, and so code is the same.
  GpuBuilder(mlir::MLIRContext &context, const GpuTarget &target,
             uint32_t half = 0);

  const GpuTarget &target;

  enum class Dim { X, Y, Z };

  /// The entry point. The body gets a memory for each operand, of elements as
  /// memory holds them (see Math.h, storageType): the first one is written, the
  /// others are only read. With all push words zero a kernel must write
  /// nothing: so pipelines are warmed up. Operands may be the same memory: a
  /// result may be computed in place.
  void kernel(ArrayRef<Type> operands, unsigned pushWords,
              std::array<int32_t, 3> localSize,
              function_ref<void(ValueRange operands)> body);

  // These stand in front of those of all builders.
  Value load(Value memory, Index offset);
  /// In memory of f16 a number beyond f16's range becomes its largest one.
  void store(Value x, Value memory, Index offset);
  /// The type that load() gives.
  Type valueType(Value memory) const;

  // In the body of a kernel: indices.
  Value groupId(Dim dim);
  Value localId(Dim dim); ///< of the invocation, in its group
  Value pushWord(unsigned i);
  Value pushFloat(unsigned i); ///< f32, of the same bits
  Value lessUnsigned(Value x, Value y) { return compare(Order::ult, x, y); }
  Value minUnsigned(Value x, Value y) {
    return arith::MinUIOp::create(b, x, y);
  }

  /// Memory of the work group, of `size` elements: garbage at first. All
  /// invocations must come to a barrier(), behind which each sees what the
  /// others wrote before: none may have returned or be in another branch.
  Value shared(int64_t size, Type element);
  void barrier();

  /// Emits `body` once, for each of `values`, all of one type, in order, with
  /// its number. Registers cannot be indexed, so they move along in a loop:
  /// for the epilogue of long sums, whose code would be there for each else.
  void forEach(const Values &values, function_ref<void(Value i, Value x)> body);

  /// Memory of `size` elements, as kernels see it.
  static mlir::MemRefType memoryIn(mlir::spirv::StorageClass storage,
                                   int64_t size, Type element);

private:
  const uint32_t half;
  llvm::SmallDenseSet<Value, 4> halves; ///< memories of f16
  Value words; ///< the push constants of the kernel that is written
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUBUILDER_H
