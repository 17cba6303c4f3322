//===- TilePieces.h - The memory that tiles write ---------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_TILEPIECES_H
#define NNV12_ARTIFACT_TILEPIECES_H

#include "artifact/Limits.h"
#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// The bytes of an element of a verified map's result, which takes `bytes`; 0
/// where these are not whole elements.
uint64_t elementBytes(const bundle::TileMap *map, uint64_t bytes);

/// The contiguous pieces of a result that tiles [begin, end) of a verified map
/// write. Neighbours along an axis are taken together, so there are few pieces
/// where a range of tiles is the end of a plane. Needs no destructor.
class TilePieces {
public:
  TilePieces(const bundle::TileMap *map, uint64_t begin, uint64_t end)
      : map_(map), next_(begin), end_(end) {}

  /// The next one, in elements; false where there is none.
  bool next(uint64_t &first, uint64_t &count);

private:
  bool nextBox();
  void join();

  const bundle::TileMap *map_;
  uint64_t next_, end_; ///< tiles
  bool isInBox_ = false;
  uint32_t outer_ = 0; ///< axes that are not within a piece
  uint64_t count_ = 0; ///< elements of a piece
  uint64_t lo_[maxRank], hi_[maxRank], at_[maxRank];
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_TILEPIECES_H
