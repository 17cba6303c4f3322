//===- Codec.cpp - Lossless compression of weights ------------------------===//

#include "compiler/emit/Codec.h"

#include <algorithm>
#include <cassert>
#include <zstd.h>

using namespace nnv12;

// Weights hold next to no repetitions: the gain comes from entropy coding,
// which all levels do alike. Higher ones only take longer.
static constexpr int level = 6;

/// Byte b of every element together; plane 0 holds the least significant bytes.
static std::vector<char> split(const char *data, uint64_t size,
                               unsigned elementSize) {
  assert(elementSize && size % elementSize == 0 && "whole elements");
  std::vector<char> planes(size);
  uint64_t count = size / elementSize;
  for (unsigned b = 0; b < elementSize; ++b) {
    char *plane = planes.data() + b * count;
    for (uint64_t i = 0; i < count; ++i)
      plane[i] = data[i * elementSize + b];
  }
  return planes;
}

static std::vector<char> compress(const char *data, uint64_t size) {
  std::vector<char> frame(ZSTD_compressBound(size));
  // It fails only for want of memory or of room for the frame.
  size_t used = ZSTD_compress(frame.data(), frame.size(), data, size, level);
  frame.resize(ZSTD_isError(used) ? 0 : used); // no frame is empty
  return frame;
}

Encoded nnv12::encode(const void *data, uint64_t size, unsigned elementSize) {
  const char *bytes = static_cast<const char *>(data);
  Encoded plain{compress(bytes, size), 1};
  if (plain.bytes.empty() || elementSize <= 1 || size % elementSize)
    return plain;
  Encoded planes{compress(split(bytes, size, elementSize).data(), size),
                 static_cast<uint8_t>(elementSize)};
  // No bytes, as where memory runs out, are the fewest.
  return planes.bytes.size() < plain.bytes.size() ? planes : plain;
}

Estimate nnv12::estimate(const void *data, uint64_t size,
                         unsigned elementSize) {
  if (!size)
    return {};
  const char *bytes = static_cast<const char *>(data);
  uint64_t taken = 0, left = 0, whole = 0;
  auto take = [&](uint64_t at, uint64_t length) {
    Encoded encoded = encode(bytes + at, length, elementSize);
    taken += length;
    left += encoded.bytes.empty() ? length : encoded.bytes.size();
    whole += encoded.planes == 1 ? length : 0;
  };
  // A piece holds whole elements.
  if (size <= estimatePieces * estimatePieceBytes)
    take(0, size);
  else
    for (uint64_t i = 0; i < estimatePieces; ++i)
      take((size - estimatePieceBytes) / (estimatePieces - 1) * i / 8 * 8,
           estimatePieceBytes);
  return {std::min(1.0, double(left) / taken), whole > taken / 2};
}
