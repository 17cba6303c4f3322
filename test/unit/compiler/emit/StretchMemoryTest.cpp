//===- StretchMemoryTest.cpp - Memory and barriers of a stretch -----------===//

#include "compiler/emit/StretchMemory.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace nnv12;

namespace {

artifact::Operand arenaAt(uint64_t offset, uint64_t size) {
  return {artifact::Space::Arena, 0, offset, size};
}

/// A byte of a memory.
using Byte = std::tuple<int, uint32_t, uint64_t>;

class Checker {
public:
  Checker(const std::vector<StretchBuffer> &buffers,
          const std::vector<StretchDispatch> &dispatches)
      : buffers(buffers), dispatches(dispatches),
        plan(placeStretch(buffers, dispatches)) {}

  void check() {
    checkPlaces();
    checkBarriers();
    checkHandOvers();
  }

private:
  std::set<Byte> bytesOf(const std::vector<BufferRange> &ranges) const {
    std::set<Byte> result;
    for (const BufferRange &range : ranges)
      for (uint64_t i = range.offset; i < range.end(); ++i) {
        result.insert({-1, 0, plan.places[range.buffer] + i});
        if (auto host = buffers[range.buffer].host)
          result.insert({int(host->space), host->index, host->offset + i});
      }
    return result;
  }

  bool conflict(size_t a, size_t b) const {
    auto meet = [&](auto &x, auto &y) {
      std::set<Byte> first = bytesOf(x), second = bytesOf(y);
      return std::any_of(first.begin(), first.end(),
                         [&](const Byte &byte) { return second.count(byte); });
    };
    const StretchDispatch &x = dispatches[a], &y = dispatches[b];
    return meet(x.writes, y.writes) || meet(x.writes, y.reads) ||
           meet(x.reads, y.writes);
  }

  void checkPlaces() {
    // Each byte of the arena holds a byte of a buffer.
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> holds;
    auto put = [&](const BufferRange &range) {
      for (uint64_t i = range.offset; i < range.end(); ++i)
        holds[plan.places[range.buffer] + i] = {range.buffer, i};
    };
    auto expect = [&](const BufferRange &range) {
      for (uint64_t i = range.offset; i < range.end(); ++i)
        ASSERT_EQ(holds[plan.places[range.buffer] + i],
                  std::make_pair(range.buffer, i));
    };
    for (const StretchDispatch &dispatch : dispatches)
      for (const auto *list : {&dispatch.reads, &dispatch.writes})
        for (const BufferRange &range : *list) {
          uint64_t place = plan.places[range.buffer];
          EXPECT_EQ(place % 256, 0u);
          EXPECT_LE(place + buffers[range.buffer].size, plan.arenaSize);
        }
    for (const BufferRange &range : plan.in)
      put(range);
    for (const StretchDispatch &dispatch : dispatches) {
      for (const BufferRange &range : dispatch.reads)
        expect(range);
      for (const BufferRange &range : dispatch.writes)
        put(range);
    }
    for (const BufferRange &range : plan.out)
      expect(range);
  }

  void checkBarriers() {
    ASSERT_EQ(plan.barriers.size(), dispatches.size());
    size_t last = 0; // the barrier before
    for (size_t i = 0; i < dispatches.size(); ++i) {
      bool needed = false;
      for (size_t j = last; j < i; ++j)
        needed |= conflict(j, i);
      EXPECT_EQ(plan.barriers[i], needed) << "dispatch " << i;
      if (plan.barriers[i])
        last = i;
    }
  }

  void checkHandOvers() {
    using BufferByte = std::pair<uint32_t, uint64_t>;
    std::set<BufferByte> in, written, foundIn, foundOut;
    for (const StretchDispatch &dispatch : dispatches) {
      for (const BufferRange &range : dispatch.reads)
        for (uint64_t i = range.offset; i < range.end(); ++i)
          if (!written.count({range.buffer, i}))
            in.insert({range.buffer, i});
      for (const BufferRange &range : dispatch.writes)
        for (uint64_t i = range.offset; i < range.end(); ++i)
          written.insert({range.buffer, i});
    }
    for (auto it = written.begin(); it != written.end();)
      it = buffers[it->first].host ? std::next(it) : written.erase(it);
    auto collect = [&](const std::vector<BufferRange> &ranges,
                       std::set<BufferByte> &found) {
      for (const BufferRange &range : ranges)
        for (uint64_t i = range.offset; i < range.end(); ++i)
          EXPECT_TRUE(found.insert({range.buffer, i}).second) << "twice";
    };
    collect(plan.in, foundIn);
    collect(plan.out, foundOut);
    EXPECT_EQ(foundIn, in);
    EXPECT_EQ(foundOut, written);
  }

  const std::vector<StretchBuffer> &buffers;
  const std::vector<StretchDispatch> &dispatches;
  StretchMemory plan;
};

/// Buffers are small, as tests go byte by byte: some of them parts of tensors
/// that lie in one another, some the CPU's as well.
TEST(StretchMemory, AgreesWithEachByteOfRandomStretches) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](unsigned n) { return unsigned(random() % n); };
    std::vector<StretchBuffer> buffers;
    uint64_t arena = 0;
    for (unsigned n = 2 + below(6); buffers.size() < n;) {
      StretchBuffer buffer{1 + below(40)};
      if (below(2) || buffers.empty()) {
        buffer.host = arenaAt(arena, buffer.size);
        // Some lie on one another: those that are never needed together.
        arena += below(4) ? 64 : 0;
      }
      buffers.push_back(buffer);
    }
    std::vector<std::set<uint64_t>> written(buffers.size());
    auto range = [&](uint32_t b) {
      uint64_t offset = below(3) ? 0 : below(unsigned(buffers[b].size));
      uint64_t most = buffers[b].size - offset;
      return BufferRange{b, offset,
                         below(3) ? most : 1 + below(unsigned(most))};
    };
    std::vector<StretchDispatch> dispatches;
    for (unsigned n = 1 + below(8); dispatches.size() < n;) {
      StretchDispatch dispatch;
      for (unsigned reads = below(3); reads--;) {
        BufferRange read = range(below(unsigned(buffers.size())));
        bool isThere = true;
        for (uint64_t i = read.offset; i < read.end(); ++i)
          isThere &= written[read.buffer].count(i) != 0;
        if (isThere || buffers[read.buffer].host)
          dispatch.reads.push_back(read);
      }
      BufferRange write = range(below(unsigned(buffers.size())));
      dispatch.writes.push_back(write);
      for (uint64_t i = write.offset; i < write.end(); ++i)
        written[write.buffer].insert(i);
      dispatches.push_back(dispatch);
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    Checker(buffers, dispatches).check();
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(StretchMemory, ReusesMemoryOfWhatIsNotNeededAnyMore) {
  // x -> a -> b -> c -> y: two of a, b, c live at a time.
  std::vector<StretchBuffer> buffers = {
      {256, arenaAt(0, 256)}, {256}, {256}, {256}, {256, arenaAt(256, 256)}};
  std::vector<StretchDispatch> dispatches;
  for (uint32_t i = 0; i < 4; ++i)
    dispatches.push_back({{{i, 0, 256}}, {{i + 1, 0, 256}}});
  StretchMemory plan = placeStretch(buffers, dispatches);
  EXPECT_EQ(plan.arenaSize, 2 * 256u);
  EXPECT_EQ(plan.barriers, (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(plan.in, (std::vector<BufferRange>{{0, 0, 256}}));
  EXPECT_EQ(plan.out, (std::vector<BufferRange>{{4, 0, 256}}));
}

TEST(StretchMemory, LeavesBranchesWithoutBarriers) {
  std::vector<StretchBuffer> buffers = {
      {256, arenaAt(0, 256)}, {512, arenaAt(256, 512)}, {256}};
  // Both halves of a concatenation, then a reader of one of them.
  StretchMemory plan =
      placeStretch(buffers, {{{{0, 0, 256}}, {{1, 0, 256}}},
                             {{{0, 0, 256}}, {{1, 256, 256}}},
                             {{{1, 256, 256}}, {{2, 0, 256}}}});
  EXPECT_EQ(plan.barriers, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(plan.out, (std::vector<BufferRange>{{1, 0, 512}}));
}

TEST(StretchMemory, SeparatesWhatMeetsInMemoryOfTheCpuAlone) {
  std::vector<StretchBuffer> buffers = {{256, arenaAt(0, 256)},
                                        {256, arenaAt(0, 256)}};
  StretchMemory plan =
      placeStretch(buffers, {{{}, {{0, 0, 256}}}, {{}, {{1, 0, 256}}}});
  EXPECT_EQ(plan.barriers, (std::vector<bool>{false, true}));
}

} // namespace
