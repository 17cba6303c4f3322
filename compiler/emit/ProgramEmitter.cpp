//===- ProgramEmitter.cpp - Operations, memory and lanes of a program -----===//

#include "compiler/emit/ProgramEmitter.h"

#include "artifact/Limits.h"
#include "compiler/emit/LastReaders.h"
#include "compiler/layers/Arena.h"
#include "compiler/layers/LayerName.h"
#include "compiler/layers/StretchLifetimes.h"
#include "compiler/processors/Processor.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace mlir;
using namespace nnv12;

namespace {
/// One execute on its way.
struct Step {
  Operation *layer;
  uint32_t number; ///< of the layer in the order
  const Routine *routine;
  unsigned kernel;
  /// Operands whose memory result 0 may take.
  SmallVector<unsigned> inPlaceOperands;
  /// The plan's operations for this layer, in their order.
  SmallVector<Operation *> stages;
};

/// The state at the end of a plan operation.
struct Done {
  /// Where it stands in its list: in several parts where threads can share it,
  /// nowhere where there was nothing to do.
  SmallVector<artifact::OperationId, 1> entries;
  /// The layer's main weights, as far as they have come.
  artifact::Operand weights = {};
};

class ProgramEmitter {
public:
  ProgramEmitter(const ExecutionOrder &order, plan::ProgramOp plan,
                 KernelTable &kernels, WeightTable &weights)
      : order(order), plan(plan), kernels(kernels), weights(weights) {}

  FailureOr<EmittedProgram> run() {
    if (failed(collect()))
      return failure();
    placeTensors();
    program.arenaSize = arena.size;
    // Memory of later runs lies behind the first run's memory, so that the
    // first run finds its own where it would be without later ones.
    firstOperations = plan.firstOperations();
    for (bool isLater : {false, true})
      for (auto [index, step] : llvm::enumerate(steps))
        emit(index, step, isLater);
    markLastReaders(program);
    for (auto lane : plan.getBody().getOps<plan::LaneOp>())
      emit(lane);
    program.laterWaits = plan.getLaterWaits();
    program.predictedCold = plan.getCold().value_or(0);
    program.predictedWarm = plan.getWarm().value_or(0);
    for (const Step &step : steps)
      emitted.layers.push_back(step.number);
    return std::move(emitted);
  }

private:
  //===--------------------------------------------------------------------===//
  // Activations
  //===--------------------------------------------------------------------===//

  LogicalResult collect() {
    std::vector<SmallVector<Operation *>> stages(order.layers().size());
    for (Operation &op : plan.getBody().front()) {
      auto layer = op.getAttrOfType<IntegerAttr>("layer");
      if (!layer)
        continue;
      if (layer.getValue().uge(stages.size()))
        return op.emitOpError("found layer ")
               << layer.getInt() << ", but @main has " << stages.size();
      stages[layer.getInt()].push_back(&op);
    }
    for (auto [i, op] : llvm::enumerate(order.layers())) {
      auto execute = llvm::find_if(stages[i], llvm::IsaPred<plan::ExecuteOp>);
      if (execute == stages[i].end())
        return plan.emitOpError("does not execute layer ") << i;
      auto first = cast<plan::ExecuteOp>(*execute);
      auto routine =
          routineOf(op, *first, first.getRoutine(), first.getAfter());
      if (failed(routine))
        return failure();
      Step step;
      step.layer = op;
      step.number = i;
      step.routine = *routine;
      step.kernel = kernels.execute(op, **routine);
      const codegen::KernelInfo &info = kernels[step.kernel].info;
      if (info.tiles == 0)
        continue;
      step.inPlaceOperands = info.inPlaceOperands;
      step.stages = std::move(stages[i]);
      for (Operation *stage : step.stages)
        if (auto change = dyn_cast<plan::SwitchOp>(stage)) {
          if (failed(routineOf(op, *stage, change.getRoutine(),
                               change.getAfter())))
            return failure();
          auto &other = kernels[replacement(op, change)].info.inPlaceOperands;
          llvm::erase_if(step.inPlaceOperands, [&](unsigned i) {
            return !llvm::is_contained(other, i);
          });
        }
      steps.push_back(std::move(step));
    }
    return success();
  }

  /// How many bits the layer's weights have behind a stage.
  static std::optional<plan::Narrowing> narrowingOf(Operation *stage) {
    if (isa<plan::TransformOp>(stage))
      return std::nullopt;
    if (auto decode = dyn_cast<plan::DecodeOp>(stage))
      return narrowingOf(decode.getAfter().getDefiningOp());
    return cast<plan::ReadOp>(stage).form().narrow;
  }

  /// The routine that a stage names, if it computes the layer in its layouts,
  /// of weights of `after`.
  static FailureOr<const Routine *> routineOf(Operation *layer,
                                              Operation &stage, StringRef name,
                                              ValueRange after) {
    const RoutineSet &routines = hostRoutines();
    const Routine *routine = routines.named(name);
    if (!llvm::is_contained(routines.agreeing(layer), routine))
      return stage.emitOpError("found routine '")
             << name << "', expected one that computes the layer";
    std::optional<WeightForm> form = routine->weightForm(layer);
    auto wanted = form ? form->narrow : std::nullopt;
    auto found =
        after.empty() ? wanted : narrowingOf(after.back().getDefiningOp());
    if (found != wanted)
      return stage.emitOpError("found ")
             << plan::StoredForm{plan::Storage::packed, found}.text()
             << " weights, expected "
             << plan::StoredForm{plan::Storage::packed, wanted}.text()
             << " ones for routine '" << name << "'";
    return routine;
  }

  unsigned replacement(Operation *layer, plan::SwitchOp change) {
    return kernels.execute(layer, *hostRoutines().named(change.getRoutine()));
  }

  /// Gives each tensor its place in the arena. A result takes the memory of an
  /// operand that dies with it.
  void placeTensors() {
    plan::GpuOp gpu = plan.gpu();
    SmallVector<StretchRange> ranges;
    if (gpu)
      for (plan::StretchOp stretch : gpu.stretches())
        ranges.push_back({int64_t(stretch.getFirst()),
                          int64_t(stretch.getFirst() + stretch.getCount()),
                          stretch.getDim().has_value()});
    stretches = StretchLifetimes::of(order, ranges);
    std::vector<Lifetime> &lifetimes = stretches.lifetimes;
    bufferOf.resize(lifetimes.size());
    std::iota(bufferOf.begin(), bufferOf.end(), 0);
    for (const Step &step : steps)
      reuseOperand(step, lifetimes);
    arena = placeInArena(lifetimes, gpu ? artifact::gpuAlignment
                                        : artifact::memoryAlignment);
    liveBytes = sumLiveBytes(lifetimes, order.layers().size());
  }

  void reuseOperand(const Step &step, std::vector<Lifetime> &lifetimes) {
    auto number = static_cast<int64_t>(step.number);
    std::optional<unsigned> result = order.tensorOf(step.layer->getResult(0));
    if (!result || order.tensors()[*result].hasAliases ||
        stretches.isApart[*result])
      return;
    for (unsigned i : step.inPlaceOperands) {
      Value operand = step.layer->getOperand(i);
      std::optional<unsigned> source = order.tensorOf(operand);
      if (!source || order.tensors()[*source].hasAliases ||
          stretches.isKept[*source])
        continue;
      unsigned from = bufferOf[*source], to = bufferOf[*result];
      Lifetime &a = lifetimes[from], &b = lifetimes[to];
      if (from == to || a.size != b.size || a.last != number ||
          b.first != number ||
          llvm::count(step.layer->getOperands(), operand) != 1)
        continue;
      a.last = b.last;
      b.size = 0; // gone
      b.last = b.first;
      std::replace(bufferOf.begin(), bufferOf.end(), to, from);
      return;
    }
  }

  artifact::Operand place(Value v) {
    uint64_t size = nn::storageSize(v);
    Aliases::Place place = order.placeOf(v);
    uint64_t offset = place.offset;
    if (place.base.getDefiningOp<nn::ConstantOp>())
      return weights.operand(weights.add(place.base).offset + offset, size);
    if (auto input = order.inputOf(place.base))
      return {artifact::Space::Input, *input, offset, size};
    if (auto output = order.outputOf(place.base))
      return {artifact::Space::Output, *output, offset, size};
    auto tensor = order.tensorOf(place.base);
    assert(tensor && "touched by the step that has it");
    return {artifact::Space::Arena, 0,
            arena.offsets[bufferOf[*tensor]] + offset, size};
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  artifact::Operand prepared(uint64_t size) {
    artifact::Operand operand = {artifact::Space::Prepared, 0,
                                 program.preparedSize, size};
    // Where a GPU gets them, they lie as it has them.
    program.preparedSize += llvm::alignTo(
        size, plan.gpu() ? artifact::gpuAlignment : WeightTable::alignment);
    return operand;
  }

  static artifact::Operation operationOf(artifact::OperationKind kind,
                                         Operation *layer) {
    artifact::Operation result;
    result.kind = kind;
    result.layer = layerName(layer->getLoc());
    return result;
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
    llvm::append_range(operation.after, done[after].entries);
  }

  Done read(const Step &step, plan::ReadOp op) {
    Operation *layer = step.layer;
    uint64_t begin = weights.size();
    for (OpOperand &operand : layer->getOpOperands()) {
      Value constant = order.baseOf(operand.get());
      if (!constant.getDefiningOp<nn::ConstantOp>())
        continue;
      if (operand.getOperandNumber() == op.getOperand())
        mainWeights[layer] = {
            operand.getOperandNumber(), op.form().narrow,
            weights.add(constant, op.form(), {step.routine, layer})};
      else
        weights.add(constant);
    }
    Done result;
    if (weights.size() != begin) {
      auto operation = operationOf(artifact::OperationKind::Read, layer);
      operation.operands = {weights.operand(begin, weights.size() - begin)};
      result = prepare(std::move(operation), nullptr);
    }
    result.weights = weights.operand(mainWeights[layer].place);
    return result;
  }

  Done decode(Operation *layer, plan::DecodeOp op) {
    assert(mainWeights.contains(layer) && "its read comes first");
    const WeightTable::Place &place = mainWeights[layer].place;
    Done result;
    result.weights = prepared(place.bytes);
    uint64_t position = result.weights.offset;
    for (const WeightTable::Frame &frame : place.frames) {
      auto operation = operationOf(artifact::OperationKind::Decode, layer);
      operation.operands = {
          {artifact::Space::Prepared, 0, position, frame.bytes},
          weights.operand(frame.offset, frame.size)};
      operation.codec = artifact::Codec::Zstd;
      operation.planes = frame.planes;
      llvm::append_range(result.entries,
                         prepare(std::move(operation), op.getAfter()).entries);
      position += frame.bytes;
    }
    return result;
  }

  Done transform(Operation *layer, plan::TransformOp op) {
    auto operation = operationOf(artifact::OperationKind::Transform, layer);
    const MainWeights &main = mainWeights[layer];
    Value constant = order.baseOf(layer->getOperand(main.operand));
    uint64_t size = nn::storageSize(constant);
    if (op.getForm() == "packed") {
      RankedTensorType type = nn::typeOf(constant);
      operation.kernel =
          main.narrow ? kernels.widen(type, *main.narrow) : kernels.pack(type);
    } else {
      auto &routine = *hostRoutines().named(op.getRoutine());
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

  /// An execute of the step's layer by a kernel, with weights of `after`.
  artifact::Operation execute(const Step &step, unsigned kernel,
                              const Routine &routine, ValueRange after) {
    Operation *layer = step.layer;
    auto result = operationOf(artifact::OperationKind::Execute, layer);
    result.liveArena = liveBytes[step.number];
    result.kernel = kernel;
    result.tiles = kernels[kernel].info.tiles;
    for (Value token : after)
      addDependency(result, token);
    auto own = mainWeights.find(layer);
    std::optional<WeightForm> form = routine.weightForm(layer);
    for (Value v : layer->getResults())
      result.operands.push_back(place(v));
    for (OpOperand &operand : layer->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      Value base = order.baseOf(operand.get());
      bool isForm = form && form->operand == number;
      plan::StoredForm wanted = isForm ? form->stored() : plan::StoredForm();
      if (own != mainWeights.end() && own->second.operand == number &&
          !after.empty()) {
        result.operands.push_back(done[after.back()].weights);
      } else if (const ReadyWeights::Place *ready =
                     emitted.ready.find(base, wanted)) {
        // Weights that an earlier layer shares, in the same form.
        result.operands.push_back(ready->operand);
        llvm::append_range(result.after, ready->after);
      } else if (isForm) {
        result.operands.push_back(
            weights.operand(weights.add(base, wanted, {&routine, layer})));
      } else {
        result.operands.push_back(place(operand.get()));
      }
    }
    return result;
  }

  /// Notes where a stage leaves a form of a layer's main weights.
  void note(Operation *layer, const plan::StoredForm &form, Value token) {
    const Done &ready = done[token];
    emitted.ready.add(
        order.baseOf(layer->getOperand(mainWeights[layer].operand)), form,
        {ready.weights, {ready.entries.begin(), ready.entries.end()}});
  }
  /// The form that the file has, decoded, where kernels read it.
  void noteStored(const Step &step, plan::ReadOp read, Value token) {
    plan::StoredForm form = read.form();
    form.codec = plan::Codec::stored;
    if (form.storage == plan::Storage::transformed)
      form.name = step.routine->weightForm(step.layer)->name;
    if (form.isReady())
      note(step.layer, form, token);
  }

  /// The layer's operations of the first run, or its switch and those that only
  /// that waits for.
  void emit(uint32_t number, const Step &step, bool isLater) {
    Operation *layer = step.layer;
    for (Operation *stage : step.stages) {
      if (firstOperations.contains(stage) == isLater)
        continue;
      llvm::TypeSwitch<Operation *>(stage)
          .Case([&](plan::ReadOp op) {
            done[op.getDone()] = read(step, op);
            if (op.form().codec == plan::Codec::stored)
              noteStored(step, op, op.getDone());
          })
          .Case([&](plan::DecodeOp op) {
            done[op.getDone()] = decode(layer, op);
            noteStored(step, op.getAfter().getDefiningOp<plan::ReadOp>(),
                       op.getDone());
          })
          .Case([&](plan::TransformOp op) {
            done[op.getDone()] = transform(layer, op);
            note(layer,
                 op.getForm() == "packed"
                     ? plan::StoredForm()
                     : plan::transformed(op.getForm().str()),
                 op.getDone());
          })
          .Case([&](plan::ExecuteOp op) {
            program.operations.push_back(
                execute(step, step.kernel, *step.routine, op.getAfter()));
            done[op.getDone()].entries = {
                {artifact::LaneKind::Execute, number}};
          })
          .Case([&](plan::SwitchOp op) {
            program.switches.push_back(
                {number, execute(step, replacement(layer, op),
                                 *hostRoutines().named(op.getRoutine()),
                                 op.getAfter())});
          });
      if (!isLater)
        expect(stage, done[stage->getResult(0)].entries);
    }
  }

  /// Notes when the plan expects a stage to run.
  void expect(Operation *stage, ArrayRef<artifact::OperationId> entries) {
    auto times = plan::timesOf(stage);
    if (!times)
      return;
    auto [start, end] = *times;
    int64_t length = end - start, count = entries.size();
    for (auto [i, entry] : llvm::enumerate(entries)) {
      artifact::Operation &operation =
          (entry.kind == artifact::LaneKind::Execute
               ? program.operations
               : program.preparations)[entry.index];
      int64_t part = i;
      operation.predictedStart = start + length * part / count;
      operation.predictedEnd = start + length * (part + 1) / count;
    }
  }

  void emit(plan::LaneOp op) {
    artifact::Lane lane{static_cast<artifact::LaneKind>(op.getKind()),
                        static_cast<artifact::CoreKind>(op.getCore()),
                        {},
                        {}};
    for (Value token : op.getQueue())
      llvm::append_range(lane.queue, done[token].entries);
    for (Value token : op.getBackground())
      llvm::append_range(lane.background, done[token].entries);
    program.lanes.push_back(std::move(lane));
  }

  const ExecutionOrder &order;
  plan::ProgramOp plan;
  KernelTable &kernels;
  WeightTable &weights;
  EmittedProgram emitted;
  artifact::Program &program = emitted.program;
  std::vector<Step> steps;
  /// By tensor of the order: the buffer of the arena that it lies in.
  std::vector<unsigned> bufferOf;
  StretchLifetimes stretches;
  Arena arena;
  /// Live bytes of the arena, by number of the layer in the order.
  std::vector<uint64_t> liveBytes;
  llvm::DenseSet<Operation *> firstOperations; ///< see plan::ProgramOp
  /// By the plan's values.
  llvm::DenseMap<Value, Done> done;
  /// The operand that a layer's read calls the main one, and its place in the
  /// file.
  struct MainWeights {
    unsigned operand;
    std::optional<plan::Narrowing> narrow;
    WeightTable::Place place;
  };
  llvm::DenseMap<Operation *, MainWeights> mainWeights;
};
} // namespace

FailureOr<EmittedProgram> nnv12::emitProgram(const ExecutionOrder &order,
                                             plan::ProgramOp plan,
                                             KernelTable &kernels,
                                             WeightTable &weights) {
  return ProgramEmitter(order, plan, kernels, weights).run();
}
