//===- RaiseRank.cpp - One spatial dimension as two -----------------------===//
#include "passes/Passes.h"
#include "passes/simplify/LinearLayer.h"
#include "passes/simplify/Match.h"
#include "passes/simplify/Rewrite.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_RAISERANK
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// [N, C, L] as [N, C, 1, L].
static RankedTensorType withUnitHeight(RankedTensorType type) {
  assert(type.getRank() == 3 && "one spatial dimension");
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 2, 1);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The attributes of a layer of windows, each list with `unit`, the unit
/// dimension's number, in front.
static void prependUnit(NamedAttrList &attributes) {
  struct {
    StringRef name;
    int64_t unit;
  } const lists[] = {{"strides", 1},          {"dilations", 1},
                     {"kernel", 1},           {"pads_low", 0},
                     {"pads_high", 0},        {"output_padding", 0},
                     {"counted_pads_high", 0}};
  for (auto &list : lists)
    if (auto old =
            dyn_cast_or_null<DenseI64ArrayAttr>(attributes.get(list.name))) {
      SmallVector<int64_t> values{list.unit};
      values.append(old.asArrayRef().begin(), old.asArrayRef().end());
      attributes.set(list.name,
                     DenseI64ArrayAttr::get(old.getContext(), values));
    }
}

namespace {
struct RaiseToTwo : CountedPattern<Windowed, OpInterfaceRewritePattern> {
  using CountedPattern::CountedPattern;
  LogicalResult matchAndRewrite(Windowed op,
                                PatternRewriter &rewriter) const override {
    if (typeOf(op->getOperand(0)).getRank() != 3)
      return failure();
    auto raise = [&](Value value) -> Value {
      return rewriter.createOrFold<ReshapeOp>(
          op->getLoc(), withUnitHeight(typeOf(value)), value);
    };
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(typeOf(operand).getRank() == 3 ? raise(operand)
                                                        : operand);
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addTypes(withUnitHeight(typeOf(op->getResult(0))));
    NamedAttrList attributes(
        cast<DictionaryAttr>(op->getPropertiesAsAttribute()));
    prependUnit(attributes);
    state.propertiesAttr = attributes.getDictionary(getContext());
    Operation *wide = rewriter.create(state);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(),
                                           wide->getResult(0));
    ++count;
    return success();
  }
};

struct RaiseRank : nnv12::impl::RaiseRankBase<RaiseRank> {
  void runOnOperation() override {
    rewriteGreedily<RaiseToTwo>(getOperation(), raised);
  }
};
} // namespace
