//===- PixelHeat.h - How often pixels were computed -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_PIXELHEAT_H
#define NNV12_TOOLS_NNV12_PROF_PIXELHEAT_H

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

namespace nnv12::prof {

/// Counts pixels of a plane over frames, in a grid small enough for a page.
class PixelHeat {
public:
  /// Cells along a side of the grid.
  static constexpr uint32_t most = 40;

  /// Adds a frame's pixels, row by row: 1 counts. The plane is always of the
  /// same size.
  void add(const std::vector<uint8_t> &pixels, uint32_t rows,
           uint32_t columns) {
    assert(pixels.size() == size_t(rows) * columns && "a byte a pixel");
    rows_ = std::min(rows, most);
    columns_ = std::min(columns, most);
    counted_.resize(size_t(rows_) * columns_);
    all_.resize(counted_.size());
    for (uint32_t y = 0; y < rows; ++y)
      for (uint32_t x = 0; x < columns; ++x) {
        size_t cell = size_t(uint64_t(y) * rows_ / rows) * columns_ +
                      size_t(uint64_t(x) * columns_ / columns);
        counted_[cell] += pixels[size_t(y) * columns + x];
        ++all_[cell];
      }
  }

  /// The grid's; 0: there is no frame.
  uint32_t rows() const { return rows_; }
  uint32_t columns() const { return columns_; }
  /// The part of a cell's pixels in all frames that counted, 0 to 1.
  double at(uint32_t row, uint32_t column) const {
    size_t cell = size_t(row) * columns_ + column;
    return double(counted_[cell]) / double(all_[cell]);
  }

private:
  uint32_t rows_ = 0, columns_ = 0;
  std::vector<uint64_t> counted_, all_; ///< by cell
};

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_PIXELHEAT_H
