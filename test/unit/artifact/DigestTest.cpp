//===- DigestTest.cpp - BLAKE2bp: known answers, every implementation -----===//
//
// The answers are those of the BLAKE2 authors' blake2bp-ref.c, which for
// digests of 64 bytes agrees with Python's hashlib (fanout=4, depth=2,
// inner_size=64).
//
//===----------------------------------------------------------------------===//
#include "artifact/Digest.h"
#include "artifact/CpuFeatures.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace nnv12::artifact;

static std::string hex(const Digest &digest) {
  std::string text;
  char byte[3];
  for (uint8_t b : digest.bytes) {
    snprintf(byte, sizeof byte, "%02x", b);
    text += byte;
  }
  return text;
}

static std::vector<unsigned char> sample(size_t size) {
  std::vector<unsigned char> data(size);
  for (size_t i = 0; i < size; ++i)
    data[i] = static_cast<unsigned char>(i * 131 + 7);
  return data;
}

/// The compressors that this CPU runs.
static std::vector<const Compressor *> runnable() {
  std::vector<const Compressor *> found;
  CpuFeatures cpu;
  const Compressor *one = compressors;
  for (; one->feature; ++one)
    if (cpu.has(one->feature, strlen(one->feature)))
      found.push_back(one);
  found.push_back(one);
  return found;
}

static Digest digestBy(const Compressor &compressor, const void *data,
                       size_t size) {
  Hasher hasher(compressor);
  hasher.update(data, size);
  return hasher.finish();
}

TEST(Digest, KnownAnswers) {
  EXPECT_EQ(hex(digestOf("", 0)),
            "e3f5e2e3c4336e2b8eec91ecb154e40c8b1fa34091b286bca5b67d5a7f87ff98");
  EXPECT_EQ(hex(digestOf("abc", 3)),
            "4792f00c05827a437fc55481e447eea1c9a39add28087733b3e53f1c04430dc7");
  EXPECT_EQ(hex(digestOf(sample(1300).data(), 1300)),
            "d99590216cbb0808f598084866c6aed671c97c2eb418c26f5d53d17aa0e07efe");
}

/// One answer for all lengths: the digest of the digests.
TEST(Digest, EveryLengthByEveryCompressor) {
  std::vector<unsigned char> data = sample(1200);
  for (const Compressor *compressor : runnable()) {
    Hasher all;
    for (size_t size = 0; size <= data.size(); ++size) {
      Digest digest = digestBy(*compressor, data.data(), size);
      ASSERT_EQ(digest, digestOf(data.data(), size)) << size;
      all.update(digest.bytes, sizeof digest);
    }
    EXPECT_EQ(
        hex(all.finish()),
        "c69953efd3cee4320c00774aa3c75f0e21674066853060ff345e748d29071a6e")
        << (compressor->feature ? compressor->feature : "baseline");
  }
}

TEST(Digest, PiecesMakeNoDifference) {
  std::vector<unsigned char> data = sample(5000);
  for (size_t size : {1000, 1024, 1408, 1409, 5000}) {
    Digest whole = digestOf(data.data(), size);
    for (size_t step : {1, 3, 127, 128, 129, 383, 384, 511, 512, 513, 896, 897,
                        1024, 1025, 4999})
      // A small piece in front of it: then any number of bytes is buffered.
      for (size_t head : {0, 1, 400, 600, 896}) {
        Hasher hasher;
        hasher.update(data.data(), head);
        for (size_t at = head; at < size; at += step)
          hasher.update(data.data() + at, std::min(step, size - at));
        EXPECT_EQ(hasher.finish(), whole) << size << " by " << step;
      }
  }
}
