//===- PlanDialect.cpp - The plan dialect ---------------------------------===//

#include "dialects/plan/PlanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nnv12::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.cpp.inc"
/// A form as its text: packed+q8+zstd.
static ParseResult parseForm(AsmParser &parser, StoredFormAttr &attribute) {
  SMLoc location = parser.getCurrentLocation();
  std::string text;
  do {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    text += (text.empty() ? "" : "+") + word.str();
  } while (succeeded(parser.parseOptionalPlus()));
  std::optional<StoredForm> form = StoredForm::parse(text);
  if (!form)
    return parser.emitError(location)
           << "found form '" << text << "', expected " << StoredForm::choices();
  attribute = StoredFormAttr::get(parser.getContext(), *form);
  return success();
}
static void printForm(AsmPrinter &printer, Operation *,
                      StoredFormAttr attribute) {
  printer << attribute.getForm().text();
}

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

Attribute StoredFormAttr::parse(AsmParser &parser, Type) {
  StoredFormAttr attribute;
  if (parser.parseLess() || parseForm(parser, attribute) ||
      parser.parseGreater())
    return {};
  return attribute;
}

void StoredFormAttr::print(AsmPrinter &printer) const {
  printer << '<' << getForm().text() << '>';
}

std::optional<std::pair<int64_t, int64_t>> nnv12::plan::timesOf(Operation *op) {
  auto start = op->getAttrOfType<IntegerAttr>("start");
  auto end = op->getAttrOfType<IntegerAttr>("end");
  if (!start || !end)
    return std::nullopt;
  return std::pair(start.getInt(), end.getInt());
}

void nnv12::plan::setTimes(Operation *op, int64_t start, int64_t end) {
  Builder b(op->getContext());
  op->setAttr("start", b.getI64IntegerAttr(start));
  op->setAttr("end", b.getI64IntegerAttr(end));
}

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}
