//===- ProgramPlan.cpp - Operations, memory and lanes of a program --------===//

#include "compiler/emit/ProgramPlan.h"

#include "compiler/emit/Aliases.h"
#include "compiler/emit/ArenaPlan.h"
#include "compiler/emit/LayerName.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

static RankedTensorType tensor(Value v) {
  return cast<RankedTensorType>(v.getType());
}
static int64_t bytes(Value v) { return nn::storageSize(tensor(v)); }

namespace {
/// A buffer of the arena while it is being planned.
struct Buffer {
  Lifetime lifetime;
  bool shared = false; ///< has aliases: never reused in place
};

/// One execute while it is being planned.
struct Step {
  Operation *layer;
  unsigned kernel;
  /// Operands whose memory result 0 may take.
  SmallVector<unsigned> inPlaceOperands;
  /// The plan's operations for this layer, in their order.
  SmallVector<Operation *> stages;
};

/// What is known at the end of a plan operation.
struct Done {
  /// Where it stands in its list: in several parts where threads can share it,
  /// nowhere where there was nothing to do.
  SmallVector<artifact::LaneEntry, 1> entries;
  /// The layer's main weights, as far as they have come.
  artifact::Operand weights = {};
};

class Planner {
public:
  Planner(func::FuncOp main, plan::ProgramOp plan, KernelTable &kernels,
          WeightTable &weights, uint32_t weightsSegment,
          artifact::Program &program)
      : main(main), plan(plan), kernels(kernels), weights(weights),
        weightsSegment(weightsSegment), program(program), aliases(main) {}

  LogicalResult run() {
    if (failed(collect()))
      return failure();
    reuse();
    std::vector<Lifetime> lifetimes;
    for (Buffer &buffer : buffers)
      lifetimes.push_back(buffer.lifetime);
    arena = planArena(lifetimes);
    program.arenaSize = arena.size;
    for (auto [index, step] : llvm::enumerate(steps))
      emit(index, step);
    if (!plan)
      return success();
    for (auto lane : plan.getBody().getOps<plan::LaneOp>())
      emit(lane);
    program.predictedCold = plan.getCold().value_or(0);
    program.predictedWarm = plan.getWarm().value_or(0);
    return success();
  }

  /// By operation of the program.
  std::vector<Operation *> layers() const {
    std::vector<Operation *> result;
    for (const Step &step : steps)
      result.push_back(step.layer);
    return result;
  }

private:
  //===--------------------------------------------------------------------===//
  // Activations
  //===--------------------------------------------------------------------===//

  LogicalResult collect() {
    Block &block = main.getBody().front();
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      outputs[aliases.find(v).base] = i;
    for (auto [i, v] : llvm::enumerate(block.getArguments()))
      inputs[v] = i;
    llvm::DenseMap<int64_t, SmallVector<Operation *>> stages;
    if (plan)
      for (Operation &op : plan.getBody().front())
        if (auto layer = op.getAttrOfType<IntegerAttr>("layer"))
          stages[layer.getInt()].push_back(&op);
    for (Operation &op : block) {
      if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
          op.hasTrait<OpTrait::IsTerminator>())
        continue;
      const codegen::Routine *routine = codegen::routineFor(&op);
      if (!llvm::is_contained(codegen::routinesFor(&op), routine))
        return op.emitOpError(
            "found no routine that computes it in these layouts");
      Step step;
      step.layer = &op;
      step.kernel = kernels.execute(&op, *routine);
      const codegen::KernelInfo &info = kernels[step.kernel].info;
      if (info.tiles == 0)
        continue;
      step.inPlaceOperands = info.inPlaceOperands;
      if (auto number = op.getAttrOfType<IntegerAttr>("nn.layer"))
        step.stages = stages.lookup(number.getInt());
      for (Operation *stage : step.stages)
        if (auto change = dyn_cast<plan::SwitchOp>(stage)) {
          if (!llvm::is_contained(codegen::routinesFor(&op),
                                  codegen::routineNamed(change.getRoutine())))
            return change.emitOpError("found routine '")
                   << change.getRoutine()
                   << "', expected one that computes the layer";
          auto &other = kernels[replacement(&op, change)].info.inPlaceOperands;
          llvm::erase_if(step.inPlaceOperands, [&](unsigned i) {
            return !llvm::is_contained(other, i);
          });
        }
      int64_t number = steps.size();
      for (Value v : op.getResults())
        touch(v, number);
      for (Value v : op.getOperands())
        touch(v, number);
      steps.push_back(std::move(step));
    }
    return success();
  }

  unsigned replacement(Operation *layer, plan::SwitchOp change) {
    return kernels.execute(layer, *codegen::routineNamed(change.getRoutine()));
  }

  /// Notes that `v` is written or read at `step`.
  void touch(Value v, int64_t step) {
    Value base = aliases.find(v).base;
    bool ownMemory = base.getDefiningOp() &&
                     !base.getDefiningOp<nn::ConstantOp>() &&
                     !outputs.contains(base);
    if (!ownMemory)
      return;
    auto [it, isNew] = bufferOf.try_emplace(base, buffers.size());
    if (isNew)
      buffers.push_back({{static_cast<uint64_t>(bytes(base)), step, step}});
    Buffer &buffer = buffers[it->second];
    buffer.lifetime.last = std::max(buffer.lifetime.last, step);
    buffer.shared |= base != v;
  }

  /// A result takes the memory of an operand that dies with it.
  void reuse() {
    for (auto [number, step] : llvm::enumerate(steps)) {
      Operation *op = step.layer;
      if (!bufferOf.contains(op->getResult(0)))
        continue;
      for (unsigned i : step.inPlaceOperands) {
        Value operand = op->getOperand(i);
        auto source = bufferOf.find(operand);
        if (source == bufferOf.end())
          continue;
        unsigned from = source->second, to = bufferOf[op->getResult(0)];
        Buffer &a = buffers[from], &b = buffers[to];
        if (from == to || a.shared || b.shared ||
            a.lifetime.size != b.lifetime.size ||
            a.lifetime.last != static_cast<int64_t>(number) ||
            b.lifetime.first != static_cast<int64_t>(number) ||
            llvm::count(op->getOperands(), operand) != 1)
          continue;
        a.lifetime.last = b.lifetime.last;
        b.lifetime.size = 0; // gone
        b.lifetime.last = b.lifetime.first;
        for (auto &entry : bufferOf)
          if (entry.second == to)
            entry.second = from;
        break;
      }
    }
  }

  artifact::Operand place(Value v) {
    uint64_t size = bytes(v);
    Aliases::Place place = aliases.find(v);
    uint64_t offset = place.offset;
    if (place.base.getDefiningOp<nn::ConstantOp>())
      return {artifact::Space::Weights, weightsSegment,
              weights.add(place.base).offset + offset, size};
    if (auto it = inputs.find(place.base); it != inputs.end())
      return {artifact::Space::Input, it->second, offset, size};
    if (auto it = outputs.find(place.base); it != outputs.end())
      return {artifact::Space::Output, it->second, offset, size};
    assert(bufferOf.contains(place.base) && "touched by the step that has it");
    return {artifact::Space::Arena, 0,
            arena.offsets[bufferOf.lookup(place.base)] + offset, size};
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  artifact::Operand stored(const WeightTable::Place &place) {
    return {artifact::Space::Weights, weightsSegment, place.offset, place.size};
  }

  artifact::Operand prepared(uint64_t size) {
    artifact::Operand operand = {artifact::Space::Prepared, 0,
                                 program.preparedSize, size};
    program.preparedSize += llvm::alignTo(size, WeightTable::alignment);
    return operand;
  }

  /// Appends a preparation that waits for `after`.
  Done prepare(artifact::Operation operation, Value after) {
    if (after)
      addDependency(operation, after);
    Done result;
    result.weights = operation.operands[0];
    result.entries = {{artifact::LaneKind::Prepare,
                       static_cast<uint32_t>(program.preparations.size())}};
    program.preparations.push_back(std::move(operation));
    return result;
  }

  void addDependency(artifact::Operation &operation, Value after) {
    assert(done.contains(after) &&
           "stages stand in the order in which they are done");
    addDependency(operation, done[after]);
  }
  static void addDependency(artifact::Operation &operation, const Done &after) {
    for (artifact::LaneEntry entry : after.entries)
      operation.after.push_back(entry.index);
  }

  Done read(Operation *layer, plan::ReadOp op) {
    uint64_t begin = weights.size();
    for (OpOperand &operand : layer->getOpOperands()) {
      Value constant = aliases.find(operand.get()).base;
      if (!constant.getDefiningOp<nn::ConstantOp>())
        continue;
      StoredForm form;
      bool isMain = operand.getOperandNumber() == op.getOperand();
      if (isMain)
        form = {op.getStorage(), op.getCodec(), codegen::routineFor(layer),
                layer};
      WeightTable::Place place = weights.add(constant, form);
      if (isMain)
        main_[layer] = {operand.getOperandNumber(), place};
    }
    Done result;
    if (weights.size() != begin) {
      artifact::Operation operation;
      operation.kind = artifact::OperationKind::Read;
      operation.layer = layerName(layer->getLoc());
      operation.operands = {{artifact::Space::Weights, weightsSegment, begin,
                             weights.size() - begin}};
      result = prepare(std::move(operation), nullptr);
    }
    result.weights = stored(main_[layer].place);
    return result;
  }

  Done decode(Operation *layer, plan::DecodeOp op) {
    assert(main_.contains(layer) && "its read comes first");
    const WeightTable::Place &place = main_[layer].place;
    Done result;
    result.weights = prepared(place.bytes);
    uint64_t position = result.weights.offset;
    for (const WeightTable::Frame &frame : place.frames) {
      artifact::Operation operation;
      operation.kind = artifact::OperationKind::Decode;
      operation.layer = layerName(layer->getLoc());
      operation.operands = {
          {artifact::Space::Prepared, 0, position, frame.bytes},
          {artifact::Space::Weights, weightsSegment, frame.offset, frame.size}};
      operation.codec = artifact::Codec::Zstd;
      operation.planes = frame.planes;
      llvm::append_range(result.entries,
                         prepare(std::move(operation), op.getAfter()).entries);
      position += frame.bytes;
    }
    return result;
  }

  Done transform(Operation *layer, plan::TransformOp op) {
    artifact::Operation operation;
    operation.kind = artifact::OperationKind::Transform;
    operation.layer = layerName(layer->getLoc());
    Value constant = aliases.find(layer->getOperand(main_[layer].operand)).base;
    uint64_t size = bytes(constant);
    if (op.getForm() == "packed") {
      operation.kernel = kernels.pack(tensor(constant));
    } else {
      auto &routine = *codegen::routineNamed(op.getRoutine());
      operation.kernel = kernels.transform(layer, routine);
      size = routine.weightForm(layer)->bytes;
    }
    operation.operands = {prepared(size), done[op.getAfter()].weights};
    operation.tiles = kernels[operation.kernel].info.tiles;
    return prepare(std::move(operation), op.getAfter());
  }

  //===--------------------------------------------------------------------===//
  // Executes and lanes
  //===--------------------------------------------------------------------===//

  /// An execute of the layer by a kernel, with what `after` prepared.
  artifact::Operation execute(Operation *layer, unsigned kernel,
                              const codegen::Routine &routine,
                              ValueRange after) {
    artifact::Operation result;
    result.layer = layerName(layer->getLoc());
    result.kernel = kernel;
    result.tiles = kernels[kernel].info.tiles;
    for (Value token : after)
      addDependency(result, token);
    auto main = main_.find(layer);
    std::optional<codegen::WeightForm> form = routine.weightForm(layer);
    for (Value v : layer->getResults())
      result.operands.push_back(place(v));
    for (OpOperand &operand : layer->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      Value base = aliases.find(operand.get()).base;
      bool isForm = form && form->operand == number;
      if (main != main_.end() && main->second.operand == number &&
          !after.empty()) {
        Done &ready = done[after.back()];
        result.operands.push_back(ready.weights);
        ready_[keyOf(base, isForm ? form->name : "")] = ready;
      } else if (auto it = ready_.find(keyOf(base, isForm ? form->name : ""));
                 it != ready_.end()) {
        // Weights that an earlier layer shares, in the same form.
        result.operands.push_back(it->second.weights);
        addDependency(result, it->second);
      } else if (isForm) {
        result.operands.push_back(
            stored(weights.add(base, {plan::Storage::transformed,
                                      plan::Codec::stored, &routine, layer})));
      } else {
        result.operands.push_back(place(operand.get()));
      }
    }
    return result;
  }

  using ReadyKey = std::tuple<const void *, const void *, std::string>;
  static ReadyKey keyOf(Value base, StringRef form) {
    auto constant = base.getDefiningOp<nn::ConstantOp>();
    return {constant ? constant.getValue().getAsOpaquePointer() : nullptr,
            base.getType().getAsOpaquePointer(), form.str()};
  }

  void emit(uint32_t number, const Step &step) {
    Operation *layer = step.layer;
    bool isPlanned = false;
    for (Operation *stage : step.stages)
      llvm::TypeSwitch<Operation *>(stage)
          .Case([&](plan::ReadOp op) { done[op.getDone()] = read(layer, op); })
          .Case([&](plan::DecodeOp op) {
            done[op.getDone()] = decode(layer, op);
          })
          .Case([&](plan::TransformOp op) {
            done[op.getDone()] = transform(layer, op);
          })
          .Case([&](plan::ExecuteOp op) {
            isPlanned = true;
            program.operations.push_back(execute(layer, step.kernel,
                                                 *codegen::routineFor(layer),
                                                 op.getAfter()));
            done[op.getDone()].entries = {
                {artifact::LaneKind::Execute, number}};
          })
          .Case([&](plan::SwitchOp op) {
            program.switches.push_back(
                {number, execute(layer, replacement(layer, op),
                                 *codegen::routineNamed(op.getRoutine()),
                                 op.getAfter())});
          });
    for (Operation *stage : step.stages)
      if (stage->getNumResults())
        expect(stage, done[stage->getResult(0)].entries);
    if (!isPlanned)
      program.operations.push_back(
          execute(layer, step.kernel, *codegen::routineFor(layer), {}));
  }

  /// Notes when the plan expects a stage to run.
  void expect(Operation *stage, ArrayRef<artifact::LaneEntry> entries) {
    auto start = stage->getAttrOfType<IntegerAttr>("start");
    auto end = stage->getAttrOfType<IntegerAttr>("end");
    if (!start || !end)
      return;
    int64_t length = end.getInt() - start.getInt(), count = entries.size();
    for (auto [i, entry] : llvm::enumerate(entries)) {
      artifact::Operation &operation =
          (entry.kind == artifact::LaneKind::Execute
               ? program.operations
               : program.preparations)[entry.index];
      int64_t part = i;
      operation.predictedStart = start.getInt() + length * part / count;
      operation.predictedEnd = start.getInt() + length * (part + 1) / count;
    }
  }

  void emit(plan::LaneOp op) {
    artifact::Lane lane;
    lane.kind = static_cast<artifact::LaneKind>(op.getKind());
    lane.core = static_cast<artifact::CoreKind>(op.getCore());
    for (Value token : op.getQueue())
      llvm::append_range(lane.queue, done[token].entries);
    for (Value token : op.getBackground())
      for (artifact::LaneEntry entry : done[token].entries)
        lane.background.push_back(entry.index);
    program.lanes.push_back(std::move(lane));
  }

  func::FuncOp main;
  plan::ProgramOp plan;
  KernelTable &kernels;
  WeightTable &weights;
  uint32_t weightsSegment;
  artifact::Program &program;
  Aliases aliases;
  std::vector<Step> steps;
  llvm::DenseMap<Value, uint32_t> inputs, outputs;
  llvm::DenseMap<Value, unsigned> bufferOf;
  std::vector<Buffer> buffers;
  ArenaPlan arena;
  /// By the plan's values.
  llvm::DenseMap<Value, Done> done;
  /// The operand that a layer's read calls the main one, and its place in the
  /// file.
  struct MainWeights {
    unsigned operand;
    WeightTable::Place place;
  };
  llvm::DenseMap<Operation *, MainWeights> main_;
  /// Main weights by constant, type and form.
  std::map<ReadyKey, Done> ready_;
};
} // namespace

LogicalResult nnv12::planProgram(func::FuncOp main, plan::ProgramOp plan,
                                 KernelTable &kernels, WeightTable &weights,
                                 uint32_t weightsSegment,
                                 artifact::Program &program,
                                 std::vector<Operation *> &layers) {
  Planner planner(main, plan, kernels, weights, weightsSegment, program);
  if (failed(planner.run()))
    return failure();
  layers = planner.layers();
  return success();
}
