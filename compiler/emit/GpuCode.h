//===- GpuCode.h - Modules and pipelines of a bundle ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_GPUCODE_H
#define NNV12_COMPILER_EMIT_GPUCODE_H

#include "artifact/Bundle.h"
#include "compiler/codegen/gpu/GpuKernelTable.h"

namespace nnv12 {

/// The kernels of GPUs that all programs of a bundle share, as modules and
/// pipelines: of equal modules there is one.
class GpuCode {
public:
  explicit GpuCode(const codegen::GpuTarget &target) : kernels(target) {}

  /// See GpuKernelTable::add. Fails with a diagnostic, also for a module that
  /// artifact::verifySpirv refuses.
  mlir::FailureOr<codegen::GpuSteps> add(mlir::Operation *layer,
                                         const codegen::GpuRoutine &routine,
                                         codegen::HalfTensors half = {},
                                         std::optional<Cut> cut = std::nullopt);

  /// The module of a step's kernel.
  const codegen::SpirvModule &module(unsigned kernel) const {
    return kernels[kernel].module;
  }
  /// A step as a dispatch of its pipeline, without operands.
  artifact::Dispatch dispatchOf(const codegen::GpuStep &step) const;
  /// The kernel of this key; none where no layer has it.
  std::optional<unsigned> kernelOf(llvm::StringRef key) const {
    return kernels.find(key);
  }
  uint32_t pipelineOf(unsigned kernel) const {
    return pipelineOfKernel[kernel];
  }

  bool empty() const { return pipelines.empty(); }
  size_t numPipelines() const { return pipelines.size(); }
  uint64_t bytes() const; ///< of all modules
  /// Modules and pipelines, and the segment of their words, which point into
  /// this.
  artifact::Gpu describe(uint32_t segment) const;
  artifact::Segment segment() const;
  /// The modules as text of MLIR's spirv dialect, each behind a line that says
  /// what the bundle says of it.
  mlir::LogicalResult print(mlir::MLIRContext &context,
                            llvm::raw_ostream &os) const;

private:
  struct Pipeline {
    unsigned kernel; ///< the first of its kernels
    uint32_t module;
  };
  mlir::LogicalResult addKernel(mlir::Operation *layer, unsigned kernel);

  codegen::GpuKernelTable kernels;
  std::vector<uint32_t> pipelineOfKernel;
  std::vector<Pipeline> pipelines;
  std::vector<unsigned> modules; ///< of each the first of its kernels
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_GPUCODE_H
