//===- DprsTest.cpp - Signatures of nets against all there are ------------===//

#include "ExactNet.h"
#include "RandomNet.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace nnv12::search;

static bool sameChoice(const NetChoice &a, const NetChoice &b) {
  return a.signatures == b.signatures && a.produced == b.produced &&
         a.adapts == b.adapts && a.cost == b.cost && a.bound == b.bound &&
         a.exact == b.exact && a.steps == b.steps;
}

/// A layer of one operand and one result.
static NetLayer layerOf(uint32_t operand, uint32_t result,
                        std::vector<Signature> signatures) {
  return {{operand}, {result}, std::move(signatures)};
}

/// Equal to within rounding, or both impossible.
static bool isNear(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b));
}

static NetDraw drawOf(int round) {
  NetDraw draw;
  draw.wholeCosts = round % 4 == 3;
  draw.impossibles = round % 3 != 2;
  return draw;
}

/// Solves a large net and tells how long that took.
static NetChoice solveInTime(const char *name, const Net &net) {
  auto start = std::chrono::steady_clock::now();
  NetChoice choice = dprs(net);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  printf("%s: %zu layers, %llu steps, %.3f s\n", name, net.layers.size(),
         (unsigned long long)choice.steps, took.count());
  EXPECT_TRUE(choice.exact);
  EXPECT_EQ(checkNetChoice(net, choice), "");
  EXPECT_LE(choice.cost, greedy(net).cost);
  for (uint8_t schema = 0; schema < 4; ++schema)
    EXPECT_LE(choice.cost, uniform(net, schema).cost);
  EXPECT_LE(took.count(), 1);
  return choice;
}

TEST(Dprs, nothing) {
  NetChoice choice = dprs({});
  EXPECT_EQ(choice.cost, 0);
  EXPECT_TRUE(choice.exact);
  EXPECT_EQ(exactNetCost({}), 0);
  // A net of an input that is the output, in another schema.
  Net net;
  net.values = {{2, {0, 3, 5, 0}, 1, 0}};
  choice = dprs(net);
  EXPECT_EQ(choice.cost, 5);
  EXPECT_EQ(choice.adapts, (std::vector<NetAdapt>{{0, 1, 0}}));
  EXPECT_EQ(checkNetChoice(net, choice), "");
}

TEST(Dprs, randomAgainstAll) {
  Random random(1);
  int possible = 0;
  for (int round = 0; round < 5000; ++round) {
    Net net = randomNet(random, drawOf(round));
    double best = exactNetCost(net);
    NetChoice found = dprs(net);
    ASSERT_TRUE(isNear(found.cost, best))
        << "round " << round << ": " << found.cost << ", not " << best;
    ASSERT_TRUE(found.exact) << "round " << round;
    ASSERT_EQ(checkNetChoice(net, found), "") << "round " << round;
    possible += best < impossible;
  }
  // Nets that cannot be computed are there, but are not the rule.
  EXPECT_GE(possible, 3500);
  EXPECT_LE(possible, 4900);
}

TEST(Dprs, limitsKeepBounds) {
  Random random(2);
  int inexact = 0, possible = 0, best = 0;
  for (int round = 0; round < 1000; ++round) {
    Net net = randomNet(random, drawOf(round));
    double least = exactNetCost(net);
    for (uint64_t table : {0, 1, 4, 16})
      for (uint64_t steps : {0, 300, 1 << 27}) {
        NetChoice found = dprs(net, {steps, table});
        ASSERT_EQ(checkNetChoice(net, found), "") << "round " << round;
        ASSERT_LE(found.bound, least) << "round " << round;
        ASSERT_GE(found.cost, least * (1 - 1e-9)) << "round " << round;
        if (found.exact) {
          ASSERT_TRUE(isNear(found.cost, least)) << "round " << round;
        }
        inexact += !found.exact;
        possible += found.cost < impossible;
        best += found.cost < impossible && isNear(found.cost, least);
      }
  }
  printf("%d of 12000 not exact, %d possible, %d as good as can be\n", inexact,
         possible, best);
  EXPECT_GE(inexact, 4000);
  EXPECT_GE(best, possible * 8 / 10);
}

TEST(Dprs, beatsBaselines) {
  Random random(3);
  NetDraw draw;
  draw.impossibles = false;
  draw.leastLayers = 5;
  draw.choices = 1e9;
  int better = 0;
  for (int round = 0; round < 500; ++round) {
    Net net = randomNet(random, draw);
    NetChoice found = dprs(net);
    double least = greedy(net).cost;
    for (uint8_t schema = 0; schema < draw.schemas; ++schema)
      least = std::min(least, uniform(net, schema).cost);
    ASSERT_LE(found.cost, least * (1 + 1e-9)) << "round " << round;
    better += found.cost < least * (1 - 1e-6);
  }
  printf("better than greedy and all uniforms: %d of 500\n", better);
  EXPECT_GE(better, 150);
}

TEST(Dprs, pricesAgreeWithCopies) {
  // Copies of copies, and one copy for all readers: the price of signatures
  // alone, where there is nothing to choose.
  Random random(4);
  NetDraw draw;
  draw.signatures = 1;
  for (int round = 0; round < 500; ++round) {
    draw.schemas = round % 8 ? 4 : 5;
    Net net = randomNet(random, draw);
    double cost = exactNetCost(net);
    std::vector<uint32_t> only(net.layers.size(), 0);
    for (const NetChoice &choice :
         {priced(net, only), greedy(net), uniform(net, 1)}) {
      ASSERT_TRUE(isNear(choice.cost, cost)) << "round " << round;
      ASSERT_EQ(checkNetChoice(net, choice), "") << "round " << round;
      ASSERT_EQ(choice.bound, 0);
      ASSERT_FALSE(choice.exact);
    }
  }
}

TEST(Dprs, oneCopyServesAllReaders) {
  // Three readers in schema 1 of a value in schema 0.
  Net net;
  net.values.assign(4, {2, {0, 5, 1, 0}});
  net.values[0].given = 0;
  for (uint32_t i = 1; i < 4; ++i)
    net.layers.push_back(layerOf(0, i, {{{0}, {0}, 3}, {{1}, {1}, 1}}));
  NetChoice choice = dprs(net);
  EXPECT_EQ(choice.cost, 8);
  EXPECT_EQ(choice.signatures, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(choice.adapts, (std::vector<NetAdapt>{{0, 0, 1}}));
  // Greedy never pays for the first copy.
  EXPECT_EQ(greedy(net).cost, 9);
  EXPECT_EQ(uniform(net, 1).cost, 8);
  // Once another layer has, it takes the copy.
  net.layers[0].signatures = {{{1}, {0}, 1}};
  EXPECT_EQ(greedy(net).cost, 8);
}

TEST(Dprs, copiesOfCopies) {
  // 0 to 2 and 3 through 1, which nobody wants: 1 + 1 + 1, not 3 + 3.
  Net net;
  double no = impossible;
  net.values.assign(3,
                    {4, {0, 1, 3, 3, no, 0, 1, 1, no, no, 0, 9, no, no, 9, 0}});
  net.values[0].given = 0;
  net.layers.push_back(layerOf(0, 1, {{{2}, {0}, 0}}));
  net.layers.push_back(layerOf(0, 2, {{{3}, {0}, 0}}));
  NetChoice choice = dprs(net);
  EXPECT_EQ(choice.cost, 3);
  EXPECT_EQ(choice.adapts,
            (std::vector<NetAdapt>{{0, 0, 1}, {0, 1, 2}, {0, 1, 3}}));
}

/// The least price of all signatures, where schemas are too many for
/// exactNetCost().
static double leastPrice(const Net &net, std::vector<uint32_t> &chosen) {
  if (chosen.size() == net.layers.size())
    return priced(net, chosen).cost;
  double least = impossible;
  size_t count = net.layers[chosen.size()].signatures.size();
  for (uint32_t s = 0; s < count; ++s) {
    chosen.push_back(s);
    least = std::min(least, leastPrice(net, chosen));
    chosen.pop_back();
  }
  return least;
}

TEST(Dprs, eightSchemas) {
  Random random(5);
  NetDraw draw;
  draw.schemas = mostSchemas;
  draw.choices = 20;
  for (int round = 0; round < 20; ++round) {
    Net net = randomNet(random, draw);
    NetChoice found = dprs(net);
    EXPECT_TRUE(found.exact);
    ASSERT_EQ(checkNetChoice(net, found), "") << "round " << round;
    std::vector<uint32_t> chosen;
    ASSERT_TRUE(isNear(found.cost, leastPrice(net, chosen)))
        << "round " << round;
  }
}

TEST(Dprs, impossibleNets) {
  Net net;
  net.values.assign(2, {2, {0, impossible, impossible, 0}});
  net.values[0].given = 0;
  net.layers.push_back(layerOf(0, 1, {}));
  auto expectNone = [&] {
    for (const NetChoice &choice :
         {dprs(net), dprs(net, {0, 0}), greedy(net), uniform(net, 0)}) {
      EXPECT_EQ(choice.cost, impossible);
      EXPECT_EQ(checkNetChoice(net, choice), "");
    }
    EXPECT_EQ(exactNetCost(net), impossible);
  };
  expectNone();
  net.layers[0].signatures = {{{0}, {0}, impossible}, {{1}, {0}, 1}};
  expectNone();
  net.layers[0].signatures = {{{0}, {0}, 1}};
  net.values[1].required = 1;
  expectNone();
  net.layers[0].signatures.push_back({{0}, {1}, 4});
  EXPECT_EQ(dprs(net).cost, 4);
  EXPECT_EQ(dprs(net, {0, 0}).bound <= 4, true);
}

TEST(Dprs, tiesGoToTheLowerNumber) {
  Net net;
  net.values.assign(2, {2, {0, 0, 0, 0}});
  net.values[0].given = 1;
  net.layers.push_back(layerOf(
      0, 1, {{{1}, {1}, 2}, {{0}, {0}, 1}, {{1}, {1}, 1}, {{0}, {1}, 1}}));
  EXPECT_EQ(dprs(net).signatures, (std::vector<uint32_t>{1}));
  EXPECT_EQ(greedy(net).signatures, (std::vector<uint32_t>{1}));
  EXPECT_EQ(uniform(net, 1).signatures, (std::vector<uint32_t>{2}));
  EXPECT_EQ(uniform(net, 0).signatures, (std::vector<uint32_t>{1}));
}

TEST(Dprs, tiesOfWholeChoices) {
  // All in one schema or all in the other: no signature is a dead end.
  Net net;
  net.values.assign(4, {2, {0, impossible, impossible, 0}});
  net.layers.push_back({{}, {0}, {{{}, {0}, 1}, {{}, {1}, 1}}});
  for (uint32_t i = 0; i < 3; ++i)
    net.layers.push_back(layerOf(i, i + 1, {{{0}, {0}, 1}, {{1}, {1}, 1}}));
  EXPECT_EQ(dprs(net).signatures, (std::vector<uint32_t>{0, 0, 0, 0}));
  EXPECT_EQ(dprs(net, {0, 0}).signatures, (std::vector<uint32_t>{0, 0, 0, 0}));
}

TEST(Dprs, descentEndsWhereNoLayerCanDoBetter) {
  Random random(8);
  int inexact = 0;
  for (int round = 0; round < 300; ++round) {
    NetDraw draw = drawOf(round);
    draw.leastLayers = 6;
    draw.choices = 1e9;
    Net net = randomNet(random, draw);
    NetChoice found = dprs(net, {1 << 27, 1});
    inexact += !found.exact;
    for (size_t i = 0; i < found.signatures.size(); ++i) {
      std::vector<uint32_t> other = found.signatures;
      for (uint32_t s = 0; s < net.layers[i].signatures.size(); ++s) {
        other[i] = s;
        ASSERT_GE(priced(net, other).cost, found.cost * (1 - 1e-9))
            << "round " << round << ", layer " << i;
      }
    }
  }
  EXPECT_GE(inexact, 100);
}

TEST(Dprs, startIsNeverBeaten) {
  Random random(6);
  int helped = 0;
  for (int round = 0; round < 300; ++round) {
    Net net = randomNet(random, drawOf(round));
    NetChoice best = dprs(net);
    if (best.signatures.empty())
      continue;
    NetChoice without = dprs(net, {0, 0});
    NetChoice with = dprs(net, {0, 0}, best.signatures);
    ASSERT_TRUE(isNear(with.cost, best.cost)) << "round " << round;
    ASSERT_EQ(checkNetChoice(net, with), "") << "round " << round;
    helped += with.cost < without.cost;
  }
  EXPECT_GE(helped, 30);
}

TEST(Dprs, netsOfThePaper) {
  // Figure 2: straight, with a branch, with branches in branches, with several
  // inputs and outputs.
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto expectBest = [&](const Net &net) {
      NetChoice found = dprs(net);
      EXPECT_TRUE(found.exact);
      EXPECT_TRUE(isNear(found.cost, exactNetCost(net)));
      EXPECT_EQ(checkNetChoice(net, found), "");
    };
    {
      NetBuilder b(seed, 2);
      b.output(b.mixing(b.mixing(b.mixing(b.input()))));
      expectBest(b.net);
    }
    {
      NetBuilder b(seed, 2);
      uint32_t one = b.mixing(b.input());
      uint32_t left = b.mixing(one), right = b.mixing(one);
      b.output(b.mixing(b.keeping({left, right})));
      expectBest(b.net);
    }
    {
      NetBuilder b(seed, 2);
      uint32_t one = b.keeping({b.input()}), two = b.keeping({one});
      uint32_t three = b.mixing(two), four = b.mixing(two);
      uint32_t five = b.keeping({three, four});
      uint32_t seven = b.keeping({b.keeping({one})});
      b.output(b.keeping({five, seven}));
      expectBest(b.net);
    }
    {
      NetBuilder b(seed, 3);
      uint32_t one = b.keeping({b.input()}), two = b.mixing(b.input());
      uint32_t three = b.keeping({one, two});
      b.output(b.keeping({three, one}));
      b.output(b.mixing(three));
      expectBest(b.net);
    }
  }
}

TEST(Dprs, smallDenseBlocks) {
  // Sets that contain each other stand for readers in common.
  for (unsigned seed = 0; seed < 100; ++seed) {
    NetBuilder b(seed, 2 + seed % 2);
    std::vector<uint32_t> all = {b.keeping({b.input()})};
    for (unsigned k = 0; k < (seed % 2 ? 3 : 4); ++k)
      all.push_back(b.keeping({b.keeping(all)}));
    b.output(b.keeping(all));
    if (seed % 3 == 0)
      b.output(all[2]);
    NetChoice found = dprs(b.net);
    ASSERT_TRUE(found.exact);
    ASSERT_TRUE(isNear(found.cost, exactNetCost(b.net))) << "seed " << seed;
    ASSERT_EQ(checkNetChoice(b.net, found), "") << "seed " << seed;
  }
}

TEST(Dprs, longChain) {
  NetBuilder b(1, 4);
  uint32_t value = b.input();
  for (int i = 0; i < 1000; ++i)
    value = i % 2 ? b.keeping({value}) : b.mixing(value);
  b.output(value);
  solveInTime("chain", b.net);
}

TEST(Dprs, likeDenseNet121) {
  NetBuilder b(2, 4);
  uint32_t value = b.mixing(b.input());
  for (unsigned layers : {6, 12, 24, 16}) {
    std::vector<uint32_t> all = {b.keeping({value})};
    for (unsigned k = 0; k < layers; ++k)
      all.push_back(b.mixing(b.mixing(b.keeping({b.keeping(all)}))));
    value = b.mixing(b.keeping(all));
  }
  b.output(value);
  solveInTime("DenseNet-121", b.net);
}

TEST(Dprs, likeInceptionV3) {
  NetBuilder b(3, 4);
  uint32_t value = b.input();
  for (int k = 0; k < 5; ++k)
    value = b.mixing(value);
  for (int module = 0; module < 11; ++module) {
    std::vector<uint32_t> branches = {b.mixing(value),
                                      b.mixing(b.keeping({value}))};
    branches.push_back(b.mixing(b.mixing(b.mixing(value))));
    if (module % 4) {
      // Two ends of one branch, as in the last modules.
      uint32_t stem = b.mixing(value);
      branches.push_back(b.mixing(stem));
      branches.push_back(b.mixing(stem));
    }
    value = b.keeping(branches);
  }
  b.output(b.mixing(value));
  solveInTime("Inception-v3", b.net);
}

TEST(Dprs, likeNASNet) {
  // Cells of five sums that read the two cells before and each other.
  NetBuilder b(6, 4);
  uint32_t before = b.mixing(b.input()), last = b.mixing(before);
  for (int cell = 0; cell < 15; ++cell) {
    std::vector<uint32_t> states = {b.mixing(before), b.mixing(last)};
    for (int block = 0; block < 5; ++block) {
      auto read = [&] {
        uint32_t state = states[b.random.below(unsigned(states.size()))];
        return b.random.below(4) ? b.mixing(state) : state;
      };
      uint32_t left = read(), right = read();
      states.push_back(b.keeping({left, right}));
    }
    before = last;
    last = b.keeping({states.begin() + 2, states.end()});
  }
  b.output(last);
  solveInTime("NASNet", b.net);
}

TEST(Dprs, likeHRNet) {
  // Four resolutions, each the sum of all four, again and again.
  NetBuilder b(10, 4);
  std::vector<uint32_t> parts = {b.mixing(b.input())};
  while (parts.size() < 4)
    parts.push_back(b.mixing(parts.back()));
  for (int stage = 0; stage < 3; ++stage) {
    for (uint32_t &part : parts)
      part = b.mixing(b.mixing(part));
    std::vector<uint32_t> sums;
    for (size_t i = 0; i < parts.size(); ++i) {
      uint32_t sum = parts[i];
      for (size_t j = 0; j < parts.size(); ++j)
        if (j != i)
          sum = b.keeping({sum, b.mixing(parts[j])});
      sums.push_back(b.keeping({sum}));
    }
    parts = sums;
  }
  for (uint32_t part : parts)
    b.output(part);
  solveInTime("HRNet", b.net);
}

TEST(Dprs, manyOperandsManyReaders) {
  // 24 layers read one value, one layer reads all of theirs, and so on.
  NetBuilder b(4, 4);
  uint32_t value = b.input();
  for (int part = 0; part < 4; ++part) {
    std::vector<uint32_t> all;
    for (int k = 0; k < 24; ++k)
      all.push_back(b.mixing(value));
    value = b.keeping(all);
  }
  b.output(value);
  solveInTime("24 readers", b.net);
}

/// Each layer reads each value before in a schema of its own.
static Net cliqueOf(unsigned layers, unsigned seed) {
  Random random(seed);
  Net net;
  for (unsigned i = 0; i <= layers; ++i) {
    NetDraw draw;
    draw.impossibles = false;
    NetValue value = randomValue(random, draw);
    while (value.schemas < 4)
      value = randomValue(random, draw);
    net.values.push_back(value);
  }
  net.values[0].given = 0;
  for (unsigned i = 0; i < layers; ++i) {
    NetLayer layer;
    for (uint32_t v = 0; v <= i; ++v)
      layer.operands.push_back(v);
    layer.results = {i + 1};
    for (int s = 0; s < 6; ++s) {
      Signature signature;
      for (uint32_t v = 0; v <= i; ++v)
        signature.operands.push_back(uint8_t(random.below(4)));
      signature.results = {uint8_t(random.below(4))};
      signature.cost = random.between(0, 0.3);
      layer.signatures.push_back(signature);
    }
    net.layers.push_back(layer);
  }
  return net;
}

TEST(Dprs, cliquesBeyondTheTables) {
  for (unsigned layers : {20, 40}) {
    Net net = cliqueOf(layers, layers);
    NetChoice found = dprs(net);
    EXPECT_FALSE(found.exact);
    EXPECT_EQ(checkNetChoice(net, found), "");
    EXPECT_GT(found.bound, 0);
    EXPECT_LT(found.bound, found.cost);
    EXPECT_LE(found.cost, greedy(net).cost);
    EXPECT_LE(found.steps, NetLimits().steps * 2);
    printf("clique of %u: %.3f, bound %.3f, %llu steps\n", layers, found.cost,
           found.bound, (unsigned long long)found.steps);
    EXPECT_TRUE(sameChoice(found, dprs(net)));
  }
}

TEST(Dprs, sameAnswerTwice) {
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    Net net = randomNet(random, drawOf(round));
    Net copy = net;
    for (NetLimits limits :
         {NetLimits(), NetLimits{300, 1 << 20}, NetLimits{1 << 20, 4}})
      EXPECT_TRUE(sameChoice(dprs(net, limits), dprs(copy, limits)));
  }
}

TEST(Dprs, stepsEndTheSearch) {
  NetBuilder b(5, 4);
  uint32_t value = b.input();
  for (int i = 0; i < 200; ++i)
    value = b.mixing(value);
  b.output(value);
  NetChoice exact = dprs(b.net);
  EXPECT_TRUE(exact.exact);
  EXPECT_TRUE(dprs(b.net, {exact.steps}).exact);
  NetChoice less = dprs(b.net, {exact.steps - 1});
  EXPECT_FALSE(less.exact);
  EXPECT_LE(less.bound, exact.cost);
  EXPECT_GE(less.cost, exact.cost);
  EXPECT_EQ(checkNetChoice(b.net, less), "");
}
