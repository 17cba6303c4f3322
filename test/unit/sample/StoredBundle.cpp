//===- StoredBundle.cpp - A bundle's file as plain structs ----------------===//
#include "test/unit/sample/StoredBundle.h"

#include "artifact/MappedFile.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "test/unit/sample/SampleBundle.h"

namespace nnv12::test {

using namespace artifact;

static std::string textOf(const flatbuffers::String *text) {
  return text ? text->str() : "";
}

/// Of a vector of numbers or of structs; none is an empty one.
template <typename To, typename From>
static std::vector<To> listOf(const flatbuffers::Vector<From> *list) {
  return list ? std::vector<To>(list->begin(), list->end()) : std::vector<To>();
}

namespace {
/// Reads what belongs to a program, whose operations have one numbering.
class ProgramReader {
public:
  explicit ProgramReader(const bundle::Program *program)
      : program(program), executes(numExecutes(program)) {}

  Program read() const;

private:
  Operand read(const bundle::Operand *operand) const;
  Operation read(const bundle::Operation *operation) const;
  Lane read(const bundle::Lane *lane) const;
  std::vector<OperationId>
  idsOf(const flatbuffers::Vector<uint32_t> *numbers) const;

  const bundle::Program *program;
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
  for (uint32_t i = 0; kernel->maps() && i < kernel->maps()->size(); ++i)
    result.maps.push_back(read(kernel->maps()->Get(i)));
  return result;
}

Program ProgramReader::read() const {
  Program result;
  const bundle::Processor *cpu = cpuOf(program);
  result.target = textOf(program->target());
  result.revision = textOf(program->revision());
  result.architecture = textOf(cpu->architecture());
  result.tune = textOf(cpu->tune());
  result.code = cpu->code();
  for (const flatbuffers::String *feature : *cpu->features())
    result.features.push_back(textOf(feature));
  for (const bundle::Kernel *kernel : *program->kernels())
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
  bundle.inputs = readTensors(stored->inputs());
  bundle.outputs = readTensors(stored->outputs());
  bundle.threads = stored->threads();
  for (const bundle::Segment *segment : *stored->segments())
    bundle.segments.push_back(
        {SegmentKind(segment->kind()),
         {{image->data + segment->offset(), segment->size()}},
         /*pieceAlignment=*/1});
  for (const bundle::Program *program : *stored->programs())
    bundle.programs.push_back(ProgramReader(program).read());
  return {};
}

} // namespace nnv12::test
