//===- Concat.cpp - Tensors behind each other, four elements at once ------===//
//
// Each operand is copied in a step of its own: its runs, the elements that stay
// side by side, are spread over those of the result. The module knows no
// extents.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "compiler/codegen/gpu/routines/GpuRoutines.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include "dialects/nn/Layout.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace mlir;
using llvm::product_of;

namespace nnv12::codegen {
namespace {

struct CopyPush {
  enum Word : unsigned {
    Vectors,    ///< of the operand that are copied; zero: nothing to do
    Run,        ///< of them, those that follow each other in the result
    OperandRun, ///< vectors from run to run
    ResultRun,
    Offset, ///< of the operand in a run of the result
    Words
  };
};

/// Elements of a tensor from a dimension on, which follow each other in memory;
/// none where the layout has them elsewhere.
std::optional<int64_t> runOf(Value tensor, int64_t axis) {
  RankedTensorType type = nn::typeOf(tensor);
  StringRef tag = nn::layoutTag(type);
  if (!tag.empty() && tag != blockedTag(type.getRank()))
    return std::nullopt;
  SmallVector<int64_t> shape(type.getShape());
  std::fill_n(shape.begin(), axis, 1);
  return nn::Layout::of(type.clone(shape)).size();
}

class ConcatRoutine : public GpuRoutine {
public:
  ConcatRoutine()
      : GpuRoutine("gpu.concat",
                   "tensors behind each other, four elements an invocation") {}
  LayoutRequest layouts(Operation *layer) const override {
    return anyLayouts(layer);
  }
  Work work(Operation *layer) const override {
    return {double(elementsOf(layer->getResult(0))), bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const override {
    auto op = dyn_cast<nn::ConcatOp>(layer);
    if (!op || !isNonEmptyF32(op))
      return "it is no concatenation of f32";
    int64_t axis = op.getAxis();
    StringRef tag = nn::layoutTag(op.getOutput().getType());
    for (auto [i, operand] : llvm::enumerate(layer->getOperands())) {
      std::optional<int64_t> run = runOf(operand, axis);
      if (!run || nn::layoutTag(operand.getType()) != tag)
        return "its tensors do not lie in memory alike";
      if (*run % lanes != 0)
        return "its elements are no whole vectors of four";
      bool isLast = i + 1 == layer->getNumOperands();
      if (!tag.empty() && axis == 1 && !isLast && shapeOf(operand)[1] % block)
        return "its channels are no whole blocks of 16";
    }
    if (nn::storageSize(op.getOutput()) > GpuTarget::maxBufferBytes)
      return GpuTarget::tooLarge;
    return "";
  }

  void emit(GpuBuilder &k, Operation *, unsigned) const override {
    k.kernel(
        {k.vec(lanes), k.vec(lanes)}, CopyPush::Words, FlatGrid::localSize,
        [&](ValueRange memories) {
          FlatGrid::forEach(k, k.pushWord(CopyPush::Vectors), [&](Value i) {
            Value run = k.pushWord(CopyPush::Run);
            Value which = arith::DivUIOp::create(k.b, i, run);
            Value inRun = arith::RemUIOp::create(k.b, i, run);
            Index place =
                k.add(k.mul(which, k.pushWord(CopyPush::OperandRun)), inRun);
            Index to = k.add(k.mul(which, k.pushWord(CopyPush::ResultRun)),
                             k.add(inRun, k.pushWord(CopyPush::Offset)));
            k.store(k.load(memories[1], place), memories[0], to);
          });
        });
  }

  int64_t cutUnit(Operation *layer, unsigned dim) const override {
    auto op = cast<nn::ConcatOp>(layer);
    int64_t axis = op.getAxis();
    RankedTensorType type = nn::typeOf(op.getOutput());
    int64_t unit = positionsTogether(type, dim);
    FrontMemory front = FrontMemory::of(type, dim, unit);
    // A front is the first of several runs.
    if (dim < axis)
      return front.pieces == 1 ? unit : 0;
    // It begins the only run, or each plane of the only run.
    bool beginsRun = front.pieces == 1,
         beginsPlanes = dim > axis && runsOf(op.getOutput(), axis) == 1 &&
                        front.distance % lanes == 0;
    return beginsRun || beginsPlanes
               ? unit * (lanes / std::gcd(front.size, lanes))
               : 0;
  }

protected:
  GpuSteps stepsOf(Operation *layer, Cut cut) const override;

private:
  static int64_t runsOf(Value tensor, int64_t axis) {
    return nn::Layout::of(nn::typeOf(tensor)).size() / *runOf(tensor, axis);
  }
};

GpuSteps ConcatRoutine::stepsOf(Operation *layer, Cut cut) const {
  auto op = cast<nn::ConcatOp>(layer);
  int64_t axis = op.getAxis();
  const FrontMemory front = frontOfResult(layer, cut);
  GpuSteps result;
  result.kernels.push_back(name().str());
  int64_t resultRun = *runOf(op.getOutput(), axis), offset = 0;
  for (auto [i, operand] : llvm::enumerate(layer->getOperands())) {
    const int64_t wholeRun = *runOf(operand, axis);
    int64_t runs = runsOf(operand, axis), run = wholeRun, apart = wholeRun;
    int64_t toApart = resultRun;
    if (front.pieces > 1) {
      // There is one run, and the front of each of its planes is copied.
      runs = wholeRun / front.distance, run = front.size;
      apart = toApart = front.distance;
    } else if (!front.isWhole() && int64_t(cut.dim) < axis) {
      runs = front.size / resultRun;
    } else if (!front.isWhole()) {
      run = std::min(run, front.size - offset);
    }
    if (run <= 0)
      break;
    TileMap map = TileMap::grid({{front.all / toApart, toApart}, {toApart, 1}});
    TileMap::Box &box = map.parts[0].box;
    int64_t first = front.pieces > 1 ? offset / toApart : 0;
    box.lo = {first, front.pieces > 1 ? 0 : offset};
    box.hi = {first + runs, box.lo[1] + run};
    GpuStep step = {
        FlatGrid::over(std::move(map), {0, 1}, FlatGrid::invocations * lanes)};
    step.append({runs * run / lanes, run / lanes, apart / lanes,
                 toApart / lanes, offset / lanes});
    using Kind = GpuStepOperand::Kind;
    step.operands = {{Kind::Result, 0}, {Kind::Operand, unsigned(i)}};
    step.grid.bytes = double(2 * runs * run * 4);
    result.steps.push_back(std::move(step));
    offset += wholeRun;
  }
  return result;
}

} // namespace

const Routine *gpuConcatRoutine() { return theRoutine<ConcatRoutine>(); }

} // namespace nnv12::codegen
