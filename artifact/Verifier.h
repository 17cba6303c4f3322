//===- Verifier.h - Checks a bundle before anyone uses it -------*- C++ -*-===//
//
// After verifyBundle(), every index, offset and size in the metadata and in
// overlays may be used without further checks. It does *not* promise
//   - that the weights are the ones that were written (verifySegment tells);
//   - that the code computes the kernels that the metadata names: it is trusted
//     as far as its digest, and the signature when there is one, can be;
//   - anything when the bytes change underneath, as when a process overwrites a
//     mapped file in place. The writer never does: it renames.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_VERIFIER_H
#define NNV12_ARTIFACT_VERIFIER_H

#include "artifact/Fault.h"
#include "artifact/Header.h"
#include "artifact/Limits.h"
#include "artifact/Sizes.h"
#include "bundle_generated.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// Checks the header of the file image of `size` bytes at `data`, and copies it
/// to `header`. With a public key (null: none), its signature is checked before
/// anything else that depends on what the file says, version and digest of the
/// header excepted.
[[nodiscard]] bool verifyHeader(const void *data, size_t size,
                                const uint8_t *publicKey, Header &header,
                                Fault &fault);

/// Checks the metadata that a verified header tells of, by its digest and then
/// what it says. `metadata`, 64-byte aligned, is where its bytes are: in the
/// file image, or a copy. Returns it, or null.
[[nodiscard]] const bundle::Bundle *
verifyMetadata(const Header &header, const void *metadata, Fault &fault);

/// Checks what the metadata says alone, against a file of `fileSize` bytes.
/// Takes time and memory in proportion to `size`.
[[nodiscard]] const bundle::Bundle *verifyMetadata(const void *metadata,
                                                   size_t size,
                                                   uint64_t fileSize,
                                                   Fault &fault);

/// Checks the overlays for GPUs in segment `segment`, which a program of the
/// verified bundle names. `bytes`, 64-byte aligned and of its size, is where
/// its bytes are, whose digest was found good. Returns them, or null.
[[nodiscard]] const bundle::GpuOverlays *
verifyOverlays(const bundle::Bundle *bundle, uint32_t segment,
               const void *bytes, Fault &fault);

/// The same, and the digest, in the file image of a verified bundle. True where
/// there are none.
[[nodiscard]] bool verifyOverlaysIn(const bundle::Bundle *bundle,
                                    const void *image, Fault &fault);

/// Checks the overlays for video in segment `segment`, in the same way. Memory
/// alone: a session that follows them stays inside of its arena, its sets and
/// the grids of kernels, and comes to an end. The compiler promises that kept
/// values are the right ones.
[[nodiscard]] const bundle::VideoOverlays *
verifyVideo(const bundle::Bundle *bundle, uint32_t segment, const void *bytes,
            Fault &fault);
[[nodiscard]] bool verifyVideoIn(const bundle::Bundle *bundle,
                                 const void *image, Fault &fault);

/// All of it, in place: the file image at `data` must be 64-byte aligned. Reads
/// no segment but that of overlays, where there is one.
[[nodiscard]] const bundle::Bundle *
verifyBundle(const void *data, size_t size, Fault &fault,
             const uint8_t *publicKey = nullptr);

/// Checks the digest of segment `index`; `bytes` is where its bytes are, which
/// may be another place than the file image (a mapping, a copy).
[[nodiscard]] bool verifySegment(const bundle::Bundle *bundle, uint32_t index,
                                 const void *bytes, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_VERIFIER_H
