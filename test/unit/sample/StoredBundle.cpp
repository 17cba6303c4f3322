//===- StoredBundle.cpp - A bundle's file as plain structs ----------------===//
#include "test/unit/sample/StoredBundle.h"

#include "artifact/Compatibility.h"
#include "artifact/MappedFile.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "test/unit/sample/SampleBundle.h"

namespace nnv12::test {

using namespace artifact;

static std::string textOf(const flatbuffers::String *text) {
  return text ? text->str() : "";
}

/// The elements of a vector of numbers or of structs; none is an empty one.
template <typename To, typename From>
static std::vector<To> listOf(const flatbuffers::Vector<From> *list) {
  return list ? std::vector<To>(list->begin(), list->end()) : std::vector<To>();
}

namespace {
/// Reads the parts of a program, whose operations have one numbering.
class ProgramReader {
public:
  ProgramReader(const bundle::Target *target, const bundle::Program *program,
                const bundle::ProgramGpu *gpu)
      : target(target), program(program), gpu(gpu),
        executes(numExecutes(program)) {}

  Program read() const;

private:
  Operand read(const bundle::Operand *operand) const;
  Operation read(const bundle::Operation *operation) const;
  Lane read(const bundle::Lane *lane) const;
  ProgramGpu read(const bundle::ProgramGpu *gpu) const;
  GpuPreparation read(const bundle::GpuPreparation *preparation) const;
  Stretch read(const bundle::Stretch *stretch) const;
  std::vector<OperationId>
  idsOf(const flatbuffers::Vector<uint32_t> *numbers) const;

  const bundle::Target *target;
  const bundle::Program *program;
  const bundle::ProgramGpu *gpu; ///< or null
  uint32_t executes;
};
} // namespace

std::vector<OperationId>
ProgramReader::idsOf(const flatbuffers::Vector<uint32_t> *numbers) const {
  std::vector<OperationId> ids;
  for (uint32_t number : listOf<uint32_t>(numbers))
    ids.push_back(number < executes
                      ? OperationId{LaneKind::Execute, number}
                      : OperationId{LaneKind::Prepare, number - executes});
  return ids;
}

Operand ProgramReader::read(const bundle::Operand *operand) const {
  static constexpr Space spaces[] = {Space::Arena, Space::Weights, Space::Input,
                                     Space::Output};
  if (isIn(program, operand, bundle::MemoryKind_Prepared))
    return {Space::Prepared, 0, operand->offset(), operand->size()};
  bool isMemory = operand->space() == bundle::Space_Memory;
  return {spaces[operand->space()], isMemory ? 0 : operand->index(),
          operand->offset(), operand->size()};
}

Operation ProgramReader::read(const bundle::Operation *operation) const {
  Operation result;
  result.layer = textOf(operation->layer());
  result.kernel = operation->kernel();
  for (const bundle::Operand *operand : *operation->operands())
    result.operands.push_back(read(operand));
  result.tileBegin = operation->tile_begin();
  result.tiles = operation->tile_end() - operation->tile_begin();
  result.kind = OperationKind(operation->kind());
  result.after = idsOf(operation->after());
  result.codec = Codec(operation->codec());
  result.planes = operation->planes();
  result.predictedStart = operation->predicted_start();
  result.predictedEnd = operation->predicted_end();
  result.lastReader = operation->last_reader();
  result.liveArena = operation->live_arena();
  return result;
}

Lane ProgramReader::read(const bundle::Lane *lane) const {
  return {LaneKind(lane->kind()), CoreKind(lane->core()), idsOf(lane->queue()),
          idsOf(lane->background())};
}

GpuPreparation
ProgramReader::read(const bundle::GpuPreparation *preparation) const {
  GpuPreparation result;
  result.stage = GpuStage(preparation->stage());
  result.pipelines = listOf<uint32_t>(preparation->pipelines());
  for (uint32_t i = 0;
       preparation->uploads() && i < preparation->uploads()->size(); ++i) {
    const bundle::Upload *upload = preparation->uploads()->Get(i);
    result.uploads.push_back({read(upload->source()), upload->offset(),
                              upload->size(), Codec(upload->codec()),
                              upload->planes()});
  }
  result.stretch = preparation->stretch();
  result.after = idsOf(preparation->after());
  result.predictedStart = preparation->predicted_start();
  result.predictedEnd = preparation->predicted_end();
  return result;
}

static TileMap read(const bundle::TileMap *map) {
  TileMap result;
  for (const bundle::TileAxis *axis : *map->axes())
    result.axes.push_back({axis->extent(), axis->stride()});
  for (const bundle::TilePart *part : *map->parts()) {
    TilePart &to = result.parts.emplace_back();
    to.lo = listOf<uint64_t>(part->lo());
    to.hi = listOf<uint64_t>(part->hi());
    for (const bundle::TileCut *cut : *part->cuts())
      to.cuts.push_back({uint32_t(cut->axis()), cut->count(), cut->size()});
  }
  return result;
}

using MapList = flatbuffers::Vector<flatbuffers::Offset<bundle::TileMap>>;

static std::vector<TileMap> readMaps(const MapList *list) {
  std::vector<TileMap> result;
  for (uint32_t i = 0; list && i < list->size(); ++i)
    result.push_back(test::read(list->Get(i)));
  return result;
}

template <typename From> static std::vector<Rows> readRows(const From *list) {
  std::vector<Rows> result;
  for (const bundle::Rows *rows : *list)
    result.push_back({rows->boundary(), rows->offset(), rows->bytes()});
  return result;
}

static GpuExtent read(const bundle::GpuExtent *extent) {
  return {extent->x(), extent->y(), extent->z()};
}

Stretch ProgramReader::read(const bundle::Stretch *stretch) const {
  Stretch result;
  result.kind = StretchKind(stretch->kind());
  result.first = stretch->first();
  result.count = stretch->count();
  for (const bundle::Dispatch *from : *stretch->dispatches()) {
    Dispatch dispatch{from->operation(), from->pipeline()};
    for (const bundle::GpuOperand *operand : *from->operands())
      dispatch.operands.push_back({GpuSpace(operand->space()), operand->index(),
                                   operand->offset(), operand->size()});
    dispatch.groups = test::read(from->groups());
    dispatch.push = listOf<uint32_t>(from->push());
    dispatch.barrier = from->barrier();
    dispatch.predicted = from->predicted();
    dispatch.maps = readMaps(from->maps());
    for (const bundle::Touched *touched : elementsOf(from->touched()))
      dispatch.touched.push_back({touched->operand(), touched->stride(),
                                  touched->bytes(), touched->count()});
    result.dispatches.push_back(std::move(dispatch));
  }
  result.in = readRows(stretch->in());
  result.out = readRows(stretch->out());
  result.after = idsOf(stretch->after());
  result.cold = stretch->cold();
  result.predicted = stretch->predicted();
  for (const bundle::Operation *part : elementsOf(stretch->parts()))
    result.parts.push_back(read(part));
  result.dim = stretch->dim();
  result.at = stretch->at();
  return result;
}

ProgramGpu ProgramReader::read(const bundle::ProgramGpu *gpu) const {
  ProgramGpu result;
  for (const bundle::Memory *memory : *gpu->memories())
    (memory->kind() == bundle::MemoryKind_Arena ? result.arenaSize
                                                : result.preparedSize) =
        memory->size();
  for (const bundle::Boundary *boundary : *gpu->boundaries())
    result.boundaries.push_back({read(boundary->host()), boundary->device()});
  for (const bundle::GpuPreparation *preparation : *gpu->preparations())
    result.preparations.push_back(read(preparation));
  for (const bundle::Lane *lane : *gpu->lanes())
    result.lanes.push_back(read(lane));
  for (const bundle::Stretch *stretch : *gpu->stretches())
    result.stretches.push_back(read(stretch));
  result.warm = listOf<uint32_t>(gpu->warm());
  result.start = OverlayStart(
      findOverlay(program, bundle::OverlayKind_Gpu)->head()->start());
  result.profile = textOf(gpu->profile());
  result.predictedCold = gpu->predicted_cold();
  result.predictedWarm = gpu->predicted_warm();
  return result;
}

static Kernel read(const bundle::Kernel *kernel) {
  Kernel result = {textOf(kernel->name()),
                   kernel->entry(),
                   kernel->operands(),
                   kernel->outputs(),
                   kernel->scratch(),
                   kernel->tiles(),
                   textOf(kernel->routine()),
                   kernel->multiply_adds(),
                   kernel->bytes(),
                   textOf(kernel->key()),
                   listOf<uint8_t>(kernel->fingerprint())};
  result.maps = readMaps(kernel->maps());
  return result;
}

Program ProgramReader::read() const {
  Program result;
  const bundle::Processor *cpu = cpuOf(target);
  result.target = textOf(target->name());
  result.revision = textOf(target->revision());
  result.architecture = textOf(cpu->architecture());
  result.tune = textOf(cpu->tune());
  result.code = cpu->code();
  for (const bundle::Feature *feature : *cpu->features())
    result.features.push_back(textOf(feature->name()));
  for (const bundle::Kernel *kernel : *target->kernels())
    result.kernels.push_back(test::read(kernel));
  for (uint32_t i = 0; i < program->operations()->size(); ++i)
    (i < executes ? result.operations : result.preparations)
        .push_back(read(program->operations()->Get(i)));
  result.arenaSize = memorySize(program, bundle::MemoryKind_Arena);
  result.preparedSize = memorySize(program, bundle::MemoryKind_Prepared);
  for (uint32_t i = 0; i < numLanes(program); ++i)
    result.lanes.push_back(read(program->lanes()->Get(i)));
  for (uint32_t i = 0; i < numSwitches(program); ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    result.switches.push_back(
        {change->operation(), read(change->replacement())});
  }
  result.predictedCold = program->predicted_cold();
  result.predictedWarm = program->predicted_warm();
  result.laterWaits = program->later_waits();
  if (gpu)
    result.gpu = read(gpu);
  return result;
}

/// Modules are pieces of their segment, which is cut where each begins and
/// ends.
static Gpu read(const bundle::Gpu *gpu, Segment &code) {
  auto *bytes = static_cast<const unsigned char *>(code.pieces[0].data);
  uint64_t size = code.pieces[0].size, end = 0;
  code.pieces.clear();
  auto addTo = [&](uint64_t next) {
    code.pieces.push_back({bytes + end, next - end});
    end = next;
  };
  Gpu result;
  result.api = gpu->api();
  result.code = gpu->code();
  for (const bundle::GpuModule *module : *gpu->modules()) {
    addTo(module->offset());
    result.modules.push_back(
        {textOf(module->name()), uint32_t(code.pieces.size())});
    addTo(module->offset() + module->words() * sizeof(uint32_t));
  }
  addTo(size);
  for (const bundle::GpuPipeline *pipeline : *gpu->pipelines())
    result.pipelines.push_back({pipeline->module_(), pipeline->bindings(),
                                pipeline->written(), pipeline->push_words(),
                                listOf<uint32_t>(pipeline->constants()),
                                test::read(pipeline->local()),
                                pipeline->shared(), pipeline->features()});
  return result;
}

template <typename From>
static std::vector<Tensor> readTensors(const From *tensors) {
  std::vector<Tensor> result;
  for (const bundle::Tensor *tensor : *tensors)
    result.push_back({textOf(tensor->name()), ElementType(tensor->type()),
                      listOf<int64_t>(tensor->shape())});
  return result;
}

StoredBundle::StoredBundle() = default;
StoredBundle::~StoredBundle() = default;

std::string StoredBundle::read(const std::string &path) {
  Fault fault;
  MappedFile file;
  if (!file.open(path.c_str(), fault))
    return path + ": " + fault.text;
  image = std::make_unique<AlignedCopy>(file.data(), file.size());
  const bundle::Bundle *stored = verifyBundle(image->data, image->size, fault);
  if (!stored)
    return path + ": " + fault.text;
  bundle.kind = BundleKind(stored->kind());
  bundle.model = textOf(stored->model());
  bundle.producer = textOf(stored->producer());
  // All programs have the same.
  bundle.inputs = readTensors(stored->programs()->Get(0)->inputs());
  bundle.outputs = readTensors(stored->programs()->Get(0)->outputs());
  bundle.threads = stored->threads();
  for (uint32_t i = 0; stored->properties() && i < stored->properties()->size();
       ++i) {
    const bundle::Property *property = stored->properties()->Get(i);
    bundle.properties.push_back(
        {property->key()->str(), property->value()->str()});
  }
  // The writer makes that of overlays.
  for (const bundle::Segment *segment : *stored->segments())
    if (segment->kind() != bundle::SegmentKind_Overlays)
      bundle.segments.push_back(
          {SegmentKind(segment->kind()),
           {{image->data + segment->offset(), segment->size()}},
           /*pieceAlignment=*/1});
  const bundle::GpuOverlays *overlays = gpuOverlaysIn(stored, image->data);
  for (const bundle::Program *program : *stored->programs())
    bundle.programs.push_back(ProgramReader(targetOf(stored, program), program,
                                            overlayOf(overlays, program))
                                  .read());
  if (overlays)
    bundle.gpu =
        test::read(overlays->gpu(), bundle.segments[overlays->gpu()->code()]);
  return {};
}

} // namespace nnv12::test
