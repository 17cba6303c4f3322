//===- VideoPixels.h - Where the pixels of a tensor lie ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_VERIFY_VIDEOPIXELS_H
#define NNV12_COMPILER_VERIFY_VIDEOPIXELS_H

#include "artifact/Bundle.h"
#include "compiler/routines/TileMap.h"
#include "compiler/video/Dependence.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace nnv12 {

/// Compares the runtime's pixels of a tensor with its elements at each row and
/// column, and with those that fill up its blocks. Without a plane all of it is
/// one pixel. Returns the fault as "found …, expected …", or "".
std::string findWrongPixels(const artifact::PixelLayout &pixels,
                            mlir::RankedTensorType type,
                            std::optional<video::Plane> plane);

/// The runtime computes a tile for a rectangle of pixels, or for a run of them.
/// Checks that each tile of a kernel's result lies inside of these, and that
/// all tiles make up the result. Returns the fault as above, or "".
std::string findWrongTiles(const artifact::VideoPart &part, const TileMap &map,
                           mlir::RankedTensorType type, video::Plane plane);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_VIDEOPIXELS_H
