//===- StretchMemory.cpp - Memory and barriers of a stretch ---------------===//

#include "compiler/emit/StretchMemory.h"

#include "artifact/Limits.h"
#include "compiler/layers/Arena.h"

#include <algorithm>
#include <cassert>
#include <map>

using namespace nnv12;

namespace {

/// Bytes of a line, as ranges that do not touch: by begin, with their end.
class ByteSet {
public:
  void add(uint64_t begin, uint64_t end) {
    if (begin == end)
      return;
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second >= begin)
      --it;
    while (it != ranges.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges.erase(it);
    }
    ranges[begin] = end;
  }

  bool overlaps(uint64_t begin, uint64_t end) const {
    auto it = ranges.lower_bound(end);
    return it != ranges.begin() && std::prev(it)->second > begin;
  }

  /// Calls `visit(begin, end)` for parts of [begin, end) outside of the set.
  template <typename Visit>
  void forEachGap(uint64_t begin, uint64_t end, Visit visit) const {
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin())
      begin = std::max(begin, std::prev(it)->second);
    for (; it != ranges.end() && it->first < end; ++it) {
      if (begin < it->first)
        visit(begin, it->first);
      begin = it->second;
    }
    if (begin < end)
      visit(begin, end);
  }

  const std::map<uint64_t, uint64_t> &all() const { return ranges; }

private:
  std::map<uint64_t, uint64_t> ranges;
};

class StretchPlacer {
public:
  StretchPlacer(const std::vector<StretchBuffer> &buffers,
                const std::vector<StretchDispatch> &dispatches)
      : buffers(buffers), dispatches(dispatches) {}

  StretchMemory run() {
    findHandOvers();
    place();
    findBarriers();
    return std::move(plan);
  }

private:
  void findHandOvers() {
    std::vector<ByteSet> missing(buffers.size()), written(buffers.size());
    for (const StretchDispatch &dispatch : dispatches) {
      for (const BufferRange &read : dispatch.reads) {
        assert(read.end() <= buffers[read.buffer].size && "inside");
        written[read.buffer].forEachGap(read.offset, read.end(),
                                        [&](uint64_t begin, uint64_t end) {
                                          missing[read.buffer].add(begin, end);
                                        });
      }
      for (const BufferRange &write : dispatch.writes) {
        assert(write.end() <= buffers[write.buffer].size && "inside");
        written[write.buffer].add(write.offset, write.end());
      }
    }
    for (uint32_t b = 0; b < buffers.size(); ++b) {
      assert((buffers[b].host || missing[b].all().empty()) &&
             "what the CPU does not have is written before it is read");
      if (!buffers[b].host)
        continue;
      for (auto [begin, end] : missing[b].all())
        plan.in.push_back({b, begin, end - begin});
      for (auto [begin, end] : written[b].all())
        plan.out.push_back({b, begin, end - begin});
    }
  }

  void place() {
    auto end = static_cast<int64_t>(dispatches.size());
    std::vector<Lifetime> lifetimes;
    for (const StretchBuffer &buffer : buffers)
      lifetimes.push_back({buffer.size, end, -1});
    auto use = [&](const BufferRange &range, int64_t at) {
      Lifetime &lifetime = lifetimes[range.buffer];
      lifetime.first = std::min(lifetime.first, at);
      lifetime.last = std::max(lifetime.last, at);
    };
    for (int64_t i = 0; i < end; ++i)
      for (const auto *list : {&dispatches[i].reads, &dispatches[i].writes})
        for (const BufferRange &range : *list)
          use(range, i);
    // Before the first dispatch, and behind the last.
    for (const BufferRange &range : plan.in)
      use(range, -1);
    for (const BufferRange &range : plan.out)
      use(range, end);
    for (Lifetime &lifetime : lifetimes)
      if (lifetime.first > lifetime.last)
        lifetime = {0, 0, 0}; // nobody touches it
    Arena arena = placeInArena(lifetimes, artifact::gpuAlignment);
    plan.places = std::move(arena.offsets);
    plan.arenaSize = arena.size;
  }

  void findBarriers() {
    for (const StretchDispatch &dispatch : dispatches) {
      auto touchOne = [&](const std::vector<BufferRange> &ranges,
                          const Touched &touched) {
        return std::any_of(ranges.begin(), ranges.end(), [&](auto &range) {
          return overlaps(touched, range);
        });
      };
      bool waits = touchOne(dispatch.reads, written) ||
                   touchOne(dispatch.writes, written) ||
                   touchOne(dispatch.writes, read);
      plan.barriers.push_back(waits);
      if (waits) {
        read.clear();
        written.clear();
      }
      for (const BufferRange &range : dispatch.reads)
        add(read, range);
      for (const BufferRange &range : dispatch.writes)
        add(written, range);
    }
  }

  /// Memories that dispatches may touch: the GPU's arena, and the CPU's, one
  /// for each space and index.
  using Memory = std::pair<int, uint32_t>;
  using Touched = std::map<Memory, ByteSet>;

  /// Calls `visit(memory, begin, end)` for each place of a range.
  template <typename Visit>
  void forEachPlace(const BufferRange &range, Visit visit) const {
    uint64_t place = plan.places[range.buffer];
    visit(Memory(-1, 0), place + range.offset, place + range.end());
    if (const std::optional<artifact::Operand> &host =
            buffers[range.buffer].host)
      visit(Memory(int(host->space), host->index), host->offset + range.offset,
            host->offset + range.end());
  }
  void add(Touched &touched, const BufferRange &range) const {
    forEachPlace(range, [&](Memory memory, uint64_t begin, uint64_t end) {
      touched[memory].add(begin, end);
    });
  }
  bool overlaps(const Touched &touched, const BufferRange &range) const {
    bool found = false;
    forEachPlace(range, [&](Memory memory, uint64_t begin, uint64_t end) {
      auto it = touched.find(memory);
      found |= it != touched.end() && it->second.overlaps(begin, end);
    });
    return found;
  }

  const std::vector<StretchBuffer> &buffers;
  const std::vector<StretchDispatch> &dispatches;
  StretchMemory plan;
  Touched read, written; ///< since the last barrier
};

} // namespace

StretchMemory
nnv12::placeStretch(const std::vector<StretchBuffer> &buffers,
                    const std::vector<StretchDispatch> &dispatches) {
  return StretchPlacer(buffers, dispatches).run();
}
