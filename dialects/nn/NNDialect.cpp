//===- NNDialect.cpp - The nn dialect: attributes and registration -------===//

#include "dialects/nn/NNDialect.h"

#include "dialects/nn/Layout.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nnv12::nn;

#include "dialects/nn/NNDialect.cpp.inc"
#include "dialects/nn/NNEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &b, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type))
    return nullptr;
  return ConstantOp::create(b, loc, type, elements);
}

LogicalResult LayoutAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (Layout::parse(getTag(), shape))
    return success();
  return emitError() << "layout '" << getTag()
                     << "' does not name each of " << shape.size()
                     << " dimensions once";
}

bool nnv12::nn::equalIgnoringLayout(TypeRange lhs, TypeRange rhs) {
  return llvm::equal(lhs, rhs, [](Type l, Type r) {
    auto a = dyn_cast<RankedTensorType>(l), b = dyn_cast<RankedTensorType>(r);
    return a && b ? a.getShape() == b.getShape() &&
                        a.getElementType() == b.getElementType()
                  : l == r;
  });
}
