//===- MemoryImage.h - The contents of a memory's bytes ---------*- C++ -*-===//
//
// Pure: knows nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_MEMORYIMAGE_H
#define NNV12_COMPILER_VERIFY_MEMORYIMAGE_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace nnv12 {

/// A byte of something that has a number: equal contents have equal numbers.
struct Content {
  uint32_t id;
  uint64_t offset; ///< of the byte

  bool operator==(const Content &other) const {
    return id == other.id && offset == other.offset;
  }
};

/// Bytes [begin, end) of a memory hold `content` and the bytes that follow it.
struct Run {
  uint64_t begin;
  uint64_t end;
  Content content;

  /// The content of byte `at` of the memory.
  Content contentAt(uint64_t at) const {
    return {content.id, content.offset + (at - begin)};
  }
};

/// Runs in the order of their bytes, none overlapping another.
using Runs = std::vector<Run>;

/// Appends a run that begins where the last one ends, or behind it; one with it
/// where it goes on.
void append(Runs &runs, const Run &run);

/// The contents of the bytes [begin, end) of `runs`, as a memory of their own
/// that begins at 0. Bytes that no run has are in no run of the result.
Runs cut(const Runs &runs, uint64_t begin, uint64_t end);

/// The first bytes in which two memories of `size` bytes differ: as long as
/// each side holds one run, or none. Empty (begin == end) where they are equal.
struct Difference {
  uint64_t begin = 0, end = 0;
  std::optional<Content> first = {}, second = {}; ///< none: nothing is there
};
Difference firstDifference(const Runs &first, const Runs &second,
                           uint64_t size);

/// The contents of each byte of a memory, as runs. Writing and reading take
/// time in proportion to the runs that they meet, not to bytes.
class MemoryImage {
public:
  /// Writes `content` and the bytes that follow it to the bytes [begin, end).
  void write(uint64_t begin, uint64_t end, Content content);
  /// Writes the runs of a memory that begins at 0 from byte `at` on. Bytes that
  /// no run has stay as they are.
  void write(uint64_t at, const Runs &runs);
  /// From now on the bytes [begin, end) hold nothing.
  void erase(uint64_t begin, uint64_t end);
  /// The contents of the bytes [begin, end), as a memory that begins at 0.
  Runs read(uint64_t begin, uint64_t end) const;

private:
  /// Makes a run begin at `at`, if one goes across it.
  void split(uint64_t at);
  std::map<uint64_t, Run> runs; ///< by begin; they do not overlap
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_MEMORYIMAGE_H
