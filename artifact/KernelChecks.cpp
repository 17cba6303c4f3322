//===- KernelChecks.cpp - Checks of the facts about kernels ---------------===//
#include "artifact/KernelChecks.h"

#include "artifact/Digest.h"
#include "artifact/Header.h"
#include "artifact/Limits.h"
#include "artifact/ProgramView.h"
#include "artifact/TileMaps.h"

#include <cinttypes>
#include <cstring>

namespace nnv12::artifact {

void KernelChecks::expectGood(const Where &where, const bundle::Bundle *bundle,
                              const bundle::Target *target,
                              const bundle::Kernel *kernel) {
  expect(where, "processor", kernel->processor(), 0,
         target->processors()->size());
  if (kernel->processor())
    return;
  const bundle::Processor *cpu = cpuOf(target);
  uint64_t codeSize = bundle->segments()->Get(cpu->code())->size();
  if (kernel->entry() >= codeSize)
    refuse(where, "entry: found %u|less than the code's %" PRIu64 " bytes",
           kernel->entry(), codeSize);
  // The only instruction alignment that matters to us; x86-64 has none.
  if (kernel->entry() % 4 &&
      strcmp(cpu->architecture()->c_str(), "aarch64") == 0)
    refuse(where, "entry: found %u|a multiple of 4", kernel->entry());
  if (kernel->outputs() > kernel->operands())
    refuse(where, "outputs: found %u|at most its %u operands",
           kernel->outputs(), kernel->operands());
  if (kernel->scratch() > maxScratch)
    refuse(where, "scratch: found %" PRIu64 " bytes|at most 2^30",
           kernel->scratch());
  if (kernel->tiles() > maxTiles)
    refuse(where, "tiles: found %" PRIu64 "|at most 2^31", kernel->tiles());
  if (kernel->fingerprint() && kernel->fingerprint()->size() &&
      kernel->fingerprint()->size() != sizeof(Digest))
    refuse(where, "fingerprint: found %u bytes|none or %zu",
           kernel->fingerprint()->size(), sizeof(Digest));
  uint32_t maps = elementsOf(kernel->maps()).size();
  if (maps && maps != kernel->outputs())
    refuse(where, "maps: found %u|none or one for each of %u outputs", maps,
           kernel->outputs());
  for (uint32_t i = 0; i < maps; ++i)
    if (const char *wrong = findWrong(kernel->maps()->Get(i), kernel->tiles()))
      refuse({&where, "tile map", i}, "%s", wrong);
}

} // namespace nnv12::artifact
