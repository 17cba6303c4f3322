//===- Parts.cpp - The CPU's parts of split stretches ---------------------===//
#include "runtime/gpu/Parts.h"

#include "artifact/SplitParts.h"

namespace nnv12::runtime {

bool Parts::create(const bundle::ProgramGpu *gpu, const LoadedProgram &loaded,
                   Memory memory) {
  uint32_t count = 0;
  for (const bundle::Stretch *stretch : *gpu->stretches())
    for (const bundle::Operation *part :
         artifact::elementsOf(stretch->parts())) {
      operands_.count(part);
      ++count;
    }
  artifact::SwitchTable switches;
  if (!operands_.allocate() || !parts_.allocate(count) ||
      !firsts_.allocate(size_t(gpu->stretches()->size()) + 1) ||
      !switches.create(loaded.program))
    return false;
  const bundle::Target *target =
      artifact::targetOf(loaded.metadata, loaded.program);
  uint32_t at = 0;
  for (uint32_t i = 0; i < gpu->stretches()->size(); ++i) {
    const bundle::Stretch *stretch = gpu->stretches()->Get(i);
    artifact::PartFinder finder(loaded.program, switches, stretch);
    for (const bundle::Operation *part :
         artifact::elementsOf(stretch->parts())) {
      (void)finder.find(part);
      // The session's workers run it; no executor is asked.
      Step step = operands_.resolve(part, finder.execute(),
                                    /*executor=*/nullptr, loaded, memory);
      step.switched = finder.isOfSwitch();
      parts_[at++] = {step, artifact::kernelOf(target, part)->tiles()};
    }
    firsts_[i + 1] = at;
  }
  return true;
}

} // namespace nnv12::runtime
