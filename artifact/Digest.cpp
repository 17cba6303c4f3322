//===- Digest.cpp - BLAKE2b-256 (RFC 7693) --------------------------------===//
#include "artifact/Digest.h"

namespace nnv12::artifact {

static constexpr uint64_t initial[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b,
                                        0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                        0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                        0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static constexpr uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t rotateRight(uint64_t x, int n) {
  return (x >> n) | (x << (64 - n));
}

static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x,
                       uint64_t y) {
  v[a] += v[b] + x;
  v[d] = rotateRight(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = rotateRight(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = rotateRight(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotateRight(v[b] ^ v[c], 63);
}

Hasher::Hasher() {
  memcpy(state, initial, sizeof state);
  // Parameter block: 32 bytes of digest, no key, fanout 1, depth 1.
  state[0] ^= 0x01010000 ^ sizeof(Digest);
}

void Hasher::compress(const uint8_t *block, bool last) {
  // Digests are little-endian, as are all hosts that we build for.
  uint64_t m[16], v[16];
  memcpy(m, block, sizeof m);
  memcpy(v, state, sizeof state);
  memcpy(v + 8, initial, sizeof initial);
  v[12] ^= total;
  if (last)
    v[14] = ~v[14];
#pragma GCC unroll 12
  for (int round = 0; round < 12; ++round) {
    const uint8_t *s = sigma[round % 10];
    mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; ++i)
    state[i] ^= v[i] ^ v[i + 8];
}

void Hasher::update(const void *data, size_t size) {
  auto *bytes = static_cast<const uint8_t *>(data);
  // The last block is compressed by finish(), so a full buffer waits until
  // more bytes come.
  while (size) {
    if (used == sizeof buffer) {
      total += sizeof buffer;
      compress(buffer, false);
      used = 0;
    }
    if (used == 0 && size > sizeof buffer) {
      total += sizeof buffer;
      compress(bytes, false);
      bytes += sizeof buffer;
      size -= sizeof buffer;
      continue;
    }
    size_t n = sizeof buffer - used;
    if (n > size)
      n = size;
    memcpy(buffer + used, bytes, n);
    used += n;
    bytes += n;
    size -= n;
  }
}

Digest Hasher::finish() {
  memset(buffer + used, 0, sizeof buffer - used);
  total += used;
  compress(buffer, true);
  Digest digest;
  memcpy(digest.bytes, state, sizeof digest.bytes);
  return digest;
}

Digest digestOf(const void *data, size_t size) {
  Hasher hasher;
  hasher.update(data, size);
  return hasher.finish();
}

} // namespace nnv12::artifact
