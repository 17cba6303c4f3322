//===- KernelBuilder.h - Writes kernels for a CPU ---------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
#define NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H

#include "compiler/codegen/common/BuilderBase.h"
#include "compiler/codegen/cpu/Target.h"

namespace nnv12::codegen {

/// On the function that holds a kernel's body: the symbol of its entry point.
constexpr llvm::StringLiteral kernelEntryAttribute = "entry";
constexpr llvm::StringLiteral kernelBodySuffix = ".body";

/// Builds the kernels of one target: vectors in part, micro-kernels, entry
/// points.
class KernelBuilder : public BuilderBase {
public:
  KernelBuilder(mlir::MLIRContext &context, const Target &target);

  /// The target of the kernels that are written: without an extension unless
  /// use() says so.
  Target target;
  /// The next kernels may use this extension, if the module's target has it.
  void use(Extension extension) { target = all.upTo(extension); }

  /// The first `count` of `lanes`; the others are zero / untouched in memory.
  Value loadPart(Value memory, Index offset, int64_t lanes, int64_t count);
  void storePart(Value x, Value memory, Index offset, int64_t count);
  /// The first `count` lanes of x, and zeros.
  Value keepLanes(Value x, Index count);
  void prefetch(Value memory, Index offset);
  /// Fetches memory for a later store. The address may lie outside of it: a
  /// prefetch never faults.
  void prefetchForStore(Value memory, Index offset);
  /// The same number, in a register: LLVM does not see its value.
  Index hide(Index x);
  /// 0 <= x < limit.
  Value within(Index x, int64_t limit);

  /// Calls a micro-kernel: internal, never inlined, shared by name. Its
  /// arguments are the memories, then the indices. `body` runs only if no
  /// function of this name exists yet.
  void callMicroKernel(StringRef name, ValueRange memories,
                       ArrayRef<Index> indices,
                       function_ref<void(ValueRange)> body);

  /// An entry point with the signature of artifact::KernelFn. `memories` are
  /// the element types of its operands; the body gets one memref for each, then
  /// a memref<f32> of scratch (or of another element type), and the tile range.
  /// Do not rely on operands being distinct memory: an output may be an input
  /// (in place).
  using KernelBody = function_ref<void(ValueRange operands, Value scratch,
                                       Value begin, Value end)>;
  void kernel(StringRef name, ArrayRef<Type> memories, KernelBody body,
              Type scratch = {});
  /// One whose operands are the layer's results, then its operands. Elements of
  /// operand 1 in memory are `weights`, where that is given.
  void kernel(StringRef name, Operation *layer, KernelBody body,
              Type weights = {}, Type scratch = {});

private:
  Target all; ///< the module's
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_KERNELBUILDER_H
