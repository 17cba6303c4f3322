//===- Signatures.cpp - The layouts that a layer may have -----------------===//

#include "compiler/select/Signatures.h"

#include "compiler/processors/Processor.h"
#include "compiler/routines/Layouts.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

Value nnv12::sourceOf(Value value) {
  while (auto adapt = value.getDefiningOp<nn::AdaptOp>())
    value = adapt.getInput();
  return value;
}

/// Whether the tensor has channels that may lie in blocks, without multiplying
/// the memory by padding.
static bool hasBlocks(Value tensor) {
  RankedTensorType type = nn::typeOf(tensor);
  if (type.getRank() < 3 || type.getRank() > 5 || type.getDimSize(1) <= 1 ||
      type.getNumElements() == 0)
    return false;
  auto blocked = nn::withLayout(type, blockedTag(type.getRank()));
  return nn::Layout::of(blocked).size() <= 2 * type.getNumElements();
}

/// Whether an element of the layer's result in a block of channels is computed
/// from such blocks. In a fuse all layers must be such.
static bool keepsBlocks(Operation *layer, int64_t block) {
  if (auto fuse = dyn_cast<nn::FuseOp>(layer))
    return llvm::all_of(fuse.getBody().front().without_terminator(),
                        [&](Operation &inner) {
                          return isa<nn::ConstantOp, nn::AdaptOp>(inner) ||
                                 keepsBlocks(&inner, block);
                        });
  auto keeps = dyn_cast<nn::KeepsBlocks>(layer);
  return keeps && keeps.keepsBlocks(block);
}

/// Adds the layouts of a routine that takes any.
static void addAny(Operation *layer, const LayerLayouts &own,
                   llvm::function_ref<void(LayerLayouts)> add) {
  if (layer->getNumResults() != 1)
    return;
  Value result = layer->getResult(0);
  int64_t rank = nn::typeOf(result).getRank();
  std::string blocked = blockedTag(rank);
  SmallVector<std::string, 2> results = {""};
  if (own.results[0] == blocked ||
      (hasBlocks(result) && keepsBlocks(layer, 16)))
    results.push_back(blocked);
  for (const std::string &made : results)
    for (const std::string &read : {std::string(), blocked}) {
      LayerLayouts layouts = own;
      layouts.results[0] = made;
      for (auto [operand, tag] :
           llvm::zip(layer->getOperands(), layouts.operands)) {
        // A constant is as the result, however the others come.
        const std::string &wanted =
            operand.getDefiningOp<nn::ConstantOp>() ? made : read;
        if (wanted.empty() ||
            (nn::typeOf(operand).getRank() == rank && hasBlocks(operand)))
          tag = wanted;
      }
      add(std::move(layouts));
    }
}

std::vector<LayerLayouts> nnv12::signaturesOf(Operation *layer) {
  LayerLayouts own = LayerLayouts::of(layer);
  std::vector<LayerLayouts> all = {own};
  auto add = [&](LayerLayouts layouts) {
    if (!llvm::is_contained(all, layouts))
      all.push_back(std::move(layouts));
  };
  for (const Routine *routine : hostRoutines().matching(layer)) {
    LayoutRequest request = routine->layouts(layer);
    auto isAny = [](const std::optional<std::string> &tag) { return !tag; };
    if (llvm::all_of(request.operands, isAny) &&
        llvm::all_of(request.results, isAny)) {
      addAny(layer, own, add);
      continue;
    }
    LayerLayouts layouts = own;
    for (auto [tag, wanted] : llvm::zip(layouts.operands, request.operands))
      tag = wanted.value_or(tag);
    for (auto [tag, wanted] : llvm::zip(layouts.results, request.results))
      tag = wanted.value_or(tag);
    add(std::move(layouts));
  }
  return all;
}
