//===- KernelChecks.h - Checks of the facts about kernels -------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_KERNELCHECKS_H
#define NNV12_ARTIFACT_KERNELCHECKS_H

#include "artifact/Checks.h"
#include "bundle_generated.h"

namespace nnv12::artifact {

/// Base of classes that check something with kernels.
class KernelChecks : public Checks {
protected:
  using Checks::Checks;

  /// Checks a kernel of the target, whose processors were found good. Nobody
  /// here calls kernels of others than the CPU: they are not looked at.
  void expectGood(const Where &where, const bundle::Bundle *bundle,
                  const bundle::Target *target, const bundle::Kernel *kernel);
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_KERNELCHECKS_H
