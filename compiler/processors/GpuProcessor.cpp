//===- GpuProcessor.cpp - GPUs that Vulkan drives -------------------------===//

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/processors/Processor.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

namespace {
class GpuProcessor : public Processor {
public:
  Role role() const override { return Role::Coprocessor; }
  const RoutineSet &routines() const override { return codegen::gpuRoutines(); }
  std::string refusal(Operation *layer, const Routine &routine,
                      llvm::StringRef target) const override {
    auto gpu = codegen::GpuTarget::byName(target);
    assert(gpu && "the target is one of GPUs");
    return codegen::GpuRoutine::of(routine).refusal(layer, *gpu);
  }
  device::Cost cost(const device::DeviceProfile &profile,
                    const KernelFacts &kernel, unsigned) const override {
    assert(profile.gpu && "the device has one");
    return device::cost(*profile.gpu, kernel);
  }
};
} // namespace

const Processor &nnv12::gpuProcessor() {
  static const GpuProcessor processor;
  return processor;
}
