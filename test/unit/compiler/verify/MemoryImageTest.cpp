//===- MemoryImageTest.cpp - Runs against bytes ---------------------------===//

#include "compiler/verify/MemoryImage.h"

#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace nnv12;

namespace {

constexpr uint64_t size = 64;

/// The same memory, a byte at a time.
using Bytes = std::vector<std::optional<Content>>;

Bytes spell(const Runs &runs) {
  Bytes bytes(size);
  uint64_t end = 0;
  for (const Run &run : runs) {
    EXPECT_LE(end, run.begin);
    EXPECT_LT(run.begin, run.end);
    end = run.end;
    for (uint64_t at = run.begin; at < run.end; ++at)
      bytes[at] = run.contentAt(at);
  }
  return bytes;
}

TEST(MemoryImage, HoldsWhatWasWrittenLast) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    MemoryImage image;
    Bytes bytes(size);
    for (uint32_t write = 0; write < 12; ++write) {
      uint64_t begin = random() % size,
               end = begin + random() % (size - begin + 1);
      Content content = {uint32_t(random() % 3), random() % 4};
      image.write(begin, end, content);
      for (uint64_t at = begin; at < end; ++at)
        bytes[at] = Content{content.id, content.offset + at - begin};
      ASSERT_EQ(spell(image.read(0, size)), bytes);
      begin = random() % size, end = begin + random() % (size - begin + 1);
      Bytes part(bytes.begin() + begin, bytes.begin() + end);
      part.resize(size);
      ASSERT_EQ(spell(image.read(begin, end)), part);
      ASSERT_EQ(spell(cut(image.read(0, size), begin, end)), part);
    }
  }
}

TEST(MemoryImage, TakesOverTheRunsOfAnother) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    MemoryImage from, to;
    for (MemoryImage *image : {&from, &to})
      for (uint32_t write = 0; write < 4; ++write) {
        uint64_t begin = random() % (size / 2), end = begin + random() % 16;
        image->write(begin, end, {uint32_t(random() % 3), random() % 4});
      }
    uint64_t begin = random() % (size / 2), at = random() % (size / 2);
    Bytes expected = spell(to.read(0, size)),
          source = spell(from.read(0, size));
    for (uint64_t i = 0; i < size / 2; ++i)
      if (source[begin + i])
        expected[at + i] = source[begin + i];
    to.write(at, from.read(begin, begin + size / 2));
    ASSERT_EQ(spell(to.read(0, size)), expected);
  }
}

TEST(MemoryImage, FindsTheFirstDifference) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    MemoryImage a, b;
    for (MemoryImage *image : {&a, &b})
      for (int write = 0; write < 3; ++write) {
        uint64_t begin = random() % 4 * 16, end = begin + random() % 3 * 16;
        image->write(begin, std::min(end, size),
                     {uint32_t(random() % 2), begin});
      }
    Bytes first = spell(a.read(0, size)), second = spell(b.read(0, size));
    auto at = std::mismatch(first.begin(), first.end(), second.begin()).first;
    Difference d = firstDifference(a.read(0, size), b.read(0, size), size);
    if (at == first.end()) {
      ASSERT_EQ(d.begin, d.end);
      continue;
    }
    ASSERT_EQ(d.begin, uint64_t(at - first.begin()));
    for (uint64_t i = d.begin; i < d.end; ++i) {
      ASSERT_FALSE(first[i] == second[i]);
      ASSERT_EQ(first[i].has_value(), d.first.has_value());
      ASSERT_EQ(second[i].has_value(), d.second.has_value());
    }
  }
}

TEST(MemoryImage, JoinsWhatGoesOn) {
  MemoryImage image;
  image.write(0, 8, {5, 100});
  image.write(8, 16, {5, 108});
  image.write(16, 24, {5, 0});
  Runs runs = image.read(0, 24);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].end, 16u);
}

} // namespace
