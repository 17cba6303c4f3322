//===- Writer.cpp - Writes a bundle to a file -----------------------------===//
#include "artifact/Writer.h"

#include "artifact/AtomicFile.h"
#include "artifact/KeyFile.h"
#include "artifact/MetadataBudget.h"
#include "artifact/Sodium.h"
#include "artifact/Verifier.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

namespace nnv12::artifact {

namespace fb = flatbuffers;

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  assert(alignment && "zero is no alignment");
  return (value + alignment - 1) / alignment * alignment;
}

namespace {
/// Where a segment lies in the file.
struct Place {
  uint64_t offset = 0;
  uint64_t size = 0;
  Digest digest = {};
};
} // namespace

static constexpr uint8_t zeros[largestPage] = {};

/// Calls `sink(data, size)` for the bytes of a segment in order, padding
/// included; stops at the first call that returns false.
template <typename Sink>
static bool forEachChunk(const Segment &segment, Sink sink) {
  for (const Segment::Piece &piece : segment.pieces) {
    if (!sink(piece.data, piece.size))
      return false;
    uint64_t padding = alignUp(piece.size, segment.pieceAlignment) - piece.size;
    while (padding) {
      uint64_t n = std::min<uint64_t>(padding, sizeof zeros);
      if (!sink(zeros, n))
        return false;
      padding -= n;
    }
  }
  return true;
}

static Place measure(const Segment &segment) {
  Place place;
  Hasher hasher;
  forEachChunk(segment, [&](const void *data, uint64_t size) {
    hasher.update(data, size);
    place.size += size;
    return true;
  });
  place.digest = hasher.finish();
  return place;
}

static fb::Offset<bundle::Memory> addMemory(fb::FlatBufferBuilder &builder,
                                            bundle::MemoryKind kind,
                                            uint64_t size, uint64_t alignment,
                                            uint32_t processor = 0) {
  return bundle::CreateMemory(builder, kind, processor, size, alignment);
}

static fb::Offset<bundle::Operand> addOperand(fb::FlatBufferBuilder &builder,
                                              const Operand &operand) {
  // By Space. The arena and prepared memory are memories 0 and 1.
  static constexpr bundle::Space spaces[] = {
      bundle::Space_Memory, bundle::Space_Weights, bundle::Space_Input,
      bundle::Space_Output, bundle::Space_Memory};
  uint32_t index = operand.space == Space::Prepared ? 1 : operand.index;
  return bundle::CreateOperand(builder, spaces[unsigned(operand.space)], index,
                               operand.offset, operand.size);
}

static fb::Offset<bundle::TileMap> addTileMap(fb::FlatBufferBuilder &builder,
                                              const TileMap &map) {
  std::vector<bundle::TileAxis> axes;
  for (const TileAxis &axis : map.axes)
    axes.emplace_back(axis.extent, axis.stride);
  std::vector<fb::Offset<bundle::TilePart>> parts;
  for (const TilePart &part : map.parts) {
    std::vector<bundle::TileCut> cuts;
    for (const TileCut &cut : part.cuts)
      cuts.emplace_back(cut.axis, cut.count, cut.size);
    parts.push_back(
        bundle::CreateTilePartDirect(builder, &part.lo, &part.hi, &cuts));
  }
  return bundle::CreateTileMapDirect(builder, &axes, &parts);
}

static fb::Offset<bundle::Kernel> addKernel(fb::FlatBufferBuilder &builder,
                                            const Kernel &kernel) {
  std::vector<fb::Offset<bundle::TileMap>> maps;
  for (const TileMap &map : kernel.maps)
    maps.push_back(addTileMap(builder, map));
  return bundle::CreateKernelDirect(
      builder, kernel.name.c_str(), /*processor=*/0, kernel.entry,
      kernel.operands, kernel.outputs, kernel.scratch, kernel.tiles,
      kernel.routine.c_str(), kernel.multiplyAdds, kernel.bytes,
      kernel.key.c_str(), &kernel.fingerprint, &maps);
}

static bundle::GpuExtent extentOf(const GpuExtent &extent) {
  return {extent.x, extent.y, extent.z};
}

namespace {
/// Writes operations, which the bundle numbers executes first.
class OperationWriter {
public:
  OperationWriter(fb::FlatBufferBuilder &builder, const Program &program)
      : builder_(builder), executes_(program.operations.size()) {}

  std::vector<uint32_t> numbers(const std::vector<OperationId> &ids) const {
    std::vector<uint32_t> result;
    for (OperationId id : ids)
      result.push_back(static_cast<uint32_t>(
          id.kind == LaneKind::Execute ? id.index : executes_ + id.index));
    return result;
  }

  fb::Offset<bundle::Operation> add(const Operation &operation) {
    std::vector<fb::Offset<bundle::Operand>> operands;
    for (const Operand &operand : operation.operands)
      operands.push_back(addOperand(builder_, operand));
    std::vector<uint32_t> after = numbers(operation.after);
    return bundle::CreateOperationDirect(
        builder_, static_cast<bundle::OperationKind>(operation.kind),
        operation.layer.c_str(), operation.kernel, &operands,
        operation.tileBegin, operation.tileBegin + operation.tiles, &after,
        static_cast<bundle::Codec>(operation.codec), operation.planes,
        operation.lastReader, operation.predictedStart, operation.predictedEnd,
        operation.liveArena);
  }

  fb::Offset<bundle::Lane> add(const Lane &lane) const {
    std::vector<uint32_t> queue = numbers(lane.queue);
    std::vector<uint32_t> background = numbers(lane.background);
    return bundle::CreateLaneDirect(
        builder_, static_cast<bundle::LaneKind>(lane.kind), /*processor=*/0,
        static_cast<bundle::CoreKind>(lane.core), &queue, &background);
  }

private:
  fb::FlatBufferBuilder &builder_;
  size_t executes_;
};

/// Writes a program's overlay for a GPU.
class OverlayWriter {
public:
  OverlayWriter(fb::FlatBufferBuilder &builder,
                const OperationWriter &operations, const ProgramGpu &source)
      : builder_(builder), operations_(operations), source_(source) {}

  fb::Offset<bundle::ProgramGpu> add() {
    // Behind the program's processor.
    std::vector<fb::Offset<bundle::Memory>> memories = {
        addMemory(builder_, bundle::MemoryKind_Arena, source_.arenaSize,
                  gpuAlignment, /*processor=*/1),
        addMemory(builder_, bundle::MemoryKind_Prepared, source_.preparedSize,
                  gpuAlignment, /*processor=*/1)};
    std::vector<fb::Offset<bundle::Boundary>> boundaries;
    for (const Boundary &boundary : source_.boundaries)
      boundaries.push_back(bundle::CreateBoundary(
          builder_, addOperand(builder_, boundary.host), boundary.device));
    std::vector<fb::Offset<bundle::GpuPreparation>> preparations;
    for (const GpuPreparation &preparation : source_.preparations)
      preparations.push_back(add(preparation));
    std::vector<fb::Offset<bundle::Lane>> lanes;
    for (const Lane &lane : source_.lanes)
      lanes.push_back(operations_.add(lane));
    std::vector<fb::Offset<bundle::Stretch>> stretches;
    for (const Stretch &stretch : source_.stretches)
      stretches.push_back(add(stretch));
    return bundle::CreateProgramGpuDirect(
        builder_, &memories, &boundaries, &preparations, &lanes, &stretches,
        &source_.warm, source_.profile.c_str(), source_.predictedCold,
        source_.predictedWarm);
  }

private:
  std::vector<fb::Offset<bundle::Rows>> add(const std::vector<Rows> &list) {
    std::vector<fb::Offset<bundle::Rows>> result;
    for (const Rows &rows : list)
      result.push_back(
          bundle::CreateRows(builder_, rows.boundary, rows.offset, rows.bytes));
    return result;
  }

  fb::Offset<bundle::Dispatch> add(const Dispatch &dispatch) {
    std::vector<bundle::GpuOperand> operands;
    for (const GpuOperand &operand : dispatch.operands)
      operands.emplace_back(static_cast<bundle::GpuSpace>(operand.space),
                            operand.index, operand.offset, operand.size);
    bundle::GpuExtent groups = extentOf(dispatch.groups);
    auto operandList = builder_.CreateVectorOfStructs(operands);
    auto pushList = addPush(dispatch.push);
    fb::Offset<bundle::DispatchWork> work = 0;
    if (dispatch.work)
      work = add(*dispatch.work);
    return bundle::CreateDispatch(
        builder_, dispatch.operation, dispatch.pipeline, operandList, &groups,
        pushList, dispatch.barrier, dispatch.predicted, work);
  }

  /// The table that factsOf() reads.
  fb::Offset<bundle::DispatchWork> add(const KernelFacts &facts) {
    return bundle::CreateDispatchWorkDirect(
        builder_, facts.routine.c_str(), facts.key.c_str(), facts.steps,
        std::llround(facts.bytes), facts.barriers,
        std::llround(facts.multiplyAdds), facts.fromMemory, facts.stepsInTurn);
  }

  /// Equal layers have equal words: one vector serves them.
  fb::Offset<fb::Vector<uint32_t>> addPush(const std::vector<uint32_t> &words) {
    auto [it, isNew] = pushes_.try_emplace(words);
    if (isNew)
      it->second = builder_.CreateVector(words);
    return it->second;
  }

  fb::Offset<bundle::Stretch> add(const Stretch &stretch) {
    std::vector<fb::Offset<bundle::Dispatch>> dispatches;
    for (const Dispatch &dispatch : stretch.dispatches)
      dispatches.push_back(add(dispatch));
    auto in = add(stretch.in), out = add(stretch.out);
    std::vector<uint32_t> after = operations_.numbers(stretch.after);
    return bundle::CreateStretchDirect(
        builder_, static_cast<bundle::StretchKind>(stretch.kind), stretch.first,
        stretch.count, &dispatches, &in, &out, &after, stretch.cold,
        stretch.predicted);
  }

  fb::Offset<bundle::GpuPreparation> add(const GpuPreparation &preparation) {
    std::vector<fb::Offset<bundle::Upload>> uploads;
    for (const Upload &upload : preparation.uploads)
      uploads.push_back(bundle::CreateUpload(
          builder_, addOperand(builder_, upload.source), upload.offset,
          upload.size, static_cast<bundle::Codec>(upload.codec),
          upload.planes));
    std::vector<uint32_t> after = operations_.numbers(preparation.after);
    return bundle::CreateGpuPreparationDirect(
        builder_, static_cast<bundle::GpuStage>(preparation.stage),
        &preparation.pipelines, &uploads, preparation.stretch, &after,
        preparation.predictedStart, preparation.predictedEnd);
  }

  fb::FlatBufferBuilder &builder_;
  const OperationWriter &operations_;
  const ProgramGpu &source_;
  std::map<std::vector<uint32_t>, fb::Offset<fb::Vector<uint32_t>>> pushes_;
};
} // namespace

static uint32_t numCommands(const Stretch &stretch) {
  return static_cast<uint32_t>(1 + stretch.dispatches.size());
}

/// `index`: of the overlay among all.
static fb::Offset<bundle::OverlayHead>
addHead(fb::FlatBufferBuilder &builder, uint32_t index, const ProgramGpu &gpu) {
  uint32_t cold = 0, warm = 0;
  for (const Stretch &stretch : gpu.stretches)
    cold += stretch.cold ? numCommands(stretch) : 0;
  for (uint32_t stretch : gpu.warm)
    if (stretch < gpu.stretches.size())
      warm += numCommands(gpu.stretches[stretch]);
  return bundle::CreateOverlayHead(
      builder, index, static_cast<bundle::GpuStart>(gpu.start), cold, warm);
}

/// `overlays`: how many there are of the programs before it.
static fb::Offset<bundle::Program> addProgram(fb::FlatBufferBuilder &builder,
                                              const Program &program,
                                              uint32_t &overlays) {
  std::vector<fb::Offset<bundle::Kernel>> kernels;
  for (const Kernel &kernel : program.kernels)
    kernels.push_back(addKernel(builder, kernel));
  OperationWriter writer(builder, program);
  std::vector<fb::Offset<bundle::Operation>> operations;
  for (const Operation &operation : program.operations)
    operations.push_back(writer.add(operation));
  for (const Operation &operation : program.preparations)
    operations.push_back(writer.add(operation));
  std::vector<fb::Offset<bundle::Lane>> lanes;
  for (const Lane &lane : program.lanes)
    lanes.push_back(writer.add(lane));
  std::vector<fb::Offset<bundle::Switch>> switches;
  for (const Switch &change : program.switches)
    switches.push_back(bundle::CreateSwitch(builder, change.operation,
                                            writer.add(change.replacement)));
  std::vector<fb::Offset<fb::String>> features;
  for (const std::string &feature : program.features)
    features.push_back(builder.CreateString(feature));
  std::vector<fb::Offset<bundle::Processor>> processors = {
      bundle::CreateProcessorDirect(builder, bundle::ProcessorKind_Cpu,
                                    program.architecture.c_str(), &features,
                                    program.code, program.tune.c_str())};
  std::vector<fb::Offset<bundle::Memory>> memories = {
      // Where a GPU works in the arena, its operands lie at such addresses.
      addMemory(builder, bundle::MemoryKind_Arena, program.arenaSize,
                program.gpu ? gpuAlignment : memoryAlignment),
      addMemory(builder, bundle::MemoryKind_Prepared, program.preparedSize,
                memoryAlignment)};
  fb::Offset<bundle::OverlayHead> overlay;
  if (program.gpu)
    overlay = addHead(builder, overlays++, *program.gpu);
  return bundle::CreateProgramDirect(
      builder, program.target.c_str(), program.revision.c_str(), &processors,
      &memories, &kernels, &operations, &lanes, &switches,
      program.predictedCold, program.predictedWarm, overlay,
      program.laterWaits);
}

/// Adds a GPU's tables; its modules are pieces of the segment `code`.
static fb::Offset<bundle::Gpu> addGpu(fb::FlatBufferBuilder &builder,
                                      const Gpu &gpu, const Segment &code) {
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (const Segment::Piece &piece : code.pieces) {
    offsets.push_back(end);
    end += alignUp(piece.size, code.pieceAlignment);
  }
  std::vector<fb::Offset<bundle::GpuModule>> modules;
  for (const GpuModule &module : gpu.modules) {
    const Segment::Piece &piece = code.pieces[module.piece];
    Digest digest = digestOf(piece.data, piece.size);
    auto name = builder.CreateString(module.name);
    auto digestBytes = builder.CreateVector(digest.bytes, sizeof digest);
    modules.push_back(bundle::CreateGpuModule(
        builder, name, offsets[module.piece],
        static_cast<uint32_t>(piece.size / sizeof(uint32_t)), digestBytes));
  }
  std::vector<fb::Offset<bundle::GpuPipeline>> pipelines;
  for (const GpuPipeline &pipeline : gpu.pipelines) {
    bundle::GpuExtent local = extentOf(pipeline.local);
    pipelines.push_back(bundle::CreateGpuPipelineDirect(
        builder, pipeline.module, pipeline.bindings, pipeline.written,
        pipeline.pushWords, &pipeline.constants, &local, pipeline.shared,
        pipeline.features));
  }
  return bundle::CreateGpuDirect(builder, gpu.api, gpu.code, &modules,
                                 &pipelines);
}

static std::vector<fb::Offset<bundle::Tensor>>
addTensors(fb::FlatBufferBuilder &builder, const std::vector<Tensor> &tensors) {
  std::vector<fb::Offset<bundle::Tensor>> result;
  for (const Tensor &tensor : tensors)
    result.push_back(bundle::CreateTensorDirect(
        builder, tensor.name.c_str(),
        static_cast<bundle::ElementType>(tensor.type), &tensor.shape));
  return result;
}

/// Adds all programs' overlays.
static void buildOverlays(fb::FlatBufferBuilder &builder,
                          const Bundle &source) {
  // As in the metadata: all numbers are stored.
  builder.ForceDefaults(true);
  std::vector<fb::Offset<bundle::ProgramGpu>> programs;
  for (const Program &program : source.programs)
    if (program.gpu)
      programs.push_back(OverlayWriter(builder,
                                       OperationWriter(builder, program),
                                       *program.gpu)
                             .add());
  auto gpu = addGpu(builder, *source.gpu, source.segments[source.gpu->code]);
  builder.Finish(bundle::CreateOverlaysDirect(builder, gpu, &programs),
                 overlaysIdentifier);
}

/// `all`: segments of the file, those of the source first.
static void buildMetadata(fb::FlatBufferBuilder &builder, const Bundle &source,
                          const std::vector<Segment> &all,
                          const std::vector<Place> &places) {
  builder.Clear();
  // Fields equal to their default are stored too, so that the size does not
  // depend on the offsets, which depend on the size.
  builder.ForceDefaults(true);
  auto inputs = addTensors(builder, source.inputs);
  auto outputs = addTensors(builder, source.outputs);
  std::vector<fb::Offset<bundle::Segment>> segments;
  for (size_t i = 0; i < places.size(); ++i) {
    auto digest = builder.CreateVector(places[i].digest.bytes, sizeof(Digest));
    segments.push_back(bundle::CreateSegment(
        builder, static_cast<bundle::SegmentKind>(all[i].kind),
        places[i].offset, places[i].size, digest));
  }
  std::vector<fb::Offset<bundle::Program>> programs;
  uint32_t overlays = 0;
  for (const Program &program : source.programs)
    programs.push_back(addProgram(builder, program, overlays));
  std::vector<fb::Offset<bundle::Property>> properties;
  for (const Property &property : source.properties)
    properties.push_back(bundle::CreatePropertyDirect(
        builder, property.key.c_str(), property.value.c_str()));
  uint32_t overlaysSegment =
      source.gpu ? static_cast<uint32_t>(places.size() - 1) : ~0u;
  bundle::FinishBundleBuffer(
      builder,
      bundle::CreateBundleDirect(
          builder, static_cast<bundle::BundleKind>(source.kind),
          source.model.c_str(), source.producer.c_str(), &inputs, &outputs,
          &segments, &programs, source.threads, overlaysSegment,
          properties.empty() ? nullptr : &properties));
}

/// The alignment of segment `index`, which any number of programs may name as
/// their code.
static uint64_t alignmentOf(const Bundle &source, size_t index) {
  uint64_t alignment = segmentAlignment;
  for (const Program &program : source.programs)
    if (program.code == index)
      alignment =
          std::max(alignment, codeAlignment(program.architecture.c_str()));
  return alignment;
}

/// Assigns offsets; returns the size of the file.
static uint64_t place(const Bundle &source, uint64_t metadataSize,
                      std::vector<Place> &places) {
  uint64_t end = sizeof(Header) + metadataSize;
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].offset = alignUp(end, alignmentOf(source, i));
    end = places[i].offset + places[i].size;
  }
  return end;
}

static bool writeAll(AtomicFile &file, const Header &header,
                     const fb::FlatBufferBuilder &metadata,
                     const std::vector<Segment> &segments,
                     const std::vector<Place> &places, Fault &fault) {
  uint64_t position = 0;
  auto put = [&](const void *data, uint64_t size) {
    position += size;
    return file.write(data, size, fault);
  };
  if (!put(&header, sizeof header) ||
      !put(metadata.GetBufferPointer(), metadata.GetSize()))
    return false;
  for (size_t i = 0; i < places.size(); ++i)
    if (!put(zeros, places[i].offset - position) ||
        !forEachChunk(segments[i], put))
      return false;
  return true;
}

/// Whether the modules of a GPU are pieces of a segment, each of whole words.
static bool verifyModules(const Bundle &source, Fault &fault) {
  if (!source.gpu) {
    for (size_t i = 0; i < source.programs.size(); ++i)
      if (source.programs[i].gpu)
        return fault.set(Fault::InvalidArgument,
                         "program %zu: gpu: found no modules and pipelines of "
                         "the bundle, which it needs",
                         i);
    return true;
  }
  if (source.gpu->code >= source.segments.size())
    return fault.set(Fault::InvalidArgument,
                     "gpu: code: found %u, expected a segment, less than %zu",
                     source.gpu->code, source.segments.size());
  const Segment &code = source.segments[source.gpu->code];
  for (const GpuModule &module : source.gpu->modules)
    if (module.piece >= code.pieces.size() ||
        code.pieces[module.piece].size % sizeof(uint32_t))
      return fault.set(Fault::InvalidArgument,
                       "gpu: module %s: piece: found %u, expected one of %zu, "
                       "of 32-bit words",
                       module.name.c_str(), module.piece, code.pieces.size());
  return true;
}

/// Whether readers, to whom a byte of zero is the end, get properties whole.
static bool verifyTexts(const Bundle &source, Fault &fault) {
  for (size_t i = 0; i < source.properties.size(); ++i)
    for (const std::string *text :
         {&source.properties[i].key, &source.properties[i].value})
      if (text->find('\0') != std::string::npos)
        return fault.set(Fault::InvalidArgument,
                         "property %zu: found a byte of zero in its text", i);
  return true;
}

static bool write(const Bundle &source, const char *path,
                  const std::string &signingKeyPath, std::string &culprit,
                  Fault &fault) {
  for (size_t i = 0; i < source.segments.size(); ++i)
    if (source.segments[i].pieceAlignment == 0)
      return fault.set(Fault::InvalidArgument,
                       "segment %zu: piece alignment: found 0, expected at "
                       "least 1",
                       i);
  if (!verifyModules(source, fault) || !verifyTexts(source, fault))
    return false;
  std::vector<Segment> segments = source.segments;
  fb::FlatBufferBuilder overlays;
  if (source.gpu) {
    buildOverlays(overlays, source);
    segments.push_back({SegmentKind::Overlays,
                        {{overlays.GetBufferPointer(), overlays.GetSize()}},
                        /*pieceAlignment=*/1});
  }
  std::vector<Place> places;
  for (const Segment &segment : segments)
    places.push_back(measure(segment));
  fb::FlatBufferBuilder metadata;
  buildMetadata(metadata, source, segments, places);
  uint64_t fileSize = place(source, metadata.GetSize(), places);
  buildMetadata(metadata, source, segments, places);
  const bundle::Bundle *written = verifyMetadata(
      metadata.GetBufferPointer(), metadata.GetSize(), fileSize, fault);
  if (!written ||
      (source.gpu &&
       !verifyOverlays(written, overlays.GetBufferPointer(), fault)))
    return false;

  Header header = {};
  memcpy(header.magic, magic, sizeof magic);
  header.version = formatVersion;
  header.fileSize = fileSize;
  header.metadataOffset = sizeof header;
  header.metadataSize = metadata.GetSize();
  header.metadataDigest =
      digestOf(metadata.GetBufferPointer(), metadata.GetSize());
  if (!signingKeyPath.empty()) {
    uint8_t seed[32];
    culprit = signingKeyPath;
    if (!readKeyFile(signingKeyPath.c_str(), KeyKind::Secret, seed, fault))
      return false;
    header.isSigned = 1;
    // The key's own bytes are signed too: learn them first.
    if (!signWithSeed(seed, nullptr, 0, header.publicKey, nullptr, fault) ||
        !signWithSeed(seed, &header, offsetof(Header, signature),
                      header.publicKey, header.signature, fault))
      return false;
    culprit = path;
  }
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));

  AtomicFile file;
  return file.open(path, fault) &&
         writeAll(file, header, metadata, segments, places, fault) &&
         file.commit(fault);
}

std::string writeBundle(const Bundle &bundle, const std::string &path,
                        const std::string &signingKeyPath) {
  Fault fault;
  std::string culprit = path;
  if (write(bundle, path.c_str(), signingKeyPath, culprit, fault))
    return {};
  return culprit + ": " + fault.text;
}

} // namespace nnv12::artifact
