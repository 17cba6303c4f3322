//===- GpuStep.h - The steps of a layer on a GPU ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H

#include "artifact/KernelFacts.h"
#include "compiler/routines/TileMap.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::codegen {

/// One dispatch of a module.
struct GpuDispatch {
  std::array<uint32_t, 3> groups = {0, 1, 1};
  std::vector<uint32_t> push = {};
  /// For each written operand, the box that each group computes: groups count
  /// as tiles, along x, then y, then z. Empty where groups compute no boxes.
  llvm::SmallVector<TileMap, 1> maps = {};

  /// A grid over the outermost axes of the operand that is written: along x, y
  /// and z groups take so many positions of axes 2, 1 and 0.
  static GpuDispatch over(TileMap memory, std::array<int64_t, 3> positions);
  void append(llvm::ArrayRef<int64_t> words) {
    push.insert(push.end(), words.begin(), words.end());
  }
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
  /// A missing bias or residual is never read. The type of its elements is
  /// said all the same, so that layers that have one share the kernel.
  enum class Use : uint8_t {
    Data,
    NoBias,    ///< f32
    NoResidual ///< of the result's
  };
  Use use = Use::Data;
  /// The part of it that the step touches, in bytes where its elements are
  /// stored as they are: `pieces` runs of `size`, `distance` apart, the first
  /// one at `offset`. A size of zero is all of it.
  int64_t offset = 0, size = 0;
  int64_t pieces = 1, distance = 0;
};

/// One dispatch of a layer. The same memory may be given twice: it stands for a
/// missing bias or residual, which is never read.
struct GpuStep : GpuDispatch {
  unsigned kernel = 0; ///< index into GpuSteps::kernels
  /// By binding. The module's tables have the bindings behind them.
  std::vector<GpuStepOperand> operands = {};
  artifact::Work grid = {};
  /// Which code of those that the kernel may be, where they take times of their
  /// own: "window". Empty: it makes no difference.
  std::string variant = {};
};

/// The steps that compute a layer, in order: a step begins when those before it
/// have finished with the memory that it touches.
struct GpuSteps {
  /// Keys of kernels. Equal keys are equal modules, whatever the layer: few
  /// pipelines serve a model.
  std::vector<std::string> kernels;
  /// Bytes of memory that steps hand over to each other, garbage before them.
  std::vector<int64_t> temporaries;
  /// None where there is nothing to compute.
  std::vector<GpuStep> steps;
  /// The name by which device profiles know the steps, where several routines
  /// have kernels in common, which take the same time in each. Empty: the
  /// routine's name.
  std::string family = {};
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUSTEP_H
