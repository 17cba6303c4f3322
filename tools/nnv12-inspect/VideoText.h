//===- VideoText.h - The part for video, as text and JSON -------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_VIDEOTEXT_H
#define NNV12_TOOLS_NNV12_INSPECT_VIDEOTEXT_H

#include "bundle_generated.h"
#include "tools/common/Json.h"

namespace nnv12::tools {

/// Prints the segment of the verified overlays for video, if there are any, and
/// its bytes.
void printVideos(const bundle::Bundle *bundle,
                 const bundle::VideoOverlays *overlays);

/// Prints the overlay of an understood program, if it has one: its memory, how
/// many executes compute parts by which tiles, and, unless `summary`, the sets
/// of inputs and executes.
void printVideo(const bundle::Bundle *bundle,
                const bundle::VideoOverlays *overlays,
                const bundle::Program *program, bool summary);

/// Adds the member "video" that printVideos() or printVideo() prints to the
/// object that is open, or none. An overlay for newer readers is the member
/// "newer_video", which says why.
void addVideos(Json &json, const bundle::Bundle *bundle,
               const bundle::VideoOverlays *overlays);
void addVideo(Json &json, const bundle::Bundle *bundle,
              const bundle::VideoOverlays *overlays,
              const bundle::Program *program, bool summary);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_VIDEOTEXT_H
