//===- Arena.cpp - Places buffers in one arena ----------------------------===//

#include "compiler/layers/Arena.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace nnv12;

Arena nnv12::placeInArena(const std::vector<Lifetime> &buffers,
                          uint64_t alignment) {
  assert(alignment && "zero is no alignment");
  auto rounded = [&](uint64_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buffers[a].size > buffers[b].size;
  });

  Arena arena;
  arena.offsets.assign(buffers.size(), 0);
  std::vector<size_t> placed; // by offset
  for (size_t i : order) {
    uint64_t size = rounded(buffers[i].size);
    uint64_t end = 0; // of the buffers looked at so far
    uint64_t best = UINT64_MAX, bestGap = UINT64_MAX;
    for (size_t p : placed) {
      if (buffers[p].last < buffers[i].first ||
          buffers[i].last < buffers[p].first)
        continue;
      uint64_t offset = arena.offsets[p];
      if (offset > end && offset - end >= size && offset - end < bestGap) {
        best = end;
        bestGap = offset - end;
      }
      end = std::max(end, offset + rounded(buffers[p].size));
    }
    arena.offsets[i] = best != UINT64_MAX ? best : end;
    arena.size = std::max(arena.size, arena.offsets[i] + size);
    assert(arena.offsets[i] % alignment == 0);
    assert(buffers[i].first <= buffers[i].last);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) {
                                     return arena.offsets[a] < arena.offsets[b];
                                   }),
                  i);
  }
  return arena;
}

std::vector<uint64_t> nnv12::sumLiveBytes(const std::vector<Lifetime> &buffers,
                                          size_t operations) {
  // Sums up the bytes that come and go with each operation. Differences may
  // wrap around: the sums do not.
  std::vector<uint64_t> bytes(operations + 1);
  for (const Lifetime &buffer : buffers) {
    assert(buffer.first >= 0 && size_t(buffer.last) < operations);
    bytes[buffer.first] += buffer.size;
    bytes[buffer.last + 1] -= buffer.size;
  }
  bytes.pop_back();
  for (size_t i = 1; i < bytes.size(); ++i)
    bytes[i] += bytes[i - 1];
  return bytes;
}
