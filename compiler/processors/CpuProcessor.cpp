//===- CpuProcessor.cpp - The CPUs of a target ----------------------------===//

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/processors/Processor.h"

using namespace mlir;
using namespace nnv12;

namespace {
class CpuProcessor : public Processor {
public:
  Role role() const override { return Role::Host; }
  const RoutineSet &routines() const override { return codegen::cpuRoutines(); }
  device::Cost cost(const device::DeviceProfile &profile,
                    const KernelFacts &kernel,
                    unsigned threads) const override {
    return device::cost(profile, kernel, threads);
  }
};
} // namespace

const Processor &nnv12::cpuProcessor() {
  static const CpuProcessor processor;
  return processor;
}
