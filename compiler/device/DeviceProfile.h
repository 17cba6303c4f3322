//===- DeviceProfile.h - The facts known of a device ------------*- C++ -*-===//
//
// Written by nnv12-tune from measurements, by hand from data sheets or papers,
// or built in. A JSON file; docs/device-profiles.md describes each field.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_DEVICEPROFILE_H
#define NNV12_COMPILER_DEVICE_DEVICEPROFILE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nnv12::device {

/// Predictor coefficients of a routine, or of a family of routines.
struct Efficiency {
  /// Part of the core's peak multiply-adds that it reaches.
  double compute = 0.5;
  double memory = 0.5; ///< part of the core's memory bandwidth that it reaches
  double overhead = 1; ///< microseconds, once a call
  double part = 0;     ///< more of a call for a part of the result (CoDL)
};

/// Cores of one kind.
struct CoreKind {
  std::string name; ///< e.g. "Cortex-A76"
  unsigned count = 1;
  double gflops = 0;     ///< peak of one core, f32, a multiply-add counts two
  double memoryGBps = 0; ///< of one core that reads memory
};

/// Median times of one kernel, milliseconds.
struct KernelTime {
  std::vector<double> big; ///< [threads - 1]: on that many big cores
  double little = 0;       ///< on one little core; 0: not measured
  /// [threads - 1]: the same as `big`, but between the other layers of a model,
  /// whose caches and memory it has; 0: not measured. Counts more than `big`.
  std::vector<double> inModel = {};
  /// The time of `inModel` for so many threads; 0: not measured.
  double inModelOn(unsigned threads) const {
    return threads <= inModel.size() ? inModel[threads - 1] : 0;
  }
  /// The measured code: the bundle's Kernel.fingerprint in lower case
  /// hexadecimal digits; "": not known.
  std::string code = {};
};

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

/// Watts.
struct PowerProfile {
  double base = 0; ///< of the whole device
  /// Beyond that, while CPUs compute and while the GPU computes.
  double cpu = 0, gpu = 0;
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
  /// How many times longer its kernels take while the CPUs compute, and the
  /// CPUs' while it computes, 1 or more: both share memory, turbo and heat.
  /// 0: nobody has measured it, and plans split no layer between them.
  double beside = 0, besideCpu = 0;
  /// Where CPUs and GPU have one memory: it computes in the CPUs' own, and
  /// nothing is copied. Without that drivers take copies, of that memory or
  /// not.
  bool imports = true;
  std::optional<PowerProfile> power = {}; ///< absent: not known

  /// By routine name or a prefix of it that ends before a dot
  /// ("gpu.conv.gemm"); "" is for all others. The longest prefix counts.
  std::map<std::string, GpuEfficiency> efficiency;
  /// Measured kernels by key.
  std::map<std::string, GpuKernelTime> kernels;

  /// Null if there is none, not even "".
  const GpuEfficiency *efficiencyOf(const std::string &routine) const;
};

struct DeviceProfile {
  static constexpr unsigned currentVersion = 2;

  std::string name; ///< for people
  std::string file; ///< that it was read from, for messages; "": none
  /// The machine of a measured profile, see hostIdentity().
  std::string identity;
  /// The revision of the code generator whose kernels were measured,
  /// Program.revision of a bundle: where it is the compiler's own, times are of
  /// its code. Else times are good whose `code` it still generates.
  std::string revision;
  /// The processor that the code was scheduled for, by LLVM's name.
  std::string tune;
  std::string architecture; ///< "x86-64" or "aarch64"
  /// As `--target` takes it. Kernels of its base are measured on it as well.
  std::string target;
  bool measured = false; ///< false: written from data sheets or papers
  /// Fields, as docs/device-profiles.md names them, that are a guess though
  /// others were measured, or have a source.
  std::vector<std::string> assumed;
  CoreKind big;
  CoreKind little; ///< count 0: there are none

  /// From opening a bundle until its first operation may start: header,
  /// metadata and code read and checked, memory and threads made.
  double startUs = 0;
  /// Checking a bundle and making a session, where startUs is without.
  double sessionUs = 0;
  /// The same for a bundle so small that it is read at once, see startUs(). 0:
  /// the same.
  double tinyStartUs = 0;
  double startUsPerLayer = 0; ///< more for each layer
  /// More for each MB of weights that opening asks for early.
  double startUsPerMB = 0;
  /// More for each thread of a session, lanes' or computing.
  double laneStartUs = 0;
  // Storage.
  double readMBps = 1000;
  double readLatencyUs = 100;
  /// The piece of the weights that ends after so many megabytes is in memory so
  /// long after the bundle was opened, see search::Device::arrival. Empty:
  /// unknown.
  struct Arrival {
    double megabytes, us;
  };
  std::vector<Arrival> arrival;
  /// Microseconds that a big core takes to map a megabyte.
  double mapUsPerMB = 50;
  double mapLittleUsPerMB = 50; ///< and a little one
  // Memory that the system supplies at its first use, in the pages that the
  // runtime asks for, huge ones where the system has them, and in small ones.
  double firstTouchUsPerMB = 250;
  double firstTouchSmallUsPerMB = 250;
  /// Megabytes that prepared weights may take beside the file's before each
  /// must gain much, and those from which on each must gain very much, see
  /// search::Options::memoryLimit.
  double preparedMB = 1, mostPreparedMB = 4;
  /// Milliseconds of a later run, of all threads together, that a megabyte of
  /// weights for later routines must gain, on average over the network, see
  /// search::LaterProblem::price.
  double laterMsPerMB = 0.25;
  // Codecs: decompressed MB a second on a big and on a little core. 1: the
  // device cannot.
  /// Loading the library, once, where anything is compressed.
  double zstdStartUs = 300;
  double zstdMBps = 800;
  double zstdLittleMBps = 300;
  // The same where whole elements repeat, as in weights that were 8-bit numbers
  // once.
  double zstdRepeatsMBps = 270;
  double zstdRepeatsLittleMBps = 100;
  // See search::Device.
  double executeInterference = 1;
  /// An execute in a first run by one in a later run: caches and predictors do
  /// not know it.
  double firstRun = 1;
  double prepareInterference = 1;
  /// Part of the ideal speed-up that n threads reach: 1 + (n - 1) * this.
  double threadScaling = 0.9;

  /// By routine name or a prefix of it that ends before a dot ("conv.direct");
  /// "" is for all others. The longest prefix counts.
  std::map<std::string, Efficiency> efficiency;
  /// Measured kernels by key.
  std::map<std::string, KernelTime> kernels;

  /// Absent: there is none, or none that is known.
  std::optional<GpuProfile> gpu = {};

  const Efficiency &efficiencyOf(const std::string &routine) const;
};

/// Reads a profile; on failure returns nothing and sets `error` to one line
/// that starts with the path. `path` may also be the name of a profile that
/// comes with nnv12 ("meizu-16t"), see shippedProfiles(); a file of that name
/// goes first.
std::optional<DeviceProfile> readProfile(const std::string &path,
                                         std::string &error);
/// The same from memory; `name` stands for the path in messages.
std::optional<DeviceProfile> parseProfile(const std::string &text,
                                          const std::string &name,
                                          std::string &error);
/// The JSON text that parseProfile() reads back without loss.
std::string printProfile(const DeviceProfile &profile);
/// Writes one, atomically; returns an error line or "".
std::string writeProfile(const DeviceProfile &profile, const std::string &path);

/// The target without its extension: "x86-64-v4" of "x86-64-v4+vnni".
std::string baseOf(const std::string &target);
/// The target with more instructions, of two with one base.
const std::string &greaterTarget(const std::string &a, const std::string &b);

/// A stand-in for a device of which nothing was measured: an ordinary core of
/// `architecture` with the SIMD width of `target`.
DeviceProfile builtinProfile(const std::string &architecture,
                             const std::string &target);

/// A stand-in for a GPU of which nothing is known: an ordinary one that shares
/// the CPUs' memory.
GpuProfile builtinGpuProfile();

/// The offset of weights in a bundle of medium size, behind metadata and code:
/// the plan sets it, so it is not known before. SqueezeNet has 78 KB, seg_pan
/// for aarch64 385 KB: a tenth of the bytes that opening asks for early.
constexpr uint64_t usualWeightsOffset = 192 << 10;
/// The layers of such a bundle.
constexpr unsigned usualLayers = 60;

/// Microseconds from opening a bundle with so many layers and bytes of weights
/// until its first operation may start, with so many threads that compute.
/// Preparation lanes come to that, see search::Device::laneStart.
double startUs(const DeviceProfile &profile, size_t layers, double weightBytes,
               unsigned threads);

/// The same device with storage that reads `megabytes` a second, in pieces as
/// before.
void setStorage(DeviceProfile &profile, double megabytes);

/// Names of the profiles that are part of the program, and their JSON text.
const std::map<std::string, std::string> &shippedProfiles();

/// Names this machine: CPU model, number of CPUs.
std::string hostIdentity();

/// "" if costs of this profile hold on a machine of this identity: it is the
/// one that was measured, or the profile was not measured at all. Else one
/// line.
std::string foreignDevice(const DeviceProfile &profile,
                          const std::string &identity = hostIdentity());

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_DEVICEPROFILE_H
