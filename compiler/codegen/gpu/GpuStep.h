//===- GpuStep.h - What a GPU does for a layer ------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H

#include "artifact/KernelFacts.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// One dispatch of a module.
struct GpuDispatch {
  std::array<uint32_t, 3> groups = {0, 1, 1};
  std::vector<uint32_t> push;
};

/// The memory that a binding is.
struct GpuStepOperand {
  enum class Kind : uint8_t {
    Result,   ///< of the layer
    Operand,  ///< of the layer; of weights with a form, the transformed ones
    Temporary ///< GpuSteps::temporaries
  };
  Kind kind = Kind::Operand;
  unsigned index = 0;
  /// What a layer has not is never read. Which elements the kernel takes it to
  /// have is said all the same, so that layers with it share the kernel.
  enum class Use : uint8_t {
    Data,
    NoBias,    ///< f32
    NoResidual ///< of the result's
  };
  Use use = Use::Data;
  /// The part of an operand that it is, in bytes where its elements are stored
  /// as they are; a size of zero is all of it.
  int64_t offset = 0, size = 0;
};

/// One dispatch of a layer. The same memory may be given twice: what a layer
/// has not is replaced by something that is never read.
struct GpuStep : GpuDispatch {
  unsigned kernel = 0; ///< index into GpuSteps::kernels
  /// By binding. The module's tables have the bindings behind them.
  std::vector<GpuStepOperand> operands;
  artifact::Work grid;
  /// Which code of those that the kernel may be, where they take times of their
  /// own: "window". Empty: it makes no difference.
  std::string variant;
};

/// How a layer is computed: in order, each step when those before it have
/// finished with what it touches.
struct GpuSteps {
  /// Keys of kernels. Equal keys are equal modules, whatever the layer: few
  /// pipelines serve a model.
  std::vector<std::string> kernels;
  /// Bytes of memory that steps hand over to each other, garbage before them.
  std::vector<int64_t> temporaries;
  /// None where there is nothing to compute.
  std::vector<GpuStep> steps;
  /// What device profiles know the steps by, where several routines have
  /// kernels in common, which take the same time in each. Empty: the routine's
  /// name.
  std::string family = {};
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H
