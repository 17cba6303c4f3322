//===- ConvMatrix.h - Convolutions on a matrix unit -------------*- C++ -*-===//
//
// How qconv.gemm and qconv.direct compute a convolution on a CPU with AMX:
//
//   for tile = (image and group, row block, chunk of output panels)
//     if the rows changed: write each position's window as a row in scratch,
//       [block][kernel row][kernel column][16 channels], as weights are ordered
//     for panel group: micro-kernel over all rows (MatrixKernel.h)
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVMATRIX_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVMATRIX_H

#include "compiler/codegen/cpu/routines/ConvPanels.h"

namespace nnv12::codegen {

/// Whether the matrix unit is faster than dot products on CPUs with both.
bool suitsMatrixUnit(const ConvPanels &c);

/// Whether emitConvPanels() is faster, whose micro-kernel takes rows in place
/// then.
bool readsRowsInPlace(const ConvPanels &c);
/// The shape of its kernel with each row of the window as one column.
void describeRowsInPlace(PanelShape &shape);

KernelInfo emitConvMatrix(KernelBuilder &k, Operation *layer, StringRef symbol,
                          const ConvPanels &c, const PanelTuning &tuning);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_CONVMATRIX_H
