//===- DigestLeaves.cpp - Four BLAKE2b, side by side ----------------------===//
#include "artifact/DigestLeaves.h"

#include <cstring>

namespace nnv12::artifact {

static constexpr uint8_t sigma[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

// GCC has it since version 12.
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define NNV12_HAVE_SHUFFLE
#endif
#endif

// Two ways to rotate by whole bytes: three instructions, or one where the CPU
// has an instruction for any order of bytes.
#define BY_SHIFTS(x, n) ((x) >> (n) | (x) << (64 - (n)))
#define BYTE(i, n) ((i) / 8 * 8 + ((i) + (n) / 8) % 8)
#define WORD(i, n)                                                             \
  BYTE(i, n), BYTE((i) + 1, n), BYTE((i) + 2, n), BYTE((i) + 3, n),            \
      BYTE((i) + 4, n), BYTE((i) + 5, n), BYTE((i) + 6, n), BYTE((i) + 7, n)
#define SHUFFLE(x, ...)                                                        \
  ((Vector)__builtin_shufflevector((Bytes)(x), (Bytes)(x), __VA_ARGS__))

// The baselines of our architectures, SSE2 and NEON, have vectors of two.
#define WIDTH 2
#if defined(__aarch64__) && defined(NNV12_HAVE_SHUFFLE)
#define ROTATE(x, n) SHUFFLE(x, WORD(0, n), WORD(8, n))
#else
#define ROTATE(x, n) BY_SHIFTS(x, n)
#endif
static void compressInPairs(Leaves &leaves,
                            const uint8_t *const blocks[Leaves::number]) {
#include "artifact/DigestLeaves.inc"
}
#undef ROTATE
#undef WIDTH

#if defined(__x86_64__) && defined(NNV12_HAVE_SHUFFLE)
#define NNV12_HAVE_AVX
#define WIDTH 4

// The compiler knows its instruction that rotates.
#define ROTATE(x, n) BY_SHIFTS(x, n)
__attribute__((target("avx512vl"))) static void
compressWithAvx512(Leaves &leaves,
                   const uint8_t *const blocks[Leaves::number]) {
#include "artifact/DigestLeaves.inc"
}
#undef ROTATE

#define ROTATE(x, n)                                                           \
  SHUFFLE(x, WORD(0, n), WORD(8, n), WORD(16, n), WORD(24, n))
__attribute__((target("avx2"))) static void
compressWithAvx2(Leaves &leaves, const uint8_t *const blocks[Leaves::number]) {
#include "artifact/DigestLeaves.inc"
}
#endif

const Compressor compressors[] = {
#ifdef NNV12_HAVE_AVX
    {"avx512vl", compressWithAvx512},
    {"avx2", compressWithAvx2},
#endif
    {nullptr, compressInPairs},
};

} // namespace nnv12::artifact
