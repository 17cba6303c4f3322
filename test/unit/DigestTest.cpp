//===- DigestTest.cpp - BLAKE2b-256 against libsodium and known answers ---===//
#include "artifact/Digest.h"

#include <dlfcn.h>
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

TEST(Digest, KnownAnswers) {
  EXPECT_EQ(hex(digestOf("", 0)),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(hex(digestOf("abc", 3)),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Digest, SameAsLibsodiumAtEveryLength) {
  void *sodium = dlopen("libsodium.so.23", RTLD_NOW);
  if (!sodium)
    GTEST_SKIP() << "libsodium not found";
  auto reference = reinterpret_cast<int (*)(
      unsigned char *, size_t, const unsigned char *, unsigned long long,
      const unsigned char *, size_t)>(dlsym(sodium, "crypto_generichash"));
  std::vector<unsigned char> data(600);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<unsigned char>(i * 131 + 7);
  for (size_t size = 0; size <= data.size(); ++size) {
    Digest expected;
    reference(expected.bytes, 32, data.data(), size, nullptr, 0);
    ASSERT_EQ(hex(digestOf(data.data(), size)), hex(expected)) << size;
  }
}

TEST(Digest, PiecesMakeNoDifference) {
  std::vector<unsigned char> data(1000, 42);
  Digest whole = digestOf(data.data(), data.size());
  for (size_t step : {1, 3, 64, 127, 128, 129, 256, 999}) {
    Hasher hasher;
    for (size_t at = 0; at < data.size(); at += step)
      hasher.update(data.data() + at, std::min(step, data.size() - at));
    EXPECT_EQ(hasher.finish(), whole) << step;
  }
}
