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
class FirstTouchTest : public testing::Test {
protected:
  void SetUp() override {
    memory = static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    madvise(memory, size, MADV_NOHUGEPAGE);
  }
  void TearDown() override { munmap(memory, size); }

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
  runtime::FirstTouch firstTouch;
};

} // namespace

TEST_F(FirstTouchTest, TouchesWholePagesOfEachRangeInOrder) {
  ASSERT_TRUE(firstTouch.create(2));
  firstTouch.add(memory + 1, 3 * page);
  firstTouch.add(memory + 8 * page, 2 * page);
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), (std::vector<size_t>{1, 2, 8, 9}));
  EXPECT_FALSE(firstTouch.touchNext());
}

TEST_F(FirstTouchTest, GoesPieceByPiece) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, size);
  ASSERT_TRUE(firstTouch.touchNext());
  EXPECT_LE(residentPages().size() * page, size_t(2) << 20);
  size_t pieces = 1;
  while (firstTouch.touchNext())
    ++pieces;
  EXPECT_GE(pieces, 4u);
  EXPECT_EQ(residentPages().size(), size / page);
}

TEST_F(FirstTouchTest, IgnoresWhatThereIsNoRoomFor) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, 16); // no whole page
  firstTouch.add(nullptr, 0);
  EXPECT_FALSE(firstTouch.touchNext());
  firstTouch.add(memory, page);
  firstTouch.add(memory + page, page);
  EXPECT_TRUE(firstTouch.touchNext());
  EXPECT_FALSE(firstTouch.touchNext());
  EXPECT_EQ(residentPages(), std::vector<size_t>{0});
}

TEST_F(FirstTouchTest, IsShut) {
  ASSERT_TRUE(firstTouch.create(1));
  firstTouch.add(memory, size);
  firstTouch.close();
  EXPECT_FALSE(firstTouch.touchNext());
  EXPECT_TRUE(residentPages().empty());
}

/// Whoever computes meanwhile loses nothing.
TEST_F(FirstTouchTest, KeepsWhatOthersWrite) {
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
    firstTouch.add(part, size / 64);
    // At the addresses that are touched, as executes do it: with plain stores.
    for (size_t k = 0; k < size / 64; k += page)
      __atomic_store_n(part + k, uint8_t(i + k / page + 1), __ATOMIC_RELAXED);
  }
  firstTouch.close();
  for (size_t i = 0; i < 64; ++i)
    for (size_t k = 0; k < size / 64; k += page)
      EXPECT_EQ(memory[i * (size / 64) + k], uint8_t(i + k / page + 1))
          << i << ", " << k;
  stop.store(true);
  for (std::thread &thread : threads)
    thread.join();
}
