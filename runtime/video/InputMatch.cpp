//===- InputMatch.cpp - Finds the pixels of an input that changed ---------===//
#include "runtime/video/InputMatch.h"

#include "runtime/video/PixelRuns.h"
#include "runtime/video/WordBits.h"

namespace nnv12::runtime {
namespace {

constexpr uint32_t cellSize = MatchJob::cellSize;
/// The cells of at most eight words of a row are summed at once.
constexpr uint32_t maxWords = 8;

/// Columns of a band. Addresses are those of its first pixel.
struct Strip {
  const MatchJob &job;
  const uint8_t *input;
  uint8_t *reference;
  uint64_t firstRow; ///< numbered over all images
  uint32_t firstWord;
  uint32_t rows, cols;

  size_t offsetOf(uint32_t block, uint32_t row, uint32_t col) const {
    const PixelLayout &layout = job.layout;
    return block * layout.blockStride + row * layout.rowStride +
           col * layout.colStride;
  }
};

/// Keeps those of the pixels that are in cells that changed.
void keepChanged(const Strip &strip, uint64_t *pixels) {
  // The sums of 2 KB take about as long as memory does.
  constexpr size_t ahead = 2048;
  const PixelLayout &layout = strip.job.layout;
  const bool isFloat = strip.job.mode == MatchJob::Mode::BoundedF32;
  const size_t perCell = size_t(cellSize) * layout.inner;
  SquareLanes sums[maxWords * 64 / cellSize];
  memset(sums, 0, sizeof sums);
  // Whole cells of planes, as most models have them.
  uint32_t done = 0;
  if (isFloat && layout.inner == 1 && layout.hasDenseRows())
    done = strip.cols / cellSize * cellSize;
  // At once where values follow each other.
  const uint32_t step = layout.hasDenseRows() ? strip.cols - done : 1;
  const size_t count = size_t(step) * layout.inner;
  for (uint32_t block = 0; block < layout.numBlocks(); ++block) {
    const size_t first = strip.offsetOf(block, 0, 0);
    addSquaresOfRows(sums, strip.input + first, strip.reference + first,
                     layout.rowStride, strip.rows, done / cellSize);
    for (uint32_t row = 0; row < strip.rows; ++row)
      for (uint32_t col = done; col < strip.cols; col += step) {
        const size_t at = strip.offsetOf(block, row, col);
        const uint8_t *a = strip.input + at, *b = strip.reference + at;
        SquareLanes *cells = sums + col / cellSize;
        if (isFloat)
          addSquares(cells, reinterpret_cast<const float *>(a),
                     reinterpret_cast<const float *>(b), perCell, count, ahead);
        else
          addSquares(cells, a, b, perCell, count, ahead);
      }
  }
  for (uint32_t col = 0; col < strip.cols; col += cellSize) {
    const uint64_t area = std::min(cellSize, strip.cols - col) * strip.rows;
    const float most = mostOf(strip.job.limit, area * layout.channels);
    // NaN is more than any limit.
    if (sums[col / cellSize].total() <= most)
      pixels[col / 64] &= ~(lowBits(cellSize) << col % 64);
  }
}

/// The pixels of a word of a row that are not compared.
uint64_t cleanBits(const MatchJob &job, uint64_t row, uint32_t word) {
  return job.clean ? job.clean->row(row)[word] : 0;
}

/// Whether nothing differs, where rows lie densely.
bool isEqual(const Strip &strip) {
  const PixelLayout &layout = strip.job.layout;
  for (uint32_t block = 0; block < layout.numBlocks(); ++block)
    for (uint32_t row = 0; row < strip.rows; ++row) {
      const size_t at = strip.offsetOf(block, row, 0);
      if (!layout.hasDenseRows() ||
          !areEqual(strip.input + at, strip.reference + at,
                    strip.cols * layout.colStride))
        return false;
    }
  return true;
}

/// Matches these pixels of each row: a word for 64 columns.
void matchStrip(const Strip &strip, uint64_t *pixels) {
  const MatchJob &job = strip.job;
  // Copies of a frame take least time so. Noise shows in the first bytes.
  if (isEqual(strip))
    return;
  if (job.mode != MatchJob::Mode::Exact)
    keepChanged(strip, pixels);
  // Row by row: processors prefetch long rows by themselves.
  for (uint32_t row = 0; row < strip.rows; ++row)
    for (uint32_t col = 0; col < strip.cols; col += 64) {
      const uint64_t wholeRow = strip.firstRow + row;
      const uint32_t word = strip.firstWord + col / 64;
      const uint64_t looked =
          pixels[col / 64] & ~cleanBits(job, wholeRow, word);
      if (!looked)
        continue;
      const size_t at = strip.offsetOf(0, row, col);
      const uint8_t *input = strip.input + at;
      uint8_t *reference = strip.reference + at;
      const uint64_t different =
          findDifferent(job.layout, input, reference, looked);
      // Equal pixels between them may be copied as well.
      if (different)
        copyPixels(job.layout, input, reference, looked);
      job.dirty->row(wholeRow)[word] |= different;
    }
}

/// The band that begins with a row, numbered over all images.
void matchBand(const MatchJob &job, uint64_t firstRow, uint32_t rows) {
  const PixelLayout &layout = job.layout;
  const uint32_t words = job.dirty->pixelWords();
  for (uint32_t first = 0, count; first < words; first += count) {
    // Words side by side, each with pixels that are compared.
    uint64_t pixels[maxWords];
    uint32_t cols = 0;
    for (count = 0; count < std::min(words - first, maxWords); ++count) {
      const uint32_t word = first + count;
      const uint32_t wordCols = std::min(64u, layout.plane.cols - word * 64);
      uint64_t looked = 0;
      for (uint32_t row = 0; row < rows; ++row)
        looked |= lowBits(wordCols) & ~cleanBits(job, firstRow + row, word);
      if (!looked)
        break;
      pixels[count] = looked;
      cols += wordCols;
    }
    const size_t at = layout.offsetOf(firstRow) + first * 64 * layout.colStride;
    if (count)
      matchStrip({job, static_cast<const uint8_t *>(job.input) + at,
                  static_cast<uint8_t *>(job.reference) + at, firstRow, first,
                  rows, cols},
                 pixels);
    else
      count = 1;
  }
}

} // namespace

void matchBands(void *const *operands, int64_t begin, int64_t end,
                void * /*scratch*/) {
  const MatchJob &job = *static_cast<const MatchJob *>(operands[0]);
  assert(job.dirty->plane() == job.layout.plane);
  assert(job.layout.channels % job.layout.inner == 0);
  const uint32_t rows = job.layout.plane.rows;
  const uint32_t bandsPerImage = (rows - 1) / cellSize + 1;
  for (int64_t band = begin; band < end; ++band) {
    const uint64_t image = static_cast<uint64_t>(band) / bandsPerImage;
    const uint32_t row = static_cast<uint64_t>(band) % bandsPerImage * cellSize;
    matchBand(job, image * rows + row, std::min(cellSize, rows - row));
  }
}

} // namespace nnv12::runtime
