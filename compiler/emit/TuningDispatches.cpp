//===- TuningDispatches.cpp - Dispatches of a GPU to be measured ----------===//

#include "compiler/emit/TuningDispatches.h"

#include "artifact/Limits.h"
#include "artifact/TuningParts.h"
#include "artifact/TuningStretches.h"
#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/emit/TuningBundle.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/layers/LayerName.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/StringSet.h"

#include <array>
#include <cmath>
#include <memory>

using namespace mlir;
using namespace nnv12;
using artifact::GpuStage;
using artifact::LaneKind;
using artifact::OperationId;
using codegen::GpuRoutine;
using codegen::GpuStepOperand;
using TuningPlace = TuningMemory::Place;
using TuningRegion = TuningMemory::Region;

/// More than stays in the caches of GPUs.
static constexpr uint64_t leastWeights = 128u << 20;
/// Bytes of numbers that weights are made of, and bytes handed back.
static constexpr uint64_t noiseBytes = 4u << 20;
/// A routine whose kernels are different code for each layer has many.
static constexpr unsigned mostPipelines = 16;
/// The most kernels of a stretch.
static constexpr unsigned kernelsAtOnce = 64;
/// Runs of a kernel before the measured one: the first one after another kernel
/// waits for its code, as long as a small one computes.
static constexpr unsigned warmUps = 2;
/// All kernels are measured so often, with other memory and other neighbours:
/// these make a difference that one place in a row of kernels would not tell.
static constexpr unsigned passes = 4;
/// Layers of which fronts are measured.
static constexpr size_t mostFrontLayers = 60;

/// Numbers from 1/16 to 1.
static std::string noise() {
  std::string bytes(noiseBytes, '\0');
  uint32_t state = 1;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    uint32_t word = (123 + (state >> 30)) << 23 | (state & 0x7fffff);
    std::memcpy(bytes.data() + i, &word, 4);
  }
  return bytes;
}

namespace {

/// A dispatch before regions have their places.
struct TuningDispatch {
  artifact::Dispatch dispatch;
  std::vector<TuningPlace> places;
  std::string layer;
};

class DispatchTuning {
public:
  DispatchTuning(func::FuncOp main, const codegen::GpuTarget &target,
                 bool hasFronts, BundleBuilder &builder)
      : main(main), target(target), hasFronts(hasFronts), builder(builder),
        code(builder.gpu.emplace(target)) {
    builder.weights.alignPieces(artifact::gpuAlignment);
    memory[TuningMemory::Integers] = artifact::gpuAlignment;
  }

  LogicalResult collect() {
    if (failed(collectIdle()))
      return failure();
    ExecutionOrder order(main);
    auto isEmpty = [](Value v) { return nn::storageSize(v) == 0; };
    SmallVector<Operation *> layers;
    for (Operation *layer : order.layers())
      if (llvm::none_of(layer->getOperands(), isEmpty) &&
          llvm::none_of(layer->getResults(), isEmpty))
        layers.push_back(layer);
    for (unsigned pass = 0; pass < passes; ++pass) {
      known.clear();
      for (Operation *layer : layers)
        for (const Routine *routine :
             gpuProcessor().candidates(layer, target.name))
          if (failed(collect(layer, GpuRoutine::of(*routine))))
            return failure();
      if (hasFronts && failed(collectFronts(layers)))
        return failure();
      std::reverse(layers.begin(), layers.end());
    }
    if (stretches.size() == artifact::firstKernelStretch)
      return main.emitError()
             << "found no layer that GPUs compute on " << target.name;
    memory[TuningMemory::Weights] =
        llvm::alignTo(memory[TuningMemory::Weights], noiseBytes);
    for (unsigned region = 0; region < TuningMemory::numRegions; ++region) {
      uint64_t &end = region < TuningMemory::Weights ? arenaSize : preparedSize;
      begins[region] = end;
      // Results of the last turn end behind those of the first ones.
      end +=
          llvm::alignTo(memory[TuningRegion(region)], artifact::gpuAlignment);
    }
    return success();
  }

  /// The program's executes, which copy, and its overlay. The same for each of
  /// the CPUs' targets.
  void emit(KernelTable &table, artifact::Program &program) {
    artifact::Lane executes{LaneKind::Execute, {}, {}, {}};
    auto copy = [&](const std::string &layer, uint32_t output, uint64_t bytes) {
      auto number = static_cast<uint32_t>(program.operations.size());
      program.operations.push_back(
          copyOperation(table, layer, output, /*input=*/0, bytes));
      executes.queue.push_back({LaneKind::Execute, number});
      return number;
    };
    artifact::ProgramGpu &gpu = program.gpu.emplace();
    gpu.arenaSize = arenaSize;
    gpu.preparedSize = preparedSize;
    gpu.boundaries = {{{artifact::Space::Output, 1, 0, noiseBytes},
                       begins[TuningMemory::Back]},
                      {{artifact::Space::Input, 0, 0, artifact::inBytes},
                       begins[TuningMemory::In]}};
    gpu.start = artifact::OverlayStart::AfterFirst;
    for (auto [i, dispatches] : llvm::enumerate(stretches)) {
      artifact::Stretch stretch{
          static_cast<uint32_t>(program.operations.size()), 0};
      stretch.cold = false;
      bool isBack = i == artifact::backStretch;
      for (const TuningDispatch &pending : dispatches) {
        artifact::Dispatch dispatch = pending.dispatch;
        // A dispatch without work shares the execute before it.
        if (dispatch.work || stretch.dispatches.empty())
          dispatch.operation =
              copy(pending.layer, isBack,
                   isBack ? noiseBytes : KernelTable::copyTile);
        else
          dispatch.operation = program.operations.size() - 1;
        for (const TuningPlace &place : pending.places)
          dispatch.operands.push_back(operandOf(place));
        // By a slow GPU, which is software: a nanosecond each.
        if (dispatch.work)
          stretch.predicted += std::llround(dispatch.work->multiplyAdds) +
                               std::llround(dispatch.work->bytes);
        stretch.dispatches.push_back(std::move(dispatch));
      }
      stretch.count = program.operations.size() - stretch.first;
      if (isBack)
        stretch.out = {{0, 0, noiseBytes}};
      if (i == artifact::firstInStretch || i == artifact::inStretch)
        stretch.in = {{1, 0, artifact::inBytes}};
      gpu.warm.push_back(i);
      gpu.stretches.push_back(std::move(stretch));
    }
    copy("end", 0, KernelTable::copyTile);
    program.lanes = {std::move(executes)};
    addPreparations(program);
  }

private:
  //===--------------------------------------------------------------------===//
  // Kernels and their memory
  //===--------------------------------------------------------------------===//

  /// A dispatch that writes so many bytes at the start of a region, from
  /// another.
  FailureOr<TuningDispatch> write(std::string name, uint64_t bytes,
                                  TuningRegion to,
                                  TuningRegion from = TuningMemory::Weights) {
    OpBuilder b(main.getContext());
    Location loc = main.getLoc();
    int64_t elements = llvm::alignTo(bytes, artifact::gpuAlignment) / 4;
    auto type = RankedTensorType::get({elements}, b.getF32Type());
    Block &block = *writers.emplace_back(std::make_unique<Block>());
    b.setInsertionPointToStart(&block);
    Operation *layer = nn::UnaryOp::create(
        b, loc, type, block.addArgument(type, loc),
        nn::FunctionAttr::get(main.getContext(), nn::UnaryKind::relu));
    const Routine *routine = codegen::gpuRoutines().named("gpu.map");
    assert(routine && "the copier of rows is there");
    FailureOr<codegen::GpuSteps> steps =
        code.add(layer, GpuRoutine::of(*routine));
    if (failed(steps))
      return failure();
    TuningDispatch result = {
        code.dispatchOf(steps->steps[0]), {}, std::move(name)};
    uint64_t size = elements * 4, ignored = 0, alsoIgnored = 0;
    result.places = {memory.take(to, ignored, size),
                     memory.take(from, alsoIgnored, size)};
    return result;
  }

  /// Stretches that tell what is lost beside the kernels.
  LogicalResult collectIdle() {
    FailureOr<TuningDispatch> idle =
        write("nothing", artifact::gpuAlignment, TuningMemory::Fresh);
    FailureOr<TuningDispatch> in = write("handed in", artifact::inBytes,
                                         TuningMemory::Fresh, TuningMemory::In);
    FailureOr<TuningDispatch> back =
        write("handed back", noiseBytes, TuningMemory::Back);
    if (failed(idle) || failed(in) || failed(back))
      return failure();
    idle->dispatch.groups = {1, 1, 1};
    llvm::fill(idle->dispatch.push, 0);
    stretches = {{*idle},
                 std::vector<TuningDispatch>(artifact::idleDispatches, *idle),
                 {*in},
                 {*in},
                 {*back}};
    return success();
  }

  /// Whether a routine may have the pipelines that these steps need.
  bool hasRoom(const GpuRoutine &routine, const codegen::GpuSteps &steps) {
    llvm::StringSet<> &kernels = kernelsOf[routine.name()];
    unsigned added = 0;
    for (const std::string &kernel : steps.kernels)
      added += !kernels.contains(kernel);
    if (kernels.size() + added > mostPipelines)
      return false;
    for (const std::string &kernel : steps.kernels)
      kernels.insert(kernel);
    return true;
  }

  /// False where a GPU need not be able to bind the layer's memory.
  bool place(Operation *layer, const GpuRoutine &routine,
             const codegen::GpuSteps &plain, const codegen::GpuSteps &steps,
             std::optional<Cut> cut, std::vector<TuningDispatch> &dispatches) {
    memory.begin();
    std::vector<int64_t> written;
    std::vector<TuningPlace> operands, temporaries;
    std::optional<WeightForm> form = routine.weightForm(layer);
    for (Value v : layer->getResults())
      written.push_back(nn::storageSize(v));
    auto placeOperand = [&](unsigned i) {
      Value v = layer->getOperand(i);
      return memory.read(
          getElementTypeOrSelf(v), bool(v.getDefiningOp<nn::ConstantOp>()),
          form && form->operand == i ? form->bytes : nn::storageSize(v));
    };
    for (unsigned i = 0; i < layer->getNumOperands(); ++i)
      operands.push_back(placeOperand(i));
    uint64_t at = 0;
    for (int64_t bytes : steps.temporaries)
      temporaries.push_back(memory.take(TuningMemory::Temporaries, at, bytes));
    std::vector<KernelFacts> facts =
        codegen::stepFacts(layer, routine, plain, steps, target);
    for (KernelFacts &step : facts)
      if (cut)
        step.key = artifact::frontKey(step.key, dimName(cut->dim).str(),
                                      uint64_t(cut->at));
    for (size_t i = 0; i < steps.steps.size(); ++i) {
      const codegen::GpuStep &step = steps.steps[i];
      TuningDispatch pending = {
          code.dispatchOf(step), {}, firstName(layer->getLoc())};
      std::vector<TuningPlace> tables;
      for (const std::vector<char> &table : code.module(step.kernel).tables) {
        StringRef bytes(table.data(), table.size());
        auto [it, isNew] =
            tableAt.try_emplace(bytes, memory[TuningMemory::Tables]);
        uint64_t offset = it->second;
        tables.push_back(
            memory.take(TuningMemory::Tables, offset, bytes.size()));
      }
      auto add = [&](bool isMeasured) {
        std::vector<TuningPlace> outputs = memory.results(written);
        TuningDispatch &dispatch = dispatches.emplace_back(pending);
        if (isMeasured)
          dispatch.dispatch.work = facts[i];
        for (GpuStepOperand operand : step.operands) {
          const std::vector<TuningPlace> &of =
              operand.kind == GpuStepOperand::Kind::Result    ? outputs
              : operand.kind == GpuStepOperand::Kind::Operand ? operands
                                                              : temporaries;
          dispatch.places.push_back(of[operand.index]);
        }
        dispatch.places.insert(dispatch.places.end(), tables.begin(),
                               tables.end());
      };
      for (unsigned n = 0; n < warmUps; ++n)
        add(/*isMeasured=*/false);
      add(/*isMeasured=*/true);
      // A bias alone makes no difference.
      if (llvm::none_of(step.operands, [&](const GpuStepOperand &operand) {
            return operand.kind == GpuStepOperand::Kind::Operand &&
                   operand.use == GpuStepOperand::Use::Data &&
                   operands[operand.index].region == TuningMemory::Weights &&
                   cast<RankedTensorType>(
                       layer->getOperand(operand.index).getType())
                           .getRank() > 1;
          }))
        continue;
      // Then with weights that have not been read lately.
      facts[i].fromMemory = true;
      for (auto [o, operand] : llvm::enumerate(operands))
        if (operand.region == TuningMemory::Weights)
          operand = placeOperand(o);
      add(/*isMeasured=*/true);
    }
    return llvm::all_of(dispatches, [](const TuningDispatch &pending) {
      return llvm::all_of(pending.places, [](const TuningPlace &place) {
        return place.size &&
               int64_t(place.size) <= codegen::GpuTarget::maxBufferBytes;
      });
    });
  }

  /// Fronts of layers that are spread over all, the same in each pass.
  LogicalResult collectFronts(ArrayRef<Operation *> layers) {
    struct Way {
      Operation *layer;
      const GpuRoutine *routine;
    };
    SmallVector<Way> ways;
    llvm::StringSet<> keys;
    for (Operation *layer : layers)
      for (const Routine *routine :
           gpuProcessor().candidates(layer, target.name)) {
        const auto &own = GpuRoutine::of(*routine);
        std::string key = kernelKey(layer, own, target.name);
        if (layer->getNumResults() == 1 && keys.insert(key).second &&
            known.contains(key))
          ways.push_back({layer, &own});
      }
    size_t count = std::min(ways.size(), mostFrontLayers);
    for (size_t i = 0; i < count; ++i) {
      auto [layer, routine] = ways[i * ways.size() / count];
      ArrayRef<int64_t> shape = nn::typeOf(layer->getResult(0)).getShape();
      for (unsigned dim = 1; dim < std::min<size_t>(numCutDims, shape.size());
           ++dim) {
        int64_t unit = routine->cutUnit(layer, dim), last = 0;
        for (int64_t quarter = 1; unit && quarter <= 3; ++quarter) {
          int64_t at = llvm::alignTo(
              std::max<int64_t>(1, shape[dim] * quarter / 4), unit);
          if (at == last || at >= shape[dim])
            continue;
          last = at;
          if (failed(collect(layer, *routine, Cut{dim, at})))
            return failure();
        }
      }
    }
    return success();
  }

  LogicalResult collect(Operation *layer, const GpuRoutine &routine,
                        std::optional<Cut> cut = std::nullopt) {
    // Fronts are asked for once.
    if (!cut && !known.insert(kernelKey(layer, routine, target.name)).second)
      return success();
    codegen::GpuSteps plain =
        cut ? routine.front(layer, *cut) : routine.steps(layer);
    if (!hasRoom(routine, plain))
      return success();
    FailureOr<codegen::GpuSteps> steps = code.add(layer, routine, {}, cut);
    if (failed(steps))
      return failure();
    std::vector<TuningDispatch> dispatches;
    if (!place(layer, routine, plain, *steps, cut, dispatches) ||
        dispatches.empty())
      return success();
    if (uint64_t fresh = memory.freshBytes()) {
      FailureOr<TuningDispatch> writer =
          write("activations", fresh, TuningMemory::Fresh);
      if (failed(writer))
        return failure();
      dispatches.insert(dispatches.begin(), std::move(*writer));
    }
    constexpr unsigned firstOfKernels = artifact::firstKernelStretch;
    if (stretches.size() == firstOfKernels ||
        stretches.back().size() >= kernelsAtOnce)
      stretches.emplace_back();
    for (TuningDispatch &pending : dispatches)
      stretches.back().push_back(std::move(pending));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // The program
  //===--------------------------------------------------------------------===//

  artifact::GpuOperand operandOf(const TuningPlace &place) const {
    using Space = artifact::GpuSpace;
    // The one boundary.
    if (place.region == TuningMemory::Back)
      return {Space::Boundary, 0, place.offset, place.size};
    return {place.region < TuningMemory::Weights ? Space::Arena
                                                 : Space::Prepared,
            0, begins[place.region] + place.offset, place.size};
  }

  void addPreparations(artifact::Program &program) {
    artifact::ProgramGpu &gpu = *program.gpu;
    /// Adds a preparation, which waits for the device if it is another one.
    auto add = [&](artifact::GpuPreparation added) {
      auto number = static_cast<uint32_t>(gpu.preparations.size());
      if (number > 0)
        added.after.insert(added.after.begin(), {LaneKind::Prepare, 0});
      gpu.preparations.push_back(std::move(added));
      return OperationId{LaneKind::Prepare, number};
    };
    OperationId device = add({GpuStage::Device});
    artifact::GpuPreparation upload{GpuStage::Upload};
    auto bring = [&](const WeightTable::Place &from, uint64_t to) {
      upload.uploads.push_back({builder.weights.operand(from), to, from.size});
    };
    WeightTable::Place numbers = builder.weights.add(noise());
    for (uint64_t at = 0; at < memory[TuningMemory::Weights]; at += noiseBytes)
      bring(numbers, begins[TuningMemory::Weights] + at);
    bring(
        builder.weights.add(std::string(memory[TuningMemory::Integers], '\0')),
        begins[TuningMemory::Integers]);
    std::map<uint64_t, StringRef> tables;
    for (const auto &table : tableAt)
      tables[table.second] = table.first();
    for (const auto &[at, bytes] : tables)
      bring(builder.weights.add(bytes), begins[TuningMemory::Tables] + at);
    OperationId uploaded = add(std::move(upload));
    artifact::Lane first{LaneKind::Prepare, {}, {device, uploaded}, {}};
    std::array<artifact::Lane, 7> makers;
    makers.fill({LaneKind::Prepare, {}, {}, {}});
    std::vector<OperationId> pipelines;
    for (uint32_t i = 0; i < code.numPipelines(); ++i) {
      pipelines.push_back(add({GpuStage::Pipeline, {i}}));
      makers[i % makers.size()].queue.push_back(pipelines.back());
    }
    for (auto [i, stretch] : llvm::enumerate(gpu.stretches)) {
      artifact::GpuPreparation record{GpuStage::Record};
      record.stretch = i;
      for (const artifact::Dispatch &dispatch : stretch.dispatches)
        if (!llvm::is_contained(record.after, pipelines[dispatch.pipeline]))
          record.after.push_back(pipelines[dispatch.pipeline]);
      OperationId recorded = add(std::move(record));
      first.queue.push_back(recorded);
      stretch.after = {recorded, uploaded};
    }
    gpu.lanes.push_back(std::move(first));
    for (artifact::Lane &maker : makers)
      if (!maker.queue.empty())
        gpu.lanes.push_back(std::move(maker));
  }

  func::FuncOp main;
  const codegen::GpuTarget &target;
  bool hasFronts;
  BundleBuilder &builder;
  GpuCode &code;
  /// Layers that write activations.
  std::vector<std::unique_ptr<Block>> writers;
  /// By stretch.
  std::vector<std::vector<TuningDispatch>> stretches;
  llvm::StringSet<> known;                      ///< of this pass
  llvm::StringMap<llvm::StringSet<>> kernelsOf; ///< by routine
  llvm::StringMap<uint64_t> tableAt;            ///< in their region, by bytes
  /// Regions from weights on are prepared, those before in the GPU's arena.
  TuningMemory memory{artifact::gpuAlignment, leastWeights,
                      artifact::gpuAlignment};
  std::array<uint64_t, TuningMemory::numRegions> begins = {};
  uint64_t arenaSize = 0, preparedSize = 0;
};

} // namespace

LogicalResult nnv12::writeTuningBundle(func::FuncOp main,
                                       ArrayRef<codegen::Target> cpus,
                                       const codegen::GpuTarget &target,
                                       const std::string &revision,
                                       bool hasFronts, const std::string &path,
                                       const std::string &signingKey) {
  TuningWriter writer(main, cpus.size());
  DispatchTuning tuning(main, target, hasFronts, writer.builder);
  if (failed(tuning.collect()))
    return failure();
  for (const codegen::Target &cpu : cpus)
    if (failed(writer.add(cpu, revision,
                          [&](KernelTable &table, artifact::Program &program) {
                            tuning.emit(table, program);
                          })))
      return failure();
  using artifact::ElementType;
  writer.builder.bundle.inputs = {
      tuningTensor("numbers", ElementType::F32, noiseBytes)};
  writer.builder.bundle.outputs = {
      tuningTensor("sink", ElementType::F32, KernelTable::copyTile),
      tuningTensor("back", ElementType::F32, noiseBytes)};
  return writer.builder.write(*main.getContext(), path, signingKey);
}
