//===- AssignLayouts.cpp - Give every tensor a memory layout --------------===//

#include "compiler/processors/Processor.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether a layer that takes any layout works well when its operand and result
/// are both in the result's `layout`, that is, whether channel blocks stay
/// whole.
static bool keepsBlocks(Operation *op, const Layout &layout) {
  auto layer = dyn_cast<KeepsBlocks>(op);
  return layer && layer.keepsBlocks(layout.block(1));
}

namespace {
class AssignLayoutsPass
    : public nnv12::impl::AssignLayoutsBase<AssignLayoutsPass> {
public:
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<ConstantOp>(op))
        continue;
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        for (OpOperand &operand : op.getOpOperands())
          give(operand, "");
        continue;
      }
      const Routine *routine = hostRoutines().preferred(&op);
      if (!routine) {
        op.emitOpError("found no routine that computes it");
        return signalPassFailure();
      }
      LayoutRequest request = routine->layouts(&op);
      assert(request.operands.size() == op.getNumOperands() &&
             request.results.size() == op.getNumResults() &&
             "a routine speaks of each operand and result");
      if (llvm::all_of(request.results, [](auto &r) { return !r; }))
        propagate(&op, request);
      for (auto [operand, wanted] :
           llvm::zip(op.getOpOperands(), request.operands))
        if (wanted)
          give(operand, *wanted);
      for (auto [value, wanted] : llvm::zip(op.getResults(), request.results))
        if (wanted)
          value.setType(withLayout(typeOf(value), *wanted));
    }
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isa<ConstantOp>(op) && op.use_empty())
        op.erase();
    assert(llvm::all_of(block,
                        [](Operation &op) {
                          return isa<ConstantOp>(op) ||
                                 op.hasTrait<OpTrait::IsTerminator>() ||
                                 !hostRoutines().agreeing(&op).empty();
                        }) &&
           "each layer has the layouts that its routine asked for");
  }

private:
  /// A layer that takes anything: its result, and the operands that have
  /// channels, get the layout of the largest blocked operand.
  void propagate(Operation *op, LayoutRequest &request) {
    if (op->getNumResults() != 1)
      return;
    auto result = typeOf(op->getResult(0));
    StringRef tag;
    int64_t largest = 0;
    for (Value v : op->getOperands())
      if (!layoutTag(v.getType()).empty() && !v.getDefiningOp<ConstantOp>() &&
          typeOf(v).getRank() == result.getRank() &&
          typeOf(v).getNumElements() > largest) {
        tag = layoutTag(v.getType());
        largest = typeOf(v).getNumElements();
      }
    if (tag.empty())
      return;
    // Blocks that are mostly padding would multiply the memory to walk.
    Layout layout = Layout::of(withLayout(result, tag));
    if (!keepsBlocks(op, layout) || layout.size() > 2 * result.getNumElements())
      return;
    request.results[0] = tag.str();
    for (auto [value, wanted] : llvm::zip(op->getOperands(), request.operands))
      if (!wanted && typeOf(value).getRank() == result.getRank() &&
          typeOf(value).getDimSize(1) != 1)
        wanted = tag.str();
  }

  /// Makes `operand` come in layout `tag`.
  void give(OpOperand &operand, StringRef tag) {
    Value value = operand.get();
    if (layoutTag(value.getType()) == tag)
      return;
    Value &result = converted[{value, StringAttr::get(&getContext(), tag)}];
    if (!result) {
      auto type = withLayout(typeOf(value), tag);
      OpBuilder b(&getContext());
      b.setInsertionPointAfterValue(value);
      if (auto constant = value.getDefiningOp<ConstantOp>()) {
        result =
            ConstantOp::create(b, value.getLoc(), type, constant.getValue());
      } else {
        // Profiles show it under the name of the layer that asked for it.
        result = AdaptOp::create(b, operand.getOwner()->getLoc(), type, value);
        ++adapts;
      }
    }
    operand.set(result);
  }

  llvm::DenseMap<std::pair<Value, StringAttr>, Value> converted;
};
} // namespace
