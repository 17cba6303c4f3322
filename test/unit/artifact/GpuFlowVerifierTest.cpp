//===- GpuFlowVerifierTest.cpp - Stretches that must be refused -----------===//
//
// test/unit/sample/GpuSample.h says what the overlay is that these damage.
//
//===----------------------------------------------------------------------===//
#include "artifact/GpuVerifier.h"

#include "artifact/Bundle.h"
#include "test/unit/artifact/ChangedOverlay.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

namespace {

// Operations 0 to 4 are executes, 5 to 12 the program's preparations, 13 to 20
// those of the GPU, in the order of GpuSample::Preparation.

using Overlay = GpuSample;
const LaneKind prepare = LaneKind::Prepare, execute = LaneKind::Execute;

const OverlayCase plans[] = {
    {"operation 15: after: found operation 21, expected less than 21",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Copy].after.push_back({prepare, 16});
     }},
    {"operation 15: after: found execute 4, which does not run before it",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Copy].after.push_back({execute, 4});
     }},
    {"operation 15: after: found itself",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Copy].after.push_back(
           Overlay::id(Overlay::Copy));
     }},
    {"operation 13: after: found a cycle",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Device].after = {
           Overlay::id(Overlay::RecordAll)};
     }},
    {"gpu: stretch 1: after: found operation 21, expected less than 21",
     [](ProgramGpu &g) { g.stretches[1].after.push_back({prepare, 16}); }},
    {"gpu: stretch 1: after: found execute 0, which does not run before it",
     [](ProgramGpu &g) { g.stretches[1].after.push_back({execute, 0}); }},
    {"operation 18: found it in no lane, expected one",
     [](ProgramGpu &g) { g.lanes[0].queue.pop_back(); }},
    {"lane 4: found operation 13, which is in lane 3 already",
     [](ProgramGpu &g) {
       g.lanes[1].queue.push_back(Overlay::id(Overlay::Device));
     }},
    {"lane 4: found operation 12, expected a preparation, 13 to 20",
     [](ProgramGpu &g) { g.lanes[1].queue.push_back({prepare, 7}); }},
    {"lane 3: found operation 3, expected a preparation, 13 to 20",
     [](ProgramGpu &g) { g.lanes[0].queue.push_back({execute, 3}); }},
    {"gpu: lane 1: found kind 0, processor 0 and 0 in the background, expected "
     "Prepare, 0 and none",
     [](ProgramGpu &g) { g.lanes[1].kind = LaneKind::Execute; }},
    {"gpu: lane 0: found kind 1, processor 0 and 1 in the background",
     [](ProgramGpu &g) {
       g.lanes[0].background = {g.lanes[0].queue.back()};
       g.lanes[0].queue.pop_back();
     }},
    {"lanes: operation 13 never starts: the order of the lanes and `after` "
     "form a cycle",
     [](ProgramGpu &g) {
       std::swap(g.lanes[0].queue[0], g.lanes[0].queue[3]);
     }},
    {"lanes: found 65, expected at most 64",
     [](ProgramGpu &g) { g.lanes.resize(62, Lane{prepare, {}, {}, {}}); }},
    {"operation 17: operand 0: found Prepared bytes that operation 11 writes, "
     "expected it in `after`",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].after.pop_back();
     }},
};

const OverlayCase flows[] = {
    // Waits.
    {"gpu: preparation 2: after: found no operation 13, expected the Device "
     "among them",
     [](ProgramGpu &g) { g.preparations[Overlay::Copy].after = {}; }},
    {"gpu: preparation 2: pipelines: found 1, which preparation 1 makes too",
     [](ProgramGpu &g) { g.preparations[Overlay::Copy].pipelines = {2, 1}; }},
    {"gpu: preparation 2: pipelines: found 2, which preparation 2 makes too",
     [](ProgramGpu &g) { g.preparations[Overlay::Copy].pipelines = {2, 2}; }},
    {"gpu: preparation 7: stretch: found 1, which preparation 6 records too",
     [](ProgramGpu &g) { g.preparations[Overlay::RecordRest].stretch = 1; }},
    {"gpu: preparation 5: after: found none that makes pipeline 2, which its "
     "stretch dispatches",
     [](ProgramGpu &g) {
       g.preparations[Overlay::RecordAll].after.pop_back();
     }},
    {"gpu: preparation 5: after: found none that makes pipeline 1",
     [](ProgramGpu &g) {
       g.preparations[Overlay::Arithmetic].pipelines = {0};
     }},
    {"gpu: stretch 0: after: found no Record of it",
     [](ProgramGpu &g) {
       g.stretches[0].after[0] = Overlay::id(Overlay::RecordBegin);
     }},
    {"gpu: stretch 3: after: found no Record of it",
     [](ProgramGpu &g) { g.stretches.push_back(g.stretches[2]); }},

    // Weights.
    {"gpu: preparation 4: found byte 256 of the GPU's prepared memory uploaded "
     "twice, expected once",
     [](ProgramGpu &g) {
       g.preparations[Overlay::UploadSecond].uploads[0].offset = 256;
     }},
    {"gpu: stretch 0: dispatch 3: operand 2: found byte 512 of the GPU's "
     "prepared memory read, expected it to be copied in, uploaded or written "
     "before",
     [](ProgramGpu &g) { g.stretches[0].after.pop_back(); }},
    {"gpu: stretch 1: dispatch 1: operand 2: found byte 512 of the GPU's "
     "prepared memory read",
     [](ProgramGpu &g) {
       g.stretches[1].dispatches[1].operands[2].offset = 512;
     }},

    // Dispatches.
    {"gpu: stretch 1: dispatch 1: operand 1: found byte 768 of the GPU's arena "
     "used by an earlier dispatch, one of both writing, expected a barrier "
     "between",
     [](ProgramGpu &g) { g.stretches[1].dispatches[1].barrier = false; }},
    {"gpu: stretch 2: dispatch 1: operand 0: found byte 256 of the GPU's arena "
     "used by an earlier dispatch", // which reads it
     [](ProgramGpu &g) {
       Dispatch &dispatch = g.stretches[2].dispatches[1];
       dispatch.barrier = false;
       dispatch.operands[0].offset = 256;
       dispatch.operands[1] = dispatch.operands[2];
     }},
    {"gpu: stretch 2: dispatch 1: operand 0: found byte 768 of the GPU's arena "
     "used by an earlier dispatch", // which writes it
     [](ProgramGpu &g) {
       Dispatch &dispatch = g.stretches[2].dispatches[1];
       dispatch.barrier = false;
       dispatch.operands[0].offset = 768;
       dispatch.operands[1] = dispatch.operands[2];
     }},
    {"gpu: stretch 0: dispatch 1: operand 1: found byte 1024 of the GPU's "
     "arena read, expected it to be copied in, uploaded or written before",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[1].operands[1].offset = 1024;
     }},
    {"gpu: stretch 1: dispatch 0: operand 1: found byte 0 of the GPU's arena "
     "read",
     [](ProgramGpu &g) { g.stretches[1].in = {}; }},
    {"gpu: stretch 2: dispatch 0: operand 1: found byte 384 of the GPU's arena "
     "read",
     [](ProgramGpu &g) { g.stretches[2].in[0].bytes = 128; }},
    {"gpu: stretch 0: dispatch 1: operand 0: found byte 256 of the arena "
     "written, expected it in `out`",
     [](ProgramGpu &g) {
       g.stretches[0].dispatches[1].operands[0] = {GpuSpace::Boundary, 1, 0,
                                                   256};
       g.stretches[0].dispatches[2].operands[1] = {GpuSpace::Boundary, 1, 0,
                                                   256};
     }},

    // Hand-overs.
    {"gpu: stretch 1: found byte 256 of the arena written by its executes and "
     "read later, expected it in `out`",
     [](ProgramGpu &g) {
       g.stretches[1].out = {};
       g.stretches[1].dispatches[1].operands[0] = {GpuSpace::Arena, 0, 1024,
                                                   256};
     }},
    {"gpu: stretch 1: found byte 384 of the arena written by its executes and "
     "read later",
     [](ProgramGpu &g) {
       g.stretches[1].out[0].bytes = 128;
       g.stretches[1].dispatches[1].operands[0].size = 128;
     }},
    {"gpu: stretch 0: found byte 0 of output 0 written by its executes and "
     "read later",
     [](ProgramGpu &g) {
       g.stretches[0].out = {};
       g.stretches[0].dispatches[4].operands[0] = {GpuSpace::Arena, 0, 768,
                                                   256};
     }},
    {"gpu: stretch 1: in 1: found byte 256 of the arena not read from here on "
     "before it is written, expected what executes read",
     [](ProgramGpu &g) { g.stretches[1].in.push_back({1, 0, 256}); }},
    {"gpu: stretch 1: in 1: found byte 0 of the GPU's arena copied in twice, "
     "expected once",
     [](ProgramGpu &g) { g.stretches[1].in.push_back({0, 0, 64}); }},
    {"gpu: stretch 1: out 1: found byte 256 of the arena handed back twice, "
     "expected once",
     [](ProgramGpu &g) { g.stretches[1].out.push_back({1, 0, 64}); }},
    // The CPU reads the product as well when it computes the stretch itself.
    {"gpu: stretch 2: out 1: found byte 256 of the arena still needed as it "
     "was before the stretch, expected another place",
     [](ProgramGpu &g) { g.stretches[2].out.push_back({1, 0, 256}); }},
    {"gpu: stretch 2: out 0: found byte 0 of output 0 handed back, expected a "
     "dispatch to write it",
     [](ProgramGpu &g) { g.stretches[2].dispatches.pop_back(); }},
    // A device that copies would find it there, and one that does not would
    // not.
    {"gpu: stretch 2: out 0: found byte 0 of output 0 handed back, expected a "
     "dispatch to write it",
     [](ProgramGpu &g) {
       g.stretches[2].dispatches[2].operands[0] = {GpuSpace::Arena, 0, 512,
                                                   256};
     }},
};

} // namespace

TEST(GpuFlowVerifier, RefusesPlans) { expectRefused(plans); }
TEST(GpuFlowVerifier, RefusesFlows) { expectRefused(flows); }

/// Nothing of the program may wait for the GPU.
TEST(GpuFlowVerifier, TheProgramIsCompleteWithout) {
  const OperationId device = GpuSample::id(GpuSample::Device);
  auto errorOfProgram = [](const std::function<void(Program &)> &change) {
    return errorOf([&](Bundle &b) { change(b.programs[0]); });
  };
  EXPECT_EQ(errorOfProgram(
                [&](Program &p) { p.operations[1].after.push_back(device); }),
            "program 0: operation 1: after: found operation 13, expected less "
            "than 13");
  EXPECT_EQ(errorOfProgram(
                [&](Program &p) { p.preparations[0].after.push_back(device); }),
            "program 0: operation 5: after: found operation 13, expected less "
            "than 13");
  EXPECT_EQ(errorOfProgram([&](Program &p) {
              p.switches[0].replacement.after.push_back(device);
            }),
            "program 0: switch 0: after: found operation 13, expected less "
            "than 13");
  EXPECT_EQ(
      errorOfProgram([&](Program &p) { p.lanes[1].queue.push_back(device); }),
      "program 0: lane 1: found operation 13, expected a preparation, 5 "
      "to 12");
}

/// The CPU's plan of memory may make a stretch impossible.
TEST(GpuFlowVerifier, RefusesStretchesThatTheCpuCannotRepeat) {
  // Executes 2 and 3 read the product and write it.
  EXPECT_EQ(
      errorOfGpu([](ProgramGpu &g) {
        Stretch &stretch = g.stretches[2];
        stretch.count = 2;
        stretch.dispatches.pop_back();
        stretch.dispatches[1].operands[0] = {GpuSpace::Boundary, 1, 0, 256};
        stretch.out = {{1, 0, 256}};
      }),
      "program 0: gpu: stretch 2: out 0: found byte 256 of the arena "
      "still needed as it was before the stretch, expected another place");
}

/// An execute that computes a part of its tiles leaves the rest as it was.
TEST(GpuFlowVerifier, KnowsThatPartsLeaveTheRest) {
  auto errorWith = [](uint64_t tiles) {
    return errorOf([&](Bundle &b) {
      Program &p = b.programs[0];
      p.operations[3].tiles = tiles;
      p.operations[2].operands[1] = p.operations[0].operands[1];
      p.gpu->stretches.resize(2);
      p.gpu->preparations[GpuSample::RecordRest] =
          p.gpu->preparations[GpuSample::UploadSecond];
      p.gpu->preparations[GpuSample::RecordRest].uploads[0].offset = 768;
      p.gpu->preparedSize = 1024;
      p.gpu->warm = {};
      // The first two executes, of whose results nothing is handed back.
      Stretch &stretch = p.gpu->stretches[1];
      stretch.out = {};
      stretch.dispatches[1].operands[0] = {GpuSpace::Arena, 0, 1024, 256};
    });
  };
  EXPECT_EQ(errorWith(4), "");
  EXPECT_EQ(errorWith(3), "program 0: gpu: stretch 1: found byte 256 of the "
                          "arena written by its executes and read later, "
                          "expected it in `out`");
}

/// The operands of a switch must be there as well.
TEST(GpuFlowVerifier, FollowsSwitches) {
  EXPECT_EQ(
      errorOf([](Bundle &b) {
        Program &p = b.programs[0];
        // The second multiplication reads the first product.
        p.switches[1].replacement.operands[1] = p.operations[4].operands[1];
        p.operations[2].operands[1] = p.operations[0].operands[1];
        Stretch &stretch = p.gpu->stretches[1];
        stretch.out = {};
        stretch.dispatches[1].operands[0] = {GpuSpace::Arena, 0, 1024, 256};
      }),
      "program 0: gpu: stretch 1: found byte 256 of the arena written by "
      "its executes and read later, expected it in `out`");
}

TEST(GpuFlowVerifier, Takes) {
  const OverlayCase good[] = {
      {"dispatches without a barrier that read the same",
       [](ProgramGpu &g) {
         Dispatch again = g.stretches[2].dispatches[0];
         again.barrier = false;
         again.operands[0].offset = 1024;
         g.stretches[2].dispatches.insert(g.stretches[2].dispatches.begin() + 1,
                                          again);
       }},
      {"a dispatch in place",
       [](ProgramGpu &g) {
         g.stretches[0].dispatches[1].operands[0].offset = 768;
         g.stretches[0].dispatches[2].operands[1].offset = 768;
       }},
      {"operands of part of a boundary",
       [](ProgramGpu &g) {
         g.stretches[1].dispatches[0].operands[1].size = 64;
         g.stretches[1].in[0].bytes = 64;
       }},
      {"a boundary that is copied in two pieces",
       [](ProgramGpu &g) {
         g.stretches[2].in = {{1, 128, 128}, {1, 0, 128}};
         g.stretches[2].out = {{2, 0, 64}, {2, 64, 192}};
       }},
      {"preparations that wait for what is done in the background",
       [](ProgramGpu &g) {
         g.preparations[GpuSample::UploadSecond].after.push_back({prepare, 3});
       }},
      {"an upload that is decoded on the way",
       [](ProgramGpu &g) {
         Upload &upload = g.preparations[GpuSample::UploadSecond].uploads[0];
         upload.codec = Codec::Zstd;
         upload.planes = 4;
         upload.source.size = 100;
       }},
      {"alternatives of the same executes",
       [](ProgramGpu &g) {
         g.stretches.insert(g.stretches.begin(), g.stretches[0]);
         GpuPreparation record = g.preparations[GpuSample::RecordAll];
         for (uint32_t i = GpuSample::RecordAll; i <= GpuSample::RecordRest;
              ++i)
           ++g.preparations[i].stretch;
         g.preparations.push_back(record);
         g.stretches[0].after[0] = {prepare, 16};
         g.lanes[0].queue.push_back({prepare, 16});
         g.warm = {2, 3};
       }},
      {"nothing to take over", [](ProgramGpu &g) {
         g.stretches = {};
         g.warm = {};
         g.preparations.resize(GpuSample::RecordAll);
         g.lanes[0].queue.resize(2);
         g.lanes[1].queue.pop_back();
       }}};
  for (const OverlayCase &c : good)
    EXPECT_EQ(errorOfGpu(c.change), "") << c.message;
}

/// Checking takes time in proportion to the overlay.
TEST(GpuFlowVerifier, ManyDispatchesAreCheckedQuickly) {
  EXPECT_EQ(errorOfGpu([](ProgramGpu &g) {
              // Each to a place of its own, without barriers.
              Dispatch dispatch = g.stretches[1].dispatches[0];
              dispatch.barrier = false;
              for (uint64_t i = 0; i < 20000; ++i) {
                dispatch.operands[0].offset = g.arenaSize;
                g.arenaSize += 256;
                g.stretches[1].dispatches.push_back(dispatch);
              }
            }),
            "");
}

TEST(GpuFlowVerifier, RefusesWhatTakesTooLongToCheck) {
  EXPECT_EQ(errorOfGpu([](ProgramGpu &g) {
              // Each wipes the results of all before it.
              Dispatch dispatch = g.stretches[1].dispatches[0];
              for (uint64_t i = 0; i < 100000; ++i) {
                dispatch.operands[0].offset = g.arenaSize;
                g.arenaSize += 256;
                g.stretches[1].dispatches.push_back(dispatch);
              }
            }),
            "program 0: gpu: stretches: too entangled to check");
}
