//===- Writer.h - Writes a bundle to a file ---------------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_WRITER_H
#define NNV12_ARTIFACT_WRITER_H

#include "artifact/Bundle.h"

#include <string>

namespace nnv12::artifact {

/// Writes `bundle` to `path`: temporary file beside it, fsync, rename, so that
/// a failure leaves the old file or none. When `signingKeyPath` is not empty,
/// the header carries an Ed25519 signature by that key (a file written by
/// `nnv12-keygen`). The bytes depend on the arguments alone.
/// A bundle that the verifier would refuse is not written.
/// Returns an empty string, or one line, starting with the path, that says what
/// failed.
std::string writeBundle(const Bundle &bundle, const std::string &path,
                        const std::string &signingKeyPath = {});

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_WRITER_H
