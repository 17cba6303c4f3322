//===- KeyFile.h - Ed25519 keys in text files -------------------*- C++ -*-===//
//
// One line: "nnv12-secret-key " or "nnv12-public-key ", then 64 hexadecimal
// digits: the 32-byte seed of RFC 8032, or the public key. The words keep one
// from being taken for the other.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_KEYFILE_H
#define NNV12_ARTIFACT_KEYFILE_H

#include "artifact/Fault.h"

#include <cstdint>

namespace nnv12::artifact {

enum class KeyKind { Secret, Public };

[[nodiscard]] bool readKeyFile(const char *path, KeyKind kind, uint8_t key[32],
                               Fault &fault);

/// False for a path that names no file.
bool othersCanRead(const char *path);

/// Fails when the file exists. A secret key is readable by its owner alone.
[[nodiscard]] bool writeKeyFile(const char *path, KeyKind kind,
                                const uint8_t key[32], Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_KEYFILE_H
