//===- KernelNeeds.h - A kernel's needs of a GPU ----------------*- C++ -*-===//
//
// Routines declare them, by the types in which their functions compute
// (Math.h), so that none compiles a kernel to find out. The real needs of
// a compiled kernel follow from its code (needsOf, SpirvLowering.h); they may
// be less. Tests compare the two.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_KERNELNEEDS_H
#define NNV12_COMPILER_CODEGEN_GPU_KERNELNEEDS_H

#include "compiler/codegen/gpu/GpuTarget.h"
#include "mlir/IR/Types.h"

namespace nnv12::codegen {

struct ElementProgram;
struct TypesUsed;

struct KernelNeeds {
  GpuFeatures features;
  /// The first type that no device can be asked for, as text; empty where there
  /// is none.
  std::string impossible;
  unsigned bindings = 0; ///< operands and tables

  KernelNeeds() = default;
  explicit KernelNeeds(const TypesUsed &types);
  /// The needs of a kernel that computes a program with a binding for each
  /// leaf.
  explicit KernelNeeds(const ElementProgram &program);

  /// The elements of a binding.
  void addMemory(mlir::Type type);
  /// A value; `isMoved`: loaded, stored or converted from number to number,
  /// which devices can with numbers of 8 and 16 bits that have such memory and
  /// no such arithmetic.
  void addValue(mlir::Type type, bool isMoved);
  /// Why no device of the target runs the kernel; empty where one does.
  std::string refusal(const GpuTarget &target) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_KERNELNEEDS_H
