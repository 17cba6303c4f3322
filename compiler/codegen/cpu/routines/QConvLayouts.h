//===- QConvLayouts.h - Shared by convolutions of bytes ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QCONVLAYOUTS_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QCONVLAYOUTS_H

#include "compiler/routines/Layouts.h"

namespace nnv12::codegen {

/// Why no routine of quantised convolutions computes the layer; empty where it
/// does not say.
std::string misfitOfBytes(mlir::Operation *layer, size_t mostRank = 4);

/// Weights as quads of input channels: "ABcd4b16a4b" for rank 4.
std::string channelQuadTag(int64_t rank);
/// Weights as quads of columns: "AbcD16a4d" for rank 4.
std::string columnQuadTag(int64_t rank);

/// For a qconv: input and result in blocks of 16 channels, the weights as
/// `weights` names it for their rank, vectors padded to a whole block.
LayoutRequest quantizedLayouts(nn::QConvOp op,
                               std::string (*weights)(int64_t rank));

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_QCONVLAYOUTS_H
