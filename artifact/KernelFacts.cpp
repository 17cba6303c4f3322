//===- KernelFacts.cpp - Facts that predict a kernel's time ---------------===//

#include "artifact/KernelFacts.h"

#include "artifact/Hexadecimal.h"
#include "bundle_generated.h"

#include <cassert>

namespace nnv12::artifact {

KernelFacts factsOf(const bundle::Dispatch &dispatch) {
  assert(dispatch.work() && "a dispatch that is measured says what it does");
  const bundle::DispatchWork &work = *dispatch.work();
  const bundle::GpuExtent &groups = *dispatch.groups();
  KernelFacts facts = {{double(work.multiply_adds()), double(work.bytes()),
                        work.steps(), work.barriers(), work.steps_in_turn()},
                       work.routine()->str(),
                       work.key()->str()};
  facts.tiles = double(groups.x()) * groups.y() * groups.z();
  facts.fromMemory = work.from_memory();
  return facts;
}

KernelFacts factsOf(const bundle::Kernel &kernel) {
  auto text = [](const flatbuffers::String *text) {
    return text ? text->str() : "";
  };
  KernelFacts facts = {{double(kernel.multiply_adds()), double(kernel.bytes())},
                       text(kernel.routine()),
                       text(kernel.key()),
                       double(kernel.tiles())};
  if (kernel.fingerprint() && kernel.fingerprint()->size())
    facts.code =
        hexadecimal(kernel.fingerprint()->data(), kernel.fingerprint()->size());
  return facts;
}

} // namespace nnv12::artifact
