//===- FuseElementwise.cpp - One kernel of neighbouring layers ------------===//

#include "compiler/processors/Processor.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/View.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

static bool hasFallback(Operation *op) {
  const Routine *routine = hostRoutines().preferred(op);
  return routine && routine->isFallback();
}

/// Layers that the generic routine evaluates one element at a time, reading
/// each operand element about once. Anything with a template of its own stays
/// alone.
static bool isFusable(Operation *op) {
  return isa<Fusable>(op) && hasFallback(op);
}

/// Whether evaluating the operand inside `user` repeats work: it is broadcast.
static bool repeats(Operation *user, Value operand) {
  auto in = cast<RankedTensorType>(operand.getType());
  auto out = cast<RankedTensorType>(user->getResult(0).getType());
  return isa<Elementwise>(user) && in.getNumElements() < out.getNumElements();
}

namespace {
class FuseElementwisePass
    : public nnv12::impl::FuseElementwiseBase<FuseElementwisePass> {
public:
  using FuseElementwiseBase::FuseElementwiseBase;

  void runOnOperation() override {
    auto order = llvm::to_vector(
        llvm::make_pointer_range(getOperation().getBody().front()));
    llvm::DenseSet<Operation *> taken;
    for (Operation *root : llvm::reverse(order)) {
      if (taken.contains(root) || !isFusable(root) || isView(root))
        continue;
      llvm::SetVector<Operation *> group = grow(root, taken);
      if (group.size() < 2 && !hasSplat(root))
        continue;
      taken.insert_range(group);
      fuse(root, group);
    }
  }

private:
  /// The layers that can be evaluated inside `root`, root first.
  llvm::SetVector<Operation *> grow(Operation *root,
                                    const llvm::DenseSet<Operation *> &taken) {
    llvm::SetVector<Operation *> group;
    group.insert(root);
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = 0; i < group.size(); ++i)
        for (Value operand : group[i]->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (!producer || group.contains(producer) ||
              taken.contains(producer) || group.size() >= maxLayers ||
              !isFusable(producer) ||
              !llvm::all_of(producer->getUsers(), [&](Operation *user) {
                return group.contains(user) && !repeats(user, operand);
              }))
            continue;
          group.insert(producer);
          grown = true;
        }
    }
    // A view that reads from outside the group is free where it is.
    llvm::SetVector<Operation *> kept;
    for (Operation *op : group)
      if (op == root || !isView(op) ||
          group.contains(op->getOperand(0).getDefiningOp()))
        kept.insert(op);
    return kept;
  }

  static bool isSplat(Value v) {
    auto data = ConstantData::get(v);
    return data && data->splat().has_value();
  }
  static bool hasSplat(Operation *op) {
    return isa<Elementwise>(op) && op->getNumOperands() > 1 &&
           llvm::any_of(op->getOperands(), isSplat);
  }

  void fuse(Operation *root, llvm::SetVector<Operation *> &group) {
    SmallVector<Operation *> members(group.begin(), group.end());
    llvm::sort(members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    assert(members.back() == root &&
           "all others are used inside of the group alone");
    // Splat constants go into the region, where they become immediates.
    llvm::SetVector<Value> inputs;
    SmallVector<Operation *> constants;
    for (Operation *op : members)
      for (Value operand : op->getOperands())
        if (!group.contains(operand.getDefiningOp())) {
          if (!isSplat(operand))
            inputs.insert(operand);
          else if (!llvm::is_contained(constants, operand.getDefiningOp()))
            constants.push_back(operand.getDefiningOp());
        }
    OpBuilder b(root);
    auto locations = llvm::map_to_vector(
        members, [](Operation *op) { return op->getLoc(); });
    auto fuse =
        FuseOp::create(b, FusedLoc::get(&getContext(), locations),
                       root->getResult(0).getType(), inputs.getArrayRef());
    Block *body = b.createBlock(&fuse.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    b.setInsertionPointToStart(body);
    for (Operation *op : constants)
      b.clone(*op, mapping);
    for (Operation *op : members)
      b.clone(*op, mapping);
    YieldOp::create(b, root->getLoc(), mapping.lookup(root->getResult(0)));
    root->getResult(0).replaceAllUsesWith(fuse.getOutput());
    for (Operation *op : llvm::reverse(members))
      op->erase();
    ++groups;
    fused += members.size();
  }
};
} // namespace
