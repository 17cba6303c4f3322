//===- GpuRoutine.h - How a GPU computes a layer ----------------*- C++ -*-===//
//
// Each routine is a class in a file of its own under routines/, listed in
// routines/Registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H

#include "compiler/codegen/gpu/FrontMemory.h"
#include "compiler/codegen/gpu/GpuBuilder.h"
#include "compiler/codegen/gpu/GpuStep.h"
#include "compiler/codegen/gpu/HalfMemory.h"
#include "compiler/codegen/gpu/KernelNeeds.h"
#include "compiler/codegen/gpu/SpirvModule.h"
#include "compiler/routines/RoutineSet.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12::codegen {

class GpuRoutine : public Routine {
public:
  using Routine::Routine;
  /// The needs of its kernels, for a layer that fits: declared, not found by
  /// writing them. The code may need less, never more.
  virtual KernelNeeds needs(Operation *layer) const { return {}; }
  /// Why it does not compute the layer on this target; empty where it does.
  std::string refusal(Operation *layer, const GpuTarget &target) const;
  bool matches(Operation *layer) const final {
    return refusal(layer, GpuTarget::everything()).empty();
  }

  /// The dispatches of kernels that compute the layer. Asked only of a routine
  /// that computes the layer on some target, as are all functions below.
  GpuSteps steps(Operation *layer) const;
  /// A front of the result can end at multiples of this along the dimension,
  /// and at its extent. 0: the routine computes no fronts along it.
  virtual int64_t cutUnit(Operation *layer, unsigned dim) const { return 0; }
  /// The dispatches that compute the front alone, with the kernels of steps():
  /// keys and the order of each sum are the same. Their operands are the parts
  /// that are touched. A cut at the extent gives steps().
  GpuSteps front(Operation *layer, Cut cut) const;
  /// Emits kernel `kernel` of steps(): its operands are those of its steps, in
  /// the layouts that the types of `layer` name. As with CPUs, nothing but
  /// attributes and types may be looked at; and nothing that its key does not
  /// say.
  virtual void emit(GpuBuilder &k, Operation *layer, unsigned kernel) const = 0;

  /// A routine of gpuRoutines() by its own type.
  static const GpuRoutine &of(const Routine &routine) {
    return static_cast<const GpuRoutine &>(routine);
  }

protected:
  /// The steps of front(), or, with a cut at the extent, of steps(). Tensors
  /// lie where the whole layer has them; only extents are the front's. The
  /// caller sets the parts of tensors that are touched, but for parts of
  /// weights that are bound by themselves.
  virtual GpuSteps stepsOf(Operation *layer, Cut cut) const = 0;
  /// Names the only kernel by its code, where much that a layer says shows in
  /// it.
  std::string keyOfCode(Operation *layer) const;
  /// A kernel that computes the front in one dispatch of the layer's results,
  /// then its operands; nothing where there are no groups. An invocation takes
  /// `inner` steps of its inner loop.
  GpuSteps oneStep(Operation *layer, Cut cut, std::string key,
                   GpuDispatch dispatch, double inner) const;
};

/// All that GPUs have.
const RoutineSet &gpuRoutines();

/// Prints the end of docs/routines.md: their names and what they are.
void printGpuRoutines(llvm::raw_ostream &os);

/// The facts that the time of each of `steps` depends on. `steps` are `plain`,
/// the routine's, with tensors in f16 or without: f16 has no times of its own.
std::vector<KernelFacts> stepFacts(Operation *layer, const GpuRoutine &routine,
                                   const GpuSteps &plain, const GpuSteps &steps,
                                   const GpuTarget &target);

/// The module of a kernel of the routine's steps, for a layer that it computes
/// on the target. Fails with a diagnostic.
mlir::FailureOr<SpirvModule> compileKernel(Operation *layer,
                                           const GpuRoutine &routine,
                                           HalfKernel kernel,
                                           const GpuTarget &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUROUTINE_H
