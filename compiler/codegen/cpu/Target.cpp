//===- Target.cpp - The CPU targets ---------------------------------------===//

#include "compiler/codegen/cpu/Target.h"

#include "artifact/CpuFeatures.h"
#include "artifact/TileState.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace nnv12;
using namespace nnv12::codegen;

int64_t TileCosts::maxPositions(int64_t panels) const {
  if (panels > mostPanels)
    return 0;
  const double *first = costs[panels - 1];
  return std::find(first, first + mostPositions, 0) - first;
}

namespace {

#include "compiler/codegen/cpu/TileCosts.inc"

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

/// Processors of these levels that do not have it (Haswell) take it for a nop.
const char prefetchForStore[] = "+prfchw";

/// The targets without extensions, per architecture the best one first.
const std::vector<Target> &bases() {
  static const std::vector<Target> table = {
      {"x86-64-v4", "x86-64", "x86_64-unknown-linux-gnu", "x86-64-v4", "",
       prefetchForStore, v4Features(), /*vectorLanes=*/16,
       /*vectorRegisters=*/32,
       /*multiplyByElement=*/false, /*hasMasks=*/true,
       // Ice Lake: 48 and 1280 KiB; Skylake-SP and Zen 4: 32 and 1024.
       48 * 1024, 1280 * 1024},
      {"x86-64-v3", "x86-64", "x86_64-unknown-linux-gnu", "x86-64-v3", "",
       prefetchForStore, v3Features, /*vectorLanes=*/8, /*vectorRegisters=*/16,
       /*multiplyByElement=*/false, /*hasMasks=*/true,
       // Zen 1 to 3; Haswell to Skylake have 256 KiB, Alder Lake 1280.
       32 * 1024, 512 * 1024},
      {"aarch64",
       "aarch64",
       "aarch64-unknown-linux-gnu",
       "generic",
       // An order that suits one that issues in order suits all others.
       "cortex-a55",
       // A load of two registers is slower than two loads on little cores.
       "+neon,+slow-paired-128",
       {"neon"},
       /*vectorLanes=*/4,
       /*vectorRegisters=*/32,
       /*multiplyByElement=*/true,
       /*hasMasks=*/false,
       // Cortex-A76 with the larger of its usual caches; Cortex-A55 has 32 and
       // 128, Neoverse N1 64 and 1024.
       64 * 1024,
       512 * 1024,
       &aarch64TileCosts,
       &aarch64QuadCosts},
  };
  return table;
}

/// A base with an extension. The greatest extension comes first.
struct Added {
  const char *base;
  const char *name;
  Extension extension;
  std::vector<std::string> features;
  const TileCosts *quadCosts = nullptr;
};
const std::vector<Added> extensions = {
    {"x86-64-v4",
     "amx",
     Extension::MatrixProducts,
     {"avx512vnni", "avx512vbmi", "amx-tile", "amx-int8"}},
    // Ice Lake, Zen 4 and later; Cascade Lake, which has no vbmi, takes the
    // base.
    {"x86-64-v4", "vnni", Extension::DotProducts, {"avx512vnni", "avx512vbmi"}},
    {"x86-64-v3", "vnni", Extension::DotProducts, {"avxvnni"}},
    {"aarch64",
     "i8mm",
     Extension::MatrixProducts,
     {"dotprod", "i8mm"},
     &i8mmQuadCosts},
    {"aarch64",
     "dotprod",
     Extension::DotProducts,
     {"dotprod"},
     &dotprodQuadCosts},
};

/// All targets, per architecture the best one first: AVX-512 without dot
/// products is faster than AVX2 with them.
const std::vector<Target> &targets() {
  static const std::vector<Target> table = [] {
    std::vector<Target> all;
    for (Target target : bases()) {
      target.base = target.name;
      for (const Added &added : extensions) {
        if (added.base != target.base)
          continue;
        Target &row = all.emplace_back(target);
        row.name += std::string("+") + added.name;
        row.extension = added.extension;
        row.added = added.features;
        row.quadCosts = added.quadCosts;
        llvm::append_range(row.required, added.features);
      }
      all.push_back(std::move(target));
    }
    return all;
  }();
  return table;
}

std::optional<Target> hostTarget() {
  for (Target target : targets()) {
    if (!target.runsHere())
      continue;
    llvm::StringRef cpu = llvm::sys::getHostCPUName();
    if (!cpu.empty() && cpu != "generic")
      target.tuneCpu = cpu.str();
    return target;
  }
  return std::nullopt;
}

} // namespace

bool Target::has(llvm::StringRef feature) const {
  return llvm::is_contained(required, feature);
}

Target Target::upTo(Extension most) const {
  if (extension <= most)
    return *this;
  auto row = llvm::find_if(targets(), [&](const Target &other) {
    return other.base == base && other.extension <= most;
  });
  Target result = *row;
  result.tuneCpu = tuneCpu;
  return result;
}

bool Target::runsHere() const {
  if (architecture != artifact::hostArchitecture())
    return false;
  artifact::CpuFeatures cpu;
  return llvm::all_of(required, [&](const std::string &name) {
    return cpu.has(name.data(), name.size()) &&
           artifact::mayUse(name.data(), name.size());
  });
}

std::optional<Target> Target::byName(llvm::StringRef name) {
  if (name == "host")
    return hostTarget();
  for (const Target &target : targets())
    if (target.name == name)
      return target;
  return std::nullopt;
}

std::vector<Target> Target::allNamed(llvm::StringRef name) {
  std::vector<Target> result;
  for (const Target &target : targets())
    if (target.architecture == name)
      result.push_back(target);
  if (result.empty())
    if (auto target = byName(name))
      result.push_back(std::move(*target));
  return result;
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

/// All names, and those of architectures where these are asked for.
static std::string listNames(bool architectures) {
  std::vector<std::string> all = {"host"};
  auto add = [&](const std::string &name) {
    if (!llvm::is_contained(all, name))
      all.push_back(name);
  };
  for (const Target &target : targets()) {
    if (architectures)
      add(target.architecture);
    add(target.name);
  }
  return llvm::join(all, ", ");
}

std::string Target::names() { return listNames(/*architectures=*/false); }

std::string Target::allNames() { return listNames(/*architectures=*/true); }
