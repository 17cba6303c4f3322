//===- CpuFeatures.cpp - What this CPU and this system can run ------------===//
#include "runtime/CpuFeatures.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace nnv12::runtime {

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
  Tile = 0x60000,
};

struct Feature {
  const char *name;
  uint32_t leaf;
  uint8_t subleaf;
  Register reg;
  uint8_t bit;
  State state;
};
} // namespace

static constexpr Feature features[] = {
    {"cmov", 1, 0, EDX, 15, None},
    {"cx8", 1, 0, EDX, 8, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"crc32", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 27, None},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"fsgsbase", 7, 0, EBX, 0, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"rdseed", 7, 0, EBX, 18, None},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"avx512vp2intersect", 7, 0, EDX, 8, Zmm},
    {"amx-bf16", 7, 0, EDX, 22, Tile},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Tile},
    {"amx-int8", 7, 0, EDX, 25, Tile},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"amx-fp16", 7, 1, EAX, 21, Tile},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Ymm},
    {"avxvnniint16", 7, 1, EDX, 10, Ymm},
    {"sahf", 0x80000001, 0, ECX, 0, None},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
    {"prfchw", 0x80000001, 0, ECX, 8, None},
    {"64bit", 0x80000001, 0, EDX, 29, None},
};

/// Which register states the system saves.
static uint64_t enabledStates() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned osxsave = 1u << 27;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & osxsave))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool hostHasFeature(const char *name, size_t length) {
  for (const Feature &feature : features) {
    if (!sameName(feature.name, name, length))
      continue;
    unsigned regs[4];
    // Checks the highest leaf, too.
    if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[EAX],
                           &regs[EBX], &regs[ECX], &regs[EDX]))
      return false;
    return (regs[feature.reg] >> feature.bit & 1) &&
           (enabledStates() & feature.state) == feature.state;
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

bool hostHasFeature(const char *name, size_t length) {
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

} // namespace nnv12::runtime
