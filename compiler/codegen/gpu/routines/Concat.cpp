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

#include <optional>

using namespace mlir;
using llvm::product_of;

namespace nnv12::codegen {
namespace {

struct CopyPush {
  enum Word : unsigned {
    Vectors, ///< of the operand; zero: nothing to do
    Run,     ///< vectors of the operand that follow each other in the result
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

  GpuSteps steps(Operation *layer) const override {
    auto op = cast<nn::ConcatOp>(layer);
    int64_t axis = op.getAxis();
    GpuSteps result;
    result.kernels.push_back(name().str());
    int64_t resultRun = *runOf(op.getOutput(), axis), offset = 0;
    for (auto [i, operand] : llvm::enumerate(layer->getOperands())) {
      int64_t run = *runOf(operand, axis);
      int64_t bytes = nn::storageSize(operand), elements = bytes / 4;
      TileMap runs =
          TileMap::grid({{elements / run, resultRun}, {resultRun, 1}});
      runs.parts[0].box.lo[1] = offset;
      runs.parts[0].box.hi[1] = offset + run;
      GpuStep step = {
          FlatGrid::over(runs, {0, 1}, FlatGrid::invocations * lanes)};
      step.append(
          {elements / lanes, run / lanes, resultRun / lanes, offset / lanes});
      using Kind = GpuStepOperand::Kind;
      step.operands = {{Kind::Result, 0}, {Kind::Operand, unsigned(i)}};
      step.grid.bytes = double(2 * bytes);
      result.steps.push_back(std::move(step));
      offset += run;
    }
    return result;
  }

  void emit(GpuBuilder &k, Operation *, unsigned) const override {
    k.kernel(
        {k.vec(lanes), k.vec(lanes)}, CopyPush::Words, FlatGrid::localSize,
        [&](ValueRange memories) {
          FlatGrid::forEach(k, k.pushWord(CopyPush::Vectors), [&](Value from) {
            Value run = k.pushWord(CopyPush::Run);
            Value which = arith::DivUIOp::create(k.b, from, run);
            Value inRun = arith::RemUIOp::create(k.b, from, run);
            Index to = k.add(k.mul(which, k.pushWord(CopyPush::ResultRun)),
                             k.add(inRun, k.pushWord(CopyPush::Offset)));
            k.store(k.load(memories[1], from), memories[0], to);
          });
        });
  }
};

} // namespace

const Routine *gpuConcatRoutine() { return theRoutine<ConcatRoutine>(); }

} // namespace nnv12::codegen
