//===- GpuRoutine.h - How a GPU computes a layer ----------------*- C++ -*-===//
//
// Each routine is a class in a file of its own under routines/, listed in
// routines/Registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H

#include "compiler/codegen/gpu/GpuBuilder.h"
#include "compiler/codegen/gpu/SpirvModule.h"
#include "compiler/routines/RoutineSet.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12::codegen {

class GpuRoutine : public Routine {
public:
  /// Why it does not compute the layer on this target, as a diagnostic would
  /// say it; empty where it does. Looks at what matches() looks at.
  virtual std::string refusal(mlir::Operation *layer,
                              const GpuTarget &target) const = 0;
  /// Whether there can be a target on which it computes the layer.
  bool matches(mlir::Operation *layer) const final {
    return refusal(layer, GpuTarget::everything()).empty();
  }

  /// Emits the kernel `symbol`, whose operands are the layer's results, then
  /// its operands, in the layouts that the types of `layer` name. As with CPUs,
  /// nothing but attributes and types may be looked at.
  virtual void emit(GpuBuilder &k, mlir::Operation *layer,
                    llvm::StringRef symbol) const = 0;
  /// How the kernel is run for the layer.
  virtual GpuDispatch dispatch(mlir::Operation *layer) const = 0;

  /// A routine of gpuRoutines() as what it is.
  static const GpuRoutine &of(const Routine &routine) {
    return static_cast<const GpuRoutine &>(routine);
  }

protected:
  /// Why no device of the target runs what emit() writes; empty where one does.
  /// What a kernel needs (truth values, conversions, functions that are
  /// computed in f64) shows when it is written.
  std::string refusalOfKernel(mlir::Operation *layer,
                              const GpuTarget &target) const;
};

/// All that GPUs have.
const RoutineSet &gpuRoutines();

/// Prints the end of docs/routines.md: their names and what they are.
void printGpuRoutines(llvm::raw_ostream &os);

/// The first routine that computes the layer on the target. Null where none
/// does: then `reason` is why the last one asked does not.
const GpuRoutine *chooseGpuRoutine(mlir::Operation *layer,
                                   const GpuTarget &target,
                                   std::string &reason);

/// The module of the layer's kernel. Fails with a diagnostic at the layer.
mlir::FailureOr<SpirvModule> compileLayer(mlir::Operation *layer,
                                          const GpuRoutine &routine,
                                          const GpuTarget &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H
