//===- OverlayEmitter.cpp - Emits a GPU's part of a program ---------------===//

#include "compiler/emit/OverlayEmitter.h"

#include "artifact/Limits.h"
#include "compiler/emit/StretchMemory.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/TilesBehind.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using artifact::GpuStage;
using artifact::OperationId;
using codegen::GpuStepOperand;

/// Bytes of a preparation, about: an upload of so many takes about a
/// millisecond.
static constexpr uint64_t uploadBytes = 4 << 20;

namespace {
/// Weights that a GPU reads: all of those at their place, or the first bytes.
struct Source {
  ReadyWeights::Place place;
  uint64_t device = 0;            ///< where they come to lie
  std::optional<uint32_t> upload; ///< the preparation that brings them
};

/// A binding of a dispatch: a range of a buffer of the stretch, or of a source.
struct Binding {
  std::optional<unsigned> source;
  BufferRange range; ///< without a source; else offset and size in it
  /// The bytes of the range that it touches: the first `bytes` of each of
  /// `count` strides.
  uint64_t bytes = range.size, stride = 0;
  uint32_t count = 1;
};

/// A dispatch whose memory has no place yet.
struct PendingDispatch {
  artifact::Dispatch dispatch;
  std::vector<Binding> bindings;
  uint32_t written = 0; ///< a bit a binding
};

/// A stretch on its way.
struct Draft {
  std::vector<StretchBuffer> buffers;
  llvm::DenseMap<Value, uint32_t> bufferOf; ///< by the base of tensors
  std::vector<PendingDispatch> dispatches;
  llvm::SmallSetVector<unsigned, 16> sources; ///< that it reads
  uint32_t first = 0, count = 0;              ///< executes
  std::vector<artifact::Operation> parts;     ///< of the CPU
  /// Preparations of the weights that parts read.
  std::vector<artifact::OperationId> after;
};

class OverlayEmitter {
public:
  OverlayEmitter(const ExecutionOrder &order, plan::GpuOp plan, GpuCode &code,
                 KernelTable &kernels, WeightTable &weights,
                 EmittedProgram &emitted)
      : order(order), plan(plan), code(code), kernels(kernels),
        weights(weights), emitted(emitted), program(emitted.program),
        gpu(program.gpu.emplace()) {}

  LogicalResult run() {
    assert(weights.pieceAlignment() % artifact::gpuAlignment == 0 &&
           "a GPU may read weights where they lie");
    for (auto [i, layer] : llvm::enumerate(emitted.layers))
      executeOf[layer] = i;
    drafts.resize(plan.stretches().size());
    for (auto [draft, op] : llvm::zip(drafts, plan.stretches()))
      if (failed(collect(op, draft)))
        return failure();
    findFollowers();
    // The first of several preparations makes their common parts, as a module
    // of two keys: no lane waits for a later operation in it.
    for (Operation *op : plan.preparationsInOrder())
      if (failed(prepare(op)))
        return failure();
    for (auto [draft, op] : llvm::zip(drafts, plan.stretches()))
      if (failed(emit(op, draft)))
        return failure();
    for (auto lane : plan.getBody().getOps<plan::GpuLaneOp>())
      emit(lane);
    gpu.start = plan.getStart() == plan::GpuStart::at_open
                    ? artifact::OverlayStart::AtOpen
                    : artifact::OverlayStart::AfterFirst;
    gpu.profile = plan.getProfile().str();
    gpu.predictedCold = plan.getCold().value_or(0);
    gpu.predictedWarm = plan.getWarm().value_or(0);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Memory that dispatches touch
  //===--------------------------------------------------------------------===//

  LogicalResult collect(plan::StretchOp op, Draft &draft) {
    range = {op.getFirst(), op.getFirst() + op.getCount()};
    for (auto dispatch : op.getBody().getOps<plan::DispatchOp>()) {
      auto execute = executeOf.find(dispatch.getLayer());
      // A layer with nothing to compute has no execute.
      if (execute == executeOf.end())
        continue;
      if (draft.count++ == 0)
        draft.first = execute->second;
      if (failed(collect(dispatch, execute->second, draft)))
        return failure();
    }
    if (draft.count == 0)
      return op.emitOpError("found no layer in it that is executed");
    for (auto part : op.getBody().getOps<plan::PartOp>())
      if (auto execute = executeOf.find(part.getLayer());
          execute != executeOf.end() &&
          failed(collect(part, execute->second, draft)))
        return failure();
    return success();
  }

  /// The tiles of a part. Its operands are those of later runs, its kernel is
  /// another one of the same routine.
  LogicalResult collect(plan::PartOp op, uint32_t execute, Draft &draft) {
    Operation *layer = order.layers()[emitted.layers[execute]];
    const artifact::Operation &later = laterOf(program, execute);
    StringRef routine = kernels[later.kernel].name;
    if (op.getRoutine() != routine)
      return op.emitOpError("found routine '")
             << op.getRoutine() << "', expected '" << routine
             << "', which computes the layer in later inferences";
    auto dim = unsigned(*op->getParentOfType<plan::StretchOp>().getDim());
    auto back = static_cast<int64_t>(op.getBack());
    unsigned kernel = kernels.part(layer, *hostRoutines().named(routine), dim);
    auto ranges = tilesBehind(kernels[kernel].info.maps.front(),
                              nn::typeOf(layer->getResult(0)), {dim, back});
    if (!ranges)
      return op.emitOpError("found a part from position ")
             << back << " on, expected one where tiles of '" << routine
             << "' begin";
    for (TileRange range : *ranges) {
      artifact::Operation part = later;
      part.kernel = kernel;
      part.after.clear();
      part.predictedStart = part.predictedEnd = 0;
      part.tileBegin = static_cast<uint64_t>(range.begin);
      part.tiles = static_cast<uint64_t>(range.end - range.begin);
      draft.parts.push_back(std::move(part));
    }
    for (artifact::OperationId id : later.after)
      if (id.kind == artifact::LaneKind::Prepare)
        addAfter(draft.after, id);
    return success();
  }

  LogicalResult collect(plan::DispatchOp op, uint32_t execute, Draft &draft) {
    Operation *layer = order.layers()[emitted.layers[execute]];
    const Routine *routine = codegen::gpuRoutines().named(op.getRoutine());
    if (!routine)
      return op.emitOpError("found routine '")
             << op.getRoutine() << "', expected one of GPUs";
    const auto &own = codegen::GpuRoutine::of(*routine);
    codegen::HalfTensors half{uint64_t(op.getHalf().value_or(0))};
    FailureOr<codegen::GpuSteps> steps = code.add(layer, own, half, cutOf(op));
    if (failed(steps))
      return failure();
    auto firstTemporary = static_cast<uint32_t>(draft.buffers.size());
    for (int64_t bytes : steps->temporaries)
      draft.buffers.push_back({static_cast<uint64_t>(bytes)});
    std::optional<ArrayRef<int64_t>> predicted = op.getPredicted();
    for (auto [i, step] : llvm::enumerate(steps->steps)) {
      PendingDispatch pending;
      pending.dispatch = code.dispatchOf(step);
      pending.dispatch.operation = execute;
      const codegen::SpirvModule &module = code.module(step.kernel);
      pending.written = module.written;
      if (predicted && i < predicted->size())
        pending.dispatch.predicted = (*predicted)[i];
      for (GpuStepOperand operand : step.operands)
        if (operand.kind == GpuStepOperand::Kind::Temporary) {
          uint32_t buffer = firstTemporary + operand.index;
          pending.bindings.push_back(
              {std::nullopt, {buffer, 0, draft.buffers[buffer].size}});
        } else if (failed(bind(layer, own, half, operand, execute, draft,
                               pending))) {
          return failure();
        }
      for (const std::vector<char> &table : module.tables)
        bindTable({table.data(), table.size()}, draft, pending);
      draft.dispatches.push_back(std::move(pending));
    }
    return success();
  }

  LogicalResult bind(Operation *layer, const codegen::GpuRoutine &routine,
                     codegen::HalfTensors half, GpuStepOperand operand,
                     uint32_t execute, Draft &draft, PendingDispatch &pending) {
    bool isResult = operand.kind == GpuStepOperand::Kind::Result;
    Value v = isResult ? Value(layer->getResult(operand.index))
                       : layer->getOperand(operand.index);
    Aliases::Place place = order.placeOf(v);
    uint64_t offset = place.offset, size = nn::storageSize(v);
    if (offset % artifact::gpuAlignment)
      return layer->emitOpError("found a tensor at byte ")
             << offset << " of another one, expected a multiple of "
             << artifact::gpuAlignment << " on a GPU";
    unsigned number =
        isResult ? operand.index : layer->getNumResults() + operand.index;
    // Elements of half the size lie at half the place.
    unsigned part = half.has(codegen::HalfTensors::result(number)) ? 2 : 1;
    if (offset / part % artifact::gpuAlignment || size % part)
      return layer->emitOpError("found a tensor in f16 at byte ")
             << offset << " of another one, expected a multiple of "
             << 2 * artifact::gpuAlignment;
    // The binding of a part of it that begins at `start`, and has `all` bytes.
    auto bindingOf = [&](uint64_t start, uint64_t all) {
      uint64_t first = operand.offset / part, bytes = operand.size / part,
               stride = operand.distance / part;
      auto count = static_cast<uint32_t>(operand.pieces);
      if (!bytes)
        return Binding{std::nullopt, {0, start, all}, all};
      uint64_t size = stride * (count - 1) + bytes;
      assert(first % artifact::gpuAlignment == 0 && first + size <= all);
      return Binding{
          std::nullopt, {0, start + first, size}, bytes, stride, count};
    };
    if (place.base.getDefiningOp<nn::ConstantOp>()) {
      std::optional<WeightForm> form = routine.weightForm(layer);
      bool isForm = form && form->operand == operand.index;
      FailureOr<ReadyWeights::Place> found =
          part == 2 ? FailureOr<ReadyWeights::Place>(halvesOf(place.base))
                    : placeOf(layer, place.base,
                              isForm ? plan::transformed(form->name)
                                     : plan::StoredForm());
      if (failed(found))
        return failure();
      Binding binding = bindingOf(offset / part,
                                  isForm ? uint64_t(form->bytes) : size / part);
      // The first bytes suffice where it reads no others.
      if (binding.count == 1)
        found->operand.size =
            std::min(found->operand.size, binding.range.end());
      binding.source = sourceOf(*found);
      draft.sources.insert(*binding.source);
      pending.bindings.push_back(binding);
      return success();
    }
    // The place of the whole tensor that it lies in, in the CPU's memory.
    artifact::Operand host = program.operations[execute].operands[number];
    host.offset -= offset;
    host.size = nn::storageSize(place.base);
    uint32_t buffer = bufferOf(place.base, host, part, draft);
    if (draft.buffers[buffer].host && part == 2)
      return layer->emitOpError("found a tensor in f16 that the CPU has");
    if (draft.buffers[buffer].size * part != host.size)
      return layer->emitOpError("found a tensor in f16 and in f32");
    Binding binding = bindingOf(offset / part, size / part);
    binding.range.buffer = buffer;
    pending.bindings.push_back(binding);
    return success();
  }

  void bindTable(StringRef bytes, Draft &draft, PendingDispatch &pending) {
    WeightTable::Place place = weights.add(bytes);
    unsigned source = sourceOf(stored(place));
    tables.insert(source);
    draft.sources.insert(source);
    pending.bindings.push_back({source, {0, 0, place.size}});
  }

  /// In the GPU's own memory a tensor has that part of the CPU's bytes.
  uint32_t bufferOf(Value base, artifact::Operand host, unsigned part,
                    Draft &draft) {
    auto [it, isNew] = draft.bufferOf.try_emplace(base, draft.buffers.size());
    if (!isNew)
      return it->second;
    StretchBuffer buffer{host.size / part};
    std::optional<unsigned> tensor = order.tensorOf(base);
    if (!tensor || order.tensors()[*tensor].first < range.first ||
        order.tensors()[*tensor].last >= range.second)
      buffer.host = host;
    draft.buffers.push_back(buffer);
    return it->second;
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  /// As preparations of the CPU leave them; else as the file has them, where
  /// they are added if they are not there in this form.
  FailureOr<ReadyWeights::Place> placeOf(Operation *layer, Value constant,
                                         const plan::StoredForm &form) {
    if (const ReadyWeights::Place *ready = emitted.ready.find(constant, form))
      return *ready;
    FormMaker maker;
    if (form.storage == plan::Storage::transformed) {
      const auto &routines = hostRoutines().agreeing(layer);
      auto found = llvm::find_if(routines, [&](const Routine *routine) {
        std::optional<WeightForm> own = routine->weightForm(layer);
        return own && own->name == form.name;
      });
      if (found == routines.end())
        return layer->emitOpError("found no routine that makes weights of "
                                  "form '")
               << form.name << "'";
      maker = {*found, layer};
    }
    return stored(weights.add(constant, form, maker));
  }

  /// The nearest halves, which are in the file for the GPU alone, unless they
  /// are exact and the CPU's as well.
  ReadyWeights::Place halvesOf(Value constant) {
    plan::StoredForm form;
    form.narrow = canNarrow(constant, plan::Narrowing::f16)
                      ? plan::Narrowing::f16
                      : plan::Narrowing::rounded;
    return stored(weights.add(constant, form));
  }

  ReadyWeights::Place stored(const WeightTable::Place &place) const {
    return {weights.operand(place), {}};
  }

  /// Weights at one place are one source, of as many bytes as any stretch
  /// reads.
  unsigned sourceOf(const ReadyWeights::Place &place) {
    const artifact::Operand &operand = place.operand;
    auto [it, isNew] = sourceAt.try_emplace(
        std::pair(operand.space, operand.offset), sources.size());
    if (isNew)
      sources.push_back({place, 0, std::nullopt});
    uint64_t &size = sources[it->second].place.operand.size;
    size = std::max(size, operand.size);
    return it->second;
  }

  //===--------------------------------------------------------------------===//
  // Preparations
  //===--------------------------------------------------------------------===//

  OperationId idOf(uint32_t preparation) const {
    return {artifact::LaneKind::Prepare,
            static_cast<uint32_t>(program.preparations.size()) + preparation};
  }

  /// Uploads that follow one another in a lane, those of the first run apart
  /// from later ones.
  void findFollowers() {
    for (auto lane : plan.getBody().getOps<plan::GpuLaneOp>()) {
      plan::UploadOp last;
      for (Value token : lane.getQueue()) {
        auto upload = token.getDefiningOp<plan::UploadOp>();
        if (last && upload &&
            plan::timesOf(last).has_value() ==
                plan::timesOf(upload).has_value())
          followerOf[last] = upload;
        last = upload;
      }
    }
  }

  LogicalResult prepare(Operation *op) {
    if (preparationOf.count(op))
      return success(); // with another one
    artifact::GpuPreparation result;
    if (isa<plan::DeviceOp>(op)) {
      result.stage = GpuStage::Device;
    } else if (auto pipelines = dyn_cast<plan::PipelineOp>(op)) {
      result.stage = GpuStage::Pipeline;
      if (failed(makePipelines(pipelines, result)))
        return failure();
    } else if (auto uploaded = dyn_cast<plan::UploadOp>(op)) {
      result.stage = GpuStage::Upload;
      upload(uploaded, result);
    } else {
      result.stage = GpuStage::Record;
      result.stretch = cast<plan::RecordOp>(op).getStretch();
    }
    if (isa<plan::PipelineOp, plan::UploadOp>(op) && result.pipelines.empty() &&
        result.uploads.empty())
      return success(); // others make or bring all of it
    waitFor(op->getOperands(), result.after);
    if (result.stage == GpuStage::Record)
      for (const PendingDispatch &pending : drafts[result.stretch].dispatches)
        addAfter(result.after, idOf(makerOf[pending.dispatch.pipeline]));
    if (auto times = plan::timesOf(op))
      std::tie(result.predictedStart, result.predictedEnd) = *times;
    auto number = static_cast<uint32_t>(gpu.preparations.size());
    for (uint32_t pipeline : result.pipelines)
      makerOf[pipeline] = number;
    preparationOf[op] = number;
    if (result.stage == GpuStage::Record)
      recordOf[result.stretch] = number;
    bool isDevice = result.stage == GpuStage::Device;
    gpu.preparations.push_back(std::move(result));
    if (isDevice && !tables.empty())
      uploadTables(number);
    return success();
  }

  /// The kernels' tables are little, and one upload serves many layers.
  void uploadTables(uint32_t device) {
    artifact::GpuPreparation result;
    result.stage = GpuStage::Upload;
    result.after = {idOf(device)};
    tablesUpload = static_cast<uint32_t>(gpu.preparations.size());
    bring({tables.begin(), tables.end()}, result);
    gpu.preparations.push_back(std::move(result));
  }

  /// Adds the GPU's preparations among these operations.
  void waitFor(ValueRange tokens, std::vector<OperationId> &after) const {
    for (Value token : tokens)
      if (auto it = preparationOf.find(token.getDefiningOp());
          it != preparationOf.end())
        addAfter(after, idOf(it->second));
  }

  static void addAfter(std::vector<OperationId> &after, OperationId id) {
    if (!llvm::is_contained(after, id))
      after.push_back(id);
  }

  LogicalResult makePipelines(plan::PipelineOp op,
                              artifact::GpuPreparation &result) {
    for (auto key : op.getKernels().getAsRange<StringAttr>()) {
      std::optional<unsigned> kernel = code.kernelOf(key);
      if (!kernel)
        return op.emitOpError("found kernel '")
               << key.getValue() << "', which no layer has";
      uint32_t pipeline = code.pipelineOf(*kernel);
      if (!makerOf.count(pipeline) &&
          !llvm::is_contained(result.pipelines, pipeline))
        result.pipelines.push_back(pipeline);
    }
    return success();
  }

  /// Brings the sources that stretches read of the upload's layer and no other
  /// upload brings; with those of uploads that follow in its lane, up to some
  /// bytes: each preparation takes metadata, and a call of the driver.
  void upload(plan::UploadOp op, artifact::GpuPreparation &result) {
    std::vector<unsigned> brought;
    SmallVector<plan::UploadOp> members;
    uint64_t bytes = 0;
    for (plan::UploadOp next = op; next; next = followerOf.lookup(next)) {
      size_t known = brought.size();
      collectSources(next.getLayer(), brought);
      for (unsigned number : ArrayRef(brought).drop_front(known))
        bytes += sources[number].place.operand.size;
      members.push_back(next);
      waitFor(next.getAfter(), result.after);
      if (bytes >= uploadBytes)
        break;
    }
    if (!brought.empty())
      for (plan::UploadOp member : members)
        preparationOf[member] = gpu.preparations.size();
    bring(brought, result);
  }

  /// Appends sources that the layer's dispatches read and nothing brings yet.
  void collectSources(uint64_t layer, std::vector<unsigned> &brought) {
    auto execute = executeOf.find(layer);
    if (execute == executeOf.end())
      return;
    for (const Draft &draft : drafts)
      for (const PendingDispatch &pending : draft.dispatches) {
        if (pending.dispatch.operation != execute->second)
          continue;
        for (const Binding &binding : pending.bindings)
          if (binding.source && !sources[*binding.source].upload &&
              !llvm::is_contained(brought, *binding.source) &&
              !tables.contains(*binding.source))
            brought.push_back(*binding.source);
      }
  }

  /// Sources get their places. Those side by side are one upload.
  void bring(std::vector<unsigned> brought, artifact::GpuPreparation &result) {
    auto operandOf = [&](unsigned number) -> const artifact::Operand & {
      return sources[number].place.operand;
    };
    llvm::sort(brought, [&](unsigned a, unsigned b) {
      return std::tuple(operandOf(a).space, operandOf(a).offset) <
             std::tuple(operandOf(b).space, operandOf(b).offset);
    });
    for (unsigned number : brought) {
      Source &source = sources[number];
      const artifact::Operand &operand = operandOf(number);
      source.upload = static_cast<uint32_t>(gpu.preparations.size());
      source.device = gpu.preparedSize;
      gpu.preparedSize += llvm::alignTo(operand.size, artifact::gpuAlignment);
      for (OperationId id : source.place.after)
        addAfter(result.after, id);
      artifact::Upload *last =
          result.uploads.empty() ? nullptr : &result.uploads.back();
      // The file has zeros between two, prepared memory undefined bytes.
      bool isMade = operand.space == artifact::Space::Weights;
      if (last && last->source.space == operand.space &&
          operand.offset - last->source.offset ==
              source.device - last->offset &&
          (isMade ||
           operand.offset == last->source.offset + last->source.size)) {
        last->source.size = last->size =
            operand.offset + operand.size - last->source.offset;
        continue;
      }
      result.uploads.push_back({operand, source.device, operand.size});
    }
  }

  //===--------------------------------------------------------------------===//
  // Stretches and lanes
  //===--------------------------------------------------------------------===//

  LogicalResult emit(plan::StretchOp op, Draft &draft) {
    std::vector<StretchDispatch> touched;
    for (const PendingDispatch &pending : draft.dispatches) {
      StretchDispatch uses;
      for (auto [i, binding] : llvm::enumerate(pending.bindings)) {
        bool isWritten = pending.written >> i & 1;
        std::vector<BufferRange> &list = isWritten ? uses.writes : uses.reads;
        for (uint32_t n = 0; !binding.source && n < binding.count; ++n)
          list.push_back({binding.range.buffer,
                          binding.range.offset + n * binding.stride,
                          binding.bytes});
      }
      touched.push_back(std::move(uses));
    }
    StretchMemory memory = placeStretch(draft.buffers, touched);
    gpu.arenaSize = std::max(gpu.arenaSize, memory.arenaSize);

    artifact::Stretch result{draft.first, draft.count};
    std::vector<uint32_t> boundaryOf(draft.buffers.size());
    for (auto [i, buffer] : llvm::enumerate(draft.buffers))
      if (buffer.host)
        boundaryOf[i] = boundary(*buffer.host, memory.places[i]);
    auto operandOf = [&](const Binding &binding) -> artifact::GpuOperand {
      auto [buffer, offset, size] = binding.range;
      using Space = artifact::GpuSpace;
      if (binding.source)
        return {Space::Prepared, 0, sources[*binding.source].device + offset,
                size};
      if (draft.buffers[buffer].host)
        return {Space::Boundary, boundaryOf[buffer], offset, size};
      return {Space::Arena, 0, memory.places[buffer] + offset, size};
    };
    for (auto [i, pending] : llvm::enumerate(draft.dispatches)) {
      pending.dispatch.barrier = memory.barriers[i];
      for (auto [b, binding] : llvm::enumerate(pending.bindings)) {
        pending.dispatch.operands.push_back(operandOf(binding));
        if (binding.count > 1)
          pending.dispatch.touched.push_back({static_cast<uint8_t>(b),
                                              binding.stride, binding.bytes,
                                              binding.count});
      }
      result.dispatches.push_back(std::move(pending.dispatch));
    }
    auto rows = [&](const std::vector<BufferRange> &ranges) {
      std::vector<artifact::Rows> list;
      for (const BufferRange &range : ranges)
        list.push_back({boundaryOf[range.buffer], range.offset, range.size});
      return list;
    };
    result.in = rows(memory.in);
    result.out = rows(memory.out);
    result.after = {idOf(recordOf[gpu.stretches.size()])};
    for (unsigned number : draft.sources) {
      if (!sources[number].upload)
        return op.emitOpError("found no plan.upload of weights that it reads");
      addAfter(result.after, idOf(*sources[number].upload));
    }
    for (OperationId id : draft.after)
      addAfter(result.after, id);
    if (op.getDim()) {
      result.kind = artifact::StretchKind::Split;
      result.parts = std::move(draft.parts);
      result.dim = static_cast<uint8_t>(*op.getDim());
      result.at = static_cast<uint32_t>(*op.getAt());
    }
    result.cold = op.getCold();
    result.predicted = op.getPredicted().value_or(0);
    if (op.getWarm())
      gpu.warm.push_back(gpu.stretches.size());
    gpu.stretches.push_back(std::move(result));
    return success();
  }

  uint32_t boundary(const artifact::Operand &host, uint64_t device) {
    auto [it, isNew] = boundaryAt.try_emplace(
        std::tuple(host.space, host.index, host.offset, host.size, device),
        gpu.boundaries.size());
    if (isNew)
      gpu.boundaries.push_back({host, device});
    return it->second;
  }

  void emit(plan::GpuLaneOp op) {
    artifact::Lane lane{artifact::LaneKind::Prepare, {}, {}, {}};
    for (Value token : op.getQueue())
      if (auto it = preparationOf.find(token.getDefiningOp());
          it != preparationOf.end()) {
        addAfter(lane.queue, idOf(it->second));
        if (tablesUpload && isa<plan::DeviceOp>(token.getDefiningOp()))
          lane.queue.push_back(idOf(*tablesUpload));
      }
    if (!lane.queue.empty())
      gpu.lanes.push_back(std::move(lane));
  }

  const ExecutionOrder &order;
  plan::GpuOp plan;
  GpuCode &code;
  KernelTable &kernels;
  WeightTable &weights;
  const EmittedProgram &emitted;
  artifact::Program &program;
  artifact::ProgramGpu &gpu;
  std::map<uint64_t, uint32_t> executeOf; ///< by layer
  std::pair<uint64_t, uint64_t> range;    ///< layers of the stretch at hand
  std::vector<Draft> drafts;
  std::vector<Source> sources;
  llvm::SmallSetVector<unsigned, 4> tables; ///< sources
  std::optional<uint32_t> tablesUpload;     ///< preparation
  std::map<std::pair<artifact::Space, uint64_t>, unsigned> sourceAt;
  std::map<std::tuple<artifact::Space, uint32_t, uint64_t, uint64_t, uint64_t>,
           uint32_t>
      boundaryAt;
  /// Numbers of preparations: of the plan's, of a pipeline's maker, of a
  /// stretch's record.
  llvm::DenseMap<Operation *, uint32_t> preparationOf;
  llvm::DenseMap<plan::UploadOp, plan::UploadOp> followerOf;
  std::map<uint32_t, uint32_t> makerOf, recordOf;
};
} // namespace

std::optional<Cut> nnv12::cutOf(plan::DispatchOp dispatch) {
  if (!dispatch.getFront())
    return std::nullopt;
  auto stretch = dispatch->getParentOfType<plan::StretchOp>();
  return Cut{unsigned(*stretch.getDim()),
             static_cast<int64_t>(*dispatch.getFront())};
}

const artifact::Operation &nnv12::laterOf(const artifact::Program &program,
                                          uint32_t execute) {
  for (const artifact::Switch &change : program.switches)
    if (change.operation == execute)
      return change.replacement;
  return program.operations[execute];
}

LogicalResult nnv12::emitOverlay(const ExecutionOrder &order, plan::GpuOp plan,
                                 GpuCode &code, KernelTable &kernels,
                                 WeightTable &weights,
                                 EmittedProgram &emitted) {
  return OverlayEmitter(order, plan, code, kernels, weights, emitted).run();
}
