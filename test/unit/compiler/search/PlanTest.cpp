//===- PlanTest.cpp - Plans against the best there are --------------------===//

#include "Exact.h"
#include "RandomProblem.h"
#include "compiler/search/Algorithm1.h"
#include "compiler/search/Candidates.h"
#include "compiler/search/Combinations.h"
#include "compiler/search/Simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace nnv12::search;

/// Nothing but the finish counts.
static Options forFinish() {
  Options options;
  options.worthDecoding = 1;
  return options;
}

static Options withSteps(uint64_t steps) {
  Options options;
  options.steps = steps;
  return options;
}

TEST(Plan, nothing) {
  Plan p = plan({});
  EXPECT_EQ(p.finish, 0);
  EXPECT_EQ(p.schedule.lanes.size(), 1u);
  EXPECT_EQ(exactPlan({}).finish, 0);
  EXPECT_EQ(lowerBound({}), 0);
}

TEST(Plan, randomAgainstBest) {
  Random random(1);
  int equal = 0, rounds = 400;
  double worst = 1, gaps = 0;
  for (int round = 0; round < rounds; ++round) {
    unsigned layers = 1 + random.below(round < 380 ? 4 : 5);
    Problem p =
        randomProblem(random, layers, layers > 3 ? 2 : 3, random.below(3));
    Plan best = exactPlan(p);
    ASSERT_EQ(checkSchedule(p, best.choice, best.schedule), "");
    EXPECT_NEAR(simulate(p, best.choice, best.schedule).finish, best.finish,
                1e-9);
    Plan found = plan(p, forFinish());
    ASSERT_EQ(checkSchedule(p, found.choice, found.schedule), "");
    EXPECT_NEAR(simulate(p, found.choice, found.schedule).finish, found.finish,
                1e-9);
    double ratio = found.finish / best.finish;
    EXPECT_GE(ratio, 1 - 1e-9) << "round " << round;
    EXPECT_LE(ratio, 1.05) << "round " << round;
    EXPECT_LE(lowerBound(p), best.finish) << "round " << round;
    EXPECT_LE(found.bound, found.finish);
    worst = std::max(worst, ratio);
    equal += ratio < 1.002; // the cost that warmWeight may add
    gaps += best.finish / lowerBound(p) - 1;
  }
  printf("worst %.4f, best %d of %d, mean distance of best and bound %.2f %%\n",
         worst, equal, rounds, 100 * gaps / rounds);
  EXPECT_GE(equal, rounds * 95 / 100);
}

TEST(Plan, scheduleOfFixedChoice) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    Problem p = randomProblem(random, 4, 2, 2);
    for (Layer &layer : p.layers)
      layer.candidates = {
          layer.candidates[random.below(unsigned(layer.candidates.size()))]};
    double finish = plan(p).finish, best = exactPlan(p).finish;
    EXPECT_GE(finish, best * (1 - 1e-9));
    EXPECT_LE(finish, best * 1.05) << "round " << round;
  }
}

TEST(Plan, decodingMustWinSomething) {
  Candidate stored, compressed;
  stored.bytes = 1e7;
  compressed.bytes = 9.7e6;
  compressed.decode = {0.01, 0.01};
  Problem p;
  p.layers.resize(1);
  p.layers[0].candidates = {stored, compressed};
  p.device.readBandwidth = 1e6;
  p.device.decoderStart = 0.1;
  EXPECT_EQ(plan(p).choice, Choice{0});
  EXPECT_EQ(plan(p, forFinish()).choice, Choice{1});
  p.device.readBandwidth = 3e5;
  EXPECT_EQ(plan(p).choice, Choice{1}) << "slow storage";
  p.device.readBandwidth = 1e6;
  p.layers[0].candidates[1].bytes = 8.5e6;
  EXPECT_EQ(plan(p).choice, Choice{1});
  p.device.decoderStart = 2;
  EXPECT_EQ(plan(p, forFinish()).choice, Choice{0});
}

TEST(Plan, laneThatIsNotWorthItsStart) {
  Random random(6);
  int alone = 0;
  for (int round = 0; round < 40; ++round) {
    Problem p = randomProblem(random, 3, 2, 1);
    p.device.laneStart = random.between(0, 2);
    p.device.aloneStart = random.flip() ? random.between(0, 1) : 0;
    Plan found = plan(p, forFinish());
    EXPECT_EQ(checkSchedule(p, found.choice, found.schedule), "");
    EXPECT_NEAR(simulate(p, found.choice, found.schedule).finish, found.finish,
                1e-9);
    EXPECT_LE(found.finish, exactPlan(p).finish * 1.05) << "round " << round;
    alone += found.schedule.lanes[1].empty();
  }
  EXPECT_GT(alone, 10);
}

/// As large as ResNet-50 with all routines, tiles and storage forms.
static Problem largeProblem() {
  Random random(6);
  Problem p;
  for (int i = 0; i < 60; ++i)
    p.layers.push_back({"layer" + std::to_string(i), {}});
  for (Layer &layer : p.layers)
    while (layer.candidates.size() < 10)
      layer.candidates.push_back(randomCandidate(random));
  p.device.readBandwidth = 1e6;
  p.device.mapPerByte = {1e-7, 2e-7};
  p.device.preparationLanes = {Core::Little, Core::Little, Core::Little};
  p.device.cpus = 4;
  p.device.executeInterference = p.device.prepareInterference = 1.1;
  return p;
}

TEST(Plan, largeOneWithinItsSteps) {
  Problem p = largeProblem();
  Options options;
  Plan found = plan(p, options);
  ASSERT_EQ(checkSchedule(p, found.choice, found.schedule), "");
  // The starts before the local search take a fraction of its steps.
  EXPECT_LE(found.steps, options.steps * 5 / 4);
  EXPECT_LE(found.gap(), 0.2);
  // Most of the gain comes early.
  EXPECT_LE(plan(p, withSteps(200'000)).finish, found.finish * 1.06);
  options.localSearch = false;
  EXPECT_LT(found.finish, plan(p, options).finish);
}

TEST(Plan, searchesOnceWhereNothingIsCompressed) {
  Problem p = largeProblem();
  for (Layer &layer : p.layers)
    for (Candidate &c : layer.candidates)
      c.decode = {};
  Plan once = plan(p, withSteps(100'000));
  p.device.decoderStart = 0.3;
  EXPECT_EQ(plan(p, withSteps(100'000)).steps, once.steps);
}

TEST(Plan, deterministic) {
  Problem p = largeProblem();
  Plan a = plan(p, withSteps(100'000)), b = plan(p, withSteps(100'000));
  EXPECT_EQ(a.choice, b.choice);
  EXPECT_EQ(a.finish, b.finish);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_TRUE(a.schedule.lanes == b.schedule.lanes);
}

TEST(Plan, ablation) {
  Random random(9);
  for (int round = 0; round < 40; ++round) {
    Problem p = randomProblem(random, 12, 3, 2);
    // These would join layers.
    p.device.decoderStart = 0;
    p.device.arrival.clear();
    for (Layer &layer : p.layers) { // each layer has a raw form
      layer.candidates.push_back(randomCandidate(random));
      layer.candidates.back().storage.storage = nnv12::plan::Storage::raw;
    }
    Options options = withSteps(100'000);
    double kcp = plan(p, options).finish;
    options.pipeline = false;
    Plan kc = plan(p, options);
    // The first execute comes after the last preparation, all on one lane.
    ASSERT_EQ(kc.schedule.lanes.size(), 3u);
    EXPECT_TRUE(kc.schedule.lanes[1].empty() && kc.schedule.lanes[2].empty());
    const auto &lane = kc.schedule.lanes[0];
    EXPECT_TRUE(std::is_partitioned(lane.begin(), lane.end(), [](Operation o) {
      return o.stage != Stage::Execute;
    }));
    // One lane: each layer for itself takes the least time.
    if (p.device.executeThreads <= p.device.cpus) {
      double sum = 0;
      for (const Layer &layer : p.layers) {
        double least = INFINITY;
        for (const Candidate &c : layer.candidates)
          least = std::min(least,
                           preparationTime(p.device, c, Core::Big) + c.execute);
        sum += least + layer.firstTouch;
      }
      EXPECT_NEAR(kc.finish, sum, sum * 2e-3);
    }
    options.storedForms = false;
    Plan k = plan(p, options);
    options.selectKernels = false;
    Plan none = plan(p, options);
    for (size_t i = 0; i < p.layers.size(); ++i) {
      const auto &candidates = p.layers[i].candidates;
      EXPECT_EQ(candidates[k.choice[i]].storage.storage,
                nnv12::plan::Storage::raw);
      EXPECT_EQ(candidates[none.choice[i]].storage.storage,
                nnv12::plan::Storage::raw);
      for (const Candidate &c : candidates)
        EXPECT_TRUE(c.storage.storage != nnv12::plan::Storage::raw ||
                    c.execute >= candidates[none.choice[i]].execute);
    }
    double slack = 1 + 5e-3; // warmWeight, and a search that ends early
    EXPECT_LE(kcp, kc.finish * slack) << "round " << round;
    EXPECT_LE(kc.finish, k.finish * slack);
    EXPECT_LE(k.finish, none.finish * slack);
  }
}

TEST(Plan, continuousKeepsWhatWarmNeeds) {
  Candidate warm, winograd, direct;
  warm.routine = "winograd6";
  warm.form = "winograd6";
  warm.storage.storage = nnv12::plan::Storage::transformed;
  warm.execute = 1;
  warm.bytes = 9e6;
  winograd.routine = "winograd2";
  winograd.form = "winograd2";
  winograd.storage.storage = nnv12::plan::Storage::transformed;
  winograd.execute = 1.5;
  winograd.bytes = 2e6;
  direct.routine = "direct";
  direct.storage = {nnv12::plan::Storage::packed, std::nullopt,
                    nnv12::plan::Codec::zstd};
  direct.execute = 3;
  direct.bytes = 1e6;
  EXPECT_TRUE(derivable(direct, warm));
  EXPECT_FALSE(derivable(winograd, warm));
  EXPECT_TRUE(derivable(warm, warm));
  Candidate tile = winograd;
  tile.routine = "winograd6.t2";
  tile.form = "winograd6";
  EXPECT_TRUE(derivable(tile, warm));
  Candidate raw = winograd;
  raw.storage.storage = nnv12::plan::Storage::raw;
  EXPECT_TRUE(derivable(raw, warm));

  Problem p;
  p.layers.resize(1);
  p.layers[0].candidates = {winograd, warm, direct};
  p.device.readBandwidth = 1e6;
  EXPECT_EQ(warmChoice(p), Choice{1});
  EXPECT_EQ(plan(p).choice, Choice{0});
  Options options;
  options.continuous = true;
  EXPECT_EQ(plan(p, options).choice, Choice{2});
}

TEST(Plan, mappedWeightsAreNotPrepared) {
  Candidate transformed, mapped, decoded;
  transformed.bytes = 1e5;
  transformed.prepared = 4e5;
  transformed.transform = {0.1, 0.1};
  transformed.execute = 1;
  decoded = transformed;
  decoded.bytes = 1e4;
  mapped.bytes = 4e6;
  mapped.execute = 1.5;
  Problem p;
  p.layers.resize(2);
  p.layers[0].candidates = {transformed, mapped, decoded};
  // Weights that must be prepared are prepared: as little as can be.
  decoded.prepared = 2e5;
  p.layers[1].candidates = {transformed, decoded};
  p.device.readBandwidth = 1e6;
  EXPECT_EQ(plan(p).choice[0], 2u);
  Options options;
  options.mappedWeights = true;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 1}));
}

TEST(Plan, warmWeightBreaksTies) {
  // The read is so long that it does not matter which execute fills the time.
  Candidate slow, fast;
  slow.execute = 2;
  fast.execute = 1;
  fast.bytes = 100;
  Problem p;
  p.layers.resize(2);
  p.layers[0].candidates = {slow, fast};
  Candidate large;
  large.bytes = 1e7;
  p.layers[1].candidates = {large};
  p.device.readBandwidth = 1e6;
  p.device.preparationLanes = {Core::Big};
  Plan found = plan(p);
  EXPECT_EQ(found.choice, (Choice{1, 0}));
  EXPECT_NEAR(found.finish, 10.0001, 1e-6);
}

TEST(Plan, executesAreEarlyWhereStorageIsSlow) {
  // Nothing matters but when the last layer's bytes come. All other
  // work is done before that all the same.
  Problem p;
  p.layers.resize(3);
  Candidate none, small, large;
  none.execute = small.execute = large.execute = 1;
  small.bytes = 10;
  small.transform = {5, 5};
  large.bytes = 1e5;
  p.layers[0].candidates = {none};
  p.layers[1].candidates = {small};
  p.layers[2].candidates = {large};
  p.device.readBandwidth = 1e3;
  p.device.preparationLanes = {Core::Big};
  auto firstExecute = [&] {
    Plan found = plan(p);
    for (const Event &e : simulate(p, found.choice, found.schedule).events)
      if (e.operation == Operation{0, Stage::Execute})
        return e.end;
    return -1.0;
  };
  EXPECT_DOUBLE_EQ(firstExecute(), 1);
}

TEST(Plan, memoryWeightBreaksTies) {
  // Between the two reads of one length there is time for either execute.
  Candidate small, large;
  small.bytes = large.bytes = 1e6;
  small.execute = 2;
  large.execute = 1.9;
  large.transform = {0.1, 0.1};
  large.memory = 4e6;
  Candidate last;
  last.bytes = 1e7;
  Problem p;
  p.layers.resize(2);
  p.layers[0].candidates = {large, small};
  p.layers[1].candidates = {last};
  p.device.readBandwidth = 1e6;
  p.device.preparationLanes = {Core::Big, Core::Big};
  EXPECT_EQ(plan(p).choice, (Choice{1, 0}));
  // 6.6 ms warm are worth less than 4 MB, and more than 1.
  p.layers[0].candidates[1].execute = 8.5;
  EXPECT_EQ(plan(p).choice, (Choice{1, 0}));
  p.layers[0].candidates[0].memory = 1e6;
  EXPECT_EQ(plan(p).choice, (Choice{0, 0}));
}

TEST(Plan, memoryLimitHoldsForSmallGains) {
  // Two layers are 0.1 and 0.2 ms faster with 3 MB. Only the latter has them.
  Candidate small, large;
  small.bytes = large.bytes = 1e5;
  small.execute = 5;
  large.execute = 4.9;
  large.memory = 3e6;
  Problem p;
  p.layers.resize(2);
  p.layers[0].candidates = {large, small};
  large.execute = 4.8;
  p.layers[1].candidates = {large, small};
  Options options;
  options.memoryLimit = 4e6;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 0}));
  options.memoryLimit = 6e6;
  EXPECT_EQ(plan(p, options).choice, (Choice{0, 0}));
  options.memoryLimit = 1e6;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 1}));
  options.selectKernels = false;
  EXPECT_EQ(plan(p, options).choice, (Choice{0, 0}));
  // A millisecond is worth 3 MB.
  options.selectKernels = true;
  p.layers[1].candidates[0].execute = 4;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 0}));
  // But not more than memoryMost, even for three.
  p.layers[1].candidates[0].execute = 2;
  options.memoryMost = 2e6;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 1}));
  // Decoded weights may have it where storage is slow.
  p.layers[1].candidates[0].decode = {0.01, 0.01};
  p.device.decoderStart = 0.1;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 1}));
  p.device.readBandwidth = 3e5;
  EXPECT_EQ(plan(p, options).choice, (Choice{1, 0}));
}

TEST(Plan, slownessHasNoSteps) {
  Device device;
  double last = 1;
  for (double rate = 1e5; rate < 1e7; rate *= 1.01) {
    device.readBandwidth = rate;
    double slow = slowness(device);
    EXPECT_LE(slow, last);
    EXPECT_GT(slow, last - 0.01);
    last = slow;
  }
  device.readBandwidth = 3e5;
  EXPECT_EQ(slowness(device), 1);
  device.readBandwidth = 6e5;
  EXPECT_NEAR(slowness(device), 0.5, 1e-12);
  EXPECT_EQ(last, 0);
}

TEST(Plan, decodingForSlowStorageIsWorthLess) {
  // The rate at which a plan begins to decode depends on what that gains: no
  // rate changes all plans.
  auto decodesUpTo = [](double gain) {
    Candidate plain, packed;
    plain.execute = packed.execute = 10;
    plain.memory = packed.memory = 0;
    packed.decode = {0.05, 0.05};
    plain.transform = {gain, gain};
    Problem p;
    p.layers.resize(1);
    p.layers[0].candidates = {plain, packed};
    p.device.decoderStart = 0.05;
    double rate = 2e5;
    for (; rate < 2e6; rate *= 1.02) {
      p.device.readBandwidth = rate;
      if (plan(p).choice[0] == 0)
        break;
    }
    return rate;
  };
  double little = decodesUpTo(0.3), more = decodesUpTo(0.6);
  EXPECT_GT(little, 3e5);
  EXPECT_GT(more, little * 1.2);
  EXPECT_LT(more, 12e5);
  EXPECT_GT(decodesUpTo(3), 19e5);
}

TEST(Candidates, dominated) {
  auto candidate = [](double bytes, double transform, double execute) {
    Candidate c;
    c.bytes = bytes;
    c.transform = {transform, transform};
    c.execute = execute;
    return c;
  };
  Problem p;
  p.layers.resize(1);
  p.device.readBandwidth = 1;
  p.layers[0].candidates = {candidate(5, 0, 5), candidate(2, 2, 6),
                            candidate(5, 0, 5), candidate(6, 0, 4),
                            candidate(9, 9, 9), candidate(5, 1, 5)};
  using Kept = std::vector<std::vector<unsigned>>;
  // 4 before 6 in preparation, 6 behind 5 in execute: no total order.
  EXPECT_EQ(usableCandidates(p, {}, Dominance::Paper), (Kept{{0, 1, 3}}));
  EXPECT_EQ(usableCandidates(p, {}, Dominance::Every), (Kept{{0, 1, 3}}));
  // Less of the core's work for more bytes, and longer in all: only the paper
  // drops it.
  p.layers[0].candidates = {candidate(2, 2, 5), candidate(5, 0, 5)};
  EXPECT_EQ(usableCandidates(p, {}, Dominance::Paper), (Kept{{0}}));
  EXPECT_EQ(usableCandidates(p, {}, Dominance::Every), (Kept{{0, 1}}));
}

TEST(Candidates, onlyLater) {
  Candidate first, later;
  first.execute = 2;
  later.execute = 1;
  later.onlyLater = true;
  EXPECT_EQ(allowedCandidates({first, later}, {}), (std::vector<unsigned>{0}));
  EXPECT_EQ(allowedCandidates({later}, {}), (std::vector<unsigned>{0}))
      << "there is no other";
}

TEST(Combinations, allOrSome) {
  Random random(3);
  Problem p = randomProblem(random, 4, 1, 2);
  for (Layer &layer : p.layers)
    layer.candidates.resize(3, layer.candidates[0]);
  std::vector<std::vector<unsigned>> usable(4, {0, 1, 2});
  EXPECT_EQ(combinations(p, usable, 81).size(), 81u);
  EXPECT_LE(combinations(p, usable, 80).size(), 80u);
  EXPECT_GE(combinations(p, usable, 80).size(), 1u);
}

/// Preparations of 1 ms on two lanes beside executes of 1 ms.
static Problem evenProblem(unsigned layers, double prepare, double execute) {
  Problem p;
  p.layers.resize(layers);
  for (Layer &layer : p.layers) {
    Candidate c;
    c.transform = {prepare, prepare};
    c.execute = execute;
    layer.candidates = {c};
  }
  p.device.preparationLanes = {Core::Big, Core::Big};
  p.device.cpus = 3;
  return p;
}

/// The objective of Algorithm 1.
static double loadOf(const Problem &p, const Assignment &a) {
  std::vector<double> loads = loadsOf(p, a);
  return *std::max_element(loads.begin(), loads.end());
}

TEST(Algorithm1, balances) {
  // Six preparations of 1 ms beside 12 ms of executes: three on each lane.
  Problem p = evenProblem(7, 1, 2);
  Assignment a = algorithm1(p, Choice(7, 0));
  EXPECT_EQ(a.lane, (std::vector<uint32_t>{0, 1, 2, 1, 2, 1, 2}));
  EXPECT_DOUBLE_EQ(loadOf(p, a), 15);
  // One of them large: 7 and 3 become 6 and 4, after which a move gains
  // nothing.
  p.layers[1].candidates[0].transform = {5, 5};
  a = algorithm1(p, Choice(7, 0));
  EXPECT_EQ(std::count(a.lane.begin(), a.lane.end(), 1u), 2);
  EXPECT_EQ(std::count(a.lane.begin(), a.lane.end(), 2u), 4);
}

TEST(Algorithm1, spillsOntoTheExecuteLane) {
  // Much to prepare, little to execute: three lanes are balanced with 7 each.
  Problem p = evenProblem(21, 1, 0.01);
  Assignment a = algorithm1(p, Choice(21, 0));
  for (uint32_t lane : {0u, 1u, 2u})
    EXPECT_NEAR(double(std::count(a.lane.begin(), a.lane.end(), lane)), 7, 1);
  // Never more than it helps.
  std::vector<std::vector<Job>> jobs;
  a.jobs(p, jobs);
  EXPECT_LE(Simulator(p.device).run(jobs, 21), 8.5);
}

TEST(Algorithm1, theCostThatIgnoresOrder) {
  // Layer 2 is large and needed early; the sums of the lanes do not show it.
  int better = 0, rounds = 50;
  double gain = 0;
  Random random(4);
  for (int round = 0; round < rounds; ++round) {
    Problem p = randomProblem(random, 20, 3, 2);
    p.device.decoderStart = 0; // else decoding must win more than a little
    double cost = INFINITY, simulated = INFINITY;
    for (const Choice &choice :
         combinations(p, usableCandidates(p, {}, Dominance::Paper), 256)) {
      Assignment a = algorithm1(p, choice);
      if (loadOf(p, a) < cost) {
        cost = loadOf(p, a);
        simulated = simulate(p, choice, a.schedule(p)).finish;
      }
    }
    double found = plan(p, withSteps(200'000)).finish;
    EXPECT_LE(found, simulated * (1 + 1e-3));
    better += found < simulated * 0.99;
    gain += 1 - found / simulated;
  }
  printf("more than 1 %% sooner in %d of %d, on average %.1f %%\n", better,
         rounds, 100 * gain / rounds);
  EXPECT_GE(better, rounds / 2);
}
