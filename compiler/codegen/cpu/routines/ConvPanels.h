//===- ConvPanels.h - Convolutions as products of panels --------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H

#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <optional>

namespace nnv12::codegen {

/// A convolution, transposed or not, whose weights are panels
/// [O/16][I/block][kh][kw][block i][16 o]. One with three spatial dimensions is
/// as many convolutions of two as its result has planes: each plane of a window
/// counts as blocks of its own, [O/16][I/block][kd][kh]….
///
/// The weights of a quantised convolution are panels of quads. A quad is four
/// input channels: [O/16][I/16][kh][kw][4][16 o][4 i]. Where blocks have one
/// channel, it is four columns: [O/16][I][kh][kw/4][16 o][4 kw].
struct ConvPanels {
  WindowShape w;
  DepthShape depth;
  int64_t block;                         ///< input channels of a block
  int64_t groups, channels, outChannels; ///< channels of one group
  int64_t inBlocks, panels;              ///< of one group and all window planes
  Epilogue epilogue;
  std::optional<QuantizedEnd> quantized; ///< takes the epilogue's place
  bool smallWeights = false;             ///< see PanelShape

  template <typename Op>
  ConvPanels(Op op, int64_t block)
      : w(op), depth(op), block(block), groups(op.getGroups()),
        channels(w.channels / groups), outChannels(w.outChannels / groups),
        inBlocks(llvm::divideCeil(channels, block) * depth.kernel),
        panels(llvm::divideCeil(outChannels, panelWidth)) {
    if constexpr (std::is_same_v<Op, nn::QConvOp>) {
      quantized = QuantizedEnd::of(op);
      smallWeights = op.getSmallWeights();
    } else {
      epilogue = Epilogue::of(op);
    }
    assert(channels * groups == w.channels &&
           outChannels * groups == w.outChannels && "groups are of one size");
  }

  /// Whether input or result has several planes, or padding for some.
  bool hasDepth() const { return depth.in > 1 || !depth.isPlaneByPlane(); }
  /// Whether no block or panel belongs to two groups.
  bool separatesGroups() const {
    return groups == 1 ||
           (channels % panelWidth == 0 && outChannels % panelWidth == 0);
  }
  /// One kernel element, stride one, no padding: a product of matrices.
  bool isFlat() const;
  /// Sees all pixels of a flat convolution as one column.
  void flatten();

  int64_t elementSize() const { return quantized ? 1 : 4; }
  /// Whether neighbouring columns make quads.
  bool hasColumnQuads() const { return quantized && block == 1; }
  /// Kernel columns, or quads of them.
  int64_t kernelCols() const {
    return hasColumnQuads() ? int64_t(llvm::divideCeil(w.kernelCols, 4))
                            : w.kernelCols;
  }
  int64_t taps() const { return w.kernelRows * kernelCols(); }
  int64_t tapWeights() const {
    return (hasColumnQuads() ? 4 : block) * panelWidth;
  }
  /// The last weights of a partial block are padding, so panels are whole
  /// blocks.
  int64_t panelWeights() const { return inBlocks * taps() * tapWeights(); }
  /// Input elements of one plane of a block.
  int64_t inPlane() const { return w.height * w.width * block; }
  /// Input elements of one batch's group.
  int64_t inSize() const {
    return inBlocks / depth.kernel * depth.in * inPlane();
  }
  int64_t outPlane() const { return w.outHeight * w.outWidth * panelWidth; }
  int64_t outPanel() const { return depth.out * outPlane(); }
  /// Channels of the last block, if they are not all of its own, that are
  /// multiplied; those of window planes are multiplied with their padding,
  /// which is zero.
  int64_t tail() const { return depth.kernel > 1 ? 0 : channels % block; }

  /// A grid over `rows` × `cols` of output positions, not yet planned.
  PanelGrid grid(int64_t rows, int64_t cols) const;
  /// The costs that planning weighs; the caller sets inputRowBytes.
  PanelGrid::Costs costs() const;
  /// Strides of weights and result, the epilogue; inputs are the caller's.
  PanelShape shape() const;
  // A batch of the grid is an image, a group and a plane of the result.
  /// The first input element of the batch's image and group.
  Index inAt(KernelBuilder &k, Index batch) const;
  /// The input plane that the window's first tap reads; it may be negative.
  Index inDepth(KernelBuilder &k, Index batch) const;
  /// The tiles' boxes of the result.
  TileMap map(const PanelGrid &grid) const;
  /// The batch's weights, bias and result; inputs are the caller's.
  PanelCall call(KernelBuilder &k, Index batch) const;
};

/// Emits the kernel of a convolution, not transposed, as loops over tiles of
/// the result: in place or, where windows reach outside, with a copy. In cells
/// of a size, if there is one: without depth, and without a matrix unit. They
/// multiply the padding, too.
KernelInfo emitConvPanels(KernelBuilder &k, Operation *layer, StringRef symbol,
                          ConvPanels c, const PanelTuning &tuning,
                          std::optional<Cells> cells = std::nullopt);

/// The misfit of a routine where there is no blockedConv().
constexpr char noBlockedConv[] =
    "it is no convolution of f32 with one to three spatial dimensions, groups "
    "of whole blocks of channels, and enough outputs for the tile";

/// A routine of such convolutions whose input is in blocks of 16 channels.
class PanelConvRoutine : public PanelRoutine {
public:
  using PanelRoutine::PanelRoutine;
  LayoutRequest layouts(Operation *layer) const override;
  std::optional<Cells> cells(Operation *layer) const override;

protected:
  /// The layer if it is a convolution in such blocks, wide enough for tuning.
  /// `volumes`: it may have three spatial dimensions.
  std::optional<ConvPanels> blockedConv(Operation *layer,
                                        bool volumes = false) const;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H
