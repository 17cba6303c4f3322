//===- MetadataBudget.h - The cost of reading all metadata ------*- C++ -*-===//
//
// A FlatBuffer may use one table or vector in many places: a few hundred
// kilobytes can stand for gigabytes. The work of verifiers, bundles and
// sessions is linear in the tables that they visit; this makes it linear in the
// file.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_METADATABUDGET_H
#define NNV12_ARTIFACT_METADATABUDGET_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// How many times the metadata's size all tables, vectors and strings may come
/// to, each counted as often as it is used. Ours share nothing and come to less
/// than one.
constexpr uint64_t maxSharing = 4;

/// Checks that `metadata`, of `size` bytes, is a FlatBuffer of bundle.fbs
/// within that budget, and that the elements of each vector are aligned. Does
/// not look at the meaning of numbers.
[[nodiscard]] bool verifyFlatBuffer(const uint8_t *metadata, size_t size,
                                    Fault &fault);

/// The identifiers of the FlatBuffers of overlays, for GPUs and for video.
constexpr const char *overlaysIdentifier = "NNVG";
constexpr const char *videoIdentifier = "NNVV";

/// Checks the FlatBuffer of overlays in the same way.
[[nodiscard]] bool verifyOverlaysBuffer(const uint8_t *overlays, size_t size,
                                        Fault &fault);
[[nodiscard]] bool verifyVideoBuffer(const uint8_t *overlays, size_t size,
                                     Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_METADATABUDGET_H
