//===- View.cpp - Layers that move no memory ------------------------------===//

#include "dialects/nn/View.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/StridedLoop.h"

using namespace mlir;
using namespace nnv12;

/// Whether elements lie in the order of their indices, row by row, with nothing
/// between: as without a layout, or where the moved dimensions have one element
/// (1x2048x1x1 in aBcd16b).
static bool isRowMajor(RankedTensorType type) {
  nn::Layout layout = nn::Layout::of(type);
  if (layout.isPadded())
    return false;
  SmallVector<int64_t> strides = nn::denseStrides(type.getShape());
  return llvm::all_of(layout.axes(), [&](const nn::Layout::Axis &axis) {
    return axis.extent == 1 || axis.stride == strides[axis.dim] * axis.step;
  });
}

bool nn::isView(Operation *layer) {
  auto view = dyn_cast<View>(layer);
  return view && view.keepsBytes() &&
         isRowMajor(typeOf(layer->getOperand(0))) &&
         isRowMajor(typeOf(layer->getResult(0)));
}
