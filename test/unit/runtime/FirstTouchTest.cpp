//===- FirstTouchTest.cpp -------------------------------------------------===//
#include "runtime/FirstTouch.h"

#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace nnv12;

namespace {

/// Fresh pages that do not touch each other's neighbours.
class FirstTouchTest : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    memory = static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    madvise(memory, size, MADV_NOHUGEPAGE);
    if (!ours && !canPopulate())
      GTEST_SKIP() << "no MADV_POPULATE_WRITE: Linux before 5.14, or qemu-user";
  }
  void TearDown() override { munmap(memory, size); }

  /// Whether this system supplies pages when asked to.
  bool canPopulate() const {
    constexpr int populateWrite = 23;
    madvise(memory, page, populateWrite);
    bool result = residentPages() == std::vector<size_t>{0};
    madvise(memory, page, MADV_DONTNEED);
    return result;
  }

  std::vector<size_t> residentPages() const {
    std::vector<unsigned char> states(size / page);
    EXPECT_EQ(mincore(memory, size, states.data()), 0);
    std::vector<size_t> result;
    for (size_t i = 0; i < states.size(); ++i)
      if (states[i] & 1)
        result.push_back(i);
    return result;
  }

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  static constexpr size_t size = 8 << 20;
  uint8_t *memory = nullptr;
  const bool ours = GetParam();
  runtime::FirstTouch firstTouch;
};

std::string nameOf(const testing::TestParamInfo<bool> &info) {
  return info.param ? "ours" : "theCallers";
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Memory, FirstTouchTest, testing::Bool(), nameOf);

/// Our own memory stays as long as the session.
class CallersMemoryTest : public FirstTouchTest {};
INSTANTIATE_TEST_SUITE_P(Memory, CallersMemoryTest, testing::Values(false),
                         nameOf);

TEST_P(FirstTouchTest, TouchesWholePagesOfEachRangeInOrder) {
  ASSERT_TRUE(firstTouch.create(2));
  firstTouch.add(memory + 1, 3 * page, ours);
  firstTouch.add(memory + 8 * page, 2 * page, ours);
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), (std::vector<size_t>{1, 2, 8, 9}));
  EXPECT_FALSE(firstTouch.touchNext());
}

TEST_P(FirstTouchTest, GoesPieceByPiece) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, size, ours);
  ASSERT_TRUE(firstTouch.touchNext());
  EXPECT_LE(residentPages().size() * page, size_t(2) << 20);
  size_t pieces = 1;
  while (firstTouch.touchNext())
    ++pieces;
  EXPECT_GE(pieces, 4u);
  EXPECT_EQ(residentPages().size(), size / page);
}

TEST_P(FirstTouchTest, IgnoresWhatThereIsNoRoomFor) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, 16, ours); // no whole page
  firstTouch.add(nullptr, 0, ours);
  EXPECT_FALSE(firstTouch.touchNext());
  firstTouch.add(memory, page, ours);
  firstTouch.add(memory + page, page, ours);
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_FALSE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), std::vector<size_t>{0});
}

TEST_P(FirstTouchTest, IsShut) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, size, ours);
  firstTouch.close();
  EXPECT_FALSE(firstTouch.touchNext());
  EXPECT_TRUE(residentPages().empty());
}

/// A thread that computes meanwhile loses nothing.
TEST_P(FirstTouchTest, KeepsWhatOthersWrite) {
  ASSERT_TRUE(firstTouch.create(64));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop.load())
        firstTouch.touchNext();
    });
  for (size_t i = 0; i < 64; ++i) {
    uint8_t *part = memory + i * (size / 64);
    firstTouch.add(part, size / 64, ours);
    // At the addresses that are touched, as executes do it: with plain stores.
    for (size_t k = 0; k < size / 64; k += page)
      __atomic_store_n(part + k, uint8_t(i + k / page + 1), __ATOMIC_RELAXED);
  }
  firstTouch.close();
  for (size_t i = 0; i < 64; ++i)
    for (size_t k = 0; k < size / 64; k += page)
      EXPECT_EQ(__atomic_load_n(memory + i * (size / 64) + k, __ATOMIC_RELAXED),
                uint8_t(i + k / page + 1))
          << i << ", " << k;
  stop.store(true);
  for (std::thread &thread : threads)
    thread.join();
}

/// A thread that had no CPU for a while may come to the caller's memory when it
/// is gone, or is something else.
TEST_P(CallersMemoryTest, LeavesAloneWhatIsGone) {
  ASSERT_TRUE(firstTouch.create(2));
  firstTouch.add(memory, page, ours);
  firstTouch.add(memory + page, page, ours);
  ASSERT_EQ(munmap(memory, page), 0);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_FALSE(firstTouch.touchNext());
}
