//===- KernelFacts.h - Facts that predict a kernel's time -------*- C++ -*-===//
//
// The one description of a kernel from the routine, which counts its work, to
// the cost model, which predicts its time, and by way of tuning bundles to the
// tool that measures it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_KERNELFACTS_H
#define NNV12_ARTIFACT_KERNELFACTS_H

#include <string>

namespace nnv12::bundle {
struct Dispatch;
struct Kernel;
} // namespace nnv12::bundle

namespace nnv12::artifact {

/// The work of a kernel, all of its tiles together.
struct Work {
  /// The number that it executes (Winograd: after its saving).
  double multiplyAdds = 0;
  double bytes = 0; ///< of operands, read and written once
  // Only routines of GPUs count the rest.
  double steps = 1;      ///< of the inner loop of an invocation
  unsigned barriers = 0; ///< that an invocation meets
  /// Steps of all groups together, as far as their invocations have something
  /// to compute, and one more for each inner loop that begins. This number
  /// counts where a CPU computes them one after another. 0: tiles * steps.
  double stepsInTurn = 0;
};

struct KernelFacts : Work {
  std::string routine = {}; ///< profiles have coefficients for it
  std::string key = {};     ///< of a measured time in profiles; empty: none
  /// Parts that can be computed at the same time: tiles on CPUs, work groups of
  /// a GPU.
  double tiles = 1;
  bool fromMemory = false; ///< its weights are, not from a cache of the GPU
  /// Fingerprint of the code, lower case hexadecimal digits; "": not known.
  std::string code = {};
};

/// A tuning bundle's facts of a dispatch that is measured, and those of a
/// kernel of CPUs.
KernelFacts factsOf(const bundle::Dispatch &dispatch);
KernelFacts factsOf(const bundle::Kernel &kernel);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_KERNELFACTS_H
