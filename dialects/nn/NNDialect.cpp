//===- NNDialect.cpp - The nn dialect: attributes and registration --------===//

#include "dialects/nn/NNDialect.h"

#include "dialects/nn/ConstantBudget.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nnv12::nn;

#include "dialects/nn/NNDialect.cpp.inc"
#include "dialects/nn/NNEnums.cpp.inc"

// The parameters of a function: nothing, or [1.0, 2.0].
static ParseResult parseOptionalNumbers(AsmParser &parser,
                                        DenseF64ArrayAttr &values) {
  values = DenseF64ArrayAttr();
  SmallVector<double> numbers;
  bool present = false;
  auto parseNumber = [&]() -> ParseResult {
    present = true;
    return parser.parseFloat(numbers.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare,
                                     parseNumber))
    return failure();
  if (present)
    values = DenseF64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

static void printOptionalNumbers(AsmPrinter &printer,
                                 DenseF64ArrayAttr values) {
  if (!values)
    return;
  printer << " [";
  llvm::interleaveComma(values.asArrayRef(), printer, [&](double value) {
    printer.printFloat(APFloat(value)); // hexadecimal where not finite
  });
  printer << ']';
}

#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NNAttrs.cpp.inc"
      >();
  addInterfaces<ConstantBudget>();
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

std::string nnv12::nn::str(ArrayRef<int64_t> values) {
  return "[" +
         llvm::join(
             llvm::map_range(
                 values, [](int64_t value) { return std::to_string(value); }),
             ", ") +
         "]";
}

bool nnv12::nn::broadcastsTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> both;
  return OpTrait::util::getBroadcastedShape(from, to, both) &&
         to == ArrayRef<int64_t>(both);
}

bool nnv12::nn::equalIgnoringLayout(TypeRange lhs, TypeRange rhs) {
  return llvm::equal(lhs, rhs, [](Type l, Type r) {
    auto a = dyn_cast<RankedTensorType>(l), b = dyn_cast<RankedTensorType>(r);
    return a && b ? a.getShape() == b.getShape() &&
                        a.getElementType() == b.getElementType()
                  : l == r;
  });
}
