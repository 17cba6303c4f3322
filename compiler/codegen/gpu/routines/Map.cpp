//===- Map.cpp - Functions of single elements, four at once ---------------===//

#include "compiler/codegen/common/ElementViews.h"
#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"
#include "compiler/routines/Work.h"

#include "dialects/nn/ConstantData.h"
#include "mlir/IR/OwningOpRef.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace mlir;

namespace nnv12::codegen {
namespace {

struct MapPush {
  enum Word : unsigned {
    Vectors, ///< of a piece that are computed; zero: nothing to do
    Apart,   ///< vectors from piece to piece; pieces are the grid's z
    Words
  };
};

/// Pointwise layers of f32 in one layout, whatever it is, or of one element:
/// memory is a row of vectors, or, of a front, pieces of it. The module knows
/// no extents.
class MapRoutine : public GpuRoutine {
public:
  MapRoutine()
      : GpuRoutine(
            "gpu.map",
            "pointwise layers of tensors in one layout, four elements an "
            "invocation") {}
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  Work work(Operation *layer) const override { return elementWork(layer); }
  std::string misfit(Operation *layer) const override {
    if (!hasElementKernel(layer) || !isNonEmptyF32(layer))
      return "it is not computed element by element in f32";
    if (layer->getNumOperands() >= GpuTarget::maxBindings)
      return "it has more operands than a kernel binds (" +
             std::to_string(GpuTarget::maxBindings) + ")";
    // An element does not know its own index.
    auto isAlike = [](Operation *op) {
      if (auto constant = dyn_cast<nn::ConstantOp>(op))
        return nn::ConstantData::get(constant.getResult())->splat().has_value();
      return isa<nn::Elementwise>(op);
    };
    ElementProgram program = ElementProgram::of(layer);
    if (!llvm::all_of(program.ops, isAlike))
      return "its tensors do not lie in memory alike";
    // Layouts are looked at here, since any will do as long as it is one.
    GpuTarget all = GpuTarget::everything();
    GpuBuilder builder(*layer->getContext(), all);
    OwningOpRef<ModuleOp> module(builder.module);
    ElementEmitter e(builder, builder.b.getI32Type());
    simplifyViews(e, program);
    int64_t elements = program.output.elements();
    bool isFlat = program.output.shape.size() == 1 &&
                  program.output.axes.size() == 1 &&
                  llvm::all_of(program.leaves, [&](Value leaf) {
                    const TensorView &view = e.view(leaf);
                    return view.elements() == 1 || view.isLike(program.output);
                  });
    if (!isFlat)
      return "its tensors do not lie in memory alike";
    if (elements % lanes || elements < lanes)
      return "its elements are no whole vectors of four";
    if (elements * 4 > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
    return "";
  }

  KernelNeeds needs(Operation *layer) const override {
    return KernelNeeds(ElementProgram::of(layer));
  }
  void emit(GpuBuilder &k, Operation *layer, unsigned) const override;
  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    RankedTensorType type = nn::typeOf(layer->getResult(0));
    int64_t unit = positionsTogether(type, dim);
    FrontMemory front = FrontMemory::of(type, dim, unit);
    if (front.pieces > 1 &&
        (front.distance % lanes ||
         std::max(front.pieces, front.distance / perGroup + 1) >
             GpuTarget::maxGroups))
      return 0;
    // The front of a piece is whole vectors.
    return unit * (lanes / std::gcd(front.size, lanes));
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override {
    FrontMemory front = frontOfResult(layer, cut);
    GpuDispatch dispatch;
    if (front.pieces == 1) {
      dispatch = FlatGrid::over(front, perGroup);
    } else {
      TileMap memory = TileMap::grid({{front.pieces, front.distance},
                                      {1, front.distance},
                                      {front.distance, 1}});
      memory.parts[0].box.hi[2] = front.size;
      dispatch = GpuDispatch::over(std::move(memory), {perGroup, 1, 1});
    }
    dispatch.append({front.size / lanes, front.distance / lanes});
    return oneStep(layer, cut, keyOfCode(layer), std::move(dispatch),
                   elementSteps(layer));
  }

private:
  static constexpr int64_t perGroup = FlatGrid::invocations * lanes;
};

void MapRoutine::emit(GpuBuilder &k, Operation *layer, unsigned) const {
  ElementEmitter e(k, k.b.getI32Type());
  ElementProgram program = ElementProgram::of(layer);
  simplifyViews(e, program);
  auto isScalar = [&](Value leaf) { return e.view(leaf).elements() == 1; };
  SmallVector<Type> operands = {k.vec(lanes)};
  for (Value leaf : program.leaves)
    operands.push_back(isScalar(leaf) ? Type(k.b.getF32Type()) : k.vec(lanes));
  auto body = [&](ValueRange memories) {
    FlatGrid::forEach(k, k.pushWord(MapPush::Vectors), [&](Value inPiece) {
      Value piece = k.groupId(GpuBuilder::Dim::Z);
      Value place =
          k.val(k.add(k.mul(piece, k.pushWord(MapPush::Apart)), inPiece));
      e.withLanes(lanes, lanes, [&] {
        for (auto [leaf, memory] :
             llvm::zip(program.leaves, memories.drop_front()))
          e.addValue(leaf, k.load(memory, isScalar(leaf) ? Index(0) : place));
        // Where an element lies no longer matters.
        Value x = e.allLanes(e.element(program.root, Coord(0)));
        k.store(x, memories.front(), place);
      });
    });
  };
  k.kernel(operands, MapPush::Words, FlatGrid::localSize, body);
}

} // namespace

const Routine *gpuMapRoutine() { return theRoutine<MapRoutine>(); }

} // namespace nnv12::codegen
