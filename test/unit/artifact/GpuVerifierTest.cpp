//===- GpuVerifierTest.cpp - Overlays that must be refused ----------------===//
//
// test/unit/sample/GpuSample.h says what the overlay is that these damage.
//
//===----------------------------------------------------------------------===//
#include "artifact/GpuVerifier.h"

#include "artifact/Compatibility.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "test/unit/artifact/BitFlips.h"
#include "test/unit/artifact/ChangedOverlay.h"
#include "test/unit/artifact/PatchedMetadata.h"

#include <functional>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
namespace fb = flatbuffers;

namespace {

using Overlay = GpuSample;

const OverlayCase tables[] = {
    // Memories and boundaries.
    {"gpu: memory 0: size: found 70368744177665, expected less than",
     [](ProgramGpu &g) { g.arenaSize = (uint64_t(1) << 46) + 1; }},
    {"gpu: boundary 0: host: found Weights 0, expected the arena, an input or "
     "an output",
     [](ProgramGpu &g) { g.boundaries[0].host.space = Space::Weights; }},
    {"gpu: boundary 1: host: found Memory 1, expected the arena",
     [](ProgramGpu &g) { g.boundaries[1].host.space = Space::Prepared; }},
    {"gpu: boundary 2: host: found Output 7",
     [](ProgramGpu &g) { g.boundaries[2].host.index = 7; }},
    {"gpu: boundary 1: found 128 bytes at 128, expected at least one, at a "
     "multiple of 256, inside the 512 of its host",
     [](ProgramGpu &g) {
       g.boundaries[1].host.offset = g.boundaries[1].host.size = 128;
     }},
    {"gpu: boundary 1: found 512 bytes at 256, expected",
     [](ProgramGpu &g) { g.boundaries[1].host.size = 512; }},
    {"gpu: boundary 2: found 0 bytes at 0, expected at least one",
     [](ProgramGpu &g) { g.boundaries[2].host.size = 0; }},
    {"gpu: boundary 0: found 256 bytes at 64, expected at least one, at a "
     "multiple of 256, inside the 1280 of the GPU's arena",
     [](ProgramGpu &g) { g.boundaries[0].device = 64; }},
    {"gpu: boundary 0: found 256 bytes at 1280",
     [](ProgramGpu &g) { g.boundaries[0].device = 1280; }},

    // Preparations by themselves.
    {"gpu: preparation 1: pipelines: found 0, expected 1 to",
     [](ProgramGpu &g) { g.preparations[Overlay::Arithmetic].pipelines = {}; }},
    {"gpu: preparation 0: pipelines: found 1, expected less than 1",
     [](ProgramGpu &g) { g.preparations[Overlay::Device].pipelines = {0}; }},
    {"gpu: preparation 2: pipeline: found 3, expected less than 3",
     [](ProgramGpu &g) { g.preparations[Overlay::Copy].pipelines = {3}; }},
    {"gpu: preparation 4: uploads: found 0, expected 1 to",
     [](ProgramGpu &g) { g.preparations[Overlay::UploadSecond].uploads = {}; }},
    {"gpu: preparation 5: uploads: found 1, expected less than 1",
     [](ProgramGpu &g) {
       g.preparations[Overlay::RecordAll].uploads =
           g.preparations[Overlay::UploadSecond].uploads;
     }},
    {"gpu: preparation 5: stretch: found 3, expected less than 3",
     [](ProgramGpu &g) { g.preparations[Overlay::RecordAll].stretch = 3; }},
    {"gpu: preparation 1: stretch: found 1, expected less than 1",
     [](ProgramGpu &g) { g.preparations[Overlay::Arithmetic].stretch = 1; }},
    {"gpu: Device preparations: found 2, expected 1 to 1",
     [](ProgramGpu &g) {
       g.preparations.push_back(g.preparations[Overlay::Device]);
       g.lanes[0].queue.push_back({LaneKind::Prepare, 16});
     }},
    {"gpu: Device preparations: found 0, expected 1 to 1",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Device].stage = GpuStage::Pipeline;
       g.preparations[Overlay::Device].pipelines = {0};
     }},

    // Uploads.
    {"gpu: preparation 3: upload 1: source: found Memory 0, expected weights "
     "or prepared ones",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[1].source = {Space::Arena,
                                                                 0, 0, 256};
     }},
    {"gpu: preparation 3: upload 1: source: found Weights 3",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[1].source.index = 3;
     }},
    {"gpu: preparation 3: upload 1: source: found Input 0",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[1].source = {Space::Input,
                                                                 0, 0, 256};
     }},
    {"gpu: preparation 3: upload 1: found 256 bytes at 64, expected at least "
     "one, at a multiple of 256",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[1].source.offset = 64;
     }},
    {"gpu: preparation 3: upload 1: found 256 bytes at 1048576",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[1].source.offset = 1 << 20;
     }},
    {"gpu: preparation 3: upload 0: found 256 bytes at 192, expected at least "
     "one, at a multiple of 256, inside the 768 of the GPU's prepared memory",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadFirst].uploads[0].offset = 192;
     }},
    {"gpu: preparation 4: upload 0: found 256 bytes at 768",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].uploads[0].offset = 768;
     }},
    {"gpu: preparation 4: upload 0: found 128 bytes, in 1 planes, of 256",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].uploads[0].size = 128;
     }},
    {"gpu: preparation 4: upload 0: found 256 bytes, in 3 planes, of 256",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].uploads[0].planes = 3;
     }},
    {"gpu: preparation 4: upload 0: found 254 bytes, in 4 planes, of 256",
     [](ProgramGpu &g) {
       Upload &upload = g.preparations[Overlay::UploadSecond].uploads[0];
       upload.codec = Codec::Zstd;
       upload.planes = 4;
       upload.size = 254;
     }},
    {"gpu: preparation 4: upload 0: found 0 bytes at 1024",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].uploads[0].source.size = 0;
     }},

    // Stretches by themselves.
    {"gpu: stretch 2: first: found 5, expected less than 5",
     [](ProgramGpu &g) { g.stretches[2].first = 5; }},
    {"gpu: stretch 2: count: found 0, expected 1 to 3",
     [](ProgramGpu &g) { g.stretches[2].count = 0; }},
    {"gpu: stretch 2: count: found 4294967295, expected 1 to 3",
     [](ProgramGpu &g) { g.stretches[2].count = ~0u; }},
    {"gpu: stretch 1: found it behind one that starts later, or is shorter",
     [](ProgramGpu &g) { std::swap(g.stretches[0], g.stretches[1]); }},
    {"gpu: stretch 2: found it behind one that starts later, or is shorter",
     [](ProgramGpu &g) { std::swap(g.stretches[1], g.stretches[2]); }},
    {"gpu: stretch 1: dispatch 0: operation: found 2, expected less than 2",
     [](ProgramGpu &g) { g.stretches[1].dispatches[0].operation = 2; }},
    {"gpu: stretch 2: dispatch 0: operation: found 1, expected 2 to 4",
     [](ProgramGpu &g) { g.stretches[2].dispatches[0].operation = 1; }},
    {"gpu: stretch 1: dispatch 1: pipeline: found 3, expected less than 3",
     [](ProgramGpu &g) { g.stretches[1].dispatches[1].pipeline = 3; }},
    {"gpu: stretch 0: dispatch 0: groups x: found 0, expected 1 to 65535",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].groups.x = 0; }},
    {"gpu: stretch 0: dispatch 0: groups y: found 65536, expected 1 to 65535",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].groups.y = 65536; }},
    {"gpu: stretch 0: dispatch 0: groups z: found 0",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].groups.z = 0; }},
    {"gpu: stretch 0: dispatch 4: operands: found 3, expected 2 to 2",
     [](ProgramGpu &g) {
       auto &operands = g.stretches[0].dispatches[4].operands;
       operands.push_back(operands[1]);
     }},
    {"gpu: stretch 0: dispatch 4: words of push: found 1, expected less than 1",
     [](ProgramGpu &g) { g.stretches[0].dispatches[4].push = {7}; }},
    {"gpu: stretch 0: dispatch 0: operand 0: index: found 1, expected less "
     "than 1",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].operands[0].index = 1; }},
    {"gpu: stretch 0: dispatch 0: operand 1: index: found 3, expected less "
     "than 3",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].operands[1].index = 3; }},
    {"gpu: stretch 0: dispatch 0: operand 0: size: found 0, expected 1 to "
     "4294967295",
     [](ProgramGpu &g) { g.stretches[0].dispatches[0].operands[0].size = 0; }},
    {"gpu: stretch 0: dispatch 0: operand 0: size: found 4294967296",
     [](ProgramGpu &g) {
       g.arenaSize = uint64_t(1) << 40;
       g.stretches[0].dispatches[0].operands[0].size = uint64_t(1) << 32;
     }},
    {"gpu: stretch 0: dispatch 0: operand 0: found 256 bytes at 832, expected "
     "at least one, at a multiple of 256, inside the 1280 of Arena",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[0].operands[0].offset = 832;
     }},
    {"gpu: stretch 0: dispatch 0: operand 0: found 512 bytes at 1024",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[0].operands[0] = {GpuSpace::Arena, 0, 1024,
                                                   512};
     }},
    {"gpu: stretch 0: dispatch 0: operand 1: found 257 bytes at 0, expected at "
     "least one, at a multiple of 256, inside the 256 of Boundary",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[0].operands[1].size = 257;
     }},
    {"gpu: stretch 0: dispatch 3: operand 2: found 256 bytes at "
     "18446744073709551360",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[3].operands[2].offset = ~uint64_t(255);
     }},
    {"gpu: stretch 0: dispatch 0: operand 0: found a write to weights, "
     "expected the GPU's arena, or a boundary in the CPU's or an output",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[0].operands[0] = {GpuSpace::Prepared, 0, 0,
                                                   256};
     }},
    {"gpu: stretch 0: dispatch 0: operand 0: found a write to an input",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[0].operands[0] = {GpuSpace::Boundary, 0, 0,
                                                   256};
     }},
    {"gpu: stretch 1: in 0: boundary: found 3, expected less than 3",
     [](ProgramGpu &g) { g.stretches[1].in[0].boundary = 3; }},
    {"gpu: stretch 1: out 0: found 256 bytes at 1, expected at least one, at a "
     "multiple of 1, inside the 256 of the boundary",
     [](ProgramGpu &g) { g.stretches[1].out[0].offset = 1; }},
    {"gpu: stretch 1: in 0: found 0 bytes at 0",
     [](ProgramGpu &g) { g.stretches[1].in[0].bytes = 0; }},
    {"gpu: stretch 1: out 0: found an input, expected the arena or an output",
     [](ProgramGpu &g) { g.stretches[1].out[0].boundary = 0; }},
    {"gpu: stretch 0: dispatch 1: maps: found 2, expected none or one for each "
     "of 1 written operands",
     [](ProgramGpu &g) { g.stretches[0].dispatches[1].maps.assign(2, {}); }},
    {"gpu: stretch 0: dispatch 1: tile map 0: cuts: found another number of "
     "tiles than the grid has",
     [](ProgramGpu &g) { g.stretches[0].dispatches[1].maps.assign(1, {}); }},
    {"gpu: warm 1: stretch: found 3, expected less than 3",
     [](ProgramGpu &g) { g.warm = {1, 3}; }},
    {"gpu: warm 1: found a stretch from execute 0 on, expected 2 or later, "
     "where the one before ends",
     [](ProgramGpu &g) { g.warm = {1, 1}; }},
    {"gpu: warm 1: found a stretch from execute 2 on, expected 5 or later",
     [](ProgramGpu &g) { g.warm = {0, 2}; }},
};

/// The fault of metadata that the writer does not make.
std::string errorOfPatched(
    const std::function<void(PatchedMetadata &, const bundle::ProgramGpu *)>
        &change) {
  GpuSample sample;
  PatchedMetadata metadata(sample.bundle);
  change(metadata, metadata.overlay());
  Fault fault;
  bool good = metadata.verify(fault);
  EXPECT_EQ(good, fault.code == Fault::None);
  return fault.text;
}

} // namespace

TEST(GpuVerifier, TakesTheSample) {
  EXPECT_EQ(errorOf([](Bundle &) {}), "");
}

TEST(GpuVerifier, RefusesTables) { expectRefused(tables); }

TEST(GpuVerifier, RefusesModulesAndPipelines) {
  struct BundleCase {
    const char *message;
    std::function<void(Bundle &)> change;
  };
  const BundleCase cases[] = {
      {"gpu: api: found 4194304, expected 4198400 to 4294967295",
       [](Bundle &b) { b.gpu->api = 1 << 22; }},
      {"gpu: module 1: words: found 4, expected 5 to 1048576",
       [](Bundle &b) { b.segments[3].pieces[1].size = 16; }},
      {"gpu: module 0: found",
       [](Bundle &b) {
         Segment &code = b.segments[3];
         code.pieceAlignment = 1;
         code.pieces.insert(code.pieces.begin(), {"x", 1});
         for (GpuModule &module : b.gpu->modules)
           ++module.piece;
       }},
      {"gpu: pipeline 1: module: found 3, expected less than 3",
       [](Bundle &b) { b.gpu->pipelines[1].module = 3; }},
      {"gpu: pipeline 0: bindings: found 0, expected 1 to 32",
       [](Bundle &b) { b.gpu->pipelines[0].bindings = 0; }},
      {"gpu: pipeline 0: bindings: found 33, expected 1 to 32",
       [](Bundle &b) { b.gpu->pipelines[0].bindings = 33; }},
      {"gpu: pipeline 0: written: found 0, expected 1 to 7",
       [](Bundle &b) { b.gpu->pipelines[0].written = 0; }},
      {"gpu: pipeline 0: written: found 8, expected 1 to 7",
       [](Bundle &b) { b.gpu->pipelines[0].written = 8; }},
      {"gpu: pipeline 2: push_words: found 33, expected less than 33",
       [](Bundle &b) { b.gpu->pipelines[2].pushWords = 33; }},
      {"gpu: pipeline 2: constants: found 33, expected less than 33",
       [](Bundle &b) { b.gpu->pipelines[2].constants.resize(33); }},
      {"gpu: pipeline 2: local x: found 0, expected 1 to 1024",
       [](Bundle &b) { b.gpu->pipelines[2].local.x = 0; }},
      {"gpu: pipeline 2: local y: found 1025, expected 1 to 1024",
       [](Bundle &b) { b.gpu->pipelines[2].local.y = 1025; }},
      {"gpu: pipeline 2: local z: found 0",
       [](Bundle &b) { b.gpu->pipelines[2].local.z = 0; }},
      {"gpu: pipeline 2: local: found 1040, expected 1 to 1024",
       [](Bundle &b) { b.gpu->pipelines[2].local = {16, 13, 5}; }},
      {"gpu: pipeline 2: shared: found 16385, expected less than 16385",
       [](Bundle &b) { b.gpu->pipelines[2].shared = 16385; }},
      {"program 0: gpu: found no modules and pipelines of the bundle, which it "
       "needs",
       [](Bundle &b) { b.gpu.reset(); }},
      {"program 1: gpu: found no lanes of the program, which it needs",
       [](Bundle &b) {
         b.programs[1].lanes.clear();
         b.programs[1].operations.clear();
         b.programs[1].preparations.clear();
         b.programs[1].switches.clear();
       }},
      // The writer's own needs.
      {"gpu: code: found 4, expected a segment, less than 4",
       [](Bundle &b) { b.gpu->code = 4; }},
      {"gpu: module sample_copy: piece: found 3, expected one of 3, of 32-bit "
       "words",
       [](Bundle &b) { b.gpu->modules[2].piece = 3; }},
      {"gpu: module sample_copy: piece: found 2, expected one of 3, of 32-bit "
       "words",
       [](Bundle &b) { b.segments[3].pieces[2].size -= 2; }},
  };
  for (const BundleCase &c : cases) {
    std::string error = errorOf(c.change);
    EXPECT_EQ(error.find(c.message), 0u)
        << "expected: " << c.message << "\nfound:    " << error;
  }
}

TEST(GpuVerifier, RefusesWhatNoWriterMakes) {
  using Metadata = PatchedMetadata;
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint32_t>(m.overlays()->gpu(),
                                        bundle::Gpu::VT_CODE, 9);
            }),
            "gpu: code: found 9, expected less than 5");
  for (uint32_t index : {0, 3})
    EXPECT_EQ(errorOfPatched([&](Metadata &m, const bundle::ProgramGpu *) {
                Metadata::patch<uint32_t>(m.gpuOverlay(1)->head(),
                                          bundle::OverlayHead::VT_INDEX, index);
              }),
              "program 1: overlay: index: found " + std::to_string(index) +
                  ", expected at least 1, less than 3");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint32_t>(m.overlays()->gpu(),
                                        bundle::Gpu::VT_CODE, 0);
            }),
            "gpu: code: found segment 0 of kind 0, expected 2 (Spirv)");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::shorten(
                  m.overlays()->gpu()->modules()->Get(1)->digest(), 31);
            }),
            "gpu: module 1: bytes of its digest: found 31, expected 32 to 32");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint64_t>(m.overlays()->gpu()->modules()->Get(1),
                                        bundle::GpuModule::VT_OFFSET,
                                        ~uint64_t(3));
            }).find("gpu: module 1: found "),
            0u);
  EXPECT_EQ(errorOfPatched([](Metadata &, const bundle::ProgramGpu *g) {
              Metadata::patch<uint32_t>(g->memories()->Get(1),
                                        bundle::Memory::VT_PROCESSOR, 0);
            }),
            "program 0: gpu: memory 1: processor: found 0, expected 1 to 1");
  // Heads that contradict the overlay.
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint32_t>(m.gpuOverlay()->head(),
                                        bundle::OverlayHead::VT_COLD_RECORDS,
                                        1);
            }),
            "program 0: gpu: cold_records: found 1, expected 7 to 7");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint32_t>(m.gpuOverlay()->head(),
                                        bundle::OverlayHead::VT_WARM_RECORDS,
                                        99);
            }),
            "program 0: gpu: warm_records: found 99, expected 7 to 7");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *g) {
              Metadata::patch<uint32_t>(m.gpuOverlay()->head(),
                                        bundle::OverlayHead::VT_PROCESSOR, 0);
              (void)g;
            }),
            "program 0: overlay 0: processor: found 0 of kind 0, expected one "
            "of kind 1 (Gpu)");
  // Which part of its grid a dispatch computes.
  for (auto [begin, end] :
       {std::pair<uint64_t, uint64_t>{1, 4}, {0, 3}, {0, 5}, {4, 4}, {5, 4}})
    EXPECT_EQ(errorOfPatched([&, begin = begin, end = end](
                                 Metadata &, const bundle::ProgramGpu *g) {
                const bundle::Dispatch *dispatch =
                    g->stretches()->Get(0)->dispatches()->Get(0);
                Metadata::patch<uint64_t>(
                    dispatch, bundle::Dispatch::VT_TILE_BEGIN, begin);
                Metadata::patch<uint64_t>(dispatch,
                                          bundle::Dispatch::VT_TILE_END, end);
              }),
              "program 0: gpu: stretch 0: dispatch 0: tiles: found " +
                  std::to_string(begin) + " to " + std::to_string(end) +
                  ", expected all 4");
  for (uint64_t alignment : {0, 128, 384})
    EXPECT_EQ(errorOfPatched([&](Metadata &, const bundle::ProgramGpu *g) {
                Metadata::patch<uint64_t>(g->memories()->Get(0),
                                          bundle::Memory::VT_ALIGNMENT,
                                          alignment);
              }),
              "program 0: gpu: memory 0: alignment: found " +
                  std::to_string(alignment) +
                  ", expected a power of two, at least 256");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *) {
              Metadata::patch<uint64_t>(m.program()->memories()->Get(0),
                                        bundle::Memory::VT_ALIGNMENT, 64);
            }),
            "program 0: gpu: boundary 1: host: found an arena at multiples of "
            "64, expected 256");
  EXPECT_EQ(errorOfPatched([](Metadata &m, const bundle::ProgramGpu *g) {
              Metadata::patch<uint32_t>(g->lanes()->Get(0),
                                        bundle::Lane::VT_PROCESSOR, 1);
              (void)m;
            }).find("program 0: gpu: lane 0: found kind 1, processor 1"),
            0u);
}

/// Parts of a later version: the program stays as it is, without a GPU.
TEST(GpuVerifier, OverlaysForNewerReadersAreLeftAlone) {
  using Change = std::function<void(const bundle::ProgramGpu *,
                                    const bundle::OverlayHead *)>;
  constexpr auto patch8 = [](auto *table, fb::voffset_t field, uint8_t value) {
    PatchedMetadata::patch<uint8_t>(table, field, value);
  };
  const std::pair<const char *, Change> cases[] = {
      {"start 0: kind: found 2, expected at most 1",
       [&](const bundle::ProgramGpu *, const bundle::OverlayHead *head) {
         patch8(head, bundle::OverlayHead::VT_START, 2);
       }},
      {"memory 1: kind: found 2, expected at most 1",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->memories()->Get(1), bundle::Memory::VT_KIND, 2);
       }},
      {"memory 1: found a second Arena, expected one",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->memories()->Get(1), bundle::Memory::VT_KIND, 0);
       }},
      {"boundary 0: space of an operand: found 4, expected at most 3",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->boundaries()->Get(0)->host(), bundle::Operand::VT_SPACE, 4);
       }},
      {"preparation 2: stage: found 4, expected at most 3",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->preparations()->Get(2), bundle::GpuPreparation::VT_STAGE, 4);
       }},
      {"preparation 4: codec: found 2, expected at most 1",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->preparations()->Get(4)->uploads()->Get(0),
                bundle::Upload::VT_CODEC, 2);
       }},
      {"preparation 4: space of an operand: found 9, expected at most 3",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->preparations()->Get(4)->uploads()->Get(0)->source(),
                bundle::Operand::VT_SPACE, 9);
       }},
      {"lane 1: kind: found 2, expected at most 1",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->lanes()->Get(1), bundle::Lane::VT_KIND, 2);
       }},
      {"lane 1: core: found 3, expected at most 2",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->lanes()->Get(1), bundle::Lane::VT_CORE, 3);
       }},
      {"stretch 2: kind: found 2, expected at most 1",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         patch8(g->stretches()->Get(2), bundle::Stretch::VT_KIND, 2);
       }},
      {"stretch 1: space of an operand: found 3, expected at most 2",
       [&](const bundle::ProgramGpu *g, const bundle::OverlayHead *) {
         auto *operand =
             g->stretches()->Get(1)->dispatches()->Get(0)->operands()->Get(2);
         *reinterpret_cast<uint8_t *>(
             const_cast<bundle::GpuOperand *>(operand)) = 3;
       }},
  };
  for (const auto &[message, change] : cases) {
    GpuSample sample;
    PatchedMetadata metadata(sample.bundle);
    const bundle::ProgramGpu *gpu = metadata.overlay();
    change(gpu, metadata.gpuOverlay()->head());
    // Other faults of it do not matter then.
    PatchedMetadata::patch<uint32_t>(gpu->stretches()->Get(0),
                                     bundle::Stretch::VT_FIRST, 99);
    Fault fault, why;
    EXPECT_TRUE(metadata.verify(fault)) << message << ": " << fault.text;
    const bundle::Bundle *bundle = metadata.bundle();
    const bundle::GpuOverlays *overlays = metadata.overlays();
    EXPECT_EQ(gpuOf(bundle, overlays, metadata.program()), nullptr);
    EXPECT_NE(gpuOf(bundle, overlays, metadata.program(1)), nullptr);
    EXPECT_TRUE(isUnderstood(bundle, 0, why)) << why.text;
    EXPECT_FALSE(isUnderstood(bundle, overlays, metadata.program(), 0, why));
    EXPECT_EQ(
        std::string(why.text).find("program 0: gpu: " + std::string(message)),
        0u)
        << why.text;
  }
}

TEST(GpuVerifier, ModulesHaveDigests) {
  TemporaryFolder folder;
  GpuSample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const bundle::Gpu *gpu = gpuOverlaysIn(read, image.data)->gpu();
  unsigned char *words = image.data +
                         read->segments()->Get(gpu->code())->offset() +
                         gpu->modules()->Get(1)->offset();
  EXPECT_TRUE(verifyModule(gpu, 1, words, fault)) << fault.text;
  words[5] ^= 1;
  EXPECT_FALSE(verifyModule(gpu, 1, words, fault));
  EXPECT_STREQ(fault.text, "gpu: module 1: digest does not match (damaged)");
  EXPECT_EQ(fault.code, Fault::Untrusted);
}

TEST(GpuVerifier, EveryBitFlipped) {
  TemporaryFolder folder;
  GpuSample sample;
  sample.bundle.programs.resize(1);
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  expectFlipsBehindTheDigestAreHarmless(readFile(folder.file("a.nnv")));
}
