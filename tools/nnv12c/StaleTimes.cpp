//===- StaleTimes.cpp - Measured times of other code ----------------------===//

#include "tools/nnv12c/StaleTimes.h"

#include "artifact/Hexadecimal.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/emit/TuningKernels.h"
#include "tools/nnv12c/CodeRevision.h"

using namespace mlir;
using namespace nnv12;

FailureOr<size_t> nnv12::dropStaleTimes(func::FuncOp main,
                                        const codegen::Target &target,
                                        device::DeviceProfile &profile) {
  if (!profile.measured ||
      (profile.revision == codeRevision() && profile.tune == target.tuneCpu))
    return 0;
  codegen::KernelBuilder builder(*main.getContext(), target);
  OwningOpRef<ModuleOp> module(builder.module);
  KernelTable table(builder);
  std::vector<unsigned> numbers;
  for (const TuningKernel &kernel : tuningKernels(main, target))
    if (profile.kernels.count(kernel.facts.key))
      numbers.push_back(kernel.emit(table));
  auto fingerprints = codegen::fingerprintModule(*module, target);
  if (failed(fingerprints))
    return failure();
  std::map<std::string, device::KernelTime> good;
  for (unsigned number : numbers) {
    const KernelTable::Kernel &kernel = table[number];
    const std::vector<uint8_t> &code = fingerprints->at(kernel.symbol);
    device::KernelTime &time = profile.kernels[kernel.facts.key];
    if (time.code == artifact::hexadecimal(code.data(), code.size()))
      good[kernel.facts.key] = std::move(time);
  }
  size_t dropped = numbers.size() - good.size();
  profile.kernels = std::move(good);
  profile.revision = codeRevision();
  profile.tune = target.tuneCpu;
  return dropped;
}
