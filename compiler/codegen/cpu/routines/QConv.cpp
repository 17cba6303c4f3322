//===- QConv.cpp - Convolution of 8-bit integers --------------------------===//
//
// qconv.gemm.nChw16c, qconv.direct.nChw16c, qconv.first.nChw16c: as their
// siblings of floats (ConvDirect.cpp), with bytes in the same blocks of
// channels. A step multiplies quads: four input channels or, of a few dense
// input channels, four neighbouring columns of the window. On CPUs with AMX a
// matrix unit takes many quads at once (ConvMatrix.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/MatrixUnit.h"
#include "compiler/codegen/cpu/routines/ConvMatrix.h"
#include "compiler/codegen/cpu/routines/QConvLayouts.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class QConvRoutine : public PanelRoutine {
public:
  QConvRoutine(StringRef name, StringRef summary, const PanelTuning &tuning,
               int64_t block)
      : PanelRoutine(name, summary, tuning), block(block) {}
  KernelInfo emit(KernelBuilder &k, Operation *layer,
                  StringRef symbol) const override {
    ConvPanels c(cast<nn::QConvOp>(layer), block);
    return MatrixUnit::isIn(k.target) && !readsRowsInPlace(c)
               ? emitConvMatrix(k, layer, symbol, c, tuning)
               : emitConvPanels(k, layer, symbol, c, tuning);
  }

  std::optional<Cells> cells(Operation *layer) const override {
    return cellsOfPlane(layer);
  }
  /// Sums of integers are exact, so that a matrix unit would give the same.
  KernelInfo emitCells(KernelBuilder &k, Operation *layer, StringRef symbol,
                       const Cells &size) const override {
    ConvPanels c(cast<nn::QConvOp>(layer), block);
    return emitConvPanels(k, layer, symbol, c, tuning, size);
  }

  Extension extension(Operation *layer) const override {
    ConvPanels c(cast<nn::QConvOp>(layer), block);
    return suitsMatrixUnit(c) ? Extension::MatrixProducts
                              : Extension::DotProducts;
  }

protected:
  const int64_t block;
};

/// qconv.direct, or qconv.gemm for flat convolutions.
template <bool isFlat> class QConvBlocked : public QConvRoutine {
public:
  explicit QConvBlocked(const PanelTuning &tuning)
      : QConvRoutine(isFlat ? "qconv.gemm.nChw16c" : "qconv.direct.nChw16c",
                     isFlat ? "1x1 of stride 1 as a product of matrices of "
                              "8-bit integers in place"
                            : "any window of 8-bit integers, read in place or "
                              "copied with its padding",
                     tuning, panelWidth) {}
  std::string misfit(Operation *layer) const override {
    if (std::string misfit = misfitOfBytes(layer, /*mostRank=*/5);
        !misfit.empty())
      return misfit;
    ConvPanels c(cast<nn::QConvOp>(layer), block);
    if (!tuning.fits(c.panels) || !c.separatesGroups())
      return "it has groups of no whole blocks of channels, or too few outputs "
             "for the tile";
    return c.isFlat() == isFlat ? ""
           : isFlat             ? "its window has several taps, or a stride"
                                : "its window has one tap, and no stride";
  }
  LayoutRequest layouts(Operation *layer) const override {
    return quantizedLayouts(cast<nn::QConvOp>(layer), channelQuadTag);
  }
};

class QConvFirst : public QConvRoutine {
public:
  explicit QConvFirst(const PanelTuning &tuning)
      : QConvRoutine("qconv.first.nChw16c",
                     "up to four dense input channels of 8-bit integers",
                     tuning, /*block=*/1) {}
  std::string misfit(Operation *layer) const override {
    if (std::string misfit = misfitOfBytes(layer, /*mostRank=*/5);
        !misfit.empty())
      return misfit;
    auto op = cast<nn::QConvOp>(layer);
    ConvPanels c(op, block);
    return op.getGroups() == 1 && c.channels <= 4 && c.w.dilationCols == 1 &&
                   tuning.fits(c.panels)
               ? ""
               : "it has several groups, more than four input channels, "
                 "dilated columns, or too few outputs for the tile";
  }
  LayoutRequest layouts(Operation *layer) const override {
    LayoutRequest request =
        quantizedLayouts(cast<nn::QConvOp>(layer), columnQuadTag);
    request.operands[0] = "";
    return request;
  }
};

} // namespace

Variants codegen::qconvDirectRoutines() {
  return byteRoutines<QConvBlocked</*isFlat=*/false>>();
}
Variants codegen::qconvFirstRoutines() { return byteRoutines<QConvFirst>(); }
Variants codegen::qconvGemmRoutines() {
  return byteRoutines<QConvBlocked</*isFlat=*/true>>();
}
