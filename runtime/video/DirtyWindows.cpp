//===- DirtyWindows.cpp - Dirty pixels of a layer's result ----------------===//
//
// For each row of the result, the rows of its window are joined to one; then
// each pixel asks whether there is a bit in its columns. Windows of common
// layers answer that for all pixels of a word at once: a range of n columns is
// the union of n shifted words, found in log2(n) steps. Layers with stride 1
// take all rows of the plane as one: zeros between them keep them apart.
//
//===----------------------------------------------------------------------===//
#include "runtime/video/DirtySet.h"
#include "runtime/video/WordBits.h"

#include <algorithm>
#include <cstring>

namespace nnv12::runtime {
namespace {

/// Sets have room for more words than they have, so words can be loaded in
/// pairs.
inline TwoWords loadPair(const uint64_t *words) {
  TwoWords result;
  memcpy(&result, words, sizeof result);
  return result;
}

inline void storePair(uint64_t *words, TwoWords value) {
  memcpy(words, &value, sizeof value);
}

[[gnu::noinline]] int64_t floorOf(int64_t num, int64_t den) {
  int64_t quotient = den == 1 ? num : num / den;
  return quotient * den > num ? quotient - 1 : quotient;
}

/// floor((i * num + offset) / den) for i = 0, 1, …
class FloorLine {
public:
  FloorLine(const VideoWindow &window, int32_t offset)
      : value_(floorOf(offset, window.den)),
        step_(floorOf(window.num, window.den)), den_(window.den),
        rest_(offset - value_ * den_), stepRest_(window.num - step_ * den_) {}

  int64_t value() const { return value_; }
  void next() {
    value_ += step_;
    rest_ += stepRest_;
    if (rest_ >= den_) {
      rest_ -= den_;
      ++value_;
    }
  }

private:
  int64_t value_, step_, den_, rest_, stepRest_;
};

/// Several rows of a source joined to one, in a part of its columns.
class JoinedRow {
public:
  static constexpr uint32_t maxWords = 128;

  /// `count` words of each row, from word `first` on.
  JoinedRow(uint32_t first, uint32_t count) : first_(first), count_(count) {
    assert(count >= 1 && count <= maxWords);
    words_[0] = words_[count + 1] = 0;
  }

  /// Joins so many rows, of `stride` words each. Whether there is any bit.
  bool join(const uint64_t *rows, size_t stride, uint64_t count) {
    uint64_t any = 0;
    for (uint32_t w = 0; w < count_; ++w) {
      const uint64_t *word = rows + first_ + w;
      uint64_t bits = *word;
      for (uint64_t i = 1; i < count; ++i)
        bits |= *(word += stride);
      words_[w + 1] = bits;
      any |= bits;
    }
    return any;
  }

  /// The bits of 64 columns; there are none outside of the part.
  uint64_t at(int64_t col) const {
    int64_t word = (col >> 6) - first_ + 1;
    if (uint64_t(word) > count_)
      return 0;
    uint32_t shift = col & 63;
    return words_[word] >> shift | words_[word + 1] << 1 << (63 - shift);
  }

  /// Whether there is a bit in the columns from `low` to `high`.
  [[gnu::noinline]] bool hasAny(int64_t low, int64_t high) const {
    low = std::max(low, int64_t(first_) * 64);
    high = std::min(high, (int64_t(first_) + count_) * 64 - 1);
    for (; low <= high; low += 64)
      if (at(low) & lowBits(std::min<uint64_t>(high - low + 1, 64)))
        return true;
    return false;
  }

private:
  const uint32_t first_, count_;
  /// Between two of 0.
  uint64_t words_[maxWords + 2];
};

/// Bit i of the result is the union of bits i to i + width - 1 of `low` with
/// `high` behind it. `width` is 1 to 64; a word, or several.
template <uint32_t Width, typename Words>
inline Words widen(Words low, Words high, uint32_t width) {
  auto shift = [&](uint32_t bits) { // 1 to 63
    low |= low >> bits | high << (64 - bits);
    high |= high >> bits;
  };
  if constexpr (Width == 3) {
    shift(1);
    shift(1);
  } else {
    uint32_t n = 1;
    for (; 2 * n <= width; n *= 2)
      shift(n);
    if (n < width)
      shift(width - n);
  }
  return low;
}

/// Windows of `width` columns, at most 64, each a column behind the one before.
class Windows {
public:
  Windows(const JoinedRow &row, int64_t begin, int64_t width)
      : row_(row), begin_(begin), width_(width), bits_(row.at(begin)) {
    assert(width <= 64);
  }

  /// The next 64 windows: a bit is set where the window has one.
  [[gnu::noinline]] uint64_t next() {
    uint64_t low = bits_;
    begin_ += 64;
    bits_ = row_.at(begin_);
    return width_ < 1 ? 0 : widen<0>(low, bits_, static_cast<uint32_t>(width_));
  }

private:
  const JoinedRow &row_;
  int64_t begin_;
  const int64_t width_;
  uint64_t bits_;
};

/// Bits 0, 2, 4, … of a word.
[[gnu::noinline]] uint64_t everySecond(uint64_t word) {
  word &= 0x5555555555555555;
  word = (word | word >> 1) & 0x3333333333333333;
  word = (word | word >> 2) & 0x0f0f0f0f0f0f0f0f;
  word = (word | word >> 4) & 0x00ff00ff00ff00ff;
  word = (word | word >> 8) & 0x0000ffff0000ffff;
  return (word | word >> 16) & 0x00000000ffffffff;
}

/// The other way round, of the lower half.
[[gnu::noinline]] uint64_t toEverySecond(uint64_t word) {
  word &= 0x00000000ffffffff;
  word = (word | word << 16) & 0x0000ffff0000ffff;
  word = (word | word << 8) & 0x00ff00ff00ff00ff;
  word = (word | word << 4) & 0x0f0f0f0f0f0f0f0f;
  word = (word | word << 2) & 0x3333333333333333;
  return (word | word << 1) & 0x5555555555555555;
}

/// The same for windows that are `step` columns apart, a power of two.
[[gnu::noinline]] uint64_t nextOf(Windows &windows, int32_t step) {
  if (step == 1)
    return windows.next();
  uint64_t lower = everySecond(nextOf(windows, step / 2));
  return lower | everySecond(nextOf(windows, step / 2)) << 32;
}

/// Adds the pixels of a row that depend on the source's.
[[gnu::noinline]] void addRow(const JoinedRow &source,
                              const VideoWindow &window, uint64_t *row,
                              uint32_t cols) {
  uint32_t numWords = (cols + 63) / 64;
  int64_t low = window.low, width = int64_t(window.high) - low + 1;
  if (window.den == 1 && window.num >= 1 &&
      (window.num & (window.num - 1)) == 0 && width <= 64) {
    Windows windows(source, low, width);
    for (uint32_t w = 0; w < numWords; ++w)
      row[w] |= nextOf(windows, window.num);
  } else if (window.den == 2 && window.num == 1 && width <= 64) {
    // Column 2u reads from u + floor(low / 2) on, column 2u + 1 from
    // u + floor((low + 1) / 2) on.
    auto half = [&](int64_t odd) {
      int64_t begin = (low + odd) >> 1;
      return Windows(source, begin, ((window.high + odd) >> 1) - begin + 1);
    };
    Windows even = half(0), odd = half(1);
    for (uint32_t w = 0; w < numWords; w += 2) {
      uint64_t evens = even.next(), odds = odd.next();
      row[w] |= toEverySecond(evens) | toEverySecond(odds) << 1;
      if (w + 1 < numWords)
        row[w + 1] |= toEverySecond(evens >> 32) | toEverySecond(odds >> 32)
                                                       << 1;
    }
  } else {
    FloorLine begin(window, window.low), end(window, window.high);
    for (uint32_t x = 0; x < cols; ++x, begin.next(), end.next())
      row[x / 64] |= uint64_t(source.hasAny(begin.value(), end.value()))
                     << x % 64;
  }
}

/// Rows that follow each other, as one row of `count` words. Adds the pixels
/// whose windows have a bit: those of the first word begin `back` columns, 0 to
/// 63, before the words from `source` on, and have `rows` rows and `cols`
/// columns.
template <uint32_t Rows, uint32_t Cols>
void addRun(const uint64_t *source, size_t stride, uint32_t rows, uint32_t back,
            uint32_t cols, uint64_t *to, size_t count) {
  TwoWords last = {};
  auto windowsOf = [&](size_t i) {
    const uint64_t *words = source + i;
    TwoWords joined = loadPair(words);
    for (uint32_t row = 1; row < (Rows ? Rows : rows); ++row)
      joined |= loadPair(words += stride);
    TwoWords before = __builtin_shufflevector(last, joined, 1, 2);
    last = joined;
    return joined << back | before >> 1 >> (63 - back);
  };
  TwoWords bits = windowsOf(0);
  for (size_t i = 0; i < count; i += 2) {
    TwoWords next = windowsOf(i + 2);
    TwoWords behind = __builtin_shufflevector(bits, next, 1, 2);
    TwoWords result = loadPair(to + i) | widen<Cols>(bits, behind, cols);
    bits = next;
    if (i + 1 < count)
      storePair(to + i, result);
    else
      to[i] = result[0];
  }
}

} // namespace

void DirtySet::addThrough(const DirtySet &source, const VideoWindow &rows,
                          const VideoWindow &cols) {
  assert(this != &source && rows.den >= 1 && cols.den >= 1);
  const VideoPlane &from = source.plane_;
  if (from.images != plane_.images && from.images != 1)
    return addAll(source);
  if (rows.isIdentity() && cols.isIdentity() && from == plane_) {
    for (size_t i = 0, end = numWords(); i < end; i += 2)
      storePair(words_ + i, loadPair(words_ + i) | loadPair(source.words_ + i));
    return;
  }
  for (uint32_t image = 0; image < plane_.images; ++image) {
    uint32_t sourceImage = from.images == 1 ? 0 : image;
    if (from.isPoint()) {
      if (!source.isImageEmpty(sourceImage))
        setImage(image);
    } else if (mayJoinRows(source, rows, cols)) {
      addImageInRuns(source, rows, cols, image, sourceImage);
    } else {
      addImageThrough(source, rows, cols, image, sourceImage);
    }
  }
}

/// Whether windows of the columns do not reach over the padding of their row.
bool DirtySet::mayJoinRows(const DirtySet &source, const VideoWindow &rows,
                           const VideoWindow &cols) const {
  constexpr int32_t reach = padding;
  return rows.num == 1 && rows.den == 1 && cols.num == 1 && cols.den == 1 &&
         -reach <= cols.low && cols.low <= 0 && 0 <= cols.high &&
         cols.high <= reach && rowWords_ == source.rowWords_;
}

void DirtySet::addImageInRuns(const DirtySet &source, const VideoWindow &rows,
                              const VideoWindow &cols, uint32_t image,
                              uint32_t sourceImage) {
  const int64_t numRows = plane_.rows, sourceRows = source.plane_.rows;
  const size_t stride = rowWords_;
  const uint64_t *from = source.row(sourceImage * sourceRows);
  uint64_t *to = row(image * numRows);
  const uint32_t back = static_cast<uint32_t>(-cols.low);
  const uint32_t width = static_cast<uint32_t>(cols.high) + back + 1;
  for (int64_t y = 0, next; y < numRows; y = next) {
    int64_t row0 = std::max(y + rows.low, int64_t(0));
    int64_t row1 = std::min(y + rows.high + 1, sourceRows);
    // Rows whose windows lie inside go at once.
    next = y + 1;
    if (y + rows.low >= 0 && y + rows.high < sourceRows)
      next = std::min(numRows, sourceRows - rows.high);
    if (row0 >= row1)
      continue;
    const uint32_t height = static_cast<uint32_t>(row1 - row0);
    auto add = height == 3 && width == 3 ? addRun<3, 3> : addRun<0, 0>;
    add(from + row0 * stride, stride, height, back, width, to + y * stride,
        (next - y) * stride);
  }
  for (int64_t y = 0; y < numRows; ++y)
    clearPadding(to + y * stride);
}

/// Parts of the source's columns add their pixels one after the other: few
/// planes are so wide that there are several.
void DirtySet::addImageThrough(const DirtySet &source, const VideoWindow &rows,
                               const VideoWindow &cols, uint32_t image,
                               uint32_t sourceImage) {
  const uint32_t sourceRows = source.plane_.rows, stride = source.rowWords_;
  const uint64_t *first = source.row(uint64_t(sourceImage) * sourceRows);
  for (uint32_t word = 0; word < stride; word += JoinedRow::maxWords) {
    JoinedRow joined(word, std::min(stride - word, JoinedRow::maxWords));
    FloorLine begin(rows, rows.low), end(rows, rows.high);
    uint64_t *to = row(uint64_t(image) * plane_.rows);
    for (uint32_t y = 0; y < plane_.rows;
         ++y, begin.next(), end.next(), to += rowWords_) {
      int64_t row0 = std::max(begin.value(), int64_t(0));
      int64_t row1 = std::min(end.value() + 1, int64_t(sourceRows));
      if (row0 >= row1 ||
          !joined.join(first + row0 * stride, stride, row1 - row0))
        continue;
      addRow(joined, cols, to, plane_.cols);
      clearPadding(to);
    }
  }
}

} // namespace nnv12::runtime
