//===- DecoderTest.cpp - Decompressing weights ----------------------------===//
#include "runtime/Decoder.h"

#include "test/unit/sample/PlannedSample.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::runtime;
using namespace nnv12::test;

static std::vector<unsigned char> numbers(size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return bytes;
}

TEST(Decoder, JoinsPlanes) {
  for (unsigned planes : {1, 2, 4, 8})
    for (size_t count : {0, 1, 3, 16, 33, 1000}) {
      std::vector<unsigned char> bytes = numbers(count * planes);
      std::vector<unsigned char> split =
          splitPlanes(bytes.data(), bytes.size(), planes);
      std::vector<unsigned char> joined(bytes.size());
      joinPlanes(planes, joined.data(), split.data(), split.size());
      EXPECT_EQ(joined, bytes) << planes << " planes of " << count;
    }
}

TEST(Decoder, DecodesFrames) {
  artifact::Fault fault;
  if (!loadZstd(fault))
    GTEST_SKIP() << fault.text;
  Decoder decoder;
  ASSERT_TRUE(decoder.create(1 << 20, fault));
  for (size_t size : {0, 8, 1000, 300000})
    for (unsigned planes : {1, 4}) {
      std::vector<unsigned char> bytes = numbers(size), result(size);
      std::vector<unsigned char> frame =
          storedFrame(splitPlanes(bytes.data(), size, planes));
      EXPECT_TRUE(decoder.decode(bundle::Codec_Zstd, planes, result.data(),
                                 size, frame.data(), frame.size()));
      EXPECT_EQ(result, bytes);
      // The frame has another size than promised.
      if (size) {
        EXPECT_FALSE(decoder.decode(bundle::Codec_Zstd, planes, result.data(),
                                    size - planes, frame.data(), frame.size()));
        EXPECT_FALSE(decoder.decode(bundle::Codec_Zstd, planes, result.data(),
                                    size, frame.data(), frame.size() - 1));
      }
    }
}

TEST(Decoder, DecodesWhatTheLibraryCompresses) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW);
  if (!library)
    GTEST_SKIP() << "install libzstd1";
  ASSERT_TRUE(library);
  auto compress =
      reinterpret_cast<size_t (*)(void *, size_t, const void *, size_t, int)>(
          dlsym(library, "ZSTD_compress"));
  ASSERT_TRUE(compress);
  std::vector<float> weights(100000);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = float(i % 1000) * 0.001f - 0.5f;
  size_t size = weights.size() * 4;
  std::vector<unsigned char> split = splitPlanes(weights.data(), size, 4);
  std::vector<unsigned char> frame(size + 1000);
  frame.resize(compress(frame.data(), frame.size(), split.data(), size, 3));
  EXPECT_LT(frame.size(), size / 2);
  artifact::Fault fault;
  ASSERT_TRUE(loadZstd(fault));
  Decoder decoder;
  ASSERT_TRUE(decoder.create(size, fault));
  std::vector<float> result(weights.size());
  EXPECT_TRUE(decoder.decode(bundle::Codec_Zstd, 4,
                             reinterpret_cast<uint8_t *>(result.data()), size,
                             frame.data(), frame.size()));
  EXPECT_EQ(result, weights);
  // Damage anywhere: an error or wrong numbers, never more.
  for (size_t i = 0; i < frame.size(); i += 97) {
    frame[i] ^= 0x55;
    decoder.decode(bundle::Codec_Zstd, 4,
                   reinterpret_cast<uint8_t *>(result.data()), size,
                   frame.data(), frame.size());
    frame[i] ^= 0x55;
  }
}

TEST(Decoder, StoredBytes) {
  Decoder decoder;
  std::vector<unsigned char> bytes = numbers(64), result(64);
  EXPECT_TRUE(decoder.decode(bundle::Codec_Stored, 1, result.data(), 64,
                             bytes.data(), 64));
  EXPECT_EQ(result, bytes);
  std::vector<unsigned char> split = splitPlanes(bytes.data(), 64, 2);
  EXPECT_TRUE(decoder.decode(bundle::Codec_Stored, 2, result.data(), 64,
                             split.data(), 64));
  EXPECT_EQ(result, bytes);
}
