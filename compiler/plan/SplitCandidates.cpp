//===- SplitCandidates.cpp - Where layers can be cut in two ---------------===//

#include "compiler/plan/SplitCandidates.h"

#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/video/Dependence.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using codegen::GpuRoutine;
using codegen::PartGrid;

/// Positions at which the time of a front is asked for, about; between them the
/// search takes it as even.
static constexpr int64_t askedEnds = 16;

namespace {
class SplitFinder {
public:
  SplitFinder(ArrayRef<PlannedLayer> layers,
              const StretchCandidates &candidates, const SplitDevice &device,
              const search::Choice &later, search::Problem &problem)
      : layers(layers), candidates(candidates), device(device), later(later),
        problem(problem) {}

  void run() {
    for (uint32_t i = 0; i < layers.size(); ++i) {
      Operation *op = layers[i].layer.op;
      if (candidates.layers[i].empty() || op->getNumResults() != 1)
        continue;
      auto rank = unsigned(nn::typeOf(op->getResult(0)).getRank());
      for (unsigned dim = 0; dim < std::min(rank, numCutDims); ++dim)
        if (addBack(i, dim))
          for (auto [way, costs] : llvm::zip_equal(candidates.layers[i],
                                                   problem.layers[i].inStretch))
            addFront(op, dim, way, problem.layers[i].backs.back(), costs);
    }
    for (const TensorRead &read : candidates.reads)
      addReaches(read);
  }

private:
  /// False where the CPUs cannot compute a back along the dimension.
  bool addBack(uint32_t layer, unsigned dim) {
    const PlannedLayer &planned = layers[layer];
    Operation *op = planned.layer.op;
    const Routine *routine = planned.candidates[planned.later].routine;
    const auto &own = codegen::CpuRoutine::of(*routine);
    std::string text = std::to_string(dim) + ":" + kernelText(op, *routine);
    auto [it, isNew] = grids.try_emplace(text);
    if (isNew)
      it->second = partGrid(op, own, dim, device.cpu.upTo(own.extension(op)));
    if (!it->second)
      return false;
    search::Back back;
    back.dim = dim;
    back.extent = uint32_t(nn::typeOf(op->getResult(0)).getDimSize(dim));
    back.whole = problem.layers[layer].candidates[later[layer]].execute;
    const PartGrid &grid = *it->second;
    // Tiles of their own have a time of their own, if it was measured.
    double whole = back.whole;
    if (grid.cells) {
      KernelFacts facts =
          kernelFacts(op, *routine, own.targetOf(op, device.cpu));
      facts.key =
          partKey(op, *routine, dim, device.cpu.upTo(own.extension(op)).name);
      device::Cost cost = device::cost(device.profile, facts, device.threads);
      if (cost.measured)
        whole = cost.milliseconds;
    }
    device::LayerPart part;
    part.whole = whole;
    part.wholeTiles = double(grid.tiles);
    part.weightBytes =
        bytesOfAllParts(planned, *routine, {dim, grid.starts.back()});
    auto stored = double(storedExtent(nn::typeOf(op->getResult(0)), dim));
    for (auto [start, ranges] : llvm::zip_equal(grid.starts, grid.ranges)) {
      back.starts.push_back(uint32_t(start));
      part.share = 1 - double(start) / stored;
      part.ranges.clear();
      for (TileRange range : ranges)
        part.ranges.push_back(double(range.end - range.begin));
      back.times.push_back(device::partCost(
          device.profile, routine->name().str(), part, device.threads));
    }
    problem.layers[layer].backs.push_back(std::move(back));
    return true;
  }

  /// Weights of which the cut's back needs all, in the routine's form.
  static double bytesOfAllParts(const PlannedLayer &planned,
                                const Routine &routine, Cut cut) {
    Operation *op = planned.layer.op;
    nn::Box back = nn::Box::whole(nn::typeOf(op->getResult(0)).getShape());
    back.lo[cut.dim] = cut.at;
    double bytes = 0;
    std::optional<WeightForm> form = routine.weightForm(op);
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getDefiningOp<nn::ConstantOp>() &&
          nn::neededPart(operand, back) ==
              nn::Box::whole(nn::typeOf(operand.get()).getShape()))
        bytes += form && planned.layer.mainOperand == operand.getOperandNumber()
                     ? form->bytes
                     : double(nn::storageSize(operand.get()));
    return bytes;
  }

  void addFront(Operation *op, unsigned dim, const StretchCandidate &way,
                const search::Back &back, search::Candidate &costs) const {
    int64_t unit = way.routine->cutUnit(op, dim), extent = back.extent;
    if (!unit)
      return;
    search::Front front;
    front.dim = dim;
    front.unit = uint32_t(unit);
    std::vector<double> wholeTimes;
    for (const KernelFacts &step : way.steps)
      wholeTimes.push_back(predicted(step));
    int64_t step =
        llvm::alignTo(std::max<int64_t>(1, extent / askedEnds), unit);
    for (int64_t end = step; end < extent; end += step) {
      front.ends.push_back(uint32_t(end));
      // The mean group of the whole may have less to do than that of a front.
      front.times.push_back(
          std::min(costs.execute, frontTime(op, {dim, end}, way, wholeTimes)));
    }
    front.ends.push_back(uint32_t(extent));
    front.times.push_back(costs.execute);
    costs.fronts.push_back(std::move(front));
  }

  /// The time of a step whatever has been measured.
  double predicted(KernelFacts step) const {
    step.key.clear();
    return gpu.cost(device.profile, step, /*threads=*/1).milliseconds;
  }

  /// A measured step takes as much more or less than predicted as the whole
  /// layer's does.
  double frontTime(Operation *op, Cut cut, const StretchCandidate &way,
                   ArrayRef<double> wholeTimes) const {
    codegen::GpuSteps plain = way.routine->front(op, cut);
    std::vector<KernelFacts> steps =
        codegen::stepFacts(op, *way.routine, plain, plain, device.gpu);
    assert(steps.size() == way.steps.size() && "the steps of the whole layer");
    double time = 0;
    for (auto [i, step] : llvm::enumerate(steps)) {
      step.fromMemory = way.steps[i].fromMemory;
      double scale = wholeTimes[i] > 0 ? way.stepTimes[i] / wholeTimes[i] : 1;
      time += predicted(step) * scale;
    }
    return time;
  }

  void addReaches(const TensorRead &read) {
    Operation *op = layers[read.layer].layer.op;
    if (op->getNumResults() != 1)
      return;
    OpOperand &operand = op->getOpOperand(read.operand);
    ArrayRef<int64_t> tensor = nn::typeOf(read.value).getShape(),
                      operandShape = nn::typeOf(operand.get()).getShape(),
                      result = nn::typeOf(op->getResult(0)).getShape();
    unsigned dims = std::min(
        {numCutDims, unsigned(result.size()), unsigned(tensor.size())});
    for (unsigned dim = 0; dim < dims; ++dim) {
      search::Reach reach;
      reach.reader = read.layer;
      reach.dim = dim;
      reach.extent = uint32_t(tensor[dim]);
      reach.kind = search::Reach::Kind::All;
      // Where the operand is made of several tensors, or is one in another
      // shape, positions are the tensor's along dimensions that are the same.
      bool isAlike = operand.get() == read.value;
      if (!isAlike && operandShape.size() == tensor.size() && dim != 1) {
        isAlike = true;
        for (size_t d = 0; d < tensor.size(); ++d)
          isAlike &= d == 1 || tensor[d] == operandShape[d];
      }
      // The window of positions that need nothing says nothing.
      if (isAlike && needsEverywhere(operand, dim))
        if (auto window = video::windowAlong(operand, 0, dim, dim))
          setWindow(*window, result[dim], reach);
      problem.tensors[read.tensor].reaches.push_back(reach);
    }
  }

  /// Whether each position of the result needs some of the operand.
  static bool needsEverywhere(OpOperand &operand, unsigned dim) {
    ArrayRef<int64_t> shape =
        nn::typeOf(operand.getOwner()->getResult(0)).getShape();
    for (int64_t i = 0; i < shape[dim]; ++i) {
      nn::Box part = nn::Box::whole(shape);
      part.lo[dim] = i;
      part.hi[dim] = i + 1;
      if (nn::neededPart(operand, part).isEmpty())
        return false;
    }
    return true;
  }

  /// Leaves a window that holds all for each position as it is.
  static void setWindow(const video::Window &window, int64_t positions,
                        search::Reach &reach) {
    auto [firstLow, firstHigh] = window.of(0);
    auto [lastLow, lastHigh] = window.of(positions - 1);
    if (lastLow <= 0 && firstHigh >= int64_t(reach.extent) - 1)
      return;
    reach.kind = search::Reach::Kind::Window;
    reach.num = window.num;
    reach.den = window.den;
    reach.low = window.low;
    reach.high = window.high;
  }

  ArrayRef<PlannedLayer> layers;
  const StretchCandidates &candidates;
  const SplitDevice &device;
  const search::Choice &later;
  search::Problem &problem;
  const Processor &gpu = gpuProcessor();
  /// By dimension and kernel: equal layers have equal grids.
  llvm::StringMap<std::optional<PartGrid>> grids;
};
} // namespace

void nnv12::addSplits(ArrayRef<PlannedLayer> layers,
                      const StretchCandidates &candidates,
                      const SplitDevice &device, const search::Choice &later,
                      search::Problem &problem) {
  SplitFinder(layers, candidates, device, later, problem).run();
}
