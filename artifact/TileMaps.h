//===- TileMaps.h - Checks which boxes tiles compute ------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_TILEMAPS_H
#define NNV12_ARTIFACT_TILEMAPS_H

#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// The first fault of the boxes of a grid of `tiles` tiles; null: none.
const char *findWrong(const bundle::TileMap *map, uint64_t tiles);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_TILEMAPS_H
