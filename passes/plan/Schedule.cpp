//===- Schedule.cpp - Give the stages of a plan to lanes ------------------===//

#include "compiler/select/ChosenPlan.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/plan/PlanningPass.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cassert>

namespace nnv12 {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
/// The program's stages by what the search calls them.
class Stages {
public:
  explicit Stages(plan::ProgramOp program) : needed(program.firstOperations()) {
    for (Operation &op : program.getBody().front())
      if (!isa<plan::LaneOp, plan::GpuOp, plan::SwitchOp>(op))
        all.push_back(&op);
    for (Operation *op : all) {
      auto layer = op->getAttrOfType<IntegerAttr>("layer").getInt();
      if (needed.contains(op))
        of[{layer, stageOf(op)}].push_back(op);
    }
  }

  /// Whether a first inference waits for it.
  bool isNeeded(Operation *op) const { return needed.contains(op); }
  ArrayRef<Operation *> operations() const { return all; }
  /// A transform may be in two steps.
  ArrayRef<Operation *> find(search::Operation operation) const {
    auto it = of.find({operation.layer, operation.stage});
    return it == of.end() ? ArrayRef<Operation *>() : it->second;
  }

private:
  static search::Stage stageOf(Operation *op) {
    return llvm::TypeSwitch<Operation *, search::Stage>(op)
        .Case<plan::ReadOp>([](auto) { return search::Stage::Read; })
        .Case<plan::DecodeOp>([](auto) { return search::Stage::Decode; })
        .Case<plan::TransformOp>([](auto) { return search::Stage::Transform; })
        .Default([](Operation *op) {
          (void)op;
          assert(isa<plan::ExecuteOp>(op) && "a program has no other stages");
          return search::Stage::Execute;
        });
  }

  SmallVector<Operation *> all;
  llvm::DenseSet<Operation *> needed;
  std::map<std::pair<int64_t, search::Stage>, SmallVector<Operation *>> of;
};

/// A lane while it is being filled.
struct Lane {
  SmallVector<Value> queue, background;
  double end = 0; ///< of what it does, simulated
};

struct Schedule : PlanningPass<nnv12::impl::ScheduleBase<Schedule>> {
  using PlanningPass::PlanningPass;

  LogicalResult run(ModuleOp module, func::FuncOp main) override {
    if (module.getOps<plan::ProgramOp>().empty())
      return module.emitError(
          "found no plan.program, expected plan-weights to have run");
    auto layers = chosenCandidates(main);
    if (failed(layers))
      return failure();
    for (auto program : module.getOps<plan::ProgramOp>())
      if (failed(schedule(program, *layers)))
        return failure();
    return success();
  }

private:
  LogicalResult schedule(plan::ProgramOp program,
                         ArrayRef<ChosenCandidate> layers) {
    auto device = this->device(program.getLoc(), program.getTarget());
    if (failed(device))
      return failure();
    if (failed(agrees(program, layers)))
      return failure();
    for (plan::LaneOp lane : program.lanes())
      lane.erase();

    PlanOptions plan;
    plan.threads = program.getThreads();
    plan.lanes = lanesOf(lanes);
    plan.parts = parts;
    CostTable costs(*device->profile, device->target, program.getThreads());
    auto chosen = chosenPlan(layers, *device->profile, costs, plan);
    if (failed(chosen))
      return failure();
    const search::Schedule &found = chosen->schedule;
    search::Timeline timeline =
        search::simulate(chosen->problem, chosen->cold, found);
    // Time begins when the bundle is opened.
    for (search::Event &event : timeline.events) {
      event.start += chosen->start;
      event.end += chosen->start;
    }
    timeline.finish += chosen->start;

    Stages stages(program);
    if (failed(backgroundIsRead(stages, layers)))
      return failure();
    std::vector<Lane> lanes(std::max<size_t>(1, found.lanes.size()));
    fill(lanes, stages, found);
    record(lanes, stages, timeline);
    fillBackground(lanes, stages, costs, layers, program.getLaterWaits());
    write(program, lanes, *device->profile);
    program.setCold(nanoseconds(timeline.finish));
    program.setWarm(nanoseconds(chosen->warmTime));
    return success();
  }

  /// The program must be of these layers and routines.
  static LogicalResult agrees(plan::ProgramOp program,
                              ArrayRef<ChosenCandidate> layers) {
    size_t executes = 0;
    for (auto execute : program.getBody().getOps<plan::ExecuteOp>()) {
      uint64_t layer = execute.getLayer();
      if (layer >= layers.size())
        return execute.emitOpError("found layer ")
               << layer << ", but @main has " << layers.size();
      StringRef routine = layers[layer].candidate.routine->name();
      if (execute.getRoutine() != routine)
        return execute.emitOpError("found routine '")
               << execute.getRoutine() << "', but the layer's nn.routine is '"
               << routine << "'";
      ++executes;
    }
    if (executes != layers.size())
      return program.emitOpError("executes ")
             << executes << " layers, but @main has " << layers.size();
    return success();
  }

  /// What no execute waits for must be the form of the routine that takes over.
  static LogicalResult backgroundIsRead(const Stages &stages,
                                        ArrayRef<ChosenCandidate> layers) {
    for (Operation *op : stages.operations()) {
      if (stages.isNeeded(op))
        continue;
      uint64_t number = op->getAttrOfType<IntegerAttr>("layer").getInt();
      assert(number < layers.size() && "each layer of a program is executed");
      const ChosenCandidate &layer = layers[number];
      auto transform = dyn_cast<plan::TransformOp>(op);
      if (!layer.warm)
        return op->emitOpError("is for no execute, and layer ")
               << number << " has no nn.warm_routine";
      if (!transform || transform.getForm().empty() ||
          transform.getForm() != formName(layer.layer.op, *layer.warm))
        return op->emitOpError("is for no execute, and the nn.warm_routine '")
               << layer.warm->name() << "' of layer " << number
               << " does not read it";
    }
    return success();
  }

  /// The queues, as the search has them. What it left out because it takes no
  /// time goes before the operation that waits for it.
  void fill(std::vector<Lane> &lanes, const Stages &stages,
            const search::Schedule &found) {
    llvm::DenseSet<Operation *> placed, scheduled;
    for (const auto &queue : found.lanes)
      for (const search::Operation &operation : queue)
        for (Operation *op : stages.find(operation))
          scheduled.insert(op);
    std::function<void(Lane &, Operation *)> place = [&](Lane &lane,
                                                         Operation *op) {
      if (!placed.insert(op).second)
        return;
      // What has a place of its own, perhaps on another lane, keeps it.
      for (Value token : op->getOperands())
        if (!scheduled.contains(token.getDefiningOp()))
          place(lane, token.getDefiningOp());
      lane.queue.push_back(op->getResult(0));
      if (!isa<plan::ExecuteOp>(op))
        ++(&lane == &lanes.front() ? onExecuteLane : onPreparationLanes);
    };
    // The execute lane last: it takes what no other lane has.
    for (size_t i = lanes.size(); i-- > 0;)
      if (i < found.lanes.size())
        for (const search::Operation &operation : found.lanes[i])
          for (Operation *op : stages.find(operation))
            place(lanes[i], op);
    assert(llvm::all_of(stages.operations(),
                        [&](Operation *op) {
                          return !stages.isNeeded(op) || placed.contains(op);
                        }) &&
           "each stage is in a queue");
  }

  void record(std::vector<Lane> &lanes, const Stages &stages,
              const search::Timeline &timeline) {
    Builder b(&getContext());
    for (const search::Event &event : timeline.events) {
      assert(event.lane < lanes.size() && "the lane exists");
      lanes[event.lane].end = std::max(lanes[event.lane].end, event.end);
      ArrayRef<Operation *> parts = stages.find(event.operation);
      double step =
          (event.end - event.start) / std::max<size_t>(1, parts.size());
      for (auto [i, op] : llvm::enumerate(parts)) {
        op->setAttr("start",
                    b.getI64IntegerAttr(nanoseconds(event.start + i * step)));
        op->setAttr("end", b.getI64IntegerAttr(
                               nanoseconds(event.start + (i + 1) * step)));
      }
    }
  }

  /// What a switch waits for goes to the preparation lane that is soonest done.
  /// Where the first inference must not be later for it, to one that it has
  /// anyway, and else to the execute lane: a thread more takes time to start.
  void fillBackground(std::vector<Lane> &lanes, const Stages &stages,
                      CostTable &costs, ArrayRef<ChosenCandidate> layers,
                      bool waits) {
    for (Operation *op : stages.operations()) {
      if (stages.isNeeded(op))
        continue;
      auto lane = std::min_element(
          lanes.begin(), lanes.end(), [&](const Lane &a, const Lane &b) {
            auto rank = [&](const Lane &of) {
              bool isExecute = &of == &lanes.front();
              bool isNew = waits && of.queue.empty();
              return std::pair(isExecute ? 1 : isNew ? 2 : 0, of.end);
            };
            return rank(a) < rank(b);
          });
      lane->background.push_back(op->getResult(0));
      uint64_t layer = op->getAttrOfType<IntegerAttr>("layer").getInt();
      lane->end += costs.transform(layers[layer].layer.op, *layers[layer].warm);
      ++inBackground;
    }
  }

  static void write(plan::ProgramOp program, ArrayRef<Lane> lanes,
                    const device::DeviceProfile &profile) {
    OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
    bool hasKinds = profile.little.count > 0;
    for (auto [i, lane] : llvm::enumerate(lanes)) {
      if (i && lane.queue.empty() && lane.background.empty())
        continue;
      auto core = !hasKinds ? plan::CoreKind::any
                  : i       ? plan::CoreKind::little
                            : plan::CoreKind::big;
      plan::LaneOp::create(b, program.getLoc(),
                           i ? plan::LaneKind::prepare
                             : plan::LaneKind::execute,
                           core, lane.queue, lane.background);
    }
  }
};
} // namespace

std::unique_ptr<Pass> nnv12::createSchedule(ScheduleOptions options,
                                            SharedProfile profile) {
  return std::make_unique<Schedule>(std::move(options), std::move(profile));
}
