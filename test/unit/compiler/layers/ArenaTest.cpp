//===- ArenaTest.cpp - The arena against brute force ----------------------===//

#include "compiler/layers/Arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace nnv12;

static bool meet(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// The most bytes that live at once: no arena can be smaller.
static uint64_t lowerBound(const std::vector<Lifetime> &buffers,
                           uint64_t alignment) {
  uint64_t most = 0;
  for (const Lifetime &at : buffers) {
    uint64_t sum = 0;
    for (const Lifetime &b : buffers)
      if (b.first <= at.first && at.first <= b.last)
        sum += (b.size + alignment - 1) / alignment * alignment;
    most = std::max(most, sum);
  }
  return most;
}

/// The smallest arena over all orders of placing each buffer as low as it goes;
/// some order is optimal.
static uint64_t optimum(const std::vector<Lifetime> &buffers,
                        uint64_t alignment) {
  std::vector<size_t> order(buffers.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  uint64_t best = UINT64_MAX;
  do {
    std::vector<uint64_t> offset(buffers.size());
    uint64_t size = 0;
    for (size_t n = 0; n < order.size(); ++n) {
      const Lifetime &b = buffers[order[n]];
      uint64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t m = 0; m < n; ++m) {
          const Lifetime &o = buffers[order[m]];
          uint64_t end = offset[order[m]] +
                         (o.size + alignment - 1) / alignment * alignment;
          if (meet(b, o) && at < end && offset[order[m]] < at + b.size) {
            at = end;
            moved = true;
          }
        }
      }
      offset[order[n]] = at;
      size =
          std::max(size, at + (b.size + alignment - 1) / alignment * alignment);
    }
    best = std::min(best, size);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Arena, empty) { EXPECT_EQ(placeInArena({}).size, 0u); }

TEST(Arena, reusesWhatIsDead) {
  Arena arena = placeInArena({{100, 0, 1}, {100, 1, 2}, {100, 2, 3}});
  EXPECT_EQ(arena.size, 256u);
  EXPECT_EQ(arena.offsets[0], arena.offsets[2]);
}

TEST(Arena, randomAgainstBruteForce) {
  std::mt19937 random(1);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 6; ++i) {
      int64_t first = random() % 8;
      buffers.push_back(
          {random() % 1000, first, first + int64_t(random() % 4)});
    }
    Arena arena = placeInArena(buffers, 64);
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(arena.offsets[i] % 64, 0u);
      EXPECT_LE(arena.offsets[i] + buffers[i].size, arena.size);
      for (size_t j = 0; j < i; ++j)
        EXPECT_TRUE(!meet(buffers[i], buffers[j]) ||
                    arena.offsets[i] + buffers[i].size <= arena.offsets[j] ||
                    arena.offsets[j] + buffers[j].size <= arena.offsets[i]);
    }
    EXPECT_GE(arena.size, lowerBound(buffers, 64));
    worst = std::max(worst, double(arena.size) /
                                std::max<uint64_t>(64, optimum(buffers, 64)));
  }
  EXPECT_LE(worst, 1.5);
}

TEST(Arena, liveBytesAgainstBruteForce) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    size_t operations = 1 + random() % 9;
    std::vector<Lifetime> buffers(random() % 12);
    for (Lifetime &buffer : buffers) {
      buffer.first = int64_t(random() % operations);
      buffer.last =
          buffer.first + int64_t(random() % (operations - buffer.first));
      buffer.size = random() % 1000;
    }
    std::vector<uint64_t> found = sumLiveBytes(buffers, operations);
    ASSERT_EQ(found.size(), operations);
    for (size_t i = 0; i < operations; ++i) {
      uint64_t expected = 0;
      for (const Lifetime &buffer : buffers)
        if (buffer.first <= int64_t(i) && int64_t(i) <= buffer.last)
          expected += buffer.size;
      EXPECT_EQ(found[i], expected);
    }
  }
}
