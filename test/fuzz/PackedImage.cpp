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
/// More than the runtime forgets once it has used it (Policy.h).
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

  fb::Offset<bundle::Operation> add(const Operation &operation) {
    std::vector<bundle::Operand> operands;
    for (const Operand &operand : operation.operands)
      operands.emplace_back(static_cast<bundle::Space>(operand.space),
                            operand.index, operand.offset, operand.size);
    repeat(operands);
    std::vector<uint32_t> after = operation.after;
    repeat(after);
    return bundle::CreateOperationDirect(
        builder, operation.layer.c_str(), operation.kernel, &operands,
        operation.tiles, static_cast<bundle::OperationKind>(operation.kind),
        &after, static_cast<bundle::Codec>(operation.codec), operation.planes);
  }
  fb::Offset<bundle::Kernel> add(const Kernel &kernel) {
    return bundle::CreateKernelDirect(builder, kernel.name.c_str(),
                                      kernel.entry, kernel.operands,
                                      kernel.outputs, kernel.scratch);
  }
  fb::Offset<bundle::Tensor> add(const Tensor &tensor) {
    return bundle::CreateTensorDirect(
        builder, tensor.name.c_str(),
        static_cast<bundle::ElementType>(tensor.type), &tensor.shape);
  }
  fb::Offset<bundle::Lane> add(const Lane &lane) {
    std::vector<bundle::LaneEntry> queue;
    for (const LaneEntry &entry : lane.queue)
      queue.emplace_back(static_cast<bundle::LaneKind>(entry.kind),
                         entry.index);
    repeat(queue);
    return bundle::CreateLaneDirect(
        builder, static_cast<bundle::LaneKind>(lane.kind),
        static_cast<bundle::CoreKind>(lane.core), &queue, &lane.background);
  }
  fb::Offset<bundle::Switch> add(const Switch &change) {
    auto replacement = add(change.replacement);
    return bundle::CreateSwitch(builder, change.operation, replacement);
  }
  fb::Offset<fb::String> add(const std::string &text) {
    return builder.CreateString(text);
  }
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

  fb::Offset<bundle::Program> add(const Program &program) {
    auto features = list(program.features);
    auto kernels = list(program.kernels);
    auto operations = list(program.operations);
    auto preparations = list(program.preparations);
    auto lanes = list(program.lanes);
    auto switches = list(program.switches);
    return bundle::CreateProgramDirect(
        builder, program.target.c_str(), program.architecture.c_str(),
        &features, program.code, &kernels, &operations, program.arenaSize,
        &preparations, &lanes, &switches, program.preparedSize);
  }

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
  /// The last element up to thousands of times more.
  template <typename T> void repeat(std::vector<T> &list) {
    if (!shares || list.empty() || !choices.oneIn(16))
      return;
    T last = list.back();
    list.insert(list.end(), choices.below(4000), last);
  }

  Choices &choices;
  bool shares;
};

} // namespace

bool PackedImage::pack(Choices &choices, const artifact::Bundle &source) {
  Packer packer(choices);
  auto inputs = packer.list(source.inputs);
  auto outputs = packer.list(source.outputs);
  auto programs = packer.list(source.programs);
  std::vector<fb::Offset<bundle::Segment>> segments = {
      packer.segment(bundle::SegmentKind_Code, codeOffset, codeSize,
                     codeDigest),
      packer.segment(bundle::SegmentKind_Weights, weightsOffset, weightsSize,
                     weightsDigest)};
  fb::FlatBufferBuilder &builder = packer.builder;
  bundle::FinishBundleBuffer(
      builder, bundle::CreateBundleDirect(builder, source.model.c_str(), "",
                                          &inputs, &outputs, &segments,
                                          &programs, source.threads));
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
