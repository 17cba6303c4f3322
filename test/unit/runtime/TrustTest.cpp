//===- TrustTest.cpp - Signatures, and files that change ------------------===//
#include "artifact/CpuFeatures.h"
#include "artifact/KeyFile.h"
#include "artifact/Sodium.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/SampleBundle.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace {

/// A bundle in a file that somebody else may write to.
class TrustTest : public testing::Test {
protected:
  void SetUp() override {
    path = folder.file("a.nnv");
    uint8_t seed[32] = {1, 2, 3};
    artifact::Fault fault;
    std::string keyFile;
    hasSodium = artifact::signWithSeed(seed, nullptr, 0, key, nullptr, fault);
    if (hasSodium) {
      keyFile = folder.file("k.key");
      ASSERT_TRUE(artifact::writeKeyFile(
          keyFile.c_str(), artifact::KeyKind::Secret, seed, fault));
    }
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path, keyFile), "");
    image = readFile(path);
    memcpy(&header, image.data(), sizeof header);
    AlignedCopy copy(image);
    const bundle::Bundle *read =
        artifact::verifyBundle(copy.data, copy.size, fault);
    ASSERT_NE(read, nullptr) << fault.text;
    for (const bundle::Segment *segment : *read->segments())
      segments.push_back({segment->offset(), segment->size()});
  }

  /// Fills bytes of the file, in place, with `value`.
  void overwrite(uint64_t offset, uint64_t size, int value) {
    std::vector<unsigned char> bytes(size, static_cast<unsigned char>(value));
    int file = ::open(path.c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(file, bytes.data(), size, static_cast<off_t>(offset)),
              static_cast<ssize_t>(size));
    ::close(file);
  }
  void overwriteCode() {
    for (int i : {0, 1})
      overwrite(segments[i].first, segments[i].second, 0xcc);
  }
  void overwriteHead() {
    overwrite(0, sizeof header + header.metadataSize, 0xff);
  }

  testing::AssertionResult runs(const Bundle &bundle) {
    SessionOptions options;
    options.threads = 2;
    Session session(bundle, options);
    size_t n = sample.elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float(i % 13);
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    for (size_t i = 0; i < n; ++i)
      if (y[i] != sample.expected(i, x[i]))
        return testing::AssertionFailure() << "element " << i;
    return testing::AssertionSuccess();
  }

  /// Which bytes are a part of the bundle: all but padding.
  static std::vector<bool> partsOf(const AlignedCopy &image) {
    std::vector<bool> result(image.size);
    auto note = [&](uint64_t begin, uint64_t size) {
      std::fill_n(result.begin() + long(begin), size, true);
    };
    artifact::Header header;
    memcpy(&header, image.data, sizeof header);
    note(0, sizeof header);
    note(header.metadataOffset, header.metadataSize);
    artifact::Fault fault;
    const bundle::Bundle *bundle =
        artifact::verifyBundle(image.data, image.size, fault);
    EXPECT_NE(bundle, nullptr) << fault.text;
    for (const bundle::Segment *segment : *bundle->segments())
      note(segment->offset(), segment->size());
    return result;
  }

  std::string openError(const OpenOptions &options) {
    try {
      Bundle bundle(path, options);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
  Sample sample;
  std::string path;
  std::vector<unsigned char> image;
  artifact::Header header;
  std::vector<std::pair<uint64_t, uint64_t>> segments;
  uint8_t key[32];
  bool hasSodium = false;
};

OpenOptions copying(nnv12_copying when) {
  OpenOptions options;
  options.copying = when;
  return options;
}

} // namespace

TEST_F(TrustTest, CopiedCodeIsWhatWasChecked) {
  Bundle bundle(path, copying(NNV12_COPY_ALWAYS));
  EXPECT_FALSE(bundle.info().code_is_mapped);
  overwriteCode();
  overwriteHead();
  EXPECT_TRUE(runs(bundle));
  EXPECT_STREQ(bundle.info().model, "sample");
  EXPECT_EQ(bundle.info().is_signed, hasSodium);
  EXPECT_STREQ(bundle.input(0).name, "x");
  EXPECT_STREQ(bundle.operation(2).layer, "layer2");
  // Opening it now sees the new bytes.
  EXPECT_NE(openError(copying(NNV12_COPY_ALWAYS)), "");
}

TEST_F(TrustTest, MemoryOfTheCallersIsCopiedToo) {
  AlignedCopy memory(image);
  Bundle bundle(memory.data, memory.size, copying(NNV12_COPY_ALWAYS));
  memset(memory.data, 0xff, segments[0].first);
  for (int i : {0, 1})
    memset(memory.data + segments[i].first, 0xcc, segments[i].second);
  EXPECT_TRUE(runs(bundle));
  EXPECT_STREQ(bundle.input(0).name, "x");
}

TEST_F(TrustTest, CopiesWhereThereIsAKey) {
  if (!hasSodium)
    GTEST_SKIP() << "install libsodium23";
  OpenOptions options;
  options.publicKey = key;
  Bundle bundle(path, options);
  EXPECT_FALSE(bundle.info().code_is_mapped);
  overwriteCode();
  overwriteHead();
  EXPECT_TRUE(runs(bundle));
}

/// A digest says which bundle it is: all that a signature covers, without one.
TEST_F(TrustTest, TakesTheBundleOfOneDigest) {
  OpenOptions options;
  options.digest = header.metadataDigest.bytes;
  {
    Bundle bundle(path, options);
    EXPECT_FALSE(bundle.info().code_is_mapped);
    EXPECT_EQ(memcmp(bundle.info().digest, options.digest, 32), 0);
    EXPECT_TRUE(runs(bundle));
  }
  AlignedCopy copy(image);
  unsigned own = artifact::hostArchitecture()[0] == 'x' ? 0 : 1;
  for (uint64_t at : {segments[own].first, segments[2].first}) {
    copy.data[at] ^= 1;
    EXPECT_THROW(Bundle(copy.data, copy.size, options), Error) << at;
    copy.data[at] ^= 1;
  }
  EXPECT_NO_THROW(Bundle(copy.data, copy.size, options));
  uint8_t other[32];
  memcpy(other, options.digest, 32);
  other[31] ^= 1;
  options.digest = other;
  char message[64];
  snprintf(message, sizeof message, ": digest: found %02x%02x%02x%02x...",
           other[0], other[1], other[2], other[3]);
  EXPECT_EQ(openError(options).rfind(path + message, 0), 0u)
      << openError(options);
}

/// Byte by byte: refused, or the same results. Some bytes of the padding
/// between the parts, which nothing covers.
TEST_F(TrustTest, NoByteOfASignedBundleChangesResults) {
  OpenOptions options;
  if (hasSodium)
    options.publicKey = key;
  else
    options.digest = header.metadataDigest.bytes;
  AlignedCopy copy(image);
  std::vector<bool> isPart = partsOf(copy);
  size_t opened = 0;
  for (size_t i = 0; i < copy.size; i += isPart[i] ? 1 : 61) {
    copy.data[i] ^= 0x11;
    try {
      Bundle bundle(copy.data, copy.size, options);
      ++opened;
      EXPECT_TRUE(runs(bundle)) << "byte " << i;
    } catch (const Error &) {
    }
    copy.data[i] ^= 0x11;
  }
  EXPECT_GT(opened, 0u);
}

/// Overlays, modules for GPUs and segments that nothing uses, too: only padding
/// between the parts is not covered.
TEST_F(TrustTest, NoByteOfAnyPartIsUncovered) {
  GpuSample gpu;
  gpu.bundle.segments.push_back({artifact::SegmentKind::Weights, {}});
  path = folder.file("gpu.nnv");
  ASSERT_EQ(artifact::writeBundle(gpu.bundle, path,
                                  hasSodium ? folder.file("k.key") : ""),
            "");
  image = readFile(path);
  AlignedCopy copy(image);
  memcpy(&header, image.data(), sizeof header);
  const artifact::Digest digest = header.metadataDigest;
  auto isTaken = [&] {
    artifact::Fault fault;
    const bundle::Bundle *read = artifact::verifyBundle(
        copy.data, copy.size, fault, hasSodium ? key : nullptr);
    bool good =
        read && memcmp(copy.data + offsetof(artifact::Header, metadataDigest),
                       digest.bytes, sizeof digest) == 0;
    for (uint32_t i = 0; good && i < read->segments()->size(); ++i)
      good = artifact::verifySegment(
          read, i, copy.data + read->segments()->Get(i)->offset(), fault);
    return good;
  };
  ASSERT_TRUE(isTaken());
  std::vector<bool> isPart = partsOf(copy);
  for (size_t i = 0; i < copy.size; i += isPart[i] ? 1 : 61) {
    copy.data[i] ^= 0x11;
    EXPECT_NE(isTaken(), isPart[i]) << "byte " << i;
    copy.data[i] ^= 0x11;
  }
}

TEST_F(TrustTest, CopiesNothingUnlessAsked) {
  OpenOptions options = copying(NNV12_COPY_NEVER);
  options.publicKey = hasSodium ? key : nullptr;
  // The same code from the file and from memory, where a file may be mapped.
  bool isMapped = Bundle(path, options).info().code_is_mapped;
  EXPECT_EQ(Bundle(path).info().code_is_mapped, isMapped);
  EXPECT_TRUE(runs(Bundle(path, options)));
}

TEST_F(TrustTest, TheSignatureCoversTheWeights) {
  if (!hasSodium)
    GTEST_SKIP() << "install libsodium23";
  overwrite(segments[2].first + segments[2].second - 1, 1, 0xff);
  OpenOptions options;
  options.publicKey = key;
  EXPECT_EQ(openError(options), path + ": segment 2 (Weights): digest does not "
                                       "match (damaged)");
  options.trustWeights = true;
  EXPECT_EQ(openError(options), "");
  EXPECT_EQ(openError({}), "") << "without a key, weights are not read";
  options.verifyWeights = true;
  EXPECT_EQ(openError(options),
            path + ": weights: found verify_weights and trust_weights, "
                   "expected one of them");
}

TEST_F(TrustTest, EveryByteThatMeansSomethingIsCovered) {
  if (!hasSodium)
    GTEST_SKIP() << "install libsodium23";
  OpenOptions options;
  options.publicKey = key;
  AlignedCopy copy(image);
  auto opens = [&] {
    try {
      Bundle(copy.data, copy.size, options);
    } catch (const Error &) {
      return false;
    }
    return true;
  };
  ASSERT_TRUE(opens());
  auto flip = [&](uint64_t begin, uint64_t end, uint64_t step) {
    for (uint64_t i = begin; i < end; i += step) {
      copy.data[i] ^= 0x10;
      EXPECT_FALSE(opens()) << "byte " << i;
      copy.data[i] ^= 0x10;
    }
  };
  flip(0, sizeof header + header.metadataSize, 7);
  unsigned own = Bundle(path).info().target[0] == 'x' ? 0 : 1;
  for (unsigned i : {own, 2u})
    flip(segments[i].first, segments[i].first + segments[i].second, 11);
}

TEST_F(TrustTest, OlderCallersKnowLessOfTheOptions) {
  nnv12_open_options options;
  memset(&options, 0xff, sizeof options);
  options.struct_size = offsetof(nnv12_open_options, copying);
  options.public_key = nullptr;
  options.verify_weights = 1;
  options.target = nullptr;
  nnv12_bundle *bundle;
  nnv12_error error;
  EXPECT_EQ(nnv12_bundle_open(path.c_str(), &options, &bundle, &error),
            NNV12_OK);
  nnv12_bundle_close(bundle);
  options = NNV12_OPEN_OPTIONS_INIT;
  options.copying = nnv12_copying(3);
  EXPECT_EQ(nnv12_bundle_open(path.c_str(), &options, &bundle, &error),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message),
            path + ": copying: found 3, expected at most 2");
}

TEST_F(TrustTest, AskingNothingOfNothing) {
  nnv12_bundle_info info = {};
  nnv12_operation_info operation = {};
  nnv12_session_info session = {};
  EXPECT_EQ(nnv12_bundle_num_inputs(nullptr), 0u);
  EXPECT_EQ(nnv12_bundle_output(nullptr, 0), nullptr);
  nnv12_bundle_get_info(nullptr, &info);
  EXPECT_EQ(nnv12_bundle_get_operation(nullptr, 0, &operation),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(nnv12_session_threads(nullptr), 0u);
  nnv12_session_get_info(nullptr, &session);
}
