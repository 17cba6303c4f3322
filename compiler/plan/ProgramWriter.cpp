//===- ProgramWriter.cpp - A plan as a plan.program -----------------------===//

#include "compiler/plan/ProgramWriter.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;

int64_t nnv12::planTime(double milliseconds) {
  return std::llround(std::clamp(milliseconds * 1e6, 0.0, 1e18));
}

namespace {
/// The program's stages by the search's names of them.
struct Stages {
  /// A transform may be in two steps.
  std::map<std::pair<uint32_t, search::Stage>, SmallVector<Operation *>> first;
  /// Transforms that only a switch waits for, with their layers.
  SmallVector<std::pair<uint32_t, Operation *>> background;

  ArrayRef<Operation *> find(search::Operation operation) const {
    auto it = first.find({operation.layer, operation.stage});
    return it == first.end() ? ArrayRef<Operation *>() : it->second;
  }
};

/// Writes the stages of one layer behind the other.
class StageWriter {
public:
  StageWriter(OpBuilder &b, uint32_t number, const PlannedLayer &planned,
              Stages &stages)
      : b(b), number(number), planned(planned), op(planned.layer.op),
        location(op->getLoc()), done(plan::DoneType::get(op->getContext())),
        stages(stages) {}

  void write() {
    const Routine &routine = *planned.first().routine;
    if (planned.layer.mainOperand)
      prepare();
    SmallVector<Value> after = weightsFor(routine);
    note(search::Stage::Execute,
         plan::ExecuteOp::create(b, location, done, after, number,
                                 routine.name()));
    const Routine *later = planned.laterRoutine();
    if (!later)
      return;
    isLater = true;
    after = weightsFor(*later);
    plan::SwitchOp::create(b, location, after, number, later->name());
  }

private:
  Value note(search::Stage stage, Operation *op) {
    if (isLater)
      stages.background.push_back({number, op});
    else
      stages.first[{number, stage}].push_back(op);
    return op->getResult(0);
  }

  /// From the file to packed weights, or to transformed ones.
  void prepare() {
    const Routine &routine = *planned.first().routine;
    const plan::StoredForm &stored = planned.first().storage;
    Value last = note(search::Stage::Read,
                      plan::ReadOp::create(
                          b, location, done, number, *planned.layer.mainOperand,
                          plan::StoredFormAttr::get(b.getContext(), stored)));
    if (stored.codec == plan::Codec::zstd)
      last = note(search::Stage::Decode,
                  plan::DecodeOp::create(b, location, done, last, number));
    if (stored.narrow)
      narrow = last;
    bool isRead = readsNarrow(op, routine);
    if (stored.storage == plan::Storage::raw || (stored.narrow && !isRead))
      last = transform(last, "packed", routine);
    std::string form;
    if (stored.storage == plan::Storage::transformed || isRead)
      form = formName(op, routine);
    assert((!form.empty() || stored.storage != plan::Storage::transformed) &&
           "weights are stored in a form that the routine has");
    ready[form] = last;
  }

  /// The weights that a routine waits for, made if they are not there.
  SmallVector<Value> weightsFor(const Routine &routine) {
    if (!planned.layer.mainOperand)
      return {};
    if (readsNarrow(op, routine))
      return {narrow};
    if (narrow && !ready.lookup(""))
      ready[""] = transform(narrow, "packed", routine);
    std::string form = formName(op, routine);
    Value &weights = ready[form];
    if (!weights) {
      assert(ready.lookup("") && "a form is made of the packed weights");
      weights = transform(ready.lookup(""), form, routine);
    }
    return {weights};
  }

  Value transform(Value after, StringRef form, const Routine &routine) {
    return note(search::Stage::Transform,
                plan::TransformOp::create(b, location, done, after, number,
                                          form, routine.name()));
  }

  OpBuilder &b;
  uint32_t number;
  const PlannedLayer &planned;
  Operation *op;
  Location location;
  Type done;
  Stages &stages;
  bool isLater = false;
  /// By form; "" is packed.
  llvm::StringMap<Value> ready;
  Value narrow; ///< as the file has them, decoded
};

/// A lane while it is being filled.
struct Lane {
  SmallVector<Value> queue, background;
  double end = 0; ///< of its operations, simulated
};

/// Gives the stages of a program to lanes.
class LaneWriter {
public:
  LaneWriter(const ModelPlan &plan, const Stages &stages)
      : plan(plan), stages(stages),
        lanes(std::max<size_t>(1, plan.cpu.schedule.lanes.size())) {}

  void write(plan::ProgramOp program) {
    search::Timeline timeline =
        search::simulate(plan.problem, plan.cpu.choice, plan.cpu.schedule);
    fill();
    record(timeline);
    fillBackground();
    writeLanes(program);
    program.setCold(planTime(timeline.finish + plan.start));
    program.setWarm(planTime(plan.warmTime));
  }

private:
  /// The queues, as the search has them. A stage that it left out because it
  /// takes no time goes before the operation that waits for it. The execute
  /// lane comes last: it takes the stages that no other lane has.
  void fill() {
    const search::Schedule &found = plan.cpu.schedule;
    llvm::DenseSet<Operation *> placed, scheduled;
    for (const auto &queue : found.lanes)
      for (const search::Operation &operation : queue)
        scheduled.insert_range(stages.find(operation));
    std::function<void(Lane &, Operation *)> place = [&](Lane &lane,
                                                         Operation *op) {
      if (!placed.insert(op).second)
        return;
      // A stage with a place of its own, perhaps on another lane, keeps it.
      for (Value token : op->getOperands())
        if (!scheduled.contains(token.getDefiningOp()))
          place(lane, token.getDefiningOp());
      lane.queue.push_back(op->getResult(0));
    };
    for (size_t i = lanes.size(); i-- > 0;)
      if (i < found.lanes.size())
        for (const search::Operation &operation : found.lanes[i])
          for (Operation *op : stages.find(operation))
            place(lanes[i], op);
    assert(llvm::all_of(stages.first,
                        [&](const auto &stage) {
                          return llvm::all_of(stage.second, [&](Operation *op) {
                            return placed.contains(op);
                          });
                        }) &&
           "each stage is in a queue");
  }

  /// Notes when each stage runs; time begins when the bundle is opened.
  void record(const search::Timeline &timeline) {
    for (const search::Event &event : timeline.events) {
      assert(event.lane < lanes.size() && "the lane exists");
      double start = event.start + plan.start, end = event.end + plan.start;
      lanes[event.lane].end = std::max(lanes[event.lane].end, end);
      ArrayRef<Operation *> parts = stages.find(event.operation);
      double step = (end - start) / std::max<size_t>(1, parts.size());
      for (auto [i, op] : llvm::enumerate(parts))
        plan::setTimes(op, planTime(start + i * step),
                       planTime(start + (i + 1) * step));
    }
  }

  /// A switch's preparations go to the preparation lane that is soonest done.
  /// Where the first inference must not be later for it, to one that it has
  /// anyway, and else to the execute lane: a thread more takes time to start.
  void fillBackground() {
    for (auto [layer, op] : stages.background) {
      auto lane = std::min_element(
          lanes.begin(), lanes.end(), [&](const Lane &a, const Lane &b) {
            auto rank = [&](const Lane &of) {
              bool isExecute = &of == &lanes.front();
              bool isNew = plan.laterWaits && of.queue.empty();
              return std::pair(isExecute ? 1 : isNew ? 2 : 0, of.end);
            };
            return rank(a) < rank(b);
          });
      lane->background.push_back(op->getResult(0));
      lane->end += plan.layers[layer].laterTransform;
    }
  }

  void writeLanes(plan::ProgramOp program) {
    OpBuilder b = OpBuilder::atBlockEnd(&program.getBody().front());
    bool hasKinds = plan.device.profile->little.count > 0;
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

  const ModelPlan &plan;
  const Stages &stages;
  std::vector<Lane> lanes;
};
} // namespace

FailureOr<plan::ProgramOp> nnv12::writeProgram(const ModelPlan &plan,
                                               ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto program = plan::ProgramOp::create(
      b, main.getLoc(), plan.device.target.name, plan.threads,
      /*cold=*/IntegerAttr(), /*warm=*/IntegerAttr(), plan.laterWaits);
  b.createBlock(&program.getBody());
  Stages stages;
  for (auto [number, layer] : llvm::enumerate(plan.layers))
    StageWriter(b, number, layer, stages).write();
  if (plan.overlay)
    writeOverlay(plan, program);
  LaneWriter(plan, stages).write(program);
  if (failed(verify(program)))
    return failure();
  return program;
}
