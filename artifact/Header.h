//===- Header.h - The first 256 bytes of a bundle ---------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_HEADER_H
#define NNV12_ARTIFACT_HEADER_H

#include "artifact/Digest.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nnv12::artifact {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "bundles and kernels are little-endian");

/// First byte not ASCII, then line ends of both kinds: a transfer in text mode
/// shows up as "not a bundle", as with PNG.
constexpr uint8_t magic[8] = {0x8e, 'N', 'N', 'V', '\r', '\n', 0x1a, '\n'};

/// The format that this source reads and writes.
constexpr uint32_t formatVersion = 5;

/// Segments lie at multiples of the smallest page size, code for processors
/// that may have larger pages at multiples of their largest one, so that it can
/// be mapped in place.
constexpr uint64_t segmentAlignment = 4096;
constexpr uint64_t largestPage = 65536;
/// The alignment of code for this architecture, as a program names it.
inline uint64_t codeAlignment(const char *architecture) {
  return strcmp(architecture, "x86-64") == 0 ? segmentAlignment : largestPage;
}

/// All integers are little-endian. `magic` and `version` keep their place in
/// every future version.
struct Header {
  uint8_t magic[8];
  uint32_t version;
  uint32_t isSigned; ///< 1: `publicKey` and `signature` are set
  uint64_t fileSize;
  uint64_t metadataOffset;
  uint64_t metadataSize;
  uint8_t reserved[24]; ///< zero
  /// The digest of the metadata, which in turn holds the digest of every
  /// segment.
  Digest metadataDigest;
  /// The key of the signature's owner. For messages only: a reader trusts the
  /// key that its caller gave.
  uint8_t publicKey[32];
  /// Ed25519 over the bytes before it. The metadata's digest is one of them,
  /// and the metadata holds the digest of every segment: so it covers the
  /// metadata, all code and all weights, and not the padding between them,
  /// which no reader looks at. A reader that takes weights unchecked has not
  /// checked that part.
  uint8_t signature[64];
  uint8_t reserved2[32]; ///< zero
  /// The digest of the 224 bytes before it: tells damage from malice.
  Digest headerDigest;
};
static_assert(sizeof(Header) == 256);
static_assert(offsetof(Header, metadataDigest) == 64);
static_assert(offsetof(Header, signature) == 128);
static_assert(offsetof(Header, headerDigest) == 224);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_HEADER_H
