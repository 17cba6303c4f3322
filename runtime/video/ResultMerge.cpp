//===- ResultMerge.cpp - Keeps values that did not change -----------------===//
#include "runtime/video/ResultMerge.h"

#include "runtime/video/PixelRuns.h"
#include "runtime/video/WordBits.h"

namespace nnv12::runtime {
namespace {

/// Finds those of the pixels, one at least, that differ by more.
uint64_t findBeyond(const PixelLayout &layout, float bound,
                    const uint8_t *computed, const uint8_t *kept,
                    uint64_t pixels) {
  // Where values of a channel follow each other, pixel i has lane i % 8 of sum
  // i / 8. Elsewhere it has a sum.
  const bool isPlanar = layout.inner == 1 && layout.hasDenseRows();
  const uint32_t perSum = isPlanar ? 8 : 1;
  uint64_t looked = pixels;
  if (isPlanar) // beginning with a lane 0
    looked = spanOf(pixels | uint64_t(1) << (__builtin_ctzll(pixels) & ~7));
  SquareLanes sums[64]; // those between are never read
  for (Runs runs(looked); runs.next();)
    memset(sums + runs.first / perSum, 0,
           ((runs.count - 1) / perSum + 1) * sizeof *sums);
  for (uint32_t block = 0, end = layout.numBlocks(); block < end; ++block) {
    const uint32_t channels = layout.channelsOf(block);
    const bool isDense = layout.hasDenseRows() && channels == layout.inner;
    for (Runs runs(looked); runs.next();) {
      // At once where values follow each other.
      const uint32_t step = isDense ? runs.count : 1;
      for (uint32_t i = runs.first; i < runs.first + runs.count; i += step) {
        const size_t at = block * layout.blockStride + i * layout.colStride;
        addSquares(sums + i / perSum,
                   reinterpret_cast<const float *>(computed + at),
                   reinterpret_cast<const float *>(kept + at),
                   size_t(perSum) * channels, size_t(step) * channels);
      }
    }
  }
  uint64_t result = 0;
  for (uint64_t left = pixels; left; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    float sum =
        isPlanar ? sums[i / 8].lanes[i / 4 % 2][i % 4] : sums[i].total();
    // NaN is more than any limit.
    result |= uint64_t(!(sum <= bound)) << i;
  }
  return result;
}

} // namespace

void mergeRows(void *const *operands, int64_t begin, int64_t end,
               void * /*scratch*/) {
  const MergeJob &job = *static_cast<const MergeJob *>(operands[0]);
  const PixelLayout &layout = job.layout;
  assert(job.dirty->plane() == layout.plane);
  const float bound = mostOf(job.limit, layout.channels);
  for (int64_t row = begin; row < end; ++row) {
    uint64_t *words = job.dirty->row(row);
    for (uint32_t word = 0; word < job.dirty->pixelWords(); ++word) {
      if (!words[word])
        continue;
      const size_t offset = layout.offsetOf(row) + word * 64 * layout.colStride;
      auto *computed = static_cast<const uint8_t *>(job.computed) + offset;
      auto *kept = static_cast<uint8_t *>(job.kept) + offset;
      words[word] =
          job.mode == MergeJob::Mode::Exact
              ? findDifferent(layout, computed, kept, words[word])
              : findBeyond(layout, bound, computed, kept, words[word]);
      copyPixels(layout, computed, kept, words[word]);
    }
  }
}

} // namespace nnv12::runtime
