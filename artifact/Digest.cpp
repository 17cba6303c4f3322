//===- Digest.cpp - BLAKE2bp, 32 bytes ------------------------------------===//
#include "artifact/Digest.h"

#include "artifact/CpuFeatures.h"

#include <atomic>
#include <cassert>

namespace nnv12::artifact {

/// The fastest that this CPU runs.
static const Compressor &bestCompressor() {
  static std::atomic<const Compressor *> known;
  // Threads that come here at once find the same.
  const Compressor *best = known.load(std::memory_order_relaxed);
  if (!best) {
    CpuFeatures cpu;
    best = compressors;
    while (best->feature && !cpu.has(best->feature, strlen(best->feature)))
      ++best;
    known.store(best, std::memory_order_relaxed);
  }
  return *best;
}

/// The state before the first byte. The leaves of the tree are nodes 0 to 3 of
/// level 0, the root is node 0 of level 1.
static void start(Leaves &leaves, unsigned level) {
  constexpr uint64_t fanout = Leaves::number, levels = 2, innerSize = 64;
  memset(&leaves, 0, sizeof leaves);
  for (unsigned w = 0; w < 8; ++w)
    for (uint64_t &word : leaves.state[w])
      word = blake2bInitial[w];
  for (unsigned i = 0; i < Leaves::number; ++i) {
    leaves.state[0][i] ^= sizeof(Digest) | fanout << 16 | levels << 24;
    leaves.state[1][i] ^= level == 0 ? i : 0;
    leaves.state[2][i] ^= level | innerSize << 8;
  }
}

Hasher::Hasher() : Hasher(bestCompressor()) {}

Hasher::Hasher(const Compressor &compressor) : compressor_(compressor) {
  start(leaves_, /*level=*/0);
}

void Hasher::compressRow(const uint8_t *row) {
  const uint8_t *blocks[Leaves::number];
  for (unsigned i = 0; i < Leaves::number; ++i)
    blocks[i] = row + i * Leaves::blockSize;
  compressor_.compress(leaves_, blocks);
}

void Hasher::update(const void *data, size_t size) {
  auto *bytes = static_cast<const uint8_t *>(data);
  // finish() compresses each leaf's last block. A row holds none of them when
  // bytes for the last leaf follow.
  while (used_ + size > 2 * rowSize - Leaves::blockSize) {
    for (uint64_t &count : leaves_.count)
      count += Leaves::blockSize;
    if (used_ == 0) {
      compressRow(bytes);
      bytes += rowSize;
      size -= rowSize;
      continue;
    }
    if (used_ < rowSize) {
      size_t n = rowSize - used_;
      memcpy(buffer_ + used_, bytes, n);
      used_ += n;
      bytes += n;
      size -= n;
    }
    compressRow(buffer_);
    used_ -= rowSize;
    memmove(buffer_, buffer_ + rowSize, used_);
  }
  if (size)
    memcpy(buffer_ + used_, bytes, size);
  used_ += size;
}

Digest Hasher::finish() {
  memset(buffer_ + used_, 0, sizeof buffer_ - used_);
  /// How many of the bytes that are left are in this block.
  auto bytesIn = [&](unsigned row, unsigned leaf) -> uint64_t {
    size_t begin = row * rowSize + leaf * Leaves::blockSize;
    size_t n = used_ > begin ? used_ - begin : 0;
    return n < Leaves::blockSize ? n : Leaves::blockSize;
  };
  constexpr uint64_t yes = ~uint64_t(0);
  constexpr unsigned lastLeaf = Leaves::number - 1;
  for (unsigned i = 0; i < Leaves::number; ++i) {
    leaves_.count[i] += bytesIn(0, i);
    leaves_.last[i] = bytesIn(1, i) ? 0 : yes;
  }
  assert(bytesIn(1, lastLeaf) == 0 &&
         "the last leaf has no block in the second row");
  leaves_.lastNode[lastLeaf] = yes;
  compressRow(buffer_);
  if (used_ > rowSize) {
    Leaves finished = leaves_;
    for (unsigned i = 0; i < Leaves::number; ++i) {
      leaves_.count[i] += bytesIn(1, i);
      leaves_.last[i] = yes;
    }
    compressRow(buffer_ + rowSize);
    for (unsigned i = 0; i < Leaves::number; ++i)
      for (unsigned w = 0; w < 8 && !bytesIn(1, i); ++w)
        leaves_.state[w][i] = finished.state[w][i];
  }

  // The root, four times the same.
  uint64_t digests[Leaves::number][8];
  for (unsigned i = 0; i < Leaves::number; ++i)
    for (unsigned w = 0; w < 8; ++w)
      digests[i][w] = leaves_.state[w][i];
  start(leaves_, /*level=*/1);
  auto *block = reinterpret_cast<const uint8_t *>(digests);
  for (size_t at = 0; at < sizeof digests; at += Leaves::blockSize) {
    bool last = at + Leaves::blockSize == sizeof digests;
    for (unsigned i = 0; i < Leaves::number; ++i) {
      leaves_.count[i] += Leaves::blockSize;
      leaves_.last[i] = leaves_.lastNode[i] = last ? yes : 0;
    }
    const uint8_t *const blocks[Leaves::number] = {block + at, block + at,
                                                   block + at, block + at};
    compressor_.compress(leaves_, blocks);
  }
  Digest digest;
  for (unsigned w = 0; w < sizeof digest / 8; ++w)
    memcpy(digest.bytes + 8 * w, &leaves_.state[w][0], 8);
  return digest;
}

Digest digestOf(const void *data, size_t size) {
  Hasher hasher;
  hasher.update(data, size);
  return hasher.finish();
}

} // namespace nnv12::artifact
