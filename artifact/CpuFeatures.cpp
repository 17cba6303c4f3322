//===- CpuFeatures.cpp - Features of this CPU and system ------------------===//
#include "artifact/CpuFeatures.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>

/// glibc 2.33's: four registers of a leaf of cpuid, and more. Weak: null in
/// other C libraries and in static programs.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's own name
extern "C" const unsigned *__x86_get_cpuid_feature_leaf(unsigned index)
    __attribute__((weak));
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace nnv12::artifact {

static bool sameName(const char *known, const char *name, size_t length) {
  return strlen(known) == length && memcmp(known, name, length) == 0;
}

#if defined(__x86_64__)

const char *hostArchitecture() { return "x86-64"; }

namespace {
enum Register : uint8_t { EAX, EBX, ECX, EDX };

/// Register state that the system must save for a feature to be usable: bits of
/// XCR0.
enum State : uint32_t {
  None = 0,
  Ymm = 0x6,
  Zmm = 0xe6,
  Tile = None, // mayUse() asks for it
};

/// The leaves of cpuid that describe features.
enum LeafIndex : uint8_t { Basic, Seven, SevenOne, Extended };

struct Feature {
  char name[20]; ///< here, so that nothing is relocated when it is loaded
  LeafIndex leaf;
  Register reg;
  uint8_t bit;
  State state;
};
} // namespace

static constexpr Feature features[] = {
    {"cmov", Basic, EDX, 15, None},
    {"cx8", Basic, EDX, 8, None},
    {"mmx", Basic, EDX, 23, None},
    {"fxsr", Basic, EDX, 24, None},
    {"sse", Basic, EDX, 25, None},
    {"sse2", Basic, EDX, 26, None},
    {"sse3", Basic, ECX, 0, None},
    {"pclmul", Basic, ECX, 1, None},
    {"ssse3", Basic, ECX, 9, None},
    {"fma", Basic, ECX, 12, Ymm},
    {"cx16", Basic, ECX, 13, None},
    {"sse4.1", Basic, ECX, 19, None},
    {"sse4.2", Basic, ECX, 20, None},
    {"crc32", Basic, ECX, 20, None},
    {"movbe", Basic, ECX, 22, None},
    {"popcnt", Basic, ECX, 23, None},
    {"aes", Basic, ECX, 25, None},
    {"xsave", Basic, ECX, 27, None},
    {"avx", Basic, ECX, 28, Ymm},
    {"f16c", Basic, ECX, 29, Ymm},
    {"rdrnd", Basic, ECX, 30, None},
    {"fsgsbase", Seven, EBX, 0, None},
    {"bmi", Seven, EBX, 3, None},
    {"avx2", Seven, EBX, 5, Ymm},
    {"bmi2", Seven, EBX, 8, None},
    {"avx512f", Seven, EBX, 16, Zmm},
    {"avx512dq", Seven, EBX, 17, Zmm},
    {"rdseed", Seven, EBX, 18, None},
    {"adx", Seven, EBX, 19, None},
    {"avx512ifma", Seven, EBX, 21, Zmm},
    {"clflushopt", Seven, EBX, 23, None},
    {"clwb", Seven, EBX, 24, None},
    {"avx512cd", Seven, EBX, 28, Zmm},
    {"sha", Seven, EBX, 29, None},
    {"avx512bw", Seven, EBX, 30, Zmm},
    {"avx512vl", Seven, EBX, 31, Zmm},
    {"avx512vbmi", Seven, ECX, 1, Zmm},
    {"avx512vbmi2", Seven, ECX, 6, Zmm},
    {"gfni", Seven, ECX, 8, None},
    {"vaes", Seven, ECX, 9, Ymm},
    {"vpclmulqdq", Seven, ECX, 10, Ymm},
    {"avx512vnni", Seven, ECX, 11, Zmm},
    {"avx512bitalg", Seven, ECX, 12, Zmm},
    {"avx512vpopcntdq", Seven, ECX, 14, Zmm},
    {"avx512vp2intersect", Seven, EDX, 8, Zmm},
    {"amx-bf16", Seven, EDX, 22, Tile},
    {"avx512fp16", Seven, EDX, 23, Zmm},
    {"amx-tile", Seven, EDX, 24, Tile},
    {"amx-int8", Seven, EDX, 25, Tile},
    {"avxvnni", SevenOne, EAX, 4, Ymm},
    {"avx512bf16", SevenOne, EAX, 5, Zmm},
    {"amx-fp16", SevenOne, EAX, 21, Tile},
    {"avxifma", SevenOne, EAX, 23, Ymm},
    {"avxvnniint8", SevenOne, EDX, 4, Ymm},
    {"avxneconvert", SevenOne, EDX, 5, Ymm},
    {"avxvnniint16", SevenOne, EDX, 10, Ymm},
    {"sahf", Extended, ECX, 0, None},
    {"lzcnt", Extended, ECX, 5, None},
    {"prfchw", Extended, ECX, 8, None},
    {"64bit", Extended, EDX, 29, None},
};

const CpuFeatures::Leaf &CpuFeatures::read(unsigned index) {
  Leaf &leaf = leaves_[index];
  if (leaf.known)
    return leaf;
  leaf.known = true;
  static constexpr struct {
    unsigned leaf, subleaf;
    unsigned index; ///< glibc's (bits/platform/x86.h), a part of its interface
  } numbers[numLeaves] = {{1, 0, 0}, {7, 0, 1}, {7, 1, 6}, {0x80000001, 0, 2}};
  unsigned *r = leaf.registers;
  if (source_ == CLibrary && __x86_get_cpuid_feature_leaf) {
    // Takes the CPU's own answer, since glibc leaves out features that it does
    // not know.
    memcpy(r, __x86_get_cpuid_feature_leaf(numbers[index].index),
           sizeof leaf.registers);
    return leaf;
  }
  // Every CPU with 64-bit mode has the basic and the extended leaf; a subleaf
  // that does not exist reads as zero.
  bool isSeven = numbers[index].leaf == 7;
  if (!isSeven || __get_cpuid_max(0, nullptr) >= 7)
    __cpuid_count(numbers[index].leaf, numbers[index].subleaf, r[EAX], r[EBX],
                  r[ECX], r[EDX]);
  return leaf;
}

/// Which register states the system saves. Reading them does not trap.
static uint64_t enabledStates(bool osxsave) {
  if (!osxsave)
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool CpuFeatures::has(const char *name, size_t length) {
  for (const Feature &feature : features) {
    if (!sameName(feature.name, name, length))
      continue;
    if (!(read(feature.leaf).registers[feature.reg] >> feature.bit & 1))
      return false;
    bool osxsave = read(Basic).registers[ECX] >> 27 & 1;
    return feature.state == None ||
           (enabledStates(osxsave) & feature.state) == feature.state;
  }
  return false;
}

#elif defined(__aarch64__)

const char *hostArchitecture() { return "aarch64"; }

namespace {
/// Bits as in Linux' asm/hwcap.h; numbers, because older headers lack some.
struct Feature {
  const char *name;
  unsigned long auxiliary; ///< AT_HWCAP or AT_HWCAP2
  uint8_t bit;
};
} // namespace

static constexpr Feature features[] = {
    {"fp-armv8", AT_HWCAP, 0},   {"neon", AT_HWCAP, 1},
    {"aes", AT_HWCAP, 3},        {"sha2", AT_HWCAP, 6},
    {"crc", AT_HWCAP, 7},        {"lse", AT_HWCAP, 8},
    {"fullfp16", AT_HWCAP, 10},  {"rdm", AT_HWCAP, 12},
    {"jsconv", AT_HWCAP, 13},    {"complxnum", AT_HWCAP, 14},
    {"rcpc", AT_HWCAP, 15},      {"sha3", AT_HWCAP, 17},
    {"dotprod", AT_HWCAP, 20},   {"sve", AT_HWCAP, 22},
    {"fp16fml", AT_HWCAP, 23},   {"dit", AT_HWCAP, 24},
    {"rcpc-immo", AT_HWCAP, 26}, {"flagm", AT_HWCAP, 27},
    {"ssbs", AT_HWCAP, 28},      {"sb", AT_HWCAP, 29},
    {"sve2", AT_HWCAP2, 1},      {"fptoint", AT_HWCAP2, 8},
    {"i8mm", AT_HWCAP2, 13},     {"bf16", AT_HWCAP2, 14},
    {"rand", AT_HWCAP2, 16},     {"bti", AT_HWCAP2, 17},
    {"mte", AT_HWCAP2, 18},      {"sme", AT_HWCAP2, 23},
};

bool CpuFeatures::has(const char *name, size_t length) {
  // The baseline of the architecture as Linux requires it.
  if (sameName("v8a", name, length))
    return true;
  for (const Feature &feature : features)
    if (sameName(feature.name, name, length))
      return getauxval(feature.auxiliary) >> feature.bit & 1;
  return false;
}

#else
#error "nnv12 has no feature table for this architecture"
#endif

const char *CpuFeatures::name(unsigned index) {
  return index < sizeof features / sizeof *features ? features[index].name
                                                    : nullptr;
}

} // namespace nnv12::artifact
