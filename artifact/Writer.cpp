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

static bundle::GpuExtent extentOf(const GpuExtent &extent) {
  return {extent.x, extent.y, extent.z};
}

static uint32_t numRecords(const Stretch &stretch) {
  return static_cast<uint32_t>(1 + stretch.dispatches.size() +
                               stretch.parts.size());
}

namespace {
/// An overlay's number among those of its segment.
struct OverlayPlace {
  uint32_t index, segment;
};

/// Writes tables, each from the struct that it is named as.
class TableWriter {
public:
  template <typename Table>
  using List = fb::Offset<fb::Vector<fb::Offset<Table>>>;

  /// `executes`: how many the program has whose tables these are. The bundle
  /// numbers them first.
  explicit TableWriter(fb::FlatBufferBuilder &builder, size_t executes = 0)
      : builder_(builder), executes_(executes) {}

  /// A table for each.
  template <typename T> auto all(const std::vector<T> &list) {
    std::vector<decltype(add(list[0]))> result;
    for (const T &one : list)
      result.push_back(add(one));
    return result;
  }

  fb::Offset<bundle::Tensor> add(const Tensor &tensor) {
    return bundle::CreateTensorDirect(
        builder_, tensor.name.c_str(),
        static_cast<bundle::ElementType>(tensor.type), &tensor.shape);
  }

  fb::Offset<bundle::Property> add(const Property &property) {
    return bundle::CreatePropertyDirect(builder_, property.key.c_str(),
                                        property.value.c_str());
  }

  /// The target of a program. `gpu`: of its overlays, or null.
  fb::Offset<bundle::Target> addTarget(const Program &program, const Gpu *gpu) {
    std::vector<fb::Offset<bundle::Feature>> features;
    for (const std::string &name : program.features)
      features.push_back(bundle::CreateFeatureDirect(builder_, name.c_str()));
    std::vector<fb::Offset<bundle::Processor>> processors = {
        bundle::CreateProcessorDirect(builder_, bundle::ProcessorKind_Cpu,
                                      program.architecture.c_str(), &features,
                                      program.code, program.tune.c_str())};
    features.clear();
    if (gpu)
      processors.push_back(bundle::CreateProcessorDirect(
          builder_, bundle::ProcessorKind_Gpu, "spirv", &features, gpu->code));
    auto kernels = all(program.kernels);
    return bundle::CreateTargetDirect(builder_, program.target.c_str(),
                                      program.revision.c_str(), &processors,
                                      &kernels);
  }

  /// `gpu`, `video`: the places of its overlays, if it has some.
  fb::Offset<bundle::Program> add(const Program &program, uint32_t target,
                                  List<bundle::Tensor> inputs,
                                  List<bundle::Tensor> outputs,
                                  OverlayPlace gpu, OverlayPlace video) {
    auto operations = all(program.operations);
    auto preparations = all(program.preparations);
    operations.insert(operations.end(), preparations.begin(),
                      preparations.end());
    auto operationList = builder_.CreateVector(operations);
    auto lanes = builder_.CreateVector(all(program.lanes));
    auto switches = builder_.CreateVector(all(program.switches));
    // Where a GPU works in the arena, its operands lie at such addresses.
    auto memories = addMemories(cpu, program.arenaSize, program.preparedSize,
                                program.gpu ? gpuAlignment : memoryAlignment);
    std::vector<fb::Offset<bundle::Overlay>> overlays;
    if (program.gpu)
      overlays.push_back(
          bundle::CreateOverlay(builder_, bundle::OverlayKind_Gpu,
                                addHead(gpu.index, *program.gpu), gpu.segment));
    if (program.video)
      overlays.push_back(bundle::CreateOverlay(
          builder_, bundle::OverlayKind_Video,
          bundle::CreateOverlayHead(
              builder_, video.index, cpu, bundle::OverlayStart_AfterFirst,
              /*cold_records=*/0, /*warm_records=*/0,
              static_cast<bundle::VideoReuse>(program.video->reuse)),
          video.segment));
    auto overlayList = builder_.CreateVector(overlays);
    return bundle::CreateProgram(builder_, target, inputs, outputs, memories,
                                 operationList, lanes, switches,
                                 program.predictedCold, program.predictedWarm,
                                 program.laterWaits, overlayList);
  }

  fb::Offset<bundle::ProgramGpu> add(const ProgramGpu &gpu) {
    auto memories = addMemories(gpuProcessor, gpu.arenaSize, gpu.preparedSize,
                                gpuAlignment);
    auto boundaries = builder_.CreateVector(all(gpu.boundaries));
    auto preparations = builder_.CreateVector(all(gpu.preparations));
    auto lanes = builder_.CreateVector(all(gpu.lanes));
    auto stretches = builder_.CreateVector(all(gpu.stretches));
    auto warm = builder_.CreateVector(gpu.warm);
    auto profile = builder_.CreateString(gpu.profile);
    return bundle::CreateProgramGpu(
        builder_, memories, boundaries, preparations, lanes, stretches, warm,
        profile, gpu.predictedCold, gpu.predictedWarm);
  }

  fb::Offset<bundle::ProgramVideo> add(const ProgramVideo &video) {
    auto kernels = all(video.kernels);
    auto sets = all(video.sets);
    auto inputs = all(video.inputs);
    auto executes = all(video.executes);
    auto switches = all(video.switches);
    return bundle::CreateProgramVideoDirect(
        builder_, video.arenaSize, &kernels, &sets, &inputs, &executes,
        &switches, &video.outputs, video.tolerance, video.inputTolerance,
        video.refresh);
  }

  fb::Offset<bundle::GpuPipeline> add(const GpuPipeline &pipeline) {
    bundle::GpuExtent local = extentOf(pipeline.local);
    return bundle::CreateGpuPipelineDirect(
        builder_, pipeline.module, pipeline.bindings, pipeline.written,
        pipeline.pushWords, &pipeline.constants, &local, pipeline.shared,
        pipeline.features);
  }

private:
  /// A target's processors.
  static constexpr uint32_t cpu = 0, gpuProcessor = 1;

  /// An arena and prepared memory, memories 0 and 1.
  List<bundle::Memory> addMemories(uint32_t processor, uint64_t arena,
                                   uint64_t prepared, uint64_t arenaAlignment) {
    uint64_t alignment = processor == cpu ? memoryAlignment : gpuAlignment;
    return builder_.CreateVector(
        std::vector{bundle::CreateMemory(builder_, bundle::MemoryKind_Arena,
                                         processor, arena, arenaAlignment),
                    bundle::CreateMemory(builder_, bundle::MemoryKind_Prepared,
                                         processor, prepared, alignment)});
  }

  std::vector<uint32_t> numbers(const std::vector<OperationId> &ids) const {
    std::vector<uint32_t> result;
    for (OperationId id : ids)
      result.push_back(static_cast<uint32_t>(
          id.kind == LaneKind::Execute ? id.index : executes_ + id.index));
    return result;
  }

  fb::Offset<bundle::Operand> add(const Operand &operand) {
    // By Space. As addMemories() has them.
    static constexpr bundle::Space spaces[] = {
        bundle::Space_Memory, bundle::Space_Weights, bundle::Space_Input,
        bundle::Space_Output, bundle::Space_Memory};
    uint32_t index = operand.space == Space::Prepared ? 1 : operand.index;
    return bundle::CreateOperand(builder_, spaces[unsigned(operand.space)],
                                 index, operand.offset, operand.size);
  }

  static bundle::VideoWindow windowOf(const VideoWindow &window) {
    return {window.num, window.den, window.low, window.high};
  }

  fb::Offset<bundle::VideoRead> add(const VideoRead &read) {
    bundle::VideoWindow rows = windowOf(read.rows),
                        columns = windowOf(read.columns);
    return bundle::CreateVideoRead(builder_, read.set, read.all, &rows,
                                   &columns);
  }

  fb::Offset<bundle::VideoSet> add(const VideoSet &set) {
    auto reads = all(set.reads);
    return bundle::CreateVideoSetDirect(builder_, set.rows, set.columns,
                                        &reads);
  }

  static bundle::PixelLayout layoutOf(const PixelLayout &pixels) {
    return {pixels.row, pixels.column, pixels.pieces, pixels.distance,
            pixels.piece};
  }

  fb::Offset<bundle::VideoInput> add(const VideoInput &input) {
    bundle::PixelLayout pixels = layoutOf(input.pixels);
    return bundle::CreateVideoInput(builder_, input.set, input.place, &pixels);
  }

  fb::Offset<bundle::VideoPart> add(const VideoPart &part) {
    return bundle::CreateVideoPart(builder_,
                                   static_cast<bundle::VideoTiles>(part.tiles),
                                   part.rowAxis, part.columnAxis, part.kernel);
  }

  fb::Offset<bundle::VideoCheck> add(const VideoCheck &check) {
    bundle::PixelLayout pixels = layoutOf(check.pixels);
    return bundle::CreateVideoCheck(builder_, check.place, &pixels);
  }

  fb::Offset<bundle::VideoExecute> add(const VideoExecute &execute) {
    fb::Offset<bundle::VideoPart> part = add(execute.part);
    fb::Offset<bundle::VideoCheck> check;
    if (execute.check)
      check = add(*execute.check);
    return bundle::CreateVideoExecuteDirect(builder_, &execute.places,
                                            execute.set, part, check);
  }

  static bundle::TileAxis add(const TileAxis &axis) {
    return {axis.extent, axis.stride};
  }

  static bundle::TileCut add(const TileCut &cut) {
    return {cut.axis, cut.count, cut.size};
  }

  fb::Offset<bundle::TilePart> add(const TilePart &part) {
    auto cuts = all(part.cuts);
    return bundle::CreateTilePartDirect(builder_, &part.lo, &part.hi, &cuts);
  }

  fb::Offset<bundle::TileMap> add(const TileMap &map) {
    auto axes = all(map.axes);
    auto parts = all(map.parts);
    return bundle::CreateTileMapDirect(builder_, &axes, &parts);
  }

  fb::Offset<bundle::Kernel> add(const Kernel &kernel) {
    auto maps = all(kernel.maps);
    return bundle::CreateKernelDirect(
        builder_, kernel.name.c_str(), cpu, kernel.entry, kernel.operands,
        kernel.outputs, kernel.scratch, kernel.tiles, kernel.routine.c_str(),
        kernel.multiplyAdds, kernel.bytes, kernel.key.c_str(),
        &kernel.fingerprint, &maps);
  }

  fb::Offset<bundle::Operation> add(const Operation &operation) {
    auto operands = all(operation.operands);
    std::vector<uint32_t> after = numbers(operation.after);
    return bundle::CreateOperationDirect(
        builder_, static_cast<bundle::OperationKind>(operation.kind),
        operation.layer.c_str(), operation.kernel, &operands,
        operation.tileBegin, operation.tileBegin + operation.tiles, &after,
        static_cast<bundle::Codec>(operation.codec), operation.planes,
        operation.lastReader, operation.predictedStart, operation.predictedEnd,
        operation.liveArena);
  }

  fb::Offset<bundle::Lane> add(const Lane &lane) {
    std::vector<uint32_t> queue = numbers(lane.queue);
    std::vector<uint32_t> background = numbers(lane.background);
    return bundle::CreateLaneDirect(
        builder_, static_cast<bundle::LaneKind>(lane.kind), cpu,
        static_cast<bundle::CoreKind>(lane.core), &queue, &background);
  }

  fb::Offset<bundle::Switch> add(const Switch &change) {
    return bundle::CreateSwitch(builder_, change.operation,
                                add(change.replacement));
  }

  /// `index`: of the overlay among all.
  fb::Offset<bundle::OverlayHead> addHead(uint32_t index,
                                          const ProgramGpu &gpu) {
    uint32_t cold = 0, warm = 0;
    for (const Stretch &stretch : gpu.stretches)
      cold += stretch.cold ? numRecords(stretch) : 0;
    for (uint32_t stretch : gpu.warm)
      if (stretch < gpu.stretches.size())
        warm += numRecords(gpu.stretches[stretch]);
    return bundle::CreateOverlayHead(
        builder_, index, gpuProcessor,
        static_cast<bundle::OverlayStart>(gpu.start), cold, warm);
  }

  fb::Offset<bundle::Boundary> add(const Boundary &boundary) {
    return bundle::CreateBoundary(builder_, add(boundary.host),
                                  boundary.device);
  }

  fb::Offset<bundle::Rows> add(const Rows &rows) {
    return bundle::CreateRows(builder_, rows.boundary, rows.offset, rows.bytes);
  }

  static bundle::GpuOperand add(const GpuOperand &operand) {
    return {static_cast<bundle::GpuSpace>(operand.space), operand.index,
            operand.offset, operand.size};
  }

  fb::Offset<bundle::Dispatch> add(const Dispatch &dispatch) {
    bundle::GpuExtent groups = extentOf(dispatch.groups);
    auto operands = builder_.CreateVectorOfStructs(all(dispatch.operands));
    auto push = addPush(dispatch.push);
    fb::Offset<bundle::DispatchWork> work = 0;
    if (dispatch.work)
      work = add(*dispatch.work);
    std::vector<fb::Offset<bundle::TileMap>> maps;
    for (const TileMap &map : dispatch.maps)
      maps.push_back(addShared(map));
    auto mapList = builder_.CreateVector(maps);
    List<bundle::Touched> touched = 0;
    if (!dispatch.touched.empty())
      touched = builder_.CreateVector(all(dispatch.touched));
    uint64_t tiles = uint64_t(groups.x()) * groups.y() * groups.z();
    return bundle::CreateDispatch(
        builder_, dispatch.operation, dispatch.pipeline, operands, &groups,
        push, dispatch.barrier, dispatch.predicted, work, /*tile_begin=*/0,
        /*tile_end=*/tiles, mapList, touched);
  }

  fb::Offset<bundle::Touched> add(const Touched &touched) {
    return bundle::CreateTouched(builder_, touched.operand, touched.stride,
                                 touched.bytes, touched.count);
  }

  /// Dispatches of equal layers have equal boxes: one table serves several.
  fb::Offset<bundle::TileMap> addShared(const TileMap &map) {
    std::vector<uint64_t> words;
    auto addAll = [&](const std::vector<uint64_t> &list) {
      words.insert(words.end(), list.begin(), list.end());
    };
    for (const TileAxis &axis : map.axes)
      addAll({axis.extent, axis.stride});
    for (const TilePart &part : map.parts) {
      addAll({part.lo.size(), part.hi.size(), part.cuts.size()});
      addAll(part.lo);
      addAll(part.hi);
      for (const TileCut &cut : part.cuts)
        addAll({cut.axis, cut.count, cut.size});
    }
    words.push_back(map.axes.size());
    // Readers count a table as often as it is used, up to a limit.
    auto &[table, uses] = maps_[words];
    if (uses++ % (maxSharing - 1) == 0)
      table = add(map);
    return table;
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
    auto dispatches = all(stretch.dispatches);
    auto in = all(stretch.in), out = all(stretch.out);
    auto parts = all(stretch.parts);
    std::vector<uint32_t> after = numbers(stretch.after);
    return bundle::CreateStretchDirect(
        builder_, static_cast<bundle::StretchKind>(stretch.kind), stretch.first,
        stretch.count, &dispatches, &in, &out, &after, stretch.cold,
        stretch.predicted, parts.empty() ? nullptr : &parts, stretch.dim,
        stretch.at);
  }

  fb::Offset<bundle::Upload> add(const Upload &upload) {
    return bundle::CreateUpload(
        builder_, add(upload.source), upload.offset, upload.size,
        static_cast<bundle::Codec>(upload.codec), upload.planes);
  }

  fb::Offset<bundle::GpuPreparation> add(const GpuPreparation &preparation) {
    auto uploads = all(preparation.uploads);
    std::vector<uint32_t> after = numbers(preparation.after);
    return bundle::CreateGpuPreparationDirect(
        builder_, static_cast<bundle::GpuStage>(preparation.stage),
        &preparation.pipelines, &uploads, preparation.stretch, &after,
        preparation.predictedStart, preparation.predictedEnd);
  }

  fb::FlatBufferBuilder &builder_;
  size_t executes_;
  std::map<std::vector<uint32_t>, fb::Offset<fb::Vector<uint32_t>>> pushes_;
  std::map<std::vector<uint64_t>,
           std::pair<fb::Offset<bundle::TileMap>, uint64_t>>
      maps_; ///< and how often they are used
};
} // namespace

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
  auto pipelines = TableWriter(builder).all(gpu.pipelines);
  return bundle::CreateGpuDirect(builder, gpu.api, gpu.code, &modules,
                                 &pipelines);
}

/// Adds all programs' overlays.
static void buildOverlays(fb::FlatBufferBuilder &builder,
                          const Bundle &source) {
  // As in the metadata: all numbers are stored.
  builder.ForceDefaults(true);
  std::vector<fb::Offset<bundle::ProgramGpu>> programs;
  for (const Program &program : source.programs)
    if (program.gpu)
      programs.push_back(
          TableWriter(builder, program.operations.size()).add(*program.gpu));
  auto gpu = addGpu(builder, *source.gpu, source.segments[source.gpu->code]);
  builder.Finish(bundle::CreateGpuOverlaysDirect(builder, gpu, &programs),
                 overlaysIdentifier);
}

static void buildVideo(fb::FlatBufferBuilder &builder, const Bundle &source) {
  builder.ForceDefaults(true);
  std::vector<fb::Offset<bundle::ProgramVideo>> programs;
  for (const Program &program : source.programs)
    if (program.video)
      programs.push_back(TableWriter(builder).add(*program.video));
  builder.Finish(bundle::CreateVideoOverlaysDirect(builder, &programs),
                 videoIdentifier);
}

namespace {
/// The targets of programs. Those with equal tables are one; its GPU is that of
/// any of its programs' overlays.
struct Targets {
  explicit Targets(const Bundle &source) {
    std::map<std::string, uint32_t> known;
    for (const Program &program : source.programs) {
      fb::FlatBufferBuilder builder;
      builder.Finish(TableWriter(builder).addTarget(program, /*gpu=*/nullptr));
      std::string bytes(builder.GetBufferPointer(),
                        builder.GetBufferPointer() + builder.GetSize());
      auto [it, isNew] = known.try_emplace(std::move(bytes), each.size());
      if (isNew)
        each.push_back({&program, nullptr});
      ofProgram.push_back(it->second);
      if (program.gpu)
        each[it->second].gpu = &*source.gpu;
    }
  }

  struct Target {
    const Program *program; ///< the first of it
    const Gpu *gpu;         ///< or null
  };
  std::vector<Target> each;
  std::vector<uint32_t> ofProgram;
};
} // namespace

/// `all`: segments of the file, those of the source first. `gpuOverlays` and
/// `videos` are those of overlays.
static void buildMetadata(fb::FlatBufferBuilder &builder, const Bundle &source,
                          const std::vector<Segment> &all,
                          const std::vector<Place> &places,
                          uint32_t gpuOverlays, uint32_t videos) {
  builder.Clear();
  // Fields equal to their default are stored too, so that the size does not
  // depend on the offsets, which depend on the size.
  builder.ForceDefaults(true);
  TableWriter tables(builder);
  std::vector<fb::Offset<bundle::Segment>> segments;
  for (size_t i = 0; i < places.size(); ++i) {
    auto digest = builder.CreateVector(places[i].digest.bytes, sizeof(Digest));
    segments.push_back(bundle::CreateSegment(
        builder, static_cast<bundle::SegmentKind>(all[i].kind),
        places[i].offset, places[i].size, digest));
  }
  Targets targets(source);
  std::vector<fb::Offset<bundle::Target>> targetList;
  for (const Targets::Target &target : targets.each)
    targetList.push_back(tables.addTarget(*target.program, target.gpu));
  // One table each for all programs.
  auto inputs = builder.CreateVector(tables.all(source.inputs));
  auto outputs = builder.CreateVector(tables.all(source.outputs));
  std::vector<fb::Offset<bundle::Program>> programs;
  OverlayPlace gpu = {0, gpuOverlays}, video = {0, videos};
  for (const Program &program : source.programs) {
    programs.push_back(TableWriter(builder, program.operations.size())
                           .add(program, targets.ofProgram[programs.size()],
                                inputs, outputs, gpu, video));
    gpu.index += program.gpu.has_value();
    video.index += program.video.has_value();
  }
  auto properties = tables.all(source.properties);
  bundle::FinishBundleBuffer(
      builder, bundle::CreateBundleDirect(
                   builder, static_cast<bundle::BundleKind>(source.kind),
                   source.model.c_str(), source.producer.c_str(), &segments,
                   &targetList, &programs, source.threads,
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
  fb::FlatBufferBuilder overlays, video;
  auto addSegment = [&](const fb::FlatBufferBuilder &of) {
    segments.push_back({SegmentKind::Overlays,
                        {{of.GetBufferPointer(), of.GetSize()}},
                        /*pieceAlignment=*/1});
  };
  auto overlaysSegment = static_cast<uint32_t>(segments.size());
  bool hasOverlays = std::any_of(
      source.programs.begin(), source.programs.end(),
      [](const Program &program) { return program.gpu.has_value(); });
  if (hasOverlays) {
    buildOverlays(overlays, source);
    addSegment(overlays);
  }
  auto videoSegment = static_cast<uint32_t>(segments.size());
  bool hasVideo = std::any_of(
      source.programs.begin(), source.programs.end(),
      [](const Program &program) { return program.video.has_value(); });
  if (hasVideo) {
    buildVideo(video, source);
    addSegment(video);
  }
  std::vector<Place> places;
  for (const Segment &segment : segments)
    places.push_back(measure(segment));
  fb::FlatBufferBuilder metadata;
  buildMetadata(metadata, source, segments, places, overlaysSegment,
                videoSegment);
  uint64_t fileSize = place(source, metadata.GetSize(), places);
  buildMetadata(metadata, source, segments, places, overlaysSegment,
                videoSegment);
  const bundle::Bundle *written = verifyMetadata(
      metadata.GetBufferPointer(), metadata.GetSize(), fileSize, fault);
  if (!written ||
      (hasOverlays && !verifyOverlays(written, overlaysSegment,
                                      overlays.GetBufferPointer(), fault)) ||
      (hasVideo &&
       !verifyVideo(written, videoSegment, video.GetBufferPointer(), fault)))
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
