//===- ConvPanels.h - Convolutions as products of panels --------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H

#include "compiler/codegen/cpu/routines/PanelGrid.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

namespace nnv12::codegen {

/// A convolution whose weights are panels [O/16][I/block][kh][kw][block i][16
/// o].
struct ConvPanels {
  WindowShape w;
  int64_t block;                         ///< input channels of a block
  int64_t groups, channels, outChannels; ///< channels of one group
  int64_t inBlocks, panels;              ///< of one group
  Epilogue epilogue;

  ConvPanels(nn::ConvOp op, int64_t block);

  /// One kernel element, stride one, no padding: a product of matrices.
  bool isFlat() const;
  /// Sees all pixels of a flat convolution as one column.
  void flatten();

  int64_t taps() const { return w.kernelRows * w.kernelCols; }
  int64_t tapWeights() const { return block * panelWidth; }
  /// The last weights of a partial block are padding, so panels are whole
  /// blocks.
  int64_t panelWeights() const { return inBlocks * taps() * tapWeights(); }
  /// Input elements of one batch's group.
  int64_t inSize() const { return inBlocks * w.height * w.width * block; }
  int64_t outPanel() const { return w.outHeight * w.outWidth * panelWidth; }

  /// A grid over `rows` × `cols` of output positions, not yet planned.
  PanelGrid grid(int64_t rows, int64_t cols) const;
  /// The costs that planning weighs; the caller sets inputRowBytes.
  PanelGrid::Costs costs() const;
  /// Strides of weights and result, the epilogue; inputs are the caller's.
  PanelShape shape() const;
  /// Where the group `batch` (image times groups) has weights, bias and result;
  /// inputs are the caller's.
  PanelCall call(KernelBuilder &k, Index batch) const;
  KernelInfo info(nn::ConvOp op, const PanelGrid &grid, int64_t scratch) const;
};

/// A routine of such convolutions whose input is in blocks of 16 channels.
class PanelConvRoutine : public CpuRoutine {
public:
  PanelConvRoutine(llvm::StringRef name, llvm::StringRef summary,
                   const PanelTuning &tuning)
      : CpuRoutine(tuning.nameOf(name),
                   tuning.suffix.empty() ? summary : tuning.summary),
        tuning(tuning) {}
  LayoutRequest layouts(mlir::Operation *layer) const override;
  Work work(mlir::Operation *layer) const override;

protected:
  /// Whether the layer is a convolution in such blocks, wide enough for tuning.
  bool isBlockedConv(mlir::Operation *layer) const;

  const PanelTuning tuning;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVPANELS_H
