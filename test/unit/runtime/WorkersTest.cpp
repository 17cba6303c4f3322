//===- WorkersTest.cpp - Threads that share tiles -------------------------===//
#include "runtime/Workers.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace nnv12;

namespace {

/// How often each tile was computed.
using Counts = std::vector<std::atomic<uint32_t>>;

void count(void *const *operands, int64_t begin, int64_t end, void *) {
  auto *counts = static_cast<std::atomic<uint32_t> *>(operands[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

} // namespace

/// The other threads begin when a step is submitted; the leader does the rest
/// when it waits. Each tile is computed once.
TEST(WorkersTest, SubmitAndWait) {
  for (uint32_t threads : {1, 2, 4}) {
    runtime::Events events;
    runtime::Recorder recorder;
    runtime::Workers workers;
    workers.create(threads, nullptr, 0, 0, events, recorder);
    std::atomic<bool> isOver{false};
    std::vector<std::thread> others;
    for (uint32_t i = 1; i < threads; ++i)
      others.emplace_back([&, i] {
        for (uint32_t seen = 0; !isOver;)
          if (!workers.help(i, seen))
            std::this_thread::yield();
      });
    for (uint64_t tiles : {0, 1, 2, 7, 1000})
      for (bool waitsForOthers : {false, true}) {
        constexpr uint64_t begin = 3;
        Counts counts(begin + tiles);
        void *operands[] = {counts.data()};
        runtime::Step step = {&workers,      0,     1,        begin,
                              begin + tiles, count, operands, false};
        artifact::Fault fault;
        ASSERT_EQ(workers.submit(step, fault), runtime::Executor::Result::Done);
        // They need no leader.
        while (waitsForOthers && threads > 1 && tiles > 1 && !counts.back())
          std::this_thread::yield();
        ASSERT_EQ(workers.wait(step, fault), runtime::Executor::Result::Done);
        for (uint64_t i = 0; i < counts.size(); ++i)
          ASSERT_EQ(counts[i], i >= begin) << i;
      }
    isOver = true;
    for (std::thread &other : others)
      other.join();
  }
}
