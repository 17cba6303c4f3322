//===- TileRangesTest.cpp - Operations that compute a part of the grid ----===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/PlannedSample.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
// The runtime's, not the writer's.
using LoadedBundle = nnv12::Bundle;

namespace {

/// Tiles [0, tile) and [tile, end) of an operation.
std::pair<Operation, Operation> inTwo(const Operation &whole, uint64_t tile) {
  std::pair<Operation, Operation> parts = {whole, whole};
  parts.first.tiles = tile;
  parts.second.tileBegin = tile;
  parts.second.tiles = whole.tiles - tile;
  return parts;
}

/// Makes two of each execute, one behind the other; and of each switch.
void splitExecutes(Program &program, uint64_t tile) {
  std::vector<Operation> operations;
  for (const Operation &operation : program.operations) {
    auto [first, second] = inTwo(operation, tile);
    operations.push_back(std::move(first));
    operations.push_back(std::move(second));
  }
  program.operations = std::move(operations);
  for (Lane &lane : program.lanes) {
    std::vector<OperationId> queue;
    for (OperationId id : lane.queue)
      if (id.kind == LaneKind::Execute)
        queue.insert(queue.end(), {{LaneKind::Execute, 2 * id.index},
                                   {LaneKind::Execute, 2 * id.index + 1}});
      else
        queue.push_back(id);
    lane.queue = std::move(queue);
  }
  std::vector<Switch> switches;
  for (const Switch &change : program.switches) {
    auto [first, second] = inTwo(change.replacement, tile);
    switches.push_back({2 * change.operation, std::move(first)});
    switches.push_back({2 * change.operation + 1, std::move(second)});
  }
  program.switches = std::move(switches);
}

/// Makes two of each transform. Operations that wait for the first wait for the
/// second, which waits for the first.
void splitTransforms(Program &program, uint64_t tile) {
  auto count = static_cast<uint32_t>(program.preparations.size());
  for (uint32_t i = 0; i < count; ++i) {
    if (program.preparations[i].kind != OperationKind::Transform)
      continue;
    OperationId first = {LaneKind::Prepare, i};
    OperationId second = {LaneKind::Prepare,
                          uint32_t(program.preparations.size())};
    auto parts = inTwo(program.preparations[i], tile);
    parts.second.after = {first};
    program.preparations[i] = std::move(parts.first);
    program.preparations.push_back(std::move(parts.second));
    for (Operation &operation : program.operations)
      for (OperationId &before : operation.after)
        if (before == first)
          before = second;
    for (Lane &lane : program.lanes)
      for (size_t k = 0; k < lane.queue.size(); ++k)
        if (lane.queue[k] == first)
          lane.queue.insert(lane.queue.begin() + std::ptrdiff_t(k) + 1, second);
  }
}

class TileRangesTest : public testing::Test {
protected:
  /// Writes the bundle to a file and runs it with 1 to 3 threads; check(y, x).
  template <typename Check>
  void run(const artifact::Bundle &source, size_t elements, bool switched,
           const Check &check) {
    std::string path = folder.file("a.nnv");
    ASSERT_EQ(writeBundle(source, path), "");
    LoadedBundle bundle(path);
    for (uint32_t threads : {1, 2, 3}) {
      SessionOptions options;
      options.threads = threads;
      options.oversubscribe = true;
      options.mode = switched ? NNV12_MODE_CONTINUOUS : NNV12_MODE_COLD;
      Session session(bundle, options);
      std::vector<float> x(elements), y(elements);
      for (size_t i = 0; i < elements; ++i)
        x[i] = float(i % 97);
      auto runOnce = [&] {
        y.assign(elements, -1);
        session.run({{x.data(), elements * 4}}, {{y.data(), elements * 4}});
      };
      for (int i = 0; switched && i < 100000; ++i) {
        if (session.info().switches_done == session.info().num_switches)
          break;
        runOnce();
      }
      runOnce();
      if (switched) {
        EXPECT_EQ(session.info().switches_done, session.info().num_switches);
      }
      for (size_t i = 0; i < elements; ++i)
        ASSERT_EQ(y[i], check(i, x[i]))
            << "element " << i << ", " << threads << " threads";
    }
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(TileRangesTest, LayersInTwoParts) {
  for (size_t tiles : {2, 3, 40})
    for (size_t tile : {size_t(0), size_t(1), tiles / 2, tiles - 1, tiles}) {
      Sample sample(tiles);
      for (Program &program : sample.bundle.programs)
        splitExecutes(program, tile);
      run(sample.bundle, sample.elements(), false,
          [&](size_t i, float x) { return sample.expected(i, x); });
    }
}

TEST_F(TileRangesTest, TheRestOfTheGridIsLeftAlone) {
  for (size_t tiles : {3, 40})
    for (uint64_t begin : {uint64_t(1), uint64_t(tiles - 1)}) {
      Sample sample(tiles);
      for (Program &program : sample.bundle.programs) {
        program.operations[2].tileBegin = begin;
        program.operations[2].tiles = tiles - begin;
      }
      run(sample.bundle, sample.elements(), false, [&](size_t i, float x) {
        return i < begin * tileSize ? -1 : sample.expected(i, x);
      });
    }
}

TEST_F(TileRangesTest, PlansInTwoParts) {
  Fault fault;
  if (!runtime::loadZstd(fault))
    GTEST_SKIP() << fault.text;
  for (size_t tiles : {3, 40, 100})
    for (size_t tile : {size_t(1), tiles - 1})
      for (unsigned lanes : {1, 3}) {
        PlannedSample sample(tiles, lanes, 3);
        for (Program &program : sample.bundle.programs) {
          splitTransforms(program, tile);
          splitExecutes(program, tile);
        }
        for (bool switched : {false, true})
          run(sample.bundle, sample.elements(), switched,
              [&](size_t i, float x) {
                return sample.expectedRun(i, x, switched);
              });
      }
}

/// Nothing else writes the tiles that a transform leaves out: the first tiles
/// of the weights come from something else than the others.
TEST_F(TileRangesTest, ATransformBehindTheFirstTile) {
  Fault fault;
  if (!runtime::loadZstd(fault))
    GTEST_SKIP() << fault.text;
  for (size_t tiles : {3, 40}) {
    PlannedSample sample(tiles, 2, 1);
    const uint64_t begin = tiles / 2;
    for (Program &program : sample.bundle.programs) {
      // The first tiles are made of the switch's decoded weights, half of `b`.
      const OperationId second = {LaneKind::Prepare, 2},
                        half = {LaneKind::Prepare, 3},
                        first = {LaneKind::Prepare, 4};
      ASSERT_EQ(program.preparations.size(), 4u);
      program.switches.clear();
      program.lanes[0].background.clear();
      program.lanes[1].background.clear();
      auto parts = inTwo(program.preparations[2], begin);
      parts.first.operands[1] = program.preparations[3].operands[0];
      parts.first.after = {half};
      program.preparations[2] = std::move(parts.second);
      program.preparations.push_back(std::move(parts.first));
      program.lanes[1].queue.insert(program.lanes[1].queue.end(),
                                    {half, first});
      for (Operation &operation : program.operations)
        if (std::count(operation.after.begin(), operation.after.end(), second))
          operation.after.push_back(first);
    }
    run(sample.bundle, sample.elements(), false, [&](size_t i, float x) {
      return sample.expectedRun(i, x, i < begin * tileSize);
    });
  }
}
