//===- CodecTest.cpp - Lossless compression of weights --------------------===//

#include "compiler/emit/Codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <malloc.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

using namespace nnv12;

namespace {
/// Like trained weights: normal, so that exponents repeat and mantissas do not.
std::vector<float> weights(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.05f);
  std::vector<float> values(count);
  for (float &v : values)
    v = normal(random);
  return values;
}

/// The inverse of encode(): false if `encoded` is no frame of `size` bytes.
bool decode(const Encoded &encoded, void *data, uint64_t size) {
  std::vector<char> joined(size);
  if (ZSTD_getFrameContentSize(encoded.bytes.data(), encoded.bytes.size()) !=
      size)
    return false;
  size_t got = ZSTD_decompress(joined.data(), size, encoded.bytes.data(),
                               encoded.bytes.size());
  if (ZSTD_isError(got) || got != size || !encoded.planes ||
      size % encoded.planes)
    return false;
  char *target = static_cast<char *>(data);
  uint64_t count = size / encoded.planes;
  for (unsigned b = 0; b < encoded.planes; ++b)
    for (uint64_t i = 0; i < count; ++i)
      target[i * encoded.planes + b] = joined[b * count + i];
  return true;
}

bool comesBack(const void *data, uint64_t size, unsigned elementSize) {
  Encoded encoded = encode(data, size, elementSize);
  std::vector<char> back(size);
  return decode(encoded, back.data(), size) &&
         std::equal(back.begin(), back.end(), static_cast<const char *>(data));
}
} // namespace

TEST(Codec, EverythingComesBack) {
  std::vector<float> values = weights(5000);
  for (unsigned elementSize : {1, 2, 4, 8})
    for (uint64_t size : {0u, 1u, 7u, 8u, 1000u, 20000u})
      EXPECT_TRUE(comesBack(values.data(), size, elementSize))
          << elementSize << ", " << size;
}

TEST(Codec, PlanesPayForFloats) {
  std::vector<float> values = weights(100000);
  Encoded encoded = encode(values.data(), values.size() * 4, 4);
  EXPECT_EQ(encoded.planes, 4);
  EXPECT_LT(encoded.bytes.size(), values.size() * 4 * 0.9);
}

TEST(Codec, NoPlanesWhereTheyDoNotPay) {
  std::vector<uint32_t> text(10000);
  for (size_t i = 0; i < text.size(); ++i)
    text[i] =
        0x12345678; // all bytes alike either way; the plain frame is as short
  EXPECT_TRUE(comesBack(text.data(), text.size() * 4, 4));
  EXPECT_EQ(encode(text.data(), 10, 4).planes, 1) << "no whole elements";
}

TEST(Codec, TheSameBytesGiveTheSameFrame) {
  std::vector<float> values = weights(100000);
  EXPECT_EQ(encode(values.data(), values.size() * 4, 4).bytes,
            encode(values.data(), values.size() * 4, 4).bytes);
}

TEST(Codec, RefusesWhatIsNoFrame) {
  std::vector<float> values = weights(100);
  std::vector<char> back(400);
  Encoded encoded = encode(values.data(), 400, 4);
  EXPECT_FALSE(decode(encoded, back.data(), 396)) << "another size";
  Encoded broken = encoded;
  broken.bytes.resize(broken.bytes.size() / 2);
  EXPECT_FALSE(decode(broken, back.data(), 400)) << "cut";
  EXPECT_FALSE(decode(Encoded(), back.data(), 400)) << "empty";
  broken = encoded;
  broken.planes = 3;
  EXPECT_FALSE(decode(broken, back.data(), 400)) << "planes";
}

TEST(Codec, WithoutMemoryThereIsNoFrame) {
#ifdef NNV12_SANITIZED
  GTEST_SKIP() << "a sanitizer takes more memory than a limit leaves";
#endif
  // The frame fits into the limit, zstd's tables do not.
  auto limited = [](unsigned elementSize) {
    std::vector<float> values = weights(1 << 18);
    // Memory that was freed before must not serve now.
    malloc_trim(0);
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
      _exit(2);
    fclose(file);
    rlim_t most = pages * sysconf(_SC_PAGESIZE) + (5 << 19);
    rlimit limit = {most, most};
    setrlimit(RLIMIT_AS, &limit);
    _exit(encode(values.data(), 1 << 20, elementSize).bytes.empty() ? 0 : 1);
  };
  EXPECT_EXIT(limited(1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(limited(4), testing::ExitedWithCode(0), "");
}

TEST(Codec, AnEstimateIsNearTheTruth) {
  std::vector<float> values = weights(2000000);
  double truth =
      double(encode(values.data(), 8000000, 4).bytes.size()) / 8000000;
  Estimate found = estimate(values.data(), 8000000, 4);
  EXPECT_NEAR(found.ratio, truth, 0.02);
  EXPECT_FALSE(found.repeats);
  EXPECT_EQ(estimate(values.data(), 0, 4).ratio, 1);
  std::mt19937 random(1);
  std::vector<uint32_t> noise(100000);
  for (uint32_t &v : noise)
    v = random();
  EXPECT_EQ(estimate(noise.data(), 400000, 4).ratio, 1) << "never more than 1";
  for (float &v : values)
    v = std::round(v * 1000) / 1000;
  found = estimate(values.data(), 8000000, 4);
  EXPECT_TRUE(found.repeats) << "few different numbers";
  EXPECT_LT(found.ratio, truth);
}
