//===- Digest.h - BLAKE2b-256 (RFC 7693) ------------------------*- C++ -*-===//
//
// The digest of bundles. Written here because the runtime must check its code
// before it runs it, and must not need a library for that; tested against
// libsodium's.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_DIGEST_H
#define NNV12_ARTIFACT_DIGEST_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nnv12::artifact {

struct Digest {
  uint8_t bytes[32];

  bool operator==(const Digest &other) const {
    return memcmp(bytes, other.bytes, sizeof bytes) == 0;
  }
  bool operator!=(const Digest &other) const { return !(*this == other); }
};

/// A digest over bytes that arrive in pieces.
class Hasher {
public:
  Hasher();
  void update(const void *data, size_t size);
  /// The hasher must not be used afterwards.
  Digest finish();

private:
  void compress(const uint8_t *block, bool last);

  uint64_t state[8];
  uint64_t total = 0; ///< bytes compressed so far
  uint8_t buffer[128];
  size_t used = 0;
};

Digest digestOf(const void *data, size_t size);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_DIGEST_H
