//===- GpuProfile.h - The facts known of a device's GPU ---------*- C++ -*-===//
//
// The part `gpu` of a device profile; docs/device-profiles.md describes each
// field.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_GPUPROFILE_H
#define NNV12_COMPILER_DEVICE_GPUPROFILE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nnv12::device {

/// Predictor coefficients of a GPU routine, or of a family of routines: those
/// of cost().
struct GpuEfficiency {
  float start = 4;     ///< microseconds, of any dispatch
  float latency = 0.3; ///< microseconds of a reduction step of a lone group
  /// Microseconds that a group keeps its unit busy, and more for each of its
  /// steps.
  float group = 0.05, step = 0.05;
  float memory = 1; ///< part of the memory bandwidth that it reaches
  /// `latency` where weights come from memory.
  float latencyFromMemory = 0.3;
  /// Microseconds of a million multiply-adds, beside its steps, of software.
  float work = 0;
};

/// Median time of one GPU kernel.
struct GpuKernelTime {
  double milliseconds = 0;
  /// Where its weights come from memory; 0: not known to differ.
  double millisecondsFromMemory = 0;
  /// Digest of the module that was measured, lower case hexadecimal digits; "":
  /// not known.
  std::string code = {};
};

/// Where the memory is that the GPU computes in.
enum class GpuKind : uint8_t {
  Discrete, ///< its own
  Unified,  ///< the CPUs'
  Software  ///< the CPUs', which compute as well
};

struct GpuProfile {
  std::string name;   ///< for people
  std::string driver; ///< that was measured, for people; "": not known
  std::string date;   ///< when, as 2026-12-31; "": not known
  std::string api;    ///< "vulkan1.1"
  std::vector<std::string> features; ///< of the api, if not all have them
  GpuKind kind = GpuKind::Unified;
  bool measured = false; ///< false: written from data sheets or papers
  unsigned units = 1;    ///< compute units
  /// Work groups that a unit runs at once. Counts for routines of which no
  /// coefficients are known.
  unsigned groupsPerUnit = 1;
  double gflops = 0;     ///< peak, f32, a multiply-add counts two
  double gflopsF16 = 0;  ///< 0: not known
  double memoryGBps = 0; ///< of the memory that it computes in
  /// Megabytes that stay in its cache from one run to the next, of weights and
  /// activations; 0: none.
  double cacheMB = 0;
  /// Part of `gflops` that a routine reaches of which no coefficients are
  /// known.
  double compute = 0.25;
  double startMs = 0;          ///< instance and device
  double pipelineMs = 0;       ///< building a pipeline on one thread
  double pipelineCachedMs = 0; ///< where the driver's cache has it
  unsigned pipelineThreads = 1;
  unsigned pipelineBatch = 1; ///< pipelines that one call builds
  /// n threads build 1 + (n - 1) * this times as many as one.
  double pipelineScaling = 1;
  /// Whether the driver compiles at the first dispatch; then `pipelineMs` is
  /// with that.
  bool lazyPipelines = false;
  double uploadGBps = 1;   ///< weights to where it reads them
  double inputGBps = 1;    ///< inputs, which are in a CPU's cache more often
  double downloadGBps = 1; ///< results from there
  double submitUs = 0;     ///< of a stretch, of the thread that submits
  double syncUs = 0;       ///< from its end until that thread goes on
  double dispatchUs = 0;   ///< of each dispatch in a stretch
  /// The time stamp behind each measured kernel. It is in `kernels`' times and
  /// in the predicted ones, but not in those of plans: networks run without.
  double stampUs = 0;
  /// To make memory that both use visible to the other.
  double flushUsPerMB = 0;
  unsigned hostCores = 0; ///< CPUs that a GPU in software computes on

  /// By routine name or a prefix of it that ends before a dot
  /// ("gpu.conv.gemm"); "" is for all others. The longest prefix counts.
  std::map<std::string, GpuEfficiency> efficiency;
  /// Measured kernels by key.
  std::map<std::string, GpuKernelTime> kernels;

  /// Null if there is none, not even "".
  const GpuEfficiency *efficiencyOf(const std::string &routine) const;
};

/// A stand-in for a GPU of which nothing is known: an ordinary one that shares
/// the CPUs' memory.
GpuProfile builtinGpuProfile();

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUPROFILE_H
