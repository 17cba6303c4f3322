//===- ElementViews.cpp - Fewer dimensions for the same elements ----------===//

#include "compiler/codegen/common/ElementViews.h"

#include "dialects/nn/ConstantData.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using Axis = nn::Layout::Axis;

bool codegen::hasElementKernel(Operation *layer) {
  if (layer->getNumResults() != 1)
    return false;
  ElementProgram program = ElementProgram::of(layer);
  return llvm::all_of(program.ops, [](Operation *op) {
    return elementFunction(op) != nullptr;
  });
}

ElementProgram ElementProgram::of(Operation *layer) {
  ElementProgram program;
  program.output = TensorView::of(nn::typeOf(layer->getResult(0)));
  if (!isa<nn::FuseOp>(layer)) {
    program.root = layer->getResult(0);
    program.leaves.assign(layer->operand_begin(), layer->operand_end());
    program.ops.push_back(layer);
    return program;
  }
  Block &block = layer->getRegion(0).front();
  program.root = block.getTerminator()->getOperand(0);
  for (BlockArgument argument : block.getArguments())
    program.leaves.push_back(argument);
  for (Operation &op : block.without_terminator())
    program.ops.push_back(&op);
  return program;
}

namespace {

struct Entry {
  Value value; ///< null for the output's place in memory
  TensorView view;
  bool inMemory;
};

bool isSplat(Operation *op) {
  auto data = nn::ConstantData::get(op->getResult(0));
  return data && data->size() > 0 && data->splat();
}

/// Gives the view `rank` dimensions, new ones in front.
void raiseRank(TensorView &view, size_t rank) {
  assert(view.shape.size() <= rank && "dimensions are added");
  size_t missing = rank - view.shape.size();
  view.shape.insert(view.shape.begin(), missing, 1);
  for (Axis &axis : view.axes)
    axis.dim += missing;
}

void removeDim(TensorView &view, unsigned d) {
  view.shape.erase(view.shape.begin() + d);
  llvm::erase_if(view.axes, [&](const Axis &axis) { return axis.dim == d; });
  for (Axis &axis : view.axes)
    axis.dim -= axis.dim > d;
}

bool isBlocked(const TensorView &view, unsigned d) {
  return view.block(d) != 1;
}

/// Whether dimension d + 1 follows d in memory.
bool adjacent(const TensorView &view, unsigned d) {
  for (size_t i = 0; i + 1 < view.axes.size(); ++i)
    if (view.axes[i].dim == d)
      return !isBlocked(view, d) && !isBlocked(view, d + 1) &&
             view.axes[i + 1].dim == d + 1;
  return false;
}

/// Whether the tensor may be seen with dimensions d and d + 1 as one of size
/// shape[d] * shape[d + 1] (or 1).
bool canMerge(const Entry &entry, unsigned d, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = entry.view.shape;
  if (own[d] == 1 && own[d + 1] == 1)
    return !entry.inMemory ||
           (!isBlocked(entry.view, d) && !isBlocked(entry.view, d + 1));
  return own[d] == shape[d] && own[d + 1] == shape[d + 1] &&
         (!entry.inMemory || adjacent(entry.view, d));
}

void merge(Entry &entry, unsigned d) {
  TensorView &view = entry.view;
  view.shape[d + 1] *= view.shape[d];
  if (entry.inMemory) {
    int64_t extent = 1;
    for (const Axis &axis : view.axes)
      if (axis.dim == d)
        extent = axis.extent;
    for (Axis &axis : view.axes)
      if (axis.dim == d + 1)
        axis.extent *= extent;
  }
  removeDim(view, d);
}

} // namespace

void codegen::simplifyViews(ElementEmitter &e, ElementProgram &program,
                            MutableArrayRef<unsigned> apart) {
  size_t rank = program.output.shape.size();
  std::vector<Entry> entries;
  entries.push_back({Value(), program.output, true});
  for (Value leaf : program.leaves)
    entries.push_back({leaf, e.view(leaf), true});
  for (Operation *op : program.ops) {
    Value result = op->getResult(0);
    if (isa<nn::ConstantOp>(op) && isSplat(op)) {
      // The same everywhere: its shape does not matter.
      TensorView view = e.view(result);
      view.shape.assign(view.shape.size(), 1);
      entries.push_back({result, view, false});
      continue;
    }
    assert(elementFunction(op) && "hasElementKernel() has looked");
    if (!isa<nn::Elementwise>(op))
      return;
    entries.push_back({result, e.view(result), false});
  }
  for (Entry &entry : entries) {
    if (entry.view.shape.size() > rank)
      return;
    raiseRank(entry.view, rank);
  }
  TensorView &output = entries[0].view;
  if (llvm::is_contained(output.shape, 0))
    return;

  // Everything in one layout: memory order will do, whatever it is.
  bool flat = apart.empty() && !output.isPadded();
  for (Entry &entry : entries)
    flat &= entry.view.elements() == 1 ||
            (entry.inMemory ? entry.view.isLike(output)
                            : entry.view.shape == output.shape);
  if (flat) {
    int64_t size = output.elements();
    for (Entry &entry : entries) {
      int64_t n = entry.view.elements() == 1 ? 1 : size;
      entry.view.shape.assign(1, n);
      entry.view.axes.assign(1, Axis{0, n, 1, 1});
    }
  }

  auto isApart = [&](size_t d) { return llvm::is_contained(apart, d); };
  auto closeUp = [&](size_t removed) {
    for (unsigned &d : apart)
      d -= d > removed;
  };
  for (size_t d = 0; !flat && d < output.shape.size();) {
    bool unit = output.shape.size() > 1 && output.shape[d] == 1 &&
                !isApart(d) && llvm::all_of(entries, [&](const Entry &entry) {
                  return !entry.inMemory || !isBlocked(entry.view, d);
                });
    if (!unit) {
      ++d;
      continue;
    }
    for (Entry &entry : entries)
      removeDim(entry.view, d);
    closeUp(d);
  }
  for (size_t d = 0; !flat && d + 1 < output.shape.size();) {
    SmallVector<int64_t> shape = output.shape;
    bool mayMerge = isApart(d) == isApart(d + 1) &&
                    llvm::all_of(entries, [&](const Entry &entry) {
                      return canMerge(entry, d, shape);
                    });
    if (!mayMerge) {
      ++d;
      continue;
    }
    for (Entry &entry : entries)
      merge(entry, d);
    closeUp(d);
  }
  program.output = output;
  for (Entry &entry : entries)
    if (entry.value)
      e.setView(entry.value, std::move(entry.view));
}
