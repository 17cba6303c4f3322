//===- OverlayVerify.cpp - Verifies the overlay of a GPU ------------------===//

#include "dialects/plan/PlanDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <set>

using namespace mlir;
using namespace nnv12::plan;

SmallVector<StretchOp, 4> GpuOp::stretches() {
  return llvm::to_vector(getBody().getOps<StretchOp>());
}

std::vector<Operation *> GpuOp::preparationsInOrder() {
  auto lanes = llvm::to_vector(getBody().getOps<GpuLaneOp>());
  std::vector<size_t> at(lanes.size());
  llvm::DenseSet<Operation *> done;
  auto isReady = [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value token) {
      Operation *before = token.getDefiningOp();
      return before->getParentOp() != *this || done.contains(before);
    });
  };
  // One without times is done last.
  auto start = [](Operation *op) {
    auto times = timesOf(op);
    return times ? times->first : INT64_MAX;
  };
  std::vector<Operation *> order;
  while (true) {
    Operation *first = nullptr;
    size_t from = 0;
    for (auto [i, lane] : llvm::enumerate(lanes)) {
      if (at[i] == lane.getQueue().size())
        continue;
      Operation *op = lane.getQueue()[at[i]].getDefiningOp();
      if (!isReady(op) || (first && start(first) <= start(op)))
        continue;
      first = op;
      from = i;
    }
    if (!first)
      return order;
    ++at[from];
    done.insert(first);
    order.push_back(first);
  }
}

namespace {
class GpuVerifier {
public:
  explicit GpuVerifier(GpuOp gpu) : gpu(gpu), stretches(gpu.stretches()) {}

  LogicalResult run() {
    for (auto [name, time] :
         {std::pair("cold", gpu.getCold()), std::pair("warm", gpu.getWarm())})
      if (time && static_cast<int64_t>(*time) < 0)
        return gpu.emitOpError("found a negative time, ") << name;
    for (auto execute : gpu->getParentOp()->getRegion(0).getOps<ExecuteOp>())
      executed.insert(execute.getLayer());
    for (Operation &op : gpu.getBody().front()) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<DeviceOp, PipelineOp, UploadOp, RecordOp, StretchOp,
                    GpuLaneOp>([&](auto part) { return enter(part); })
              .Default([](Operation *op) {
                return op->emitOpError(
                    "found in a plan.gpu, expected a preparation, a stretch "
                    "or a lane");
              });
      if (failed(result))
        return failure();
    }
    if (!device)
      return gpu.emitOpError("found no plan.device");
    for (auto [i, stretch] : llvm::enumerate(stretches))
      if (!recordOf.count(i))
        return stretch.emitOpError("found no plan.record of it");
    return checkLanes();
  }

private:
  LogicalResult enter(DeviceOp op) {
    if (device)
      return op.emitOpError("found a second one");
    device = op;
    return enterPreparation(op);
  }

  LogicalResult enter(PipelineOp op) {
    if (op.getKernels().empty())
      return op.emitOpError("found no kernels, expected one or more");
    for (auto kernel : op.getKernels().getAsRange<StringAttr>())
      if (!makerOf.try_emplace(kernel.getValue(), op).second)
        return op.emitOpError("found kernel '")
               << kernel.getValue() << "', which is made already";
    return enterPreparation(op);
  }

  LogicalResult enter(UploadOp op) {
    if (!executed.count(op.getLayer()))
      return op.emitOpError("layer ") << op.getLayer() << " is not executed";
    if (!uploadOf.try_emplace(op.getLayer(), op).second)
      return op.emitOpError("layer ")
             << op.getLayer() << " is uploaded already";
    return enterPreparation(op);
  }

  LogicalResult enter(RecordOp op) {
    uint64_t number = op.getStretch();
    if (number >= stretches.size())
      return op.emitOpError("found stretch ")
             << number << ", but there are " << stretches.size();
    if (!recordOf.try_emplace(number, op).second)
      return op.emitOpError("stretch ") << number << " is recorded already";
    for (auto dispatch : stretches[number].getBody().getOps<DispatchOp>())
      for (auto kernel : dispatch.getKernels().getAsRange<StringAttr>()) {
        auto maker = makerOf.find(kernel.getValue());
        if (maker == makerOf.end() ||
            !llvm::is_contained(op.getAfter(), maker->second.getDone()))
          return op.emitOpError("expected to be after the pipeline of kernel '")
                 << kernel.getValue() << "'";
      }
    return enterPreparation(op);
  }

  LogicalResult enter(StretchOp op) {
    if (!lanes.empty())
      return op.emitOpError("comes after a lane, expected lanes last");
    uint64_t first = op.getFirst(), end = first + op.getCount();
    if (op.getCount() == 0 || end < first)
      return op.emitOpError("found ")
             << op.getCount() << " layers, expected 1 or more";
    if (last && (first < last.getFirst() ||
                 (first == last.getFirst() && op.getCount() > last.getCount())))
      return op.emitOpError("found it behind one that begins later, or is "
                            "shorter, expected them by their first layer, the "
                            "longest first");
    last = op;
    if (failed(checkCut(op)))
      return failure();
    uint64_t next = first, nextPart = first;
    for (Operation &inner : op.getBody().front()) {
      if (auto dispatch = dyn_cast<DispatchOp>(inner)) {
        if (nextPart != first)
          return dispatch.emitOpError("comes after a part, expected dispatches "
                                      "first");
        if (failed(checkLayer(dispatch, next)))
          return failure();
        if (dispatch.getFront() && !op.getDim())
          return dispatch.emitOpError(
              "found a front, expected it in a stretch that is split");
        if (auto front = dispatch.getFront();
            front && static_cast<int64_t>(*front) <= 0)
          return dispatch.emitOpError("found a front of ")
                 << static_cast<int64_t>(*front)
                 << " positions, expected 1 or more";
      } else if (auto part = dyn_cast<PartOp>(inner)) {
        if (!op.getDim())
          return part.emitOpError(
              "found in a stretch that is not split, expected no part");
        if (failed(checkLayer(part, nextPart)))
          return failure();
        if (auto back = static_cast<int64_t>(part.getBack()); back < 0)
          return part.emitOpError("found a part from position ")
                 << back << " on, expected 0 or more";
      } else {
        return inner.emitOpError("found in a plan.stretch, expected a "
                                 "plan.dispatch or a plan.part");
      }
    }
    if (next != end)
      return op.emitOpError("lacks the dispatch of layer ") << next;
    if (op.getDim() && nextPart != end)
      return op.emitOpError("lacks the part of layer ") << nextPart;
    if (op.getWarm()) {
      if (first < warmEnd)
        return op.emitOpError("found layer ")
               << first << ", which later inferences have in another stretch";
      warmEnd = end;
    }
    auto record = recordOf.find(numberOf(op));
    if (record == recordOf.end() ||
        !llvm::is_contained(op.getAfter(), record->second.getDone()))
      return op.emitOpError("expected to be after its plan.record");
    return success();
  }

  /// Checks where the stretch is cut, if it is.
  static LogicalResult checkCut(StretchOp op) {
    if (op.getDim().has_value() != op.getAt().has_value())
      return op.emitOpError("found one of dim and at, expected both or none");
    if (!op.getDim())
      return success();
    if (*op.getDim() > 2)
      return op.emitOpError("found dimension ")
             << *op.getDim()
             << ", expected 0 (batch), 1 (channels) or 2 (rows)";
    if (static_cast<int64_t>(*op.getAt()) <= 0)
      return op.emitOpError("found a cut at ")
             << static_cast<int64_t>(*op.getAt()) << ", expected 1 or more";
    if (op.getCold())
      return op.emitOpError("found a split that the first inference may take, "
                            "expected later ones alone");
    return success();
  }

  /// Checks that this is about layer `next`, and counts that up.
  template <typename LayerOp>
  LogicalResult checkLayer(LayerOp op, uint64_t &next) {
    if (op.getLayer() != next)
      return op.emitOpError("found layer ")
             << op.getLayer() << ", expected layer " << next;
    if (!executed.count(next))
      return op.emitOpError("layer ") << next << " is not executed";
    ++next;
    return success();
  }

  LogicalResult enter(GpuLaneOp op) {
    for (Value token : op.getQueue())
      if (!laneOf.try_emplace(token.getDefiningOp(), lanes.size()).second)
        return op.emitOpError("found ") << token.getDefiningOp()->getName()
                                        << ", which is in a lane already";
    lanes.push_back(op);
    return success();
  }

  /// Common to all preparations.
  template <typename Preparation>
  LogicalResult enterPreparation(Preparation op) {
    if (last || !lanes.empty())
      return op.emitOpError("comes after a stretch or a lane, expected "
                            "preparations first");
    preparations.push_back(op);
    if (op == device)
      return success();
    if (!device || !llvm::is_contained(op->getOperands(), device.getDone()))
      return op.emitOpError("expected to be after the plan.device");
    for (Value token : op->getOperands())
      if (token.getDefiningOp<ExecuteOp>())
        return op.emitOpError(
            "found an execute to be after, expected preparations");
    return success();
  }

  uint64_t numberOf(StretchOp op) const {
    return llvm::find(stretches, op) - stretches.begin();
  }

  /// Nothing of the program waits for the GPU, so only the GPU's own lanes can
  /// hold each other up.
  LogicalResult checkLanes() {
    for (Operation *op : preparations)
      if (!laneOf.contains(op))
        return op->emitOpError("is in no lane");
    for (GpuLaneOp lane : lanes)
      for (Value token : lane.getQueue())
        if (token.getDefiningOp()->getParentOp() != gpu)
          return lane.emitOpError("found ")
                 << token.getDefiningOp()->getName()
                 << ", expected preparations of the GPU";
    std::vector<Operation *> order = gpu.preparationsInOrder();
    llvm::DenseSet<Operation *> done(order.begin(), order.end());
    for (GpuLaneOp lane : lanes)
      for (Value token : lane.getQueue())
        if (!done.contains(token.getDefiningOp()))
          return lane.emitOpError("can deadlock: ")
                 << token.getDefiningOp()->getName()
                 << " waits for an operation that comes after it";
    return success();
  }

  GpuOp gpu;
  SmallVector<StretchOp, 4> stretches;
  DeviceOp device;
  StretchOp last;
  uint64_t warmEnd = 0;
  SmallVector<Operation *> preparations;
  SmallVector<GpuLaneOp> lanes;
  std::set<uint64_t> executed; ///< layers of the program
  llvm::StringMap<PipelineOp> makerOf;
  std::map<uint64_t, UploadOp> uploadOf;
  std::map<uint64_t, RecordOp> recordOf;
  llvm::DenseMap<Operation *, size_t> laneOf;
};
} // namespace

LogicalResult GpuOp::verifyRegions() { return GpuVerifier(*this).run(); }
