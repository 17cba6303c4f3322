//===- PlanVerifierTest.cpp - Plans that must be refused ------------------===//
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "test/unit/artifact/BitFlips.h"
#include "test/unit/sample/PlannedSample.h"

#include <functional>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

namespace {

// The sample's first round: preparations 0 to 3 are the read, decode,
// transform, and the decode for the switch; operations 0 and 1 add and
// multiply. Lanes 0 to 2 have preparations 0, 1 and 2 at the head of their
// queues. Messages count on behind the 5 executes: preparation 0 is operation
// 5, the last one operation 12.

struct Case {
  const char *message;
  std::function<void(Program &)> change;
};

const LaneKind prepare = LaneKind::Prepare, execute = LaneKind::Execute;

const Case cases[] = {
    // Single operations.
    {"operation 8: kind: found an Execute behind a Transform, expected "
     "executes first",
     [](Program &p) { p.preparations[3].kind = OperationKind::Execute; }},
    {"operation 2: kind: found an Execute behind a Decode",
     [](Program &p) {
       p.operations[1] = p.preparations[1];
       p.operations[1].after.clear();
     }},
    {"operation 4: operands: found 2, expected the stage's 1",
     [](Program &p) { p.operations[4].kind = OperationKind::Read; }},
    {"operation 5: operands: found 0, expected the stage's 1",
     [](Program &p) { p.preparations[0].operands.clear(); }},
    {"operation 5: operand 0: found a read of Prepared, expected Weights",
     [](Program &p) { p.preparations[0].operands[0].space = Space::Prepared; }},
    {"operation 5: operand 0: found 64 bytes at 999999",
     [](Program &p) {
       p.preparations[0].operands[0] = {Space::Weights, 2, 999999, 64};
     }},
    {"operation 5: tiles: found 0 to 3, expected a range of at most 0",
     [](Program &p) { p.preparations[0].tiles = 3; }},
    {"operation 6: operand 0: found a write to Arena, expected Prepared",
     [](Program &p) {
       p.preparations[1].operands[0] = {Space::Arena, 0, 0, 64};
     }},
    {"operation 6: operand 1: found a read of Prepared, expected Weights",
     [](Program &p) { p.preparations[1].operands[1].space = Space::Prepared; }},
    {"operation 6: planes: found 3",
     [](Program &p) { p.preparations[1].planes = 3; }},
    {"operation 6: planes: found 0",
     [](Program &p) { p.preparations[1].planes = 0; }},
    {"operation 6: planes: found 4 for 190 bytes",
     [](Program &p) { p.preparations[1].operands[0].size = 190; }},
    {"operation 8: found 128 stored bytes, expected the 192",
     [](Program &p) { p.preparations[3].operands[1].size = 128; }},
    {"operation 6: found 0 stored bytes, expected a frame of 192",
     [](Program &p) { p.preparations[1].operands[1].size = 0; }},
    {"operation 7: operand 0: found a write to Output, expected Prepared",
     [](Program &p) {
       p.preparations[2].operands[0] = {Space::Output, 0, 0, 192};
     }},
    {"operation 7: operand 1: found a read of Arena, expected Weights or "
     "Prepared",
     [](Program &p) { p.preparations[2].operands[1].space = Space::Arena; }},
    {"operation 7: kernel: found 9",
     [](Program &p) { p.preparations[2].kernel = 9; }},
    {"expected them inside the 192 of Prepared 1",
     [](Program &p) { p.preparedSize = 192; }},
    {"memory 1 (Prepared): found",
     [](Program &p) { p.preparedSize = ~uint64_t(0); }},
    {"operation 0: operand 0: found a write to Prepared, expected Arena or "
     "Output",
     [](Program &p) { p.operations[0].operands[0].space = Space::Prepared; }},
    {"switch 0: operation: found 99, expected an execute, less than 5",
     [](Program &p) { p.switches[0].operation = 99; }},
    {"switch 0: operation: found 5, expected an execute, less than 5",
     [](Program &p) { p.switches[0].operation = 5; }},
    {"switch 0: kind: found 3, expected 0 (Execute)",
     [](Program &p) {
       p.switches[0].replacement.kind = OperationKind::Transform;
     }},
    {"switch 0: operands: found 2, expected the kernel's 3",
     [](Program &p) { p.switches[0].replacement.operands.pop_back(); }},
    {"switch 0: operand 0: found a write to Prepared",
     [](Program &p) {
       p.switches[0].replacement.operands[0].space = Space::Prepared;
     }},
    {"switch 0: tiles: found 1 to 4, expected a range of at most 3",
     [](Program &p) { p.switches[0].replacement.tileBegin = 1; }},
    {"switch 1: operation: found 1, which an earlier switch replaces",
     [](Program &p) { p.switches[1].operation = 1; }},
    {"operation 7: tiles: found 1 to 4, expected a range of at most 3",
     [](Program &p) { p.preparations[2].tileBegin = 1; }},
    {"operation 5: tiles: found 1 to 1, expected a range of at most 0",
     [](Program &p) { p.preparations[0].tileBegin = 1; }},

    // Last readers.
    {"operation 0: last_reader: found it set, expected it of a decode or "
     "transform of Weights alone",
     [](Program &p) { p.operations[0].lastReader = true; }},
    {"operation 5: last_reader: found it set",
     [](Program &p) { p.preparations[0].lastReader = true; }},
    {"operation 7: last_reader: found it set",
     [](Program &p) { p.preparations[2].lastReader = true; }},
    {"operation 7: last_reader: found it set",
     [](Program &p) {
       p.kernels[2].operands = 1;
       p.operations[4].operands.pop_back();
       for (uint32_t i : {2, 6})
         p.preparations[i].operands.pop_back();
       p.preparations[2].lastReader = true;
     }},
    {"switch 0: last_reader: found it set",
     [](Program &p) { p.switches[0].replacement.lastReader = true; }},

    // Dependencies.
    {"operation 1: after: found operation 104, expected less than 13",
     [](Program &p) { p.operations[1].after = {{prepare, 99}}; }},
    {"operation 6: after: found operation 13",
     [](Program &p) { p.preparations[1].after = {{prepare, 8}}; }},
    {"switch 0: after: found operation 13",
     [](Program &p) { p.switches[0].replacement.after = {{prepare, 8}}; }},
    {"operation 6: after: found itself",
     [](Program &p) {
       p.preparations[1].after = {{prepare, 0}, {prepare, 1}};
     }},
    {"operation 5: after: found a cycle",
     [](Program &p) { p.preparations[0].after = {{prepare, 2}}; }},
    {"operation 1: after: found execute 1, which does not run before it",
     [](Program &p) { p.operations[1].after.push_back({execute, 1}); }},
    {"operation 1: after: found execute 4, which does not run before it",
     [](Program &p) { p.operations[1].after.push_back({execute, 4}); }},
    {"switch 0: after: found execute 1, which does not run before it",
     [](Program &p) {
       p.switches[0].replacement.after.push_back({execute, 1});
     }},
    {"switch 0: after: found execute 2, which does not run before it",
     [](Program &p) {
       p.switches[0].replacement.after.push_back({execute, 2});
     }},

    // Lanes.
    {"lanes: found none, expected at least one for 8 preparations and 2 "
     "switches",
     [](Program &p) { p.lanes.clear(); }},
    {"lanes: found 65, expected at most 64",
     [](Program &p) { p.lanes.resize(65, {prepare, CoreKind::Any, {}, {}}); }},
    {"lane 1: kind: found Execute, expected Execute for lane 0 and for no "
     "other",
     [](Program &p) { p.lanes[1].kind = execute; }},
    {"lane 0: kind: found Prepare",
     [](Program &p) { p.lanes[0].kind = prepare; }},
    {"lane 1: found operation 82, expected a preparation, 5 to 12",
     [](Program &p) { p.lanes[1].queue[0].index = 77; }},
    {"lane 1: found operation 3, expected a preparation, 5 to 12",
     [](Program &p) { p.lanes[1].background.push_back({execute, 3}); }},
    {"lane 1: found operation 13, expected a preparation, 5 to 12",
     [](Program &p) { p.lanes[1].background.push_back({prepare, 8}); }},
    {"lane 1: entry 0: found an execute",
     [](Program &p) { p.lanes[1].queue[0].kind = execute; }},
    {"lane 0: entry 1: found operation 1, expected 0",
     [](Program &p) { p.lanes[0].queue[1].index = 1; }},
    {"expected 5 (each execute once, in order)",
     [](Program &p) { p.lanes[0].queue.push_back({execute, 4}); }},
    {"lane 0: found 4 executes, expected all 5",
     [](Program &p) { p.lanes[0].queue.pop_back(); }},
    {"lane 2: found operation 6, which is in lane 1 already",
     [](Program &p) { p.lanes[2].queue.push_back({prepare, 1}); }},
    {"lane 0: found operation 8, which is in lane 0 already",
     [](Program &p) { p.lanes[0].background.push_back({prepare, 3}); }},
    {"operation 6: found it in no lane",
     [](Program &p) { p.lanes[1].queue.erase(p.lanes[1].queue.begin()); }},
    {"operation 1: after: found operation 8 of a background",
     [](Program &p) { p.operations[1].after = {{prepare, 2}, {prepare, 3}}; }},
    {"operation 7: after: found operation 8 of a background",
     [](Program &p) {
       p.preparations[2].after = {{prepare, 1}, {prepare, 3}};
     }},
    {"never starts: the order of the lanes and `after` form a cycle",
     [](Program &p) {
       // The transform comes before its own decode in one lane.
       p.lanes[1].queue.insert(p.lanes[1].queue.begin(), {prepare, 2});
       p.lanes[2].queue.erase(p.lanes[2].queue.begin());
     }},
    {"never starts: the order of the lanes and `after` form a cycle",
     [](Program &p) {
       // Behind the execute that waits for it.
       p.lanes[0].queue.push_back({prepare, 2});
       p.lanes[2].queue.erase(p.lanes[2].queue.begin());
     }},

    // Bytes of Prepared.
    {"operation 1: operand 2: found Prepared bytes that operation 7 writes, "
     "expected it in `after` (it starts before its weights)",
     [](Program &p) { p.operations[1].after = {{prepare, 1}}; }},
    {"operation 1: operand 2: found Prepared bytes that operation 7 writes",
     [](Program &p) { p.operations[1].after = {{execute, 0}}; }},
    {"operation 1: operand 2: found Prepared bytes at 0 that nothing that it "
     "waits for writes (it starts before its weights)",
     [](Program &p) {
       p.preparedSize += 192;
       for (Operation &o : p.preparations)
         for (Operand &operand : o.operands)
           if (operand.space == Space::Prepared)
             operand.offset += 192;
       p.operations[1].operands[2].offset = 0;
     }},
    {"operation 1: operand 2: found Prepared bytes at 352 that nothing that it",
     [](Program &p) {
       p.preparations[2].operands[0].size = 160;
       p.preparations[2].operands[1].size = 160;
     }},
    {"operation 7: operand 1: found Prepared bytes that operation 6 writes, "
     "expected it in `after`",
     [](Program &p) { p.preparations[2].after = {{prepare, 0}}; }},
    {"operation 7: operand 1: found Prepared bytes at 96 that no operation "
     "before it writes",
     [](Program &p) { p.preparations[1].operands[0].size = 96; }},
    {"operation 7: operand 1: found Prepared bytes that operation 7 writes",
     [](Program &p) {
       p.preparations[2].operands[0].offset = 64;
       p.preparations[1].operands[0].size = 64;
     }},
    {"operations 6 and 10: found both writing Prepared bytes at 0",
     [](Program &p) { p.preparations[5].operands[0].offset = 0; }},
    {"switch 0: operand 2: found Prepared bytes that operation 8 writes",
     [](Program &p) { p.switches[0].replacement.after = {}; }},
    // A background writes an operand of an execute.
    {"operation 1: operand 2: found Prepared bytes that operation 8 writes",
     [](Program &p) {
       p.operations[1].operands[2].offset =
           p.preparations[3].operands[0].offset;
     }},
};

/// The writer runs the verifier, and then finds no folder.
std::string withoutFile(const std::string &error) {
  return error.find("cannot") == std::string::npos &&
                 error.find("No such file") == std::string::npos
             ? error
             : "";
}

std::string errorOf(const std::function<void(Program &)> &change) {
  PlannedSample sample(3, 3, 2);
  change(sample.bundle.programs[0]);
  return withoutFile(writeBundle(sample.bundle, "/nonexistent/a.nnv"));
}

} // namespace

TEST(PlanVerifier, TakesTheSample) {
  EXPECT_EQ(errorOf([](Program &) {}), "");
}

TEST(PlanVerifier, Refuses) {
  for (const Case &c : cases) {
    std::string error = errorOf(c.change);
    EXPECT_NE(error.find(c.message), std::string::npos)
        << "expected: " << c.message << "\nfound:    " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

/// Even when all its readers are done: its writer may be at it still.
TEST(PlanVerifier, RefusesMemoryThatIsUsedAgain) {
  EXPECT_NE(errorOf([](Program &p) {
              // The second round decodes into the place of the first's.
              p.preparations[5].operands[0].offset = 0;
              p.preparations[5].after.push_back({prepare, 2});
              p.preparations[6].operands[1].offset = 0;
            })
                .find("operations 6 and 10: found both writing Prepared bytes "
                      "at 0, expected one"),
            std::string::npos);
}

/// Several preparations may write the parts of one operand.
TEST(PlanVerifier, TakesWeightsInParts) {
  EXPECT_EQ(errorOf([](Program &p) {
              Operation half = p.preparations[3];
              half.operands[0].size = half.operands[1].size = 96;
              p.preparations[3] = half;
              half.operands[0].offset += 96;
              half.operands[1].offset += 96;
              p.preparations.push_back(half);
              p.lanes[1].background.push_back({prepare, 8});
              p.switches[0].replacement.after = {{prepare, 3}, {prepare, 8}};
            }),
            "");
}

/// Results that an earlier execute waited for are there for later ones.
TEST(PlanVerifier, TakesWhatEarlierExecutesWaitedFor) {
  EXPECT_EQ(errorOf([](Program &p) {
              p.operations[0].after = {{prepare, 2}};
              p.operations[1].after = {};
            }),
            "");
}

/// Executes run in order, so that naming earlier ones changes nothing.
TEST(PlanVerifier, TakesExecutesThatOthersWaitFor) {
  EXPECT_EQ(errorOf([](Program &p) {
              p.operations[1].after.push_back({execute, 0});
              p.operations[4].after = {{execute, 3}, {execute, 1}};
              p.switches[0].replacement.after.push_back({execute, 0});
            }),
            "");
}

/// Without lanes too, where the caller runs them.
TEST(PlanVerifier, ChecksWhatExecutesWaitForWithoutLanes) {
  auto error = [](std::vector<OperationId> after) {
    Sample sample;
    sample.bundle.programs[0].operations[1].after = std::move(after);
    return withoutFile(writeBundle(sample.bundle, "/nonexistent/a.nnv"));
  };
  EXPECT_EQ(error({{execute, 0}}), "");
  EXPECT_NE(error({{execute, 1}})
                .find("program 0: operation 1: after: found "
                      "execute 1, which does not run before "
                      "it"),
            std::string::npos);
  EXPECT_NE(error({{execute, 2}}).find("found execute 2, which does not run"),
            std::string::npos);
  EXPECT_NE(error({{execute, 3}})
                .find("found operation 3, expected less than "
                      "3"),
            std::string::npos);
}

/// A layer or a transform may be several operations that share out its tiles.
TEST(PlanVerifier, TakesPartsOfTheTiles) {
  EXPECT_EQ(errorOf([](Program &p) {
              p.operations[0].tileBegin = 1;
              p.operations[0].tiles = 2;
              p.operations[1].tileBegin = 3;
              p.operations[1].tiles = 0;
              p.preparations[2].tileBegin = 2;
              p.preparations[2].tiles = 1;
              p.switches[0].replacement.tileBegin = 2;
              p.switches[0].replacement.tiles = 0;
            }),
            "");
}

TEST(PlanVerifier, TakesLastReaders) {
  EXPECT_EQ(errorOf([](Program &p) {
              for (uint32_t i : {1, 3, 5, 7})
                p.preparations[i].lastReader = true;
              p.preparations[2].operands[1] = {Space::Weights, 2, 0, 192};
              p.preparations[2].lastReader = true;
            }),
            "");
}

TEST(PlanVerifier, EveryBitFlipped) {
  TemporaryFolder folder;
  PlannedSample sample(3, 3, 2);
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  expectFlipsBehindTheDigestAreHarmless(readFile(folder.file("a.nnv")));
}

TEST(PlanVerifier, ManyPreparationsAreCheckedQuickly) {
  EXPECT_EQ(errorOf([](Program &p) {
              for (int i = 0; i < 20000; ++i) {
                p.preparations.push_back(p.preparations[0]);
                uint32_t last = uint32_t(p.preparations.size()) - 1;
                if (i)
                  p.preparations[last].after = {{prepare, last - 1}};
                p.lanes[1].queue.push_back({prepare, last});
              }
            }),
            "");
}

/// Checking takes time in proportion to the plan, whichever way it is large.
TEST(PlanVerifier, TakesOneTransformOfManyParts) {
  EXPECT_EQ(
      errorOf([](Program &p) {
        constexpr uint32_t parts = 5000, bytes = 64;
        Operation part = p.preparations[3], whole = p.preparations[2];
        whole.operands[1] = {Space::Prepared, 0, p.preparedSize, parts * bytes};
        whole.after.clear();
        for (uint32_t i = 0; i < parts; ++i) {
          part.operands[0] = {Space::Prepared, 0, p.preparedSize, bytes};
          part.operands[1].size = bytes;
          p.preparedSize += bytes;
          whole.after.push_back({prepare, uint32_t(p.preparations.size())});
          p.lanes[1].queue.push_back(whole.after.back());
          p.preparations.push_back(part);
        }
        whole.operands[0] = {Space::Prepared, 0, p.preparedSize, 192};
        p.preparedSize += 192;
        p.lanes[1].queue.push_back({prepare, uint32_t(p.preparations.size())});
        p.preparations.push_back(whole);
      }),
      "");
}

TEST(PlanVerifier, TakesALongChainOfTransforms) {
  EXPECT_EQ(errorOf([](Program &p) {
              Operation link = p.preparations[2];
              for (uint32_t i = 0; i < 20000; ++i) {
                uint64_t before = i ? p.preparedSize - 192 : 0;
                link.operands[0] = {Space::Prepared, 0, p.preparedSize, 192};
                link.operands[1] = {Space::Prepared, 0, before, 192};
                link.after = {
                    {prepare, i ? uint32_t(p.preparations.size()) - 1 : 1}};
                p.preparedSize += 192;
                p.lanes[1].queue.push_back(
                    {prepare, uint32_t(p.preparations.size())});
                p.preparations.push_back(link);
              }
            }),
            "");
}

/// Every link is looked at for each of those after it.
TEST(PlanVerifier, RefusesWhatTakesTooLongToCheck) {
  EXPECT_NE(errorOf([](Program &p) {
              Operation link = p.preparations[2];
              for (uint32_t i = 0; i < 3000; ++i) {
                // All read the first one's result, one after another.
                link.operands[0] = {Space::Prepared, 0, p.preparedSize, 192};
                link.operands[1] = {Space::Prepared, 0, 0, 192};
                link.after = {
                    {prepare, i ? uint32_t(p.preparations.size()) - 1 : 1}};
                p.lanes[1].queue.push_back(
                    {prepare, uint32_t(p.preparations.size())});
                p.preparations.push_back(link);
                p.preparedSize += 192;
              }
            }).find("too entangled to check"),
            std::string::npos);
}
