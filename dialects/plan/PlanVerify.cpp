//===- PlanVerify.cpp - Verifies that a plan can be carried out -----------===//

#include "dialects/plan/PlanDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace nnv12::plan;

LogicalResult ProgramOp::verify() {
  if (getTarget().empty())
    return emitOpError("found an empty target");
  if (static_cast<int32_t>(getThreads()) < 1)
    return emitOpError("found ") << static_cast<int32_t>(getThreads())
                                 << " threads, expected 1 or more";
  for (auto [name, time] :
       {std::pair("cold", getCold()), std::pair("warm", getWarm())})
    if (time && static_cast<int64_t>(*time) < 0)
      return emitOpError("found a negative time, ") << name;
  return success();
}

LogicalResult ReadOp::verify() {
  StoredForm stored = form();
  if (stored.narrow && !isExact(*stored.narrow))
    return emitOpError("found ")
           << stored.text() << " weights, expected exact ones";
  return success();
}

namespace {
/// One layer's stages as far as they are known while the plan is read from top
/// to bottom.
struct Layer {
  ReadOp read;
  DecodeOp decode;
  ExecuteOp execute;
  SwitchOp change;
  /// Forms made by transforms.
  llvm::StringSet<> forms;
};

class Verifier {
public:
  explicit Verifier(ProgramOp program) : program(program) {}

  LogicalResult run() {
    for (Operation &op : program.getBody().front()) {
      LogicalResult result =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<ReadOp, DecodeOp, TransformOp, ExecuteOp, SwitchOp>(
                  [&](auto stage) { return enterStage(stage); })
              .Case([&](LaneOp lane) {
                lanes.push_back(lane);
                return success();
              })
              .Case([&](GpuOp gpu) { return enter(gpu); })
              .Default([&](Operation *op) {
                return op->emitOpError(
                    "found in a plan.program, expected a stage or a lane");
              });
      if (failed(result))
        return failure();
    }
    for (auto &[number, layer] : layers)
      if (!layer.execute)
        return firstStage(layer)->emitOpError("layer ")
               << number << " is prepared but never executed";
    if (lanes.empty())
      return success(); // not scheduled yet
    if (failed(assignLanes()))
      return failure();
    return findDeadlock();
  }

private:
  static Operation *firstStage(const Layer &layer) {
    if (layer.read)
      return layer.read;
    return layer.change;
  }

  /// Common to all stages.
  template <typename Stage> LogicalResult enterStage(Stage stage) {
    if (!lanes.empty())
      return stage.emitOpError("comes after a lane, expected lanes last");
    if (static_cast<int64_t>(stage.getLayer()) < 0)
      return stage.emitOpError("found layer ")
             << static_cast<int64_t>(stage.getLayer())
             << ", expected 0 or more";
    return enter(stage, layers[stage.getLayer()]);
  }

  template <typename Stage> LogicalResult once(Stage &slot, Stage stage) {
    if (slot)
      return stage.emitOpError("layer ") << stage.getLayer() << " has a second "
                                         << Stage::getOperationName();
    slot = stage;
    return success();
  }

  LogicalResult enter(ReadOp op, Layer &layer) {
    if (failed(once(layer.read, op)))
      return failure();
    if (static_cast<int64_t>(op.getOperand()) < 0)
      return op.emitOpError("found operand ")
             << static_cast<int64_t>(op.getOperand()) << ", expected 0 or more";
    forms[op.getDone()] = op.form();
    return success();
  }

  LogicalResult enter(DecodeOp op, Layer &layer) {
    if (failed(once(layer.decode, op)))
      return failure();
    auto read = op.getAfter().getDefiningOp<ReadOp>();
    if (!read || read.getLayer() != op.getLayer())
      return op.emitOpError("expected to be after the read of layer ")
             << op.getLayer();
    StoredForm form = read.form();
    if (form.codec != Codec::zstd)
      return op.emitOpError("found weights that are not compressed");
    form.codec = Codec::stored;
    forms[op.getDone()] = form;
    return success();
  }

  LogicalResult enter(TransformOp op, Layer &layer) {
    if (failed(ready(op, op.getAfter())))
      return failure();
    if (layerNumber(op.getAfter()) != op.getLayer())
      return op.emitOpError("expected to be after a preparation of layer ")
             << op.getLayer();
    const StoredForm &from = forms[op.getAfter()];
    bool isPacking = op.getForm() == "packed";
    if (op.getForm().empty() || op.getForm() == "raw" ||
        op.getForm() == "transformed")
      return op.emitOpError("found form '")
             << op.getForm()
             << "', expected 'packed' or the name of a routine's weight form";
    bool isPackable = from.storage == Storage::raw || from.narrow;
    if (isPacking ? !isPackable : from != StoredForm())
      return op.emitOpError("found ")
             << from.text() << " weights, expected "
             << (isPacking ? "raw or narrow" : "packed")
             << " ones to make form '" << op.getForm() << "' of";
    if (!layer.forms.insert(op.getForm()).second)
      return op.emitOpError("layer ")
             << op.getLayer() << " has form '" << op.getForm() << "' already";
    forms[op.getDone()] =
        isPacking ? StoredForm() : transformed(op.getForm().str());
    return success();
  }

  LogicalResult enter(ExecuteOp op, Layer &layer) {
    if (failed(once(layer.execute, op)))
      return failure();
    if (!executes.empty() && executes.back().getLayer() > op.getLayer())
      return op.emitOpError("layer ")
             << op.getLayer() << " comes after layer "
             << executes.back().getLayer() << ", expected the order of layers";
    executes.push_back(op);
    return waits(op, layer);
  }

  LogicalResult enter(SwitchOp op, Layer &layer) {
    if (failed(once(layer.change, op)))
      return failure();
    if (!layer.execute)
      return op.emitOpError("layer ")
             << op.getLayer() << " is not executed before";
    if (layer.execute.getRoutine() == op.getRoutine())
      return op.emitOpError("found routine '")
             << op.getRoutine() << "', which executes the layer already";
    return waits(op, layer);
  }

  LogicalResult enter(GpuOp op) {
    if (!lanes.empty())
      return op.emitOpError("comes after a lane, expected lanes last");
    if (overlay)
      return op.emitOpError("found a second one");
    overlay = op;
    return success();
  }

  /// The weights of an execute or switch must have come to a form that kernels
  /// read.
  template <typename Stage> LogicalResult waits(Stage op, const Layer &layer) {
    bool own = false;
    for (Value token : op.getAfter()) {
      if (failed(ready(op, token)))
        return failure();
      if (const StoredForm &form = forms[token]; !form.isReady())
        return op.emitOpError("found ")
               << form.text()
               << " weights, expected a transform to form 'packed' before";
      own |= layerNumber(token) == op.getLayer();
    }
    if (layer.read && !own)
      return op.emitOpError("expected to be after the preparation of layer ")
             << op.getLayer();
    return success();
  }

  /// Whether `token` stands for weights that need no decoding.
  LogicalResult ready(Operation *op, Value token) {
    if (token.getDefiningOp<ExecuteOp>())
      return op->emitOpError(
          "found an execute to be after, expected preparations");
    auto read = token.getDefiningOp<ReadOp>();
    if (read && read.form().codec != Codec::stored)
      return op->emitOpError(
          "found compressed weights, expected a decode before");
    return success();
  }

  static uint64_t layerNumber(Value token) {
    return token.getDefiningOp()->getAttrOfType<IntegerAttr>("layer").getInt();
  }

  LogicalResult assignLanes() {
    for (auto [index, lane] : llvm::enumerate(lanes)) {
      bool first = index == 0;
      if (first != (lane.getKind() == LaneKind::execute))
        return lane.emitOpError(first
                                    ? "found a preparation lane, expected the "
                                      "execute lane first"
                                    : "found a second execute lane");
      size_t next = 0;
      for (Value token : lane.getQueue()) {
        if (failed(take(lane, token)))
          return failure();
        auto execute = token.getDefiningOp<ExecuteOp>();
        if (!execute)
          continue;
        if (!first)
          return lane.emitOpError("found the execute of layer ")
                 << execute.getLayer() << ", expected it in the execute lane";
        if (executes[next++] != execute)
          return lane.emitOpError("found the execute of layer ")
                 << execute.getLayer() << ", expected that of layer "
                 << executes[next - 1].getLayer();
      }
      if (first && next != executes.size())
        return lane.emitOpError("lacks the execute of layer ")
               << executes[next].getLayer();
      for (Value token : lane.getBackground()) {
        if (token.getDefiningOp<ExecuteOp>())
          return lane.emitOpError("found an execute in the background");
        if (failed(take(lane, token)))
          return failure();
        background.insert(token.getDefiningOp());
      }
    }
    for (Operation &op : program.getBody().front()) {
      if (op.getNumResults() && !laneOf.contains(&op))
        return op.emitOpError("is in no lane");
      if (isa<SwitchOp, LaneOp>(op) || background.contains(&op))
        continue;
      // The preparations of a background may never be done.
      WalkResult result = op.walk([&](Operation *inner) {
        for (Value token : inner->getOperands())
          if (background.contains(token.getDefiningOp())) {
            inner->emitOpError("waits for an operation in the background");
            return WalkResult::interrupt();
          }
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
    return success();
  }

  LogicalResult take(LaneOp lane, Value token) {
    Operation *op = token.getDefiningOp();
    if (!laneOf.try_emplace(op, lane).second)
      return lane.emitOpError("found ")
             << op->getName() << " of layer " << layerNumber(token)
             << ", which is in a lane already";
    order[lane].push_back(op);
    return success();
  }

  /// Carries the plan out: each lane starts its next operation when all that it
  /// waits for has ended.
  LogicalResult findDeadlock() {
    llvm::DenseSet<Operation *> done;
    llvm::DenseMap<Operation *, size_t> at;
    for (bool moved = true; moved;) {
      moved = false;
      for (LaneOp lane : lanes) {
        ArrayRef<Operation *> queue = order[lane];
        for (size_t &next = at[lane]; next < queue.size(); ++next) {
          if (!llvm::all_of(queue[next]->getOperands(), [&](Value token) {
                return done.contains(token.getDefiningOp());
              }))
            break;
          done.insert(queue[next]);
          moved = true;
        }
      }
    }
    for (LaneOp lane : lanes)
      if (at[lane] < order[lane].size()) {
        Operation *stuck = order[lane][at[lane]];
        return lane.emitOpError("can deadlock: ")
               << stuck->getName() << " of layer "
               << layerNumber(stuck->getResult(0))
               << " waits for an operation that comes after it";
      }
    return success();
  }

  ProgramOp program;
  /// By number, so that messages do not depend on addresses.
  std::map<uint64_t, Layer> layers;
  SmallVector<ExecuteOp> executes;
  SmallVector<LaneOp> lanes;
  GpuOp overlay;
  /// The form of the weights that a preparation leaves.
  llvm::DenseMap<Value, StoredForm> forms;
  llvm::DenseMap<Operation *, LaneOp> laneOf;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> order;
  llvm::DenseSet<Operation *> background;
};
} // namespace

LogicalResult ProgramOp::verifyRegions() { return Verifier(*this).run(); }

SmallVector<LaneOp> ProgramOp::lanes() {
  return llvm::to_vector(getBody().getOps<LaneOp>());
}

llvm::DenseSet<Operation *> ProgramOp::firstOperations() {
  llvm::DenseSet<Operation *> found;
  SmallVector<Operation *> todo;
  for (auto execute : getBody().getOps<ExecuteOp>())
    todo.push_back(execute);
  while (!todo.empty()) {
    Operation *op = todo.pop_back_val();
    if (!found.insert(op).second)
      continue;
    for (Value token : op->getOperands())
      todo.push_back(token.getDefiningOp());
  }
  return found;
}

GpuOp ProgramOp::gpu() {
  auto overlays = getBody().getOps<GpuOp>();
  return overlays.empty() ? GpuOp() : *overlays.begin();
}
