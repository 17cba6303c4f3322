//===- Builtin.cpp - Profiles without a measurement -----------------------===//

#include "compiler/device/DeviceProfile.h"

namespace nnv12::device {

DeviceProfile builtinProfile(const std::string &architecture,
                             const std::string &target) {
  DeviceProfile p;
  p.name = "ordinary " + target;
  p.architecture = architecture;
  p.target = target;
  // One core at 2.5 GHz with two multiply-add units of the target's vectors.
  std::string base = baseOf(target);
  double lanes = base == "x86-64-v4" ? 16 : base == "x86-64-v3" ? 8 : 4;
  p.big = {"ordinary " + architecture, 4, 2.5 * 2 * 2 * lanes, 12};
  p.little = {"", 0, 0, 0};
  // Between an eMMC's 300 and the 1700 of UFS 3: plans for slower storage lose
  // little on a faster one.
  p.readMBps = 700;
  p.startUs = 520;
  p.tinyStartUs = 320;
  p.startUsPerLayer = 3;
  p.laneStartUs = 60;
  p.readLatencyUs = 100;
  p.mapUsPerMB = p.mapLittleUsPerMB = 60;
  // In pages of 2 MiB, of which clearing is all; phones have small ones.
  if (architecture == "x86-64")
    p.firstTouchUsPerMB = 60;
  // Whether the device has libzstd is not known, so nothing is compressed for
  // it.
  p.zstdMBps = p.zstdLittleMBps = p.zstdRepeatsMBps = p.zstdRepeatsLittleMBps =
      1;
  p.executeInterference = 1.1;
  p.prepareInterference = 1.15;
  // Winograd, preparing kernels and memory-bound ones: rounded from fits
  // (fitEfficiency) to the kernels of squeezenet, mobilenetv2 and ultraface on
  // one Xeon core with AVX-512. Memory above 1: small layers are served by
  // caches. Other convolutions: 80 to 88 % of the peak is seen.
  p.efficiency = {
      {"", {0.5, 0.9, 0.2}},
      {"conv", {0.6, 0.8, 1}},
      {"conv.direct", {0.85, 0.8, 2}},
      {"conv.first", {0.6, 0.8, 1}},
      {"conv.few", {0.5, 0.8, 1}},
      {"conv.depthwise", {0.6, 1.5, 1}},
      {"conv.im2col", {0.75, 0.6, 2}},
      {"conv.gemm", {0.8, 0.8, 2}},
      {"conv.winograd2", {0.55, 0.55, 10}},
      {"conv.winograd4", {0.6, 0.55, 25}},
      {"conv.winograd6", {0.55, 0.6, 30}},
      {"matmul", {0.75, 1, 1}},
      {"element", {0.5, 1.2, 0.2}},
      {"pool", {0.4, 1.5, 1}},
      {"softmax", {0.05, 0.5, 1}},
      {"normalize", {0.4, 0.9, 1}},
      {"pack", {0.3, 0.8, 0.2}},
      {"transform", {0.35, 0.9, 0.2}},
      {"transform.winograd6", {0.25, 0.55, 0.2}},
  };
  // Products of bytes, in the same units: an instruction for four of them
  // is 3.8 times as fast as one of f32 on a Zen 4, pairs of 16 bits with
  // AVX-512 1.2 times, with AVX2 0.9 times. By llvm-mca, for
  // Neoverse N1 and V1, sdot is 3.8 times as fast, usmmla 7.2 times, and smull
  // 1.0 times.
  auto has = [&](const char *extension) {
    return target.find(extension) != std::string::npos;
  };
  bool hasDots = has("+vnni") || has("+amx") || has("+dotprod") || has("+i8mm");
  double bytes = has("+i8mm")          ? 6
                 : hasDots             ? 3.6
                 : base == "x86-64-v4" ? 1.2
                                       : 0.9;
  p.efficiency["qconv"] = {bytes, 0.8, 1};
  double depthwise = architecture == "aarch64" ? (hasDots ? 0.55 : 0.45)
                     : hasDots                 ? 0.8
                                               : 0.5;
  p.efficiency["qconv.depthwise"] = {depthwise, 1.5, 1};
  p.efficiency["qmatmul"] = {bytes, 1, 1};
  // The tiles of AMX on an Emerald Rapids: 4 to 11 times in layers that are
  // large.
  if (has("+amx")) {
    p.efficiency["qconv.gemm"] = p.efficiency["qconv.direct"] = {8, 0.8, 1};
    p.efficiency["qmatmul.panels"] = {8, 1, 1};
  }
  return p;
}

GpuProfile builtinGpuProfile() {
  // Rounded from numbers of integrated GPUs of laptops and phones; no device
  // was measured. A plan hangs on the driver's work at the start, which is
  // taken for slow.
  GpuProfile p;
  p.name = "ordinary GPU";
  p.api = "vulkan1.1";
  p.kind = GpuKind::Unified;
  p.units = 8;
  p.groupsPerUnit = 8;
  p.gflops = 500;
  p.memoryGBps = 25;
  p.startMs = 150;
  p.pipelineMs = 25;
  p.pipelineCachedMs = 0.5;
  p.pipelineThreads = 2;
  p.pipelineScaling = 0.7;
  p.uploadGBps = p.inputGBps = p.downloadGBps = 4;
  p.submitUs = 30;
  p.syncUs = 50;
  p.dispatchUs = 5;
  p.flushUsPerMB = 20;
  return p;
}

} // namespace nnv12::device
