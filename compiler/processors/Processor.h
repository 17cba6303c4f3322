//===- Processor.h - Interface to a processor -------------------*- C++ -*-===//
//
// A processor is one thing: its routines, which of them compute a layer and why
// the others do not, where it computes, the cost of that, and whose code it
// runs. The CPUs are the processor that is always there; plans ask all others
// by the same interface. docs/architecture.md says what a new one needs.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PROCESSORS_PROCESSOR_H
#define NNV12_COMPILER_PROCESSORS_PROCESSOR_H

#include "compiler/device/CostModel.h"
#include "compiler/routines/RoutineSet.h"

namespace nnv12 {

class Processor {
public:
  enum class Role : uint8_t {
    /// Computes in the CPUs' memory, on the execute lane: its routines are
    /// codegen::CpuRoutine, whose code is part of a program's.
    Host,
    /// Has memory of its own, to which weights are uploaded, and takes over
    /// stretches: its routines are codegen::GpuRoutine, whose kernels are
    /// modules that its driver makes into pipelines.
    Coprocessor
  };

  virtual ~Processor() = default;
  virtual Role role() const = 0;
  /// All that it has, in order of preference.
  virtual const RoutineSet &routines() const = 0;
  /// Why the routine does not compute the layer on this target, as a diagnostic
  /// would say it; "" where it does. Looks at no more than Routine::misfit().
  /// By default targets differ in speed, not in the layers that they compute.
  virtual std::string refusal(mlir::Operation *layer, const Routine &routine,
                              llvm::StringRef target) const {
    return routine.misfit(layer);
  }
  /// The time of a kernel, by a device profile that has this processor.
  /// `threads`: of the execute lane.
  virtual device::Cost cost(const device::DeviceProfile &profile,
                            const KernelFacts &kernel,
                            unsigned threads) const = 0;

  /// All routines that compute the layer on the target in the layouts that its
  /// types have, in order of preference; a fallback only where there is no
  /// other.
  llvm::SmallVector<const Routine *> candidates(mlir::Operation *layer,
                                                llvm::StringRef target) const;
};

/// The processors that nnv12c has; each is a file of its own in this folder.
const Processor &cpuProcessor();
const Processor &gpuProcessor();

/// All processors, the CPUs first.
llvm::ArrayRef<const Processor *> processors();
/// Adds one that lives as long as the process; before anything is compiled.
void addProcessor(const Processor &processor);

/// The routines of all hosts, those of the CPUs first. The preferred one of a
/// layer decides the layouts of its tensors.
const RoutineSet &hostRoutines();
/// The host that has the routine.
const Processor &hostOf(const Routine &routine);

} // namespace nnv12

#endif // NNV12_COMPILER_PROCESSORS_PROCESSOR_H
