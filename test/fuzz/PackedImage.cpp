//===- PackedImage.cpp - Bundles with parts that are used often -----------===//
#include "test/fuzz/PackedImage.h"

#include "artifact/Header.h"
#include "bundle_generated.h"
#include "test/unit/sample/PlannedSample.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace nnv12::test {

using namespace artifact;
namespace fb = flatbuffers;

/// Header and metadata lie before the code, the code before the weights.
static constexpr uint64_t codeOffset = 2 * largestPage;
static constexpr uint64_t weightsOffset = codeOffset + largestPage;
/// More than the runtime forgets once it has used it (RuntimePolicy.h).
static constexpr uint64_t weightsSize = 320 << 10;
static constexpr size_t contentSize = 8192;

static void check(bool good, const char *what) {
  if (good)
    return;
  perror(what);
  abort();
}

/// Nothing but returns, at whichever place a kernel begins.
static void fillWithReturns(uint8_t *code, size_t size) {
#if defined(__aarch64__)
  static constexpr uint8_t ret[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
  static constexpr uint8_t ret[] = {0xc3};
#endif
  for (size_t i = 0; i < size; ++i)
    code[i] = ret[i % sizeof ret];
}

PackedImage::PackedImage() : total(weightsOffset + weightsSize) {
  std::vector<unsigned char> content(contentSize);
  for (size_t i = 0; i < contentSize; ++i)
    content[i] = static_cast<unsigned char>(i * 7);
  std::vector<unsigned char> frame = storedFrame(content);
  known = {weightsSize, frame.size(), contentSize};

  file = memfd_create("image", 0);
  check(file >= 0 && ftruncate(file, static_cast<off_t>(total)) == 0, "memfd");
  snprintf(filePath, sizeof filePath, "/proc/self/fd/%d", file);
  void *memory =
      mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(memory != MAP_FAILED, "mmap");
  bytes = static_cast<uint8_t *>(memory);
  fillWithReturns(bytes + codeOffset, codeSize);
  memcpy(bytes + weightsOffset, frame.data(), frame.size());
  for (size_t i = frame.size(); i < weightsSize; ++i)
    bytes[weightsOffset + i] = static_cast<uint8_t>(i * i >> 3);
  Digest code = digestOf(bytes + codeOffset, codeSize);
  Digest weights = digestOf(bytes + weightsOffset, weightsSize);
  memcpy(codeDigest, code.bytes, sizeof codeDigest);
  memcpy(weightsDigest, weights.bytes, sizeof weightsDigest);
}

namespace {

class Packer {
public:
  explicit Packer(Choices &choices)
      : choices(choices), shares(choices.oneIn(4)) {
    builder.ForceDefaults(choices.oneIn(2));
  }

  fb::FlatBufferBuilder builder;

  /// A table each, or one that is there already.
  template <typename T> auto list(const std::vector<T> &items) {
    std::vector<decltype(add(items[0]))> offsets;
    for (const T &item : items)
      offsets.push_back(shares && !offsets.empty() && choices.oneIn(3)
                            ? choices.of(offsets)
                            : add(item));
    repeat(offsets);
    return offsets;
  }

  /// The arena and prepared memory are memories of the program, by `places`.
  fb::Offset<bundle::Operand> add(const Operand &operand) {
    switch (operand.space) {
    case Space::Arena:
      return bundle::CreateOperand(builder, bundle::Space_Memory,
                                   places[0] + operand.index, operand.offset,
                                   operand.size);
    case Space::Prepared:
      return bundle::CreateOperand(builder, bundle::Space_Memory,
                                   places[1] + operand.index, operand.offset,
                                   operand.size);
    default:
      // Others have the same numbers; unknown ones stay unknown.
      return bundle::CreateOperand(builder,
                                   static_cast<bundle::Space>(operand.space),
                                   operand.index, operand.offset, operand.size);
    }
  }
  fb::Offset<bundle::Operation> add(const Operation &operation) {
    auto operands = list(operation.operands);
    std::vector<uint32_t> after = numbers(operation.after);
    return bundle::CreateOperationDirect(
        builder, static_cast<bundle::OperationKind>(operation.kind),
        operation.layer.c_str(), operation.kernel, &operands,
        operation.tileBegin, operation.tileBegin + operation.tiles, &after,
        static_cast<bundle::Codec>(operation.codec), operation.planes,
        operation.lastReader, operation.predictedStart, operation.predictedEnd,
        operation.liveArena);
  }
  fb::Offset<bundle::TilePart> add(const TilePart &part) {
    std::vector<bundle::TileCut> cuts;
    for (const TileCut &cut : part.cuts)
      cuts.emplace_back(cut.axis, cut.count, cut.size);
    repeat(cuts);
    return bundle::CreateTilePartDirect(builder, &part.lo, &part.hi, &cuts);
  }
  fb::Offset<bundle::TileMap> add(const TileMap &map) {
    std::vector<bundle::TileAxis> axes;
    for (const TileAxis &axis : map.axes)
      axes.emplace_back(axis.extent, axis.stride);
    repeat(axes);
    auto parts = list(map.parts);
    return bundle::CreateTileMapDirect(builder, &axes, &parts);
  }
  fb::Offset<bundle::Kernel> add(const Kernel &kernel) {
    auto maps = list(kernel.maps);
    return bundle::CreateKernelDirect(
        builder, kernel.name.c_str(), processor(), kernel.entry,
        kernel.operands, kernel.outputs, kernel.scratch, kernel.tiles,
        kernel.routine.c_str(), kernel.multiplyAdds, kernel.bytes,
        kernel.key.c_str(),
        kernel.fingerprint.empty() ? nullptr : &kernel.fingerprint,
        maps.empty() ? nullptr : &maps);
  }
  fb::Offset<bundle::Tensor> add(const Tensor &tensor) {
    return bundle::CreateTensorDirect(
        builder, tensor.name.c_str(),
        static_cast<bundle::ElementType>(tensor.type), &tensor.shape);
  }
  fb::Offset<bundle::Lane> add(const Lane &lane) {
    std::vector<uint32_t> queue = numbers(lane.queue);
    std::vector<uint32_t> background = numbers(lane.background);
    return bundle::CreateLaneDirect(
        builder, static_cast<bundle::LaneKind>(lane.kind), processor(),
        static_cast<bundle::CoreKind>(lane.core), &queue, &background);
  }
  fb::Offset<bundle::Switch> add(const Switch &change) {
    auto replacement = add(change.replacement);
    return bundle::CreateSwitch(builder, change.operation, replacement);
  }
  fb::Offset<bundle::Feature> add(const std::string &name) {
    return bundle::CreateFeatureDirect(builder, name.c_str());
  }
  /// Their targets: mostly one for each.
  std::vector<fb::Offset<bundle::Target>>
  addTargets(const std::vector<Program> &programs) {
    std::vector<fb::Offset<bundle::Target>> targets;
    for (const Program &program : programs) {
      auto processors = addProcessors(program);
      auto kernels = list(program.kernels);
      targets.push_back(bundle::CreateTargetDirect(
          builder, program.target.c_str(), program.revision.c_str(),
          &processors, &kernels));
    }
    return targets;
  }
  fb::Offset<bundle::Program> add(const Program &program) {
    auto memories = addMemories(program);
    executes = static_cast<uint32_t>(program.operations.size());
    std::vector<Operation> all = program.operations;
    all.insert(all.end(), program.preparations.begin(),
               program.preparations.end());
    auto operations = list(all);
    auto lanes = list(program.lanes);
    auto switches = list(program.switches);
    uint32_t target =
        choices.oneIn(128) ? uint32_t(choices.below(4)) : programs;
    ++programs;
    return bundle::CreateProgramDirect(builder, target, &inputs, &outputs,
                                       &memories, &operations, &lanes,
                                       &switches);
  }

  std::vector<fb::Offset<bundle::Tensor>> inputs, outputs; ///< of all programs

  fb::Offset<bundle::Segment> segment(bundle::SegmentKind kind, uint64_t offset,
                                      uint64_t size, const uint8_t *digest) {
    if (choices.oneIn(64))
      offset = choices.number() / segmentAlignment * segmentAlignment;
    if (choices.oneIn(64))
      size = choices.number();
    auto bytes = builder.CreateVector(digest, sizeof(Digest));
    return bundle::CreateSegment(builder, kind, offset, size, bytes);
  }

private:
  using Processors = std::vector<fb::Offset<bundle::Processor>>;
  using Memories = std::vector<fb::Offset<bundle::Memory>>;

  /// Mostly the CPU alone.
  Processors addProcessors(const Program &program) {
    auto features = list(program.features);
    auto kind = bundle::ProcessorKind_Cpu;
    if (choices.oneIn(64))
      kind = static_cast<bundle::ProcessorKind>(choices.below(4));
    auto cpu = bundle::CreateProcessorDirect(
        builder, kind, program.architecture.c_str(), &features, program.code);
    return Processors(choices.oneIn(64) ? choices.below(3) : 1, cpu);
  }

  /// Adds memories in any order; unused ones may be left out.
  Memories addMemories(const Program &program) {
    struct Source {
      bundle::MemoryKind kind;
      uint64_t size;
    };
    std::vector<Source> sources = {
        {bundle::MemoryKind_Arena, program.arenaSize},
        {bundle::MemoryKind_Prepared, program.preparedSize}};
    places[0] = 0;
    places[1] = 1;
    if (program.preparedSize == 0 && choices.oneIn(2)) {
      sources.pop_back();
    } else if (choices.oneIn(4)) {
      std::swap(sources[0], sources[1]);
      std::swap(places[0], places[1]);
    }
    if (choices.oneIn(32))
      sources.push_back({static_cast<bundle::MemoryKind>(choices.below(4)),
                         choices.below(4096)});
    Memories memories;
    for (Source source : sources)
      memories.push_back(bundle::CreateMemory(builder, source.kind, processor(),
                                              source.size, alignment()));
    return memories;
  }

  uint64_t alignment() {
    if (!choices.oneIn(8))
      return 64;
    return choices.oneIn(4) ? choices.number()
                            : uint64_t(1) << choices.below(23);
  }

  uint32_t processor() {
    return choices.oneIn(128) ? uint32_t(choices.number()) : 0;
  }

  /// Executes and preparations are numbered together.
  std::vector<uint32_t> numbers(const std::vector<OperationId> &ids) {
    std::vector<uint32_t> result;
    for (OperationId id : ids)
      result.push_back(id.kind == LaneKind::Execute ? id.index
                                                    : executes + id.index);
    repeat(result);
    return result;
  }

  /// The last element up to thousands of times more.
  template <typename T> void repeat(std::vector<T> &list) {
    if (!shares || list.empty() || !choices.oneIn(16))
      return;
    T last = list.back();
    list.insert(list.end(), choices.below(4000), last);
  }

  Choices &choices;
  bool shares;
  uint32_t programs = 0;       ///< so far
  uint32_t executes = 0;       ///< of the program
  uint32_t places[2] = {0, 1}; ///< of its arena and of prepared memory
};

} // namespace

bool PackedImage::pack(Choices &choices, const artifact::Bundle &source) {
  Packer packer(choices);
  packer.inputs = packer.list(source.inputs);
  packer.outputs = packer.list(source.outputs);
  auto targets = packer.addTargets(source.programs);
  auto programs = packer.list(source.programs);
  std::vector<fb::Offset<bundle::Segment>> segments = {
      packer.segment(bundle::SegmentKind_Code, codeOffset, codeSize,
                     codeDigest),
      packer.segment(bundle::SegmentKind_Weights, weightsOffset, weightsSize,
                     weightsDigest)};
  fb::FlatBufferBuilder &builder = packer.builder;
  bundle::FinishBundleBuffer(
      builder, bundle::CreateBundleDirect(
                   builder, static_cast<bundle::BundleKind>(source.kind),
                   source.model.c_str(), "", &segments, &targets, &programs,
                   source.threads));
  packedSize = builder.GetSize();
  if (packedSize > codeOffset - sizeof(Header))
    return false;
  memcpy(bytes + sizeof(Header), builder.GetBufferPointer(), packedSize);
  Header header = {};
  memcpy(header.magic, magic, sizeof magic);
  header.version = formatVersion;
  header.fileSize = total;
  header.metadataOffset = sizeof header;
  header.metadataSize = packedSize;
  header.metadataDigest = digestOf(bytes + sizeof header, packedSize);
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(bytes, &header, sizeof header);
  return true;
}

} // namespace nnv12::test
