//===- ToyProcessor.cpp - The smallest processor there can be -------------===//

#include "toy/ToyProcessor.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

using namespace mlir;
using namespace nnv12;

namespace {
class ToyRelu : public codegen::CpuRoutine {
public:
  ToyRelu() : codegen::CpuRoutine("toy.relu", "relu, by another name") {}
  std::string misfit(Operation *layer) const override {
    auto unary = dyn_cast<nn::UnaryOp>(layer);
    return unary && unary.getFunction().getKind() == nn::UnaryKind::relu &&
                   isNonEmptyF32(layer)
               ? ""
               : "it is no relu of f32";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  /// So is the CPUs' routine: both are candidates.
  bool isFallback() const override { return true; }
  Work work(Operation *layer) const override { return elementWork(layer); }
  codegen::KernelInfo emit(codegen::KernelBuilder &k, Operation *layer,
                           llvm::StringRef symbol) const override {
    const Routine *element = codegen::cpuRoutines().named("element");
    return CpuRoutine::of(*element).emit(k, layer, symbol);
  }
};

class ToyProcessor : public Processor {
public:
  Role role() const override { return Role::Host; }
  const RoutineSet &routines() const override {
    static const ToyRelu relu;
    static const RoutineSet set({&relu});
    return set;
  }
  /// A toy is fast, unless it was measured.
  device::Cost cost(const device::DeviceProfile &profile,
                    const KernelFacts &kernel,
                    unsigned threads) const override {
    device::Cost cost = device::cost(profile, kernel, threads);
    return cost.measured ? cost : device::Cost{cost.milliseconds / 100, false};
  }
};
} // namespace

const Processor &nnv12::toyProcessor() {
  static const ToyProcessor processor;
  return processor;
}
