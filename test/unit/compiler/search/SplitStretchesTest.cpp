//===- SplitStretchesTest.cpp - Stretches of both processors --------------===//

#include "compiler/search/SplitStretches.h"
#include "RandomSplits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace nnv12::search;

namespace {

/// Milliseconds and millijoules of a stretch.
struct Price {
  double time = 0, energy = 0;
};

template <typename Part>
const Part *partAlong(const std::vector<Part> &parts, uint32_t dim) {
  for (const Part &part : parts)
    if (part.dim == dim)
      return &part;
  return nullptr;
}

/// The coprocessor computes positions [0, end) in so much.
double frontByHand(const Front &front, uint32_t end) {
  if (end == 0)
    return 0;
  if (end <= front.ends[0])
    return front.times[0];
  size_t i = 1;
  while (front.ends[i] < end)
    ++i;
  double part = double(end - front.ends[i - 1]) /
                double(front.ends[i] - front.ends[i - 1]);
  return (1 - part) * front.times[i - 1] + part * front.times[i];
}

bool isStart(const Back &back, uint32_t at) {
  return std::count(back.starts.begin(), back.starts.end(), at);
}

/// A split of layers `first` to `last` by its definition: each side marks the
/// positions that it needs, tensor by tensor, until there are no more. None if
/// these layers cannot be split so.
std::optional<Price> splitByHand(const Problem &p, const StretchChoice &choice,
                                 uint32_t first, uint32_t last, Split split) {
  const Coprocessor &gpu = *p.device.coprocessor;
  auto inside = [&](uint32_t layer) {
    return layer != Tensor::input && layer >= first && layer <= last;
  };
  std::vector<const Front *> fronts(p.layers.size());
  std::vector<const Back *> backs(p.layers.size());
  for (uint32_t i = first; i <= last; ++i) {
    if (p.layers[i].inStretch.empty())
      return std::nullopt;
    fronts[i] = partAlong(p.layers[i].inStretch[choice[i]].fronts, split.dim);
    backs[i] = partAlong(p.layers[i].backs, split.dim);
    if (!fronts[i] || !backs[i])
      return std::nullopt;
  }
  auto isCut = [&](uint32_t layer) {
    return backs[layer]->extent == backs[last]->extent &&
           isStart(*backs[layer], split.at) &&
           split.at % fronts[layer]->unit == 0;
  };
  if (!isCut(last))
    return std::nullopt;
  // By side and layer, positions of its result that are computed; by side and
  // tensor, those that are needed.
  using Marks = std::vector<std::vector<bool>>;
  Marks computed[2] = {Marks(p.layers.size()), Marks(p.layers.size())},
        needed[2] = {Marks(p.tensors.size()), Marks(p.tensors.size())};
  std::set<uint32_t> leaving = {last}, live = {last};
  for (const Tensor &t : p.tensors) {
    bool readInside = std::any_of(t.readers.begin(), t.readers.end(), inside);
    bool leaves = t.output || t.isShared ||
                  std::any_of(t.readers.begin(), t.readers.end(),
                              [&](uint32_t r) { return r > last; });
    if (!inside(t.producer))
      continue;
    if (readInside || leaves)
      live.insert(t.producer);
    if (leaves)
      leaving.insert(t.producer);
  }
  if (live.size() != last + 1 - first)
    return std::nullopt;
  for (uint32_t i : leaving)
    if (!isCut(i))
      return std::nullopt;
  for (const Tensor &t : p.tensors)
    for (uint32_t reader : t.readers) {
      if (!inside(reader))
        continue;
      if (inside(t.producer) && leaving.count(t.producer))
        return std::nullopt;
      bool known = false;
      for (const Reach &reach : t.reaches) {
        if (reach.reader != reader || reach.dim != split.dim)
          continue;
        known = true;
        if (inside(t.producer) && reach.kind == Reach::Kind::All)
          return std::nullopt;
      }
      if (!known)
        return std::nullopt;
    }
  for (uint32_t i = first; i <= last; ++i)
    for (Marks &marks : computed)
      marks[i].assign(backs[i]->extent, false);
  for (uint32_t i : leaving)
    for (uint32_t k = 0; k < backs[i]->extent; ++k)
      computed[k >= split.at][i][k] = true;
  for (uint32_t t = 0; t < p.tensors.size(); ++t)
    for (const Reach &reach : p.tensors[t].reaches)
      for (Marks &marks : needed)
        if (reach.dim == split.dim)
          marks[t].assign(reach.extent, false);

  auto floorOf = [](int64_t a, int64_t b) {
    int64_t q = 0;
    while (q * b > a)
      --q;
    while ((q + 1) * b <= a)
      ++q;
    return q;
  };
  for (bool moved = true; moved;) {
    moved = false;
    auto mark = [&](std::vector<bool> &marks, size_t k) {
      moved |= !marks[k];
      marks[k] = true;
    };
    for (int side = 0; side < 2; ++side) {
      for (uint32_t t = 0; t < p.tensors.size(); ++t) {
        const Tensor &tensor = p.tensors[t];
        for (const Reach &reach : tensor.reaches) {
          if (reach.dim != split.dim || !inside(reach.reader))
            continue;
          const std::vector<bool> &of = computed[side][reach.reader];
          for (int64_t i = 0; i < int64_t(of.size()); ++i)
            for (int64_t k = 0; k < reach.extent && of[i]; ++k)
              if (reach.kind == Reach::Kind::All ||
                  (k >= floorOf(i * reach.num + reach.low, reach.den) &&
                   k <= floorOf(i * reach.num + reach.high, reach.den)))
                mark(needed[side][t], size_t(k));
        }
        if (!inside(tensor.producer))
          continue;
        for (size_t k = 0; k < needed[side][t].size(); ++k)
          if (needed[side][t][k])
            mark(computed[side][tensor.producer], k);
      }
      // Fronts grow to where one can end, backs to where one can begin.
      for (uint32_t i = first; i <= last; ++i) {
        std::vector<bool> &of = computed[side][i];
        uint32_t extent = uint32_t(of.size());
        for (uint32_t k = 0; k < extent; ++k) {
          if (side == 0 && of[k]) {
            for (uint32_t before = 0; before < k; ++before)
              mark(of, before);
            uint32_t unit = fronts[i]->unit;
            for (uint32_t m = k + 1; m < extent && m % unit; ++m)
              mark(of, m);
          }
          if (side == 1 && of[k]) {
            for (uint32_t behind = k; behind < extent; ++behind)
              mark(of, behind);
            for (uint32_t m = k; m > 0 && !isStart(*backs[i], m);)
              mark(of, --m);
          }
        }
      }
    }
  }
  double front = 0, back = 0, in = 0, out = 0;
  for (uint32_t i = first; i <= last; ++i) {
    front += frontByHand(*fronts[i],
                         uint32_t(std::count(computed[0][i].begin(),
                                             computed[0][i].end(), true)));
    uint32_t start =
        uint32_t(std::count(computed[1][i].begin(), computed[1][i].end(), 0));
    if (start == 0)
      back += backs[i]->whole;
    for (size_t k = 0; k < backs[i]->starts.size(); ++k)
      if (backs[i]->starts[k] == start)
        back += backs[i]->times[k];
  }
  for (uint32_t t = 0; t < p.tensors.size(); ++t) {
    const Tensor &tensor = p.tensors[t];
    if (inside(tensor.producer)) {
      if (leaving.count(tensor.producer) &&
          (tensor.output || !tensor.readers.empty()))
        out += tensor.bytes * split.at / backs[last]->extent;
      continue;
    }
    uint32_t end = 0;
    for (uint32_t k = 0; k < needed[0][t].size(); ++k)
      if (needed[0][t][k])
        end = k + 1;
    if (end)
      in += tensor.bytes * end / needed[0][t].size();
  }
  double threads = p.device.executeThreads + gpu.hostCores;
  double crowd = std::max(1.0, threads / p.device.cpus);
  back *= gpu.besideCpu * crowd;
  front *= gpu.beside * (gpu.hostCores ? crowd : 1);
  double copies = in * gpu.inPerByte + gpu.submit + out * gpu.outPerByte;
  double time = copies + std::max(back, front + gpu.sync);
  return Price{time, time * gpu.power->base + (copies + back) * gpu.power->cpu +
                         front * gpu.power->gpu};
}

/// Each range of layers as a stretch of the coprocessor alone.
Price wholeByHand(const Problem &p, const StretchChoice &choice, uint32_t first,
                  uint32_t last) {
  StretchTime time = stretchTime(p, choice, {first, last + 1 - first});
  const Coprocessor &gpu = *p.device.coprocessor;
  double busy = time.handOver + time.takeBack - gpu.sync;
  return {time.sum(), time.sum() * gpu.power->base + busy * gpu.power->cpu +
                          time.kernels * gpu.power->gpu};
}

Options withSplits() {
  Options options;
  options.splits = Splits::WherePays;
  options.worthSplit = 1;
  return options;
}

/// The least cost of all ways to divide the layers from `first` on, one by one,
/// between CPUs, the coprocessor and splits, of which `stretches` has the least
/// cost for each first layer and count.
double leastByTrying(const std::vector<double> &executes,
                     const std::vector<std::vector<double>> &stretches,
                     uint32_t first) {
  if (first == executes.size())
    return 0;
  double best = executes[first] + leastByTrying(executes, stretches, first + 1);
  for (uint32_t count = 1; count <= stretches[first].size(); ++count)
    best =
        std::min(best, stretches[first][count - 1] +
                           leastByTrying(executes, stretches, first + count));
  return best;
}

struct Tried {
  double least = 0;
  unsigned splits = 0, chains = 0; ///< that are possible; of several layers
};

/// All divisions of the layers, with all cuts.
Tried tryAll(const Problem &p, const StretchChoice &choice,
             const Objective &objective) {
  Tried result;
  uint32_t n = uint32_t(p.layers.size());
  std::vector<double> executes;
  std::vector<std::vector<double>> stretches(n);
  const Power &power = *p.device.coprocessor->power;
  double scale = std::max(1.0, double(p.device.executeThreads) / p.device.cpus);
  for (uint32_t i = 0; i < n; ++i) {
    double execute = p.layers[i].candidates[0].execute * scale;
    executes.push_back(
        objective.of(execute, execute * (power.base + power.cpu)));
    for (uint32_t j = i; j < n && !p.layers[j].inStretch.empty(); ++j) {
      Price whole = wholeByHand(p, choice, i, j);
      double least = objective.of(whole.time, whole.energy);
      for (uint32_t dim = 0; dim < 3; ++dim)
        for (uint32_t at = 1; at < 24; ++at)
          if (auto price = splitByHand(p, choice, i, j, {dim, at})) {
            ++result.splits;
            result.chains += j > i;
            least = std::min(least, objective.of(price->time, price->energy));
          }
      stretches[i].push_back(least);
    }
  }
  result.least = leastByTrying(executes, stretches, 0);
  return result;
}

bool hasSplit(const WarmStretches &plan) {
  return std::any_of(plan.stretches.begin(), plan.stretches.end(),
                     [](const Stretch &s) { return bool(s.split); });
}

} // namespace

TEST(Splits, equalBruteForce) {
  Random random(31);
  Tried all;
  unsigned used = 0, chains = 0;
  for (int round = 0; round < 1000; ++round) {
    Problem p = RandomSplits(random, 1 + random.below(7)).problem;
    Choice cpu(p.layers.size(), 0);
    StretchChoice gpu = fastestInStretches(p);
    Tried tried = tryAll(p, gpu, {});
    all.splits += tried.splits;
    all.chains += tried.chains;
    WarmStretches plan = planWarmStretches(p, cpu, gpu, withSplits());
    ASSERT_NEAR(plan.time, tried.least, 1e-9) << "round " << round;
    EXPECT_LE(plan.time, planWarmStretches(p, cpu, gpu).time);
    // Its time is that of its parts.
    double time = plan.cpuOnly;
    for (const Stretch &s : plan.stretches) {
      time += stretchTime(p, gpu, s).sum();
      for (uint32_t i = s.first; i < s.end(); ++i)
        time -= p.layers[i].candidates[0].execute * p.device.crowding();
      chains += s.split && s.count > 1;
      if (s.split) {
        auto price = splitByHand(p, gpu, s.first, s.end() - 1, *s.split);
        ASSERT_TRUE(price);
        EXPECT_NEAR(stretchTime(p, gpu, s).sum(), price->time, 1e-9);
      }
    }
    EXPECT_NEAR(plan.time, time, 1e-9);
    used += hasSplit(plan);
  }
  EXPECT_GT(all.splits, 20000u);
  EXPECT_GT(all.chains, 5000u) << "layers can be joined";
  EXPECT_GT(used, 300u) << "problems have something to decide";
  EXPECT_GT(chains, 100u);
}

TEST(Splits, equalBruteForceInEnergy) {
  Random random(32);
  unsigned differ = 0, used = 0;
  for (int round = 0; round < 300; ++round) {
    Problem p = RandomSplits(random, 1 + random.below(6)).problem;
    Choice cpu(p.layers.size(), 0);
    StretchChoice gpu = fastestInStretches(p);
    Options options = withSplits();
    options.objective = {random.flip() ? 1.0 : 0.0, random.between(0.1, 2)};
    WarmStretches plan = planWarmStretches(p, cpu, gpu, options);
    double cost = options.objective.of(plan.time, plan.energy);
    EXPECT_NEAR(cost, tryAll(p, gpu, options.objective).least, 1e-9)
        << "round " << round;
    used += hasSplit(plan);
    WarmStretches fastest = planWarmStretches(p, cpu, gpu, withSplits());
    EXPECT_GE(plan.time, fastest.time - 1e-9);
    differ += plan.stretches != fastest.stretches;
  }
  EXPECT_GT(differ, 50u) << "both objectives differ";
  EXPECT_GT(used, 20u);
}

TEST(Splits, morePlacesAreNeverWorse) {
  Random random(33);
  unsigned better = 0;
  for (int round = 0; round < 300; ++round) {
    Problem all = RandomSplits(random, 1 + random.below(10)).problem;
    Problem few = all;
    for (Layer &layer : few.layers)
      for (Back &back : layer.backs)
        for (size_t i = back.starts.size(); i-- > 0;)
          if (random.flip()) {
            back.starts.erase(back.starts.begin() + i);
            back.times.erase(back.times.begin() + i);
          }
    Choice cpu(all.layers.size(), 0);
    StretchChoice gpu = fastestInStretches(all);
    double less = planWarmStretches(all, cpu, gpu, withSplits()).time,
           more = planWarmStretches(few, cpu, gpu, withSplits()).time;
    EXPECT_LE(less, more + 1e-9);
    better += less < more - 1e-9;
  }
  EXPECT_GT(better, 50u);
}

TEST(Splits, countHalosOfAChain) {
  // Two windows of three rows. Both sides compute a row of the first layer
  // beyond their half, and of the tensor that is handed over two.
  Problem p = lineOfWindows(2, 8, 7, 1, 3);
  Coprocessor &gpu = *p.device.coprocessor;
  gpu.inPerByte = gpu.outPerByte = 1e-6;
  gpu.submit = 0.01;
  gpu.sync = 0.02;
  StretchChoice choice = {0, 0};
  StretchTime time = stretchTime(p, choice, {0, 2, Split{0, 4}});
  EXPECT_NEAR(time.handOver, 6.0 / 8 + 0.01, 1e-12);
  EXPECT_NEAR(time.cpu, (5 + 4) / 8.0, 1e-12);
  EXPECT_NEAR(time.gpu, (5 + 4) / 8.0, 1e-12);
  EXPECT_NEAR(time.kernels, 9 / 8.0 + 0.02, 1e-12);
  EXPECT_NEAR(time.takeBack, 4.0 / 8, 1e-12);
  // Without a place at 3 the CPUs begin at 2.
  Back &back = p.layers[0].backs[0];
  back.starts.erase(back.starts.begin() + 2);
  back.times.erase(back.times.begin() + 2);
  EXPECT_NEAR(stretchTime(p, choice, {0, 2, Split{0, 4}}).cpu, (6 + 4) / 8.0,
              1e-12);
  // Both are slower beside each other. If the GPU is software, they are 1 + 6
  // threads on 4 CPUs.
  gpu.beside = 1.5;
  gpu.besideCpu = 1.25;
  time = stretchTime(p, choice, {0, 2, Split{0, 4}});
  EXPECT_NEAR(time.gpu, 9 / 8.0 * 1.5, 1e-12);
  EXPECT_NEAR(time.cpu, 10 / 8.0 * 1.25, 1e-12);
  gpu.hostCores = 6;
  time = stretchTime(p, choice, {0, 2, Split{0, 4}});
  EXPECT_NEAR(time.gpu, 9 / 8.0 * 1.5 * 7 / 4, 1e-12);
  EXPECT_NEAR(time.cpu, 10 / 8.0 * 1.25 * 7 / 4, 1e-12);
}

TEST(Splits, areTakenWhereTheyAreWorthIt) {
  Problem p = lineOfWindows(1, 64, 15, 1, 1);
  Choice cpu = {0};
  StretchChoice gpu = {0};
  Options options = withSplits();
  options.worthSplit = 0.95;
  WarmStretches plan = planWarmStretches(p, cpu, gpu, options);
  ASSERT_EQ(plan.stretches.size(), 1u);
  EXPECT_EQ(plan.stretches[0], (Stretch{0, 1, Split{0, 32}}));
  EXPECT_NEAR(plan.time, 0.5, 1e-12);
  p.device.coprocessor->submit = 0.44;
  EXPECT_TRUE(hasSplit(planWarmStretches(p, cpu, gpu, options)));
  p.device.coprocessor->submit = 0.46;
  EXPECT_FALSE(hasSplit(planWarmStretches(p, cpu, gpu, options)));
  options.splits = Splits::Never;
  p.device.coprocessor->submit = 0;
  EXPECT_FALSE(hasSplit(planWarmStretches(p, cpu, gpu, options)));
}

TEST(Splits, searchTakesFewSteps) {
  constexpr uint32_t layers = 100, dims = 3, starts = 16;
  Problem p = lineOfWindows(layers, 1024, starts, dims, 3);
  Choice cpu(layers, 0);
  WarmStretches plan =
      planWarmStretches(p, cpu, fastestInStretches(p), withSplits());
  EXPECT_TRUE(hasSplit(plan));
  EXPECT_LE(plan.steps, layers * (layers + 1) / 2 * dims * starts);
}

TEST(Splits, areOnlyOfLaterRuns) {
  Random random(34);
  unsigned split = 0, cold = 0;
  for (int round = 0; round < 90; ++round) {
    Problem p = RandomSplits(random, 1 + random.below(8)).problem;
    p.device.preparationLanes = {Core::Big};
    Plan cpu;
    cpu.choice.assign(p.layers.size(), 0);
    cpu.schedule.lanes.resize(2);
    for (uint32_t i = 0; i < p.layers.size(); ++i)
      cpu.schedule.lanes[0].push_back({i, Stage::Execute});
    Options options = withSplits();
    Overlay found = planOverlay(p, cpu, options);
    for (const Stretch &s : found.cold.stretches)
      EXPECT_FALSE(s.split);
    split += hasSplit(found.warm);
    cold += found.start == OverlayStart::AtOpen;
    if (found.start == OverlayStart::AtOpen) {
      EXPECT_EQ(checkOverlaySchedule(p, found.cold), "");
    }
    // All that later runs need is prepared.
    std::set<uint32_t> uploaded;
    for (const HostLanes &lanes : {found.cold.lanes, found.later})
      for (const auto &lane : lanes)
        for (const StretchPreparation &preparation : lane)
          if (preparation.stage == Stage::Upload)
            uploaded.insert(preparation.items[0]);
    for (const Stretch &s : found.warm.stretches)
      for (uint32_t i = s.first; i < s.end(); ++i)
        EXPECT_TRUE(uploaded.count(i));
    // A first run with one is none that can be carried out.
    OverlaySchedule schedule;
    schedule.choice = found.warm.choice;
    schedule.stretches = found.warm.stretches;
    schedule.lanes = {{{}}};
    if (hasSplit(found.warm)) {
      EXPECT_NE(checkOverlaySchedule(p, schedule).find("is split"),
                std::string::npos);
    }
  }
  EXPECT_GT(split, 20u);
  EXPECT_GT(cold, 5u);
}

TEST(ForcedSplits, cutAllThatCanBe) {
  Random random(35);
  unsigned chains = 0;
  for (int round = 0; round < 300; ++round) {
    Problem p = RandomSplits(random, 1 + random.below(8)).problem;
    StretchChoice gpu = fastestInStretches(p);
    std::optional<uint32_t> dim;
    if (random.flip())
      dim = random.below(3);
    double percent = random.between(0, 100);
    std::vector<Stretch> splits = forcedSplits(p, gpu, dim, percent);
    std::set<uint32_t> covered;
    uint32_t end = 0;
    for (const Stretch &s : splits) {
      ASSERT_TRUE(s.split && s.first >= end && s.count);
      EXPECT_TRUE(!dim || s.split->dim == *dim);
      end = s.end();
      EXPECT_TRUE(splitByHand(p, gpu, s.first, end - 1, *s.split));
      for (uint32_t i = s.first; i < end; ++i)
        covered.insert(i);
      chains += s.count > 1;
      // The nearest place at which the last layer alone can be cut.
      double wanted = percent / 100 *
                      partAlong(p.layers[end - 1].backs, s.split->dim)->extent;
      for (uint32_t at = 1; at < 24; ++at)
        if (splitByHand(p, gpu, end - 1, end - 1, {s.split->dim, at})) {
          EXPECT_LE(std::abs(s.split->at - wanted), std::abs(at - wanted));
        }
    }
    for (uint32_t i = 0; i < p.layers.size(); ++i)
      for (uint32_t d = 0; d < 3; ++d)
        for (uint32_t at = 1; at < 24; ++at)
          if ((!dim || d == *dim) && splitByHand(p, gpu, i, i, {d, at})) {
            EXPECT_TRUE(covered.count(i)) << "round " << round;
          }
  }
  EXPECT_GT(chains, 50u);

  // A plan of later runs; the first is the CPUs'.
  Problem p = lineOfWindows(4, 16, 15, 2, 3);
  p.device.preparationLanes = {Core::Big};
  Plan cpu;
  cpu.choice = {0, 0, 0, 0};
  cpu.schedule.lanes.resize(2);
  for (uint32_t i = 0; i < 4; ++i)
    cpu.schedule.lanes[0].push_back({i, Stage::Execute});
  Options options;
  options.splits = Splits::Forced;
  options.forcedDim = 1;
  options.forcedPercent = 25;
  Overlay found = planOverlay(p, cpu, options);
  EXPECT_EQ(found.start, OverlayStart::AfterFirst);
  EXPECT_EQ(found.warm.stretches, (std::vector<Stretch>{{0, 4, Split{1, 4}}}));
  EXPECT_NEAR(found.warm.time,
              stretchTime(p, found.warm.choice, found.warm.stretches[0]).sum(),
              1e-9);
  EXPECT_TRUE(found.cold.stretches.empty());
  EXPECT_EQ(found.later.size(), 1u);
  options.forcedDim = 2;
  EXPECT_EQ(planOverlay(p, cpu, options).start, OverlayStart::Never);
}

TEST(SplitReport, saysWhyNot) {
  Problem p = lineOfWindows(7, 16, 15, 1, 1);
  p.device.coprocessor->sync = 0.1;
  p.layers[1].inStretch.clear();
  p.layers[2].inStretch[0].fronts.clear();
  p.layers[3].backs.clear();
  p.layers[4].inStretch[0].fronts[0].unit = 17;
  p.layers[5].candidates[0].execute = 0.3;
  Choice cpu(7, 0);
  StretchChoice gpu = fastestInStretches(p);
  WarmStretches plan = planWarmStretches(p, cpu, gpu, withSplits());
  plan.stretches.pop_back();
  std::vector<LayerSplit> report = splitReport(p, cpu, plan);
  ASSERT_EQ(report.size(), 7u);
  EXPECT_EQ(report[0].why, WhyWhole::IsSplit);
  EXPECT_NEAR(report[0].cpu, 1, 1e-12);
  EXPECT_NEAR(*report[0].gpu, 1.1, 1e-12);
  EXPECT_NEAR(*report[0].both, 9 / 16.0, 1e-12) << "7 of 16 and the wait";
  EXPECT_EQ(report[0].split, (Split{0, 7}));
  EXPECT_EQ(report[1].why, WhyWhole::NoKernel);
  EXPECT_FALSE(report[1].gpu || report[1].both);
  EXPECT_EQ(report[2].why, WhyWhole::NoFront);
  EXPECT_EQ(report[3].why, WhyWhole::NoBack);
  EXPECT_EQ(report[4].why, WhyWhole::NoPlace);
  EXPECT_EQ(report[5].why, WhyWhole::Slower);
  EXPECT_EQ(report[6].why, WhyWhole::GainsLittle);
  std::set<std::string> names;
  for (const LayerSplit &layer : report)
    names.insert(nameOf(layer.why));
  EXPECT_EQ(names.size(), 7u);
}
