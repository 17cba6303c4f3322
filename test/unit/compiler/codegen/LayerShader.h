//===- LayerShader.h - Compiles and runs a layer on a GPU -------*- C++ -*-===//
//
// The twin of LayerKernel: from nn IR text with one layer to its kernels on the
// device of ShaderRunner.h. Every module goes through spirv-val.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERSHADER_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERSHADER_H

#include "LayerOperands.h"
#include "ShaderRunner.h"

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>
#include <vector>

namespace nnv12::test {

/// The first routine that computes the layer on the target, in the layouts that
/// it wants. Null where none does: then `reason` is why the last one asked does
/// not.
const codegen::GpuRoutine *chooseGpuRoutine(mlir::Operation *layer,
                                            const codegen::GpuTarget &target,
                                            std::string &reason);

/// The name by which tests of layers know the GPU among targets.
inline constexpr const char *gpuTarget = "vulkan";

class LayerShader {
public:
  /// Compiles the layer of `func.func @main` in `text`. `routine` names one
  /// that must be taken, empty for the preferred one; `target` as
  /// GpuTarget::byName has it. `half` of its tensors are in f16 in memory. On
  /// failure null and a message in `error`.
  static std::unique_ptr<LayerShader> compile(
      llvm::StringRef text, std::string &error, llvm::StringRef routine = "",
      llvm::StringRef target = "vulkan1.1+all", codegen::HalfTensors half = {});

  mlir::Operation *layer() const { return layer_; }
  /// The modules that steps() number.
  const std::vector<codegen::SpirvModule> &modules() const { return modules_; }
  /// The module of a layer with one kernel.
  const codegen::SpirvModule &module() const { return modules_.front(); }
  const codegen::GpuSteps &steps() const { return steps_; }
  const codegen::GpuRoutine &routine() const { return *routine_; }

  /// Dense row-major operands in, dense row-major results out. A fault is a
  /// line in `error`.
  std::vector<Bytes> run(const std::vector<Bytes> &operands,
                         std::string &error) const;

  /// The contents of all memory before a run: results and temporaries, which
  /// are garbage, with the operands as the routine reads them between.
  std::vector<Bytes> memories(const std::vector<Bytes> &operands) const;
  /// Runs steps that are the layer's, or those of a front of it. Returns a
  /// fault, or nothing.
  std::string run(const codegen::GpuSteps &steps,
                  std::vector<Bytes> &memories) const;
  /// Which of these memories an operand of a step is.
  size_t memoryOf(const codegen::GpuStepOperand &operand) const;
  /// The steps of the front, in the layer's kernels.
  codegen::GpuSteps front(Cut cut) const;

private:
  LayerShader() = default;
  Bytes transformed(const WeightForm &form, const Bytes &packed) const;

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  mlir::Operation *layer_ = nullptr;
  const codegen::GpuRoutine *routine_ = nullptr;
  codegen::GpuSteps steps_;
  codegen::HalfTensors half;
  std::vector<codegen::SpirvModule> modules_;
  std::vector<std::string> keys;
};

/// The routines for the layer of `text`; none where there is no device, nor for
/// a layer that GPUs leave to CPUs.
std::vector<std::string> gpuRoutinesOf(llvm::StringRef text);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERSHADER_H
