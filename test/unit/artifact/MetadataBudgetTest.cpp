//===- MetadataBudgetTest.cpp - Metadata that stands for too much ---------===//
#include "artifact/MetadataBudget.h"

#include "artifact/Header.h"
#include "artifact/Verifier.h"
#include "test/unit/artifact/BitFlips.h"
#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/VideoSample.h"

#include <ctime>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
namespace fb = flatbuffers;

namespace {

/// Builds metadata whose parts may be used many times.
struct Shared {
  fb::FlatBufferBuilder builder;
  std::vector<fb::Offset<bundle::Program>> programs;
  std::vector<fb::Offset<bundle::Tensor>> inputs;
  std::vector<uint32_t> after;
  std::string routine = "x", revision = "x";
  std::vector<uint64_t> box = {0};
  size_t numOperations = 1, numOperands = 1, numFeatures = 0, numPrograms = 1;
  size_t numKernels = 1, numMemories = 1, numParts = 0;
  size_t numTargets = 1, numProcessors = 1;
  uint32_t numSegments = 1;
  size_t numProperties = 0;
  std::string propertyValue = "x";

  fb::Offset<bundle::TileMap> buildMap() {
    auto axes =
        builder.CreateVectorOfStructs(std::vector<bundle::TileAxis>{{1, 1}});
    auto corner = builder.CreateVector(box);
    auto cuts = builder.CreateVectorOfStructs(std::vector<bundle::TileCut>());
    auto part = bundle::CreateTilePart(builder, corner, corner, cuts);
    auto parts = builder.CreateVector(std::vector(numParts, part));
    return bundle::CreateTileMap(builder, axes, parts);
  }

  /// Kernels of their own that share all that they are made of.
  auto buildKernels(fb::Offset<fb::String> name) {
    auto routineName = builder.CreateString(routine);
    auto digest = builder.CreateVector(std::vector<uint8_t>(sizeof(Digest)));
    auto maps = builder.CreateVector(std::vector(1, buildMap()));
    std::vector<fb::Offset<bundle::Kernel>> kernels;
    for (size_t i = 0; i < numKernels; ++i)
      kernels.push_back(bundle::CreateKernel(
          builder, name, 0, 0, uint32_t(numOperands), 1, 0, /*tiles=*/0,
          routineName, 0, 0, routineName, digest, maps));
    return builder.CreateVector(kernels);
  }

  std::vector<uint8_t> build() {
    auto name = builder.CreateString("x");
    auto operand =
        bundle::CreateOperand(builder, bundle::Space_Memory, 0, 0, 64);
    auto operandVector =
        builder.CreateVector(std::vector(numOperands, operand));
    auto afterVector = builder.CreateVector(after);
    auto operation = bundle::CreateOperation(
        builder, bundle::OperationKind_Execute, name, 0, operandVector,
        /*tile_begin=*/0, /*tile_end=*/1, afterVector);
    auto operations =
        builder.CreateVector(std::vector(numOperations, operation));
    auto kernels = buildKernels(name);
    auto features = builder.CreateVector(
        std::vector(numFeatures, bundle::CreateFeature(builder, name)));
    auto architecture = builder.CreateString("x86-64");
    auto processor = bundle::CreateProcessor(builder, bundle::ProcessorKind_Cpu,
                                             architecture, features);
    auto processors =
        builder.CreateVector(std::vector(numProcessors, processor));
    auto target = bundle::CreateTarget(
        builder, name, builder.CreateString(revision), processors, kernels);
    auto targets = builder.CreateVector(std::vector(numTargets, target));
    auto memory = bundle::CreateMemory(builder, bundle::MemoryKind_Arena,
                                       /*processor=*/0, /*size=*/64);
    auto memories = builder.CreateVector(std::vector(numMemories, memory));
    auto inputVector = builder.CreateVector(inputs);
    auto program = bundle::CreateProgram(builder, /*target=*/0, inputVector,
                                         inputVector, memories, operations);
    auto programVector =
        builder.CreateVector(std::vector(numPrograms, program));
    auto digest = builder.CreateVector(std::vector<uint8_t>(sizeof(Digest)));
    auto segment = bundle::CreateSegment(builder, bundle::SegmentKind_Code,
                                         segmentAlignment, 64, digest);
    auto segments = builder.CreateVector(std::vector(numSegments, segment));
    auto value = builder.CreateString(propertyValue);
    std::vector<fb::Offset<bundle::Property>> properties;
    for (size_t i = 0; i < numProperties; ++i)
      properties.push_back(bundle::CreateProperty(
          builder, builder.CreateString(std::to_string(10000 + i)), value));
    bundle::FinishBundleBuffer(
        builder,
        bundle::CreateBundle(builder, bundle::BundleKind_Model, 0, 0, segments,
                             targets, programVector, /*threads=*/0,
                             builder.CreateVector(properties)));
    return {builder.GetBufferPointer(),
            builder.GetBufferPointer() + builder.GetSize()};
  }

  /// The message, or "". The file is just large enough for one segment.
  std::string verify() {
    AlignedCopy metadata(build());
    Fault fault;
    bool good = verifyMetadata(metadata.data, metadata.size,
                               segmentAlignment + 64, fault);
    EXPECT_EQ(good, fault.code == Fault::None);
    return fault.text;
  }
};

const char tooOften[] = "metadata: found parts of it used so often that they "
                        "come to more than 4 times its ";

} // namespace

TEST(MetadataBudget, ALittleSharingIsFine) {
  Shared shared;
  EXPECT_EQ(shared.verify(), "");
  Shared twice;
  twice.numOperations = 3;
  twice.numPrograms = 2;
  twice.numFeatures = 2;
  EXPECT_EQ(twice.verify(), "");
}

TEST(MetadataBudget, SharedVectors) {
  Shared dependencies;
  dependencies.numOperations = 20000;
  dependencies.after.assign(20000, 0);
  EXPECT_EQ(dependencies.verify().find(tooOften), 0u);
  Shared boxes;
  boxes.numParts = 1000;
  boxes.box.assign(10000, 0);
  EXPECT_EQ(boxes.verify().find(tooOften), 0u);
}

TEST(MetadataBudget, SharedTables) {
  Shared operations;
  operations.numOperations = 20000;
  operations.numPrograms = 40;
  EXPECT_EQ(operations.verify().find(tooOften), 0u);
  Shared operands;
  operands.numOperations = 20000;
  operands.numOperands = 4000;
  EXPECT_EQ(operands.verify().find(tooOften), 0u);
  Shared memories;
  memories.numMemories = 20000;
  memories.numPrograms = 64;
  EXPECT_EQ(memories.verify().find(tooOften), 0u);
  Shared parts;
  parts.numParts = 20000;
  parts.numKernels = 1000;
  EXPECT_EQ(parts.verify().find(tooOften), 0u);
  Shared programs;
  programs.numPrograms = 20000;
  EXPECT_EQ(programs.verify().find(tooOften), 0u);
  Shared features;
  features.numFeatures = 50000;
  features.numProcessors = 20000;
  EXPECT_EQ(features.verify().find(tooOften), 0u);
}

TEST(MetadataBudget, ProgramsAndTargetsAreFew) {
  Shared programs;
  programs.numPrograms = 65;
  programs.revision.assign(100000, 'x'); // so that the rest is not too much
  EXPECT_EQ(programs.verify(), "programs: found 65, expected at most 64");
  Shared targets;
  targets.numTargets = 65;
  targets.propertyValue.assign(100000, 'x');
  EXPECT_EQ(targets.verify(), "targets: found 65, expected at most 64");
}

TEST(MetadataBudget, SharedStrings) {
  Shared features;
  features.numFeatures = 50000;
  features.numTargets = 64;
  EXPECT_EQ(features.verify().find(tooOften), 0u);
  Shared routines;
  routines.numKernels = 20000;
  routines.routine.assign(10000, 'x');
  EXPECT_EQ(routines.verify().find(tooOften), 0u);
  Shared revisions;
  revisions.numTargets = 64;
  revisions.revision.assign(100000, 'x');
  EXPECT_EQ(revisions.verify().find(tooOften), 0u);
  Shared properties;
  properties.numProperties = 1000;
  EXPECT_EQ(properties.verify(), "");
  properties.propertyValue.assign(100000, 'x');
  EXPECT_EQ(properties.verify().find(tooOften), 0u);
}

// The tables that tools read of a tuning bundle.
TEST(MetadataBudget, SharedWork) {
  fb::FlatBufferBuilder builder;
  std::string key(10000, 'x');
  bundle::GpuExtent groups(1, 1, 1);
  auto verify = [&](fb::Offset<bundle::DispatchWork> work) {
    auto operands =
        builder.CreateVectorOfStructs(std::vector<bundle::GpuOperand>());
    auto dispatch =
        bundle::CreateDispatch(builder, 0, 0, operands, &groups,
                               /*push=*/0, false, /*predicted=*/0, work);
    std::vector dispatches(100, dispatch);
    std::vector<fb::Offset<bundle::Rows>> rows;
    std::vector stretches = {bundle::CreateStretchDirect(
        builder, bundle::StretchKind_Whole, 0, 1, &dispatches, &rows, &rows)};
    std::vector<fb::Offset<bundle::Memory>> memories;
    std::vector<fb::Offset<bundle::Boundary>> boundaries;
    std::vector<fb::Offset<bundle::GpuPreparation>> preparations;
    std::vector<fb::Offset<bundle::Lane>> lanes;
    std::vector programs = {bundle::CreateProgramGpuDirect(
        builder, &memories, &boundaries, &preparations, &lanes, &stretches)};
    std::vector<fb::Offset<bundle::GpuModule>> modules;
    std::vector<fb::Offset<bundle::GpuPipeline>> pipelines;
    auto gpu = bundle::CreateGpuDirect(builder, 0, 0, &modules, &pipelines);
    builder.Finish(bundle::CreateGpuOverlaysDirect(builder, gpu, &programs),
                   overlaysIdentifier);
    AlignedCopy overlays({builder.GetBufferPointer(),
                          builder.GetBufferPointer() + builder.GetSize()});
    builder.Clear();
    Fault fault;
    (void)verifyOverlaysBuffer(overlays.data, overlays.size, fault);
    return std::string(fault.text);
  };
  (void)builder.CreateString(key); // so that there is as much to share
  EXPECT_EQ(verify(0), "");
  auto work = bundle::CreateDispatchWorkDirect(builder, "x", key.c_str());
  EXPECT_EQ(verify(work).find("overlays: found parts of it used so often"), 0u);
}

// The tables that sessions with a stream follow.
TEST(MetadataBudget, SharedSets) {
  fb::FlatBufferBuilder builder;
  bundle::VideoWindow window(1, 1, 0, 0);
  auto verify = [&](size_t numSets, size_t numReads, size_t numPlaces) {
    std::vector reads(
        numReads, bundle::CreateVideoRead(builder, 0, false, &window, &window));
    std::vector sets(numSets,
                     bundle::CreateVideoSetDirect(builder, 1, 1, &reads));
    std::vector<uint64_t> places(numPlaces), outputs;
    std::vector executes(
        numSets, bundle::CreateVideoExecuteDirect(
                     builder, &places, 0, bundle::CreateVideoPart(builder)));
    std::vector<fb::Offset<bundle::Kernel>> kernels;
    std::vector<fb::Offset<bundle::VideoInput>> inputs;
    std::vector<fb::Offset<bundle::VideoPart>> switches;
    std::vector programs = {bundle::CreateProgramVideoDirect(
        builder, 0, &kernels, &sets, &inputs, &executes, &switches, &outputs)};
    builder.Finish(bundle::CreateVideoOverlaysDirect(builder, &programs),
                   videoIdentifier);
    AlignedCopy overlays({builder.GetBufferPointer(),
                          builder.GetBufferPointer() + builder.GetSize()});
    builder.Clear();
    Fault fault;
    bool good = verifyVideoBuffer(overlays.data, overlays.size, fault);
    EXPECT_EQ(good, fault.code == Fault::None);
    return std::string(fault.text);
  };
  EXPECT_EQ(verify(2, 3, 4), "");
  const char often[] = "overlays: found parts of it used so often";
  EXPECT_EQ(verify(1000, 1000, 1).find(often), 0u);
  EXPECT_EQ(verify(1000, 1, 1000).find(often), 0u);
}

TEST(MetadataBudget, SegmentsLieBesideEachOther) {
  Shared segments;
  segments.numSegments = 100;
  segments.after.assign(1000,
                        0); // so that it is the segments that are too many
  EXPECT_EQ(segments.verify(),
            "segment 65: found more bytes in segments than the file's 4160, "
            "expected them not to overlap");
}

// The work that a file can cause is in proportion to its size.
TEST(MetadataBudget, TheWorstIsRefusedAtOnce) {
  Shared worst;
  worst.numOperations = 1 << 20;
  worst.after.assign(1 << 20, 0);
  worst.numFeatures = 1 << 20;
  worst.numParts = worst.numMemories = 1 << 20;
  worst.box.assign(1 << 20, 0);
  worst.numPrograms = worst.numTargets = 64;
  worst.numProcessors = 1 << 20;
  AlignedCopy metadata(worst.build());
  clock_t start = clock();
  Fault fault;
  EXPECT_FALSE(
      verifyMetadata(metadata.data, metadata.size, segmentAlignment, fault));
  // Not a timing: unbounded, this takes days.
  EXPECT_LT(clock() - start, 60 * CLOCKS_PER_SEC);
}

// FlatBuffers' own verifier is the oracle of buffers that are taken.
TEST(MetadataBudget, AgreesWithFlatBuffers) {
  GpuSample sample;
  addVideo(sample.bundle);
  PatchedMetadata written(sample.bundle);
  auto compare = [](const AlignedCopy &image, auto ours, auto theirs) {
    AlignedCopy copy(image.data, image.size);
    size_t taken = 0;
    withFlips(copy, copy.size, {0, 1, 2, 3, 4, 5, 6, 7}, [&](size_t i) {
      Fault fault;
      bool good = ours(copy.data, copy.size, fault);
      EXPECT_NE(good, fault.code != Fault::None);
      if (!good)
        return;
      fb::Verifier verifier(copy.data, copy.size, /*max_depth=*/64,
                            /*max_tables=*/1 << 30);
      EXPECT_TRUE(theirs(verifier)) << "byte " << i;
      ++taken;
    });
    EXPECT_GT(taken, image.size);
  };
  compare(written.metadata(), verifyFlatBuffer,
          [](fb::Verifier &v) { return bundle::VerifyBundleBuffer(v); });
  compare(written.overlayImage(), verifyOverlaysBuffer, [](fb::Verifier &v) {
    return v.VerifyBuffer<bundle::GpuOverlays>(overlaysIdentifier);
  });
  compare(written.videoImage(), verifyVideoBuffer, [](fb::Verifier &v) {
    return v.VerifyBuffer<bundle::VideoOverlays>(videoIdentifier);
  });
}

TEST(MetadataBudget, MisalignedShape) {
  Shared shared;
  // An odd number of uint32 before it, where a writer does not pad.
  auto name = shared.builder.CreateString("x");
  std::vector<int64_t> shape = {1, 2};
  auto offset = shared.builder.CreateVector(shape);
  shared.inputs.push_back(bundle::CreateTensor(
      shared.builder, name, bundle::ElementType_F32, offset));
  AlignedCopy metadata(shared.build());
  const bundle::Bundle *bundle = bundle::GetBundle(metadata.data);
  Fault fault;
  ASSERT_TRUE(verifyFlatBuffer(metadata.data, metadata.size, fault))
      << fault.text;
  // Four bytes further up, the vector begins with half of its old first
  // element: length 1 and something behind it.
  auto *vector = const_cast<fb::Vector<int64_t> *>(
      bundle->programs()->Get(0)->inputs()->Get(0)->shape());
  auto *bytes = reinterpret_cast<uint8_t *>(vector);
  const bundle::Tensor *tensor = bundle->programs()->Get(0)->inputs()->Get(0);
  auto *table = reinterpret_cast<const fb::Table *>(tensor);
  auto *field = const_cast<uint8_t *>(
      reinterpret_cast<const uint8_t *>(tensor) +
      table->GetOptionalFieldOffset(bundle::Tensor::VT_SHAPE));
  fb::WriteScalar(field, fb::ReadScalar<fb::uoffset_t>(field) + 4);
  EXPECT_EQ(fb::ReadScalar<uint32_t>(bytes + 4), 1u);
  EXPECT_FALSE(verifyFlatBuffer(metadata.data, metadata.size, fault));
  EXPECT_EQ(std::string(fault.text),
            "metadata: vector at byte " +
                std::to_string(bytes + 8 - metadata.data) +
                ": found its elements misaligned, expected a multiple of 8");
}
