//===- FrontMemory.cpp - Where fronts of tensors lie ----------------------===//

#include "compiler/codegen/gpu/FrontMemory.h"

#include "compiler/routines/Layouts.h"
#include "dialects/nn/Box.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::divideCeil;

FrontMemory FrontMemory::of(RankedTensorType type, unsigned dim, int64_t end) {
  nn::Layout layout = nn::Layout::of(type);
  FrontMemory front;
  front.all = front.size = layout.size();
  if (dim >= type.getRank() || end >= type.getDimSize(dim))
    return front;
  for (const nn::Layout::Axis &axis : layout.axes()) {
    if (axis.dim != dim) {
      front.pieces *= axis.extent;
      continue;
    }
    // The outermost axis of the dimension.
    front.size = int64_t(divideCeil(end, axis.step)) * axis.stride;
    front.distance = axis.extent * axis.stride;
    break;
  }
  if (front.isWhole())
    front.pieces = 1, front.size = front.all;
  if (front.pieces == 1)
    front.distance = 0;
  return front;
}

TileMap FrontMemory::map() const {
  TileMap map = pieces == 1
                    ? TileMap::grid({{all, 1}})
                    : TileMap::grid({{pieces, distance}, {distance, 1}});
  map.parts[0].box.hi.back() = size;
  return map;
}

int64_t codegen::positionsTogether(RankedTensorType type, unsigned dim) {
  nn::Layout layout = nn::Layout::of(type);
  auto outermost = llvm::find_if(
      layout.axes(), [&](const auto &axis) { return axis.dim == dim; });
  return outermost == layout.axes().end() ? 1 : outermost->step;
}

static RankedTensorType resultOf(Operation *layer) {
  return nn::typeOf(layer->getResult(0));
}

int64_t codegen::cutExtent(Operation *layer, unsigned dim) {
  RankedTensorType type = resultOf(layer);
  return dim < type.getRank() ? type.getDimSize(dim) : 1;
}

Cut codegen::wholeCut(Operation *layer) { return {0, cutExtent(layer, 0)}; }

bool codegen::isWholeCut(Operation *layer, Cut cut) {
  return cut.at == cutExtent(layer, cut.dim);
}

FrontMemory codegen::frontOfResult(Operation *layer, Cut cut) {
  if (isWholeCut(layer, cut)) {
    FrontMemory front;
    front.all = front.size = nn::Layout::of(resultOf(layer)).size();
    return front;
  }
  return FrontMemory::of(resultOf(layer), cut.dim, cut.at);
}

double codegen::shareOfFront(Operation *layer, Cut cut) {
  FrontMemory front = frontOfResult(layer, cut);
  return front.all ? double(front.elements()) / double(front.all) : 1;
}

/// The front along the dimension `dim` that holds the box; if that is all, the
/// smallest one along another dimension. Layers of a stretch are cut along the
/// same dimension, and nothing behind that front may be there.
static FrontMemory frontAround(RankedTensorType type, const nn::Box &box,
                               unsigned dim) {
  if (dim < type.getRank() && box.hi[dim] > 0 &&
      box.hi[dim] < type.getDimSize(dim))
    return FrontMemory::of(type, dim, box.hi[dim]);
  FrontMemory smallest;
  smallest.all = smallest.size = nn::Layout::of(type).size();
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (box.hi[d] > 0 && box.hi[d] < type.getDimSize(d)) {
      FrontMemory front = FrontMemory::of(type, unsigned(d), box.hi[d]);
      if (front.elements() < smallest.elements())
        smallest = front;
    }
  return smallest;
}

static nn::Box boxOf(Operation *layer, Cut cut) {
  nn::Box box = nn::Box::whole(resultOf(layer).getShape());
  box.hi[cut.dim] = cut.at;
  return box;
}

static FrontMemory frontOfOperand(Operation *layer, unsigned operand, Cut cut) {
  Value tensor = layer->getOperand(operand);
  RankedTensorType type = nn::typeOf(tensor);
  // Where several operands are one tensor, a kernel may read it by any of them.
  nn::Box needed = nn::Box::none(type.getRank());
  for (OpOperand &one : layer->getOpOperands())
    if (one.get() == tensor)
      needed.include(nn::neededPart(one, boxOf(layer, cut)));
  return frontAround(type, needed, cut.dim);
}

Work codegen::workOfFront(Work work, Operation *layer, Cut cut) {
  if (isWholeCut(layer, cut))
    return work;
  work.multiplyAdds *= shareOfFront(layer, cut);
  double touched = 0, all = 0;
  auto add = [&](Value tensor, const FrontMemory &front) {
    double size = double(nn::storageSize(tensor));
    all += size;
    touched += size * double(front.elements()) / double(front.all);
  };
  add(layer->getResult(0), frontOfResult(layer, cut));
  for (unsigned i = 0; i < layer->getNumOperands(); ++i)
    if (nn::storageSize(layer->getOperand(i)))
      add(layer->getOperand(i), frontOfOperand(layer, i, cut));
  // A layer need not read all of its operands.
  work.bytes *= touched / all;
  return work;
}

void codegen::setTouchedParts(GpuSteps &steps, Operation *layer,
                              const Routine &routine, Cut cut) {
  using Kind = GpuStepOperand::Kind;
  auto set = [](GpuStepOperand &operand, Value tensor, FrontMemory front) {
    if (front.isWhole())
      return;
    int64_t bytes = nn::storageElementSize(nn::typeOf(tensor).getElementType());
    operand.size = front.size * bytes;
    operand.pieces = front.pieces;
    operand.distance = front.distance * bytes;
  };
  std::optional<WeightForm> form = routine.weightForm(layer);
  for (GpuStep &step : steps.steps)
    for (GpuStepOperand &operand : step.operands) {
      if (operand.size || operand.kind == Kind::Temporary)
        continue;
      if (operand.kind == Kind::Result) {
        assert(operand.index == 0 && "layers that are cut have one result");
        set(operand, layer->getResult(0), frontOfResult(layer, cut));
      } else if (form && form->operand == operand.index) {
        // A form is panels of output channels, one behind the other.
        constexpr unsigned channels = 1;
        if (cut.dim != channels)
          continue;
        int64_t panels = divideCeil(cutExtent(layer, channels), block);
        assert(form->bytes % panels == 0 && "forms are panels");
        operand.size =
            form->bytes / panels * int64_t(divideCeil(cut.at, block));
      } else {
        set(operand, layer->getOperand(operand.index),
            frontOfOperand(layer, operand.index, cut));
      }
    }
}
