//===- Layouts.h - Layouts that several routines ask for --------*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_LAYOUTS_H
#define NNV12_COMPILER_ROUTINES_LAYOUTS_H

#include "compiler/routines/Routine.h"
#include "dialects/nn/NNDialect.h"

#include <type_traits>

namespace nnv12 {

/// Channels of a block, in layouts that have blocks.
constexpr int64_t block = 16;

/// "aBcd16b" for rank 4, "aBc16b" for rank 3, and so on: the first dimension,
/// the second in blocks of 16, the rest.
std::string blockedTag(int64_t rank);
/// Weights as panels of 16 output channels for blocks of 16 input channels:
/// "ABcd16b16a" for rank 4.
std::string panelTag(int64_t rank);
/// The same for a transposed convolution, whose weights have input channels
/// first: "BAcd16a16b" for rank 4.
std::string transposedPanelTag(int64_t rank);
/// Weights as panels of 16 output channels, the rest as it is: "Abcd16a".
std::string columnTag(int64_t rank);
/// Weights of a transposed convolution as rows of output channels, with input
/// channels in blocks of 16: "bAcd16a".
std::string transposedRowTag(int64_t rank);

/// All operands and results as they come.
LayoutRequest anyLayouts(mlir::Operation *layer);
/// For a conv or conv_transpose: input, residual and result in blocks of 16
/// channels, the weights as `weights` names it for their rank, the bias padded
/// to a whole block.
LayoutRequest blockedLayouts(mlir::Operation *layer,
                             std::string (*weights)(int64_t rank));

/// Whether a layer with a window has one or two spatial dimensions and is f32.
bool hasBlockableWindow(mlir::Operation *layer);
/// Whether it has three of them and is f32.
bool isVolume(mlir::Operation *layer);
template <typename Op>
constexpr bool isTransposed = std::is_same_v<Op, nn::ConvTransposeOp>;
/// The misfit of a routine for convolutions, transposed or not, or for pools,
/// where there is no such window.
template <typename Op>
constexpr const char *noBlockableWindow =
    std::is_same_v<Op, nn::PoolOp>
        ? "it is no pooling of f32 with one or two spatial dimensions"
    : isTransposed<Op>
        ? "it is no transposed convolution of f32 with one or two spatial "
          "dimensions"
        : "it is no convolution of f32 with one or two spatial dimensions";

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_LAYOUTS_H
