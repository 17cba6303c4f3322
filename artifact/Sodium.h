//===- Sodium.h - Ed25519 by libsodium, loaded when needed ------*- C++ -*-===//
//
// Most programs never sign or check a signature, so nobody links libsodium:
// the first call that needs it loads it, and its absence is an error of that
// call alone.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SODIUM_H
#define NNV12_ARTIFACT_SODIUM_H

#include "artifact/Fault.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// True when `signature` is a valid one of `message` by `publicKey`.
[[nodiscard]] bool verifySignature(const uint8_t signature[64],
                                   const void *message, size_t size,
                                   const uint8_t publicKey[32], Fault &fault);

/// Writes the public key that belongs to `seed` and, when `signature` is not
/// null, the signature of `message`.
[[nodiscard]] bool signWithSeed(const uint8_t seed[32], const void *message,
                                size_t size, uint8_t publicKey[32],
                                uint8_t *signature, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SODIUM_H
