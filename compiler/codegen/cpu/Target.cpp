//===- Target.cpp - The CPU targets ---------------------------------------===//

#include "compiler/codegen/cpu/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace nnv12::codegen;

namespace {

const std::vector<std::string> v3Features = {
    "cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2", "avx",
    "avx2", "bmi",    "bmi2", "f16c", "fma",   "lzcnt",  "movbe"};
const std::vector<std::string> v4OnlyFeatures = {
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

std::vector<std::string> v4Features() {
  std::vector<std::string> all = v3Features;
  all.insert(all.end(), v4OnlyFeatures.begin(), v4OnlyFeatures.end());
  return all;
}

/// The targets, per architecture the best one first.
const std::vector<Target> &targets() {
  static const std::vector<Target> table = {
      {"x86-64-v4", "x86-64", "x86_64-unknown-linux-gnu", "x86-64-v4", "", "",
       v4Features(), /*vectorLanes=*/16, /*vectorRegisters=*/32,
       /*multiplyByElement=*/false, /*hasMasks=*/true,
       // Ice Lake: 48 and 1280 KiB; Skylake-SP and Zen 4: 32 and 1024.
       48 * 1024, 1280 * 1024},
      {"x86-64-v3", "x86-64", "x86_64-unknown-linux-gnu", "x86-64-v3", "", "",
       v3Features, /*vectorLanes=*/8, /*vectorRegisters=*/16,
       /*multiplyByElement=*/false, /*hasMasks=*/true,
       // Zen 1 to 3; Haswell to Skylake have 256 KiB, Alder Lake 1280.
       32 * 1024, 512 * 1024},
      {"aarch64",
       "aarch64",
       "aarch64-unknown-linux-gnu",
       "generic",
       "cortex-a76",
       "+neon",
       {"neon"},
       /*vectorLanes=*/4,
       /*vectorRegisters=*/32,
       /*multiplyByElement=*/true,
       /*hasMasks=*/false,
       // Cortex-A76 with the larger of its usual caches; Cortex-A55 has 32 and
       // 128, Neoverse N1 64 and 1024.
       64 * 1024,
       512 * 1024},
  };
  return table;
}

std::optional<Target> hostTarget() {
  llvm::Triple host(llvm::sys::getProcessTriple());
  auto features = llvm::sys::getHostCPUFeatures();
  for (const Target &target : targets()) {
    if (llvm::Triple(target.triple).getArch() != host.getArch())
      continue;
    if (!llvm::all_of(target.required, [&](const std::string &name) {
          return features.lookup(name);
        }))
      continue;
    Target result = target;
    llvm::StringRef cpu = llvm::sys::getHostCPUName();
    if (!cpu.empty() && cpu != "generic")
      result.tuneCpu = cpu.str();
    return result;
  }
  return std::nullopt;
}

} // namespace

std::optional<Target> Target::byName(llvm::StringRef name) {
  if (name == "host")
    return hostTarget();
  for (const Target &target : targets())
    if (target.name == name)
      return target;
  return std::nullopt;
}

bool Target::tuneFor(llvm::StringRef processor) {
  bool isKnown = processor.empty() ||
                 (architecture == "x86-64"
                      ? llvm::X86::parseTuneCPU(processor) != llvm::X86::CK_None
                      : llvm::AArch64::parseCpu(processor).has_value());
  if (isKnown)
    tuneCpu = processor.str();
  return isKnown;
}

std::string Target::names() {
  std::vector<std::string> all = {"host"};
  for (const Target &target : targets())
    all.push_back(target.name);
  return llvm::join(all, ", ");
}
