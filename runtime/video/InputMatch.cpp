//===- InputMatch.cpp - Finds the pixels of an input that changed ---------===//
#include "runtime/video/InputMatch.h"

#include "runtime/video/PixelRuns.h"
#include "runtime/video/WordBits.h"

namespace nnv12::runtime {
namespace {

constexpr uint32_t cellSize = MatchJob::cellSize;
constexpr uint32_t cellsPerWord = 64 / cellSize;

/// The rows of a band, or as many of their columns as a word has.
struct Band {
  const PixelLayout &layout;
  const uint8_t *input;
  uint8_t *reference;
  uint32_t rows, cols;

  /// Calls `visit(offset)` for each row of each block, while it says true.
  /// Whether it always did.
  template <typename Visit> bool forEachRow(Visit visit) const {
    for (uint32_t block = 0, end = layout.numBlocks(); block < end; ++block)
      for (uint32_t row = 0; row < rows; ++row)
        if (!visit(block * layout.blockStride + row * layout.rowStride))
          return false;
    return true;
  }
  bool isEqual(size_t offset) const {
    return layout.hasDenseRows() && areEqual(input + offset, reference + offset,
                                             cols * layout.colStride);
  }
};

/// The pixels of the cells that changed.
uint64_t findChanged(const MatchJob &job, const Band &band) {
  const PixelLayout &layout = band.layout;
  SquareLanes sums[cellsPerWord] = {};
  // Whole cells of planes, as most models have them.
  uint32_t done = 0;
  if (job.mode == MatchJob::Mode::BoundedF32 && layout.inner == 1 &&
      layout.hasDenseRows()) {
    done = band.cols / cellSize * cellSize;
    for (uint32_t block = 0; block < layout.numBlocks(); ++block)
      for (uint32_t col = 0; col < done; col += cellSize) {
        const size_t at = block * layout.blockStride + col * layout.colStride;
        addSquaresOfRows(sums[col / cellSize], band.input + at,
                         band.reference + at, layout.rowStride, band.rows);
      }
  }
  band.forEachRow([&](size_t offset) {
    if (done == band.cols || band.isEqual(offset))
      return true;
    // At once where values follow each other.
    const uint32_t step = layout.hasDenseRows() ? band.cols - done : 1;
    for (uint32_t col = done; col < band.cols; col += step) {
      const size_t at = offset + col * layout.colStride;
      const uint8_t *a = band.input + at, *b = band.reference + at;
      SquareLanes *cells = sums + col / cellSize;
      const size_t perCell = size_t(cellSize) * layout.inner;
      const size_t count = size_t(step) * layout.inner;
      if (job.mode == MatchJob::Mode::BoundedF32)
        addSquares(cells, reinterpret_cast<const float *>(a),
                   reinterpret_cast<const float *>(b), perCell, count);
      else
        addSquares(cells, a, b, perCell, count);
    }
    return true;
  });
  uint64_t result = 0;
  for (uint32_t col = 0; col < band.cols; col += cellSize) {
    const uint64_t pixels = std::min(cellSize, band.cols - col) * band.rows;
    const float most = mostOf(job.limit, pixels * layout.channels);
    // NaN is more than any limit.
    if (!(sums[col / cellSize].total() <= most))
      result |= lowBits(cellSize) << col;
  }
  return result;
}

/// The band that begins with a row, numbered over all images.
void matchBand(const MatchJob &job, uint64_t firstRow, uint32_t rows) {
  const PixelLayout &layout = job.layout;
  Band band = {
      layout,
      static_cast<const uint8_t *>(job.input) + layout.offsetOf(firstRow),
      static_cast<uint8_t *>(job.reference) + layout.offsetOf(firstRow), rows,
      layout.plane.cols};
  // Most of a still scene.
  if (!job.clean &&
      band.forEachRow([&](size_t offset) { return band.isEqual(offset); }))
    return;
  auto cleanBits = [&](uint32_t row, uint32_t word) {
    return job.clean ? job.clean->row(firstRow + row)[word] : 0;
  };
  for (uint32_t word = 0; word < job.dirty->pixelWords(); ++word) {
    band.cols = std::min(64u, layout.plane.cols - word * 64);
    uint64_t changed = 0;
    for (uint32_t row = 0; row < rows; ++row)
      changed |= lowBits(band.cols) & ~cleanBits(row, word);
    if (changed && job.mode != MatchJob::Mode::Exact)
      changed &= findChanged(job, band);
    for (uint32_t row = 0; changed && row < rows; ++row) {
      const size_t offset = row * layout.rowStride;
      const uint8_t *input = band.input + offset;
      uint8_t *reference = band.reference + offset;
      const uint64_t looked = changed & ~cleanBits(row, word);
      const uint64_t different =
          findDifferent(layout, input, reference, looked);
      // Equal pixels between them may be copied as well.
      if (different)
        copyPixels(layout, input, reference, looked);
      job.dirty->row(firstRow + row)[word] |= different;
    }
    band.input += 64 * layout.colStride;
    band.reference += 64 * layout.colStride;
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
