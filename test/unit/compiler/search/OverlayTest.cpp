//===- OverlayTest.cpp - A coprocessor's part of a plan -------------------===//

#include "RandomOverlay.h"
#include "compiler/search/Algorithm1.h"
#include "compiler/search/OverlayJobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

using namespace nnv12::search;

static std::string nameOf(int round) {
  return "round " + std::to_string(round);
}

/// By its definition: tensors that layers read from outside, and their results
/// that others read.
static double stretchByHand(const Problem &p, const StretchChoice &choice,
                            Stretch s) {
  auto inside = [&](uint32_t layer) {
    return layer >= s.first && layer < s.end();
  };
  const Coprocessor &gpu = *p.device.coprocessor;
  double time = gpu.submit + gpu.sync;
  for (const Tensor &t : p.tensors) {
    bool producedHere = t.producer != Tensor::input && inside(t.producer);
    bool readHere = std::any_of(t.readers.begin(), t.readers.end(), inside);
    bool readElsewhere =
        t.output || !std::all_of(t.readers.begin(), t.readers.end(), inside);
    if (!producedHere && readHere)
      time += t.bytes * gpu.inPerByte;
    if (producedHere && readElsewhere)
      time += t.bytes * gpu.outPerByte;
  }
  for (uint32_t i = s.first; i < s.end(); ++i)
    time += p.layers[i].inStretch[choice[i]].execute;
  return time;
}

/// The best of all ways to cut and place the layers from `first` on, one by
/// one.
static double bestByTrying(const Problem &p, const Choice &cpu,
                           const std::vector<std::vector<double>> &stretches,
                           uint32_t first) {
  if (first == p.layers.size())
    return 0;
  double scale = std::max(1.0, double(p.device.executeThreads) / p.device.cpus);
  double best = p.layers[first].candidates[cpu[first]].execute * scale +
                bestByTrying(p, cpu, stretches, first + 1);
  for (uint32_t count = 1; count <= stretches[first].size(); ++count)
    best = std::min(best, stretches[first][count - 1] +
                              bestByTrying(p, cpu, stretches, first + count));
  return best;
}

TEST(WarmStretches, equalsBruteForce) {
  Random random(11);
  unsigned mixed = 0;
  for (int round = 0; round < 1500; ++round) {
    Problem p = randomOverlayProblem(random, 1 + random.below(10), 1);
    Choice cpu = warmChoice(p);
    StretchChoice gpu = fastestInStretches(p);
    std::vector<std::vector<double>> stretches(p.layers.size());
    for (uint32_t i = 0; i < p.layers.size(); ++i)
      for (uint32_t j = i;
           j < p.layers.size() && !p.layers[j].inStretch.empty(); ++j)
        stretches[i].push_back(stretchByHand(p, gpu, {i, j + 1 - i}));
    WarmStretches plan = planWarmStretches(p, cpu, gpu);
    EXPECT_NEAR(plan.time, bestByTrying(p, cpu, stretches, 0), 1e-9)
        << nameOf(round);
    EXPECT_DOUBLE_EQ(plan.cpuOnly, warmTime(p, cpu));
    // Its time is the sum that it counts.
    double time = plan.cpuOnly;
    double scale =
        std::max(1.0, double(p.device.executeThreads) / p.device.cpus);
    for (const Stretch &s : plan.stretches) {
      time += stretchTime(p, gpu, s).sum();
      EXPECT_NEAR(stretchTime(p, gpu, s).sum(), stretchByHand(p, gpu, s), 1e-9);
      for (uint32_t i = s.first; i < s.end(); ++i)
        time -= p.layers[i].candidates[cpu[i]].execute * scale;
    }
    EXPECT_NEAR(plan.time, time, 1e-9) << nameOf(round);
    mixed += plan.stretches.size() > 1;
  }
  EXPECT_GT(mixed, 100u) << "problems have something to decide";
}

TEST(WarmStretches, takesTheFastestKernels) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    Problem p = randomOverlayProblem(random, 4, 1);
    double best = Simulator::never;
    StretchChoice choice(4, 0);
    std::function<void(unsigned)> choose = [&](unsigned i) {
      if (i == 4) {
        best = std::min(best, planWarmStretches(p, warmChoice(p), choice).time);
        return;
      }
      for (choice[i] = 0;
           choice[i] == 0 || choice[i] < p.layers[i].inStretch.size();
           ++choice[i])
        choose(i + 1);
      choice[i] = 0;
    };
    choose(0);
    EXPECT_NEAR(planWarmStretches(p, warmChoice(p), fastestInStretches(p)).time,
                best, 1e-9);
  }
}

TEST(WarmStretches, sparesPipelinesThatGainLittle) {
  Problem p;
  p.pipelines.resize(4);
  auto add = [&](std::vector<std::pair<std::vector<uint32_t>, double>> ways) {
    Layer &layer = p.layers.emplace_back();
    for (const auto &[pipelines, execute] : ways) {
      Candidate &candidate = layer.inStretch.emplace_back();
      candidate.pipelines = pipelines;
      candidate.execute = execute;
    }
  };
  // 100 in all, so that a pipeline has to gain 1.
  add({{{0}, 60}});
  add({{{1}, 20}, {{0}, 20.5}});
  add({{{1, 2}, 10}, {{0}, 10.4}});
  add({{{3}, 10}, {{0}, 11.2}, {{2}, 10}});
  p.layers.emplace_back(); // a CPU's
  StretchChoice fastest = fastestInStretches(p),
                few = withFewPipelines(p, fastest);
  EXPECT_EQ(fastest, (StretchChoice{0, 0, 0, 0, 0}));
  // 3 gains nothing, as 2 is there; then 1 gains 0.9. Without 2 there would be
  // 1.2 more, now that 3 is gone.
  EXPECT_EQ(few, (StretchChoice{0, 1, 1, 2, 0}));

  Random random(12);
  unsigned spared = 0;
  for (int round = 0; round < 300; ++round) {
    Problem q = randomOverlayProblem(random, 1 + random.below(10), 1);
    StretchChoice before = fastestInStretches(q),
                  after = withFewPipelines(q, before);
    std::set<uint32_t> was, is;
    double time = 0, less = 0;
    for (size_t i = 0; i < q.layers.size(); ++i) {
      if (q.layers[i].inStretch.empty())
        continue;
      const Candidate &a = q.layers[i].inStretch[before[i]],
                      &b = q.layers[i].inStretch[after[i]];
      was.insert(a.pipelines.begin(), a.pipelines.end());
      is.insert(b.pipelines.begin(), b.pipelines.end());
      time += b.execute;
      less += a.execute;
    }
    EXPECT_TRUE(std::includes(was.begin(), was.end(), is.begin(), is.end()));
    size_t gone = was.size() - is.size();
    EXPECT_LE(time, less * std::pow(1 + worthPipeline, gone) + 1e-12);
    spared += gone > 0;
  }
  EXPECT_GT(spared, 5u);
}

TEST(WarmStretches, leavesToCpusWhatAloneNeedsAPipeline) {
  Random random(7);
  Problem p = randomOverlayProblem(random, 4, 1);
  p.tensors.clear();
  p.device.cpus = p.device.executeThreads;
  p.device.coprocessor->submit = p.device.coprocessor->sync = 1;
  p.pipelines.resize(2);
  // The GPU is faster at all of them. Only the last one can be left out without
  // another hand-over.
  double cpu[] = {60, 1.5, 60, 1.5};
  uint32_t pipeline[] = {0, 1, 0, 1};
  for (size_t i = 0; i < 4; ++i) {
    p.layers[i].candidates.resize(1);
    p.layers[i].candidates[0].execute = cpu[i];
    p.layers[i].inStretch.assign(1, {});
    p.layers[i].inStretch[0].pipelines = {pipeline[i]};
    p.layers[i].inStretch[0].execute = i % 2 ? 1 : 40;
  }
  auto warm = [](Problem &problem) {
    Choice first(problem.layers.size(), 0);
    leaveToCpus(problem, first);
    return planWarmStretches(problem, first, fastestInStretches(problem))
        .stretches;
  };
  using Stretches = std::vector<Stretch>;
  Problem both = p;
  EXPECT_EQ(warm(both), (Stretches{{0, 4}}));
  // 0.5 of 82.5 gained by a pipeline of its own.
  p.layers[1].inStretch[0].pipelines = {0};
  EXPECT_EQ(warm(p), (Stretches{{0, 3}}));
  EXPECT_TRUE(p.layers[3].inStretch.empty());
  // 3.5 are worth it.
  both.layers[1].inStretch[0].pipelines = {0};
  both.layers[3].candidates[0].execute = 4.5;
  EXPECT_EQ(warm(both), (Stretches{{0, 4}}));
}

/// Jobs once more, as plainly as possible: time moves in small steps. Asserts
/// that no more threads run than there are CPUs, and that none of them idles
/// while something could run.
static double smallSteps(const Problem &p, const OverlayJobs &jobs, double dt) {
  const Device &d = p.device;
  size_t lanes = jobs.lanes.size();
  struct State {
    size_t next = 0;
    bool running = false;
    double latency = 0, bytes = 0, work = 0;
  };
  std::vector<State> states(lanes);
  std::vector<uint32_t> done(jobs.counters, 0);
  for (double now = 0; now < 1e3; now += dt) {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t l = 0; l < lanes; ++l) {
        State &s = states[l];
        if (s.next == jobs.lanes[l].size())
          continue;
        const Job &job = jobs.lanes[l][s.next];
        auto at = [&](uint32_t counter) -> uint32_t & {
          return done[counter == Job::own ? job.layer : counter];
        };
        if (!s.running) {
          if (at(job.needs) < job.after)
            continue;
          s = {s.next, true, job.latency, job.bytes, job.work};
          moved = true;
        }
        if (s.latency <= 0 && s.bytes <= 0 && s.work <= 0) {
          ++at(job.counts);
          s.running = false;
          ++s.next;
          moved = true;
        }
      }
    }
    if (states[0].next == jobs.lanes[0].size())
      return jobs.start + now;
    double transfers = 0, computing = 0, preparing = 0;
    auto working = [&](size_t l) {
      return states[l].running && states[l].latency <= 0 &&
             states[l].bytes <= 0;
    };
    auto threads = [&](size_t l) -> double {
      const Job &job = jobs.lanes[l][states[l].next];
      return job.busy == Busy::Coprocessor ? d.coprocessor->hostCores
             : job.busy == Busy::Caller    ? 1
             : job.execute                 ? d.executeThreads
                                           : 0;
    };
    auto isGpu = [&](size_t l) {
      return jobs.lanes[l][states[l].next].busy == Busy::Coprocessor;
    };
    for (size_t l = 0; l < lanes; ++l) {
      transfers +=
          states[l].running && states[l].latency <= 0 && states[l].bytes > 0;
      if (!working(l))
        continue;
      computing += threads(l);
      preparing += threads(l) == 0 && !isGpu(l);
    }
    double cpus = d.cpus, left = std::max(0.0, cpus - computing);
    double share = std::min(1.0, cpus / std::max(1.0, computing)),
           rest = std::min(1.0, left / std::max(1.0, preparing));
    double run = computing * share + preparing * rest;
    EXPECT_LE(run, cpus + 1e-9) << "never more threads than CPUs";
    EXPECT_GE(run, std::min(cpus, computing + preparing) - 1e-9)
        << "no CPU idles while something could run";
    for (size_t l = 0; l < lanes; ++l) {
      State &s = states[l];
      if (working(l) && threads(l) > 0)
        s.work -=
            dt * share / (preparing && left > 0 ? d.executeInterference : 1);
      else if (working(l) && isGpu(l))
        s.work -= dt;
      else if (working(l))
        s.work -= dt * rest / (computing ? d.prepareInterference : 1);
      else if (s.running && s.latency > 0)
        s.latency -= dt;
      else if (s.running)
        s.bytes -= dt * d.readBandwidth / transfers;
    }
  }
  return INFINITY;
}

TEST(OverlaySimulator, againstSmallSteps) {
  Random random(13);
  for (int round = 0; round < 120; ++round) {
    Problem p =
        randomOverlayProblem(random, 1 + random.below(6), random.below(3));
    p.device.arrival.clear();
    Choice choice = warmChoice(p);
    Schedule schedule = algorithm1(p, choice).schedule(p);
    OverlaySchedule gpu = randomOverlaySchedule(random, p);
    ASSERT_EQ(checkOverlaySchedule(p, gpu), "");
    OverlayJobs jobs = overlayJobs(p, choice, schedule, gpu, /*cached=*/false);
    size_t count = 0;
    for (const auto &lane : jobs.lanes)
      count += lane.size();
    double dt = 2e-4;
    EXPECT_NEAR(simulateOverlay(p, choice, schedule, gpu, false).finish,
                smallSteps(p, jobs, dt), dt * 4 * double(count))
        << nameOf(round);
  }
}

TEST(OverlaySimulator, eventsFitTogether) {
  Random random(14);
  for (int round = 0; round < 300; ++round) {
    Problem p =
        randomOverlayProblem(random, 2 + random.below(8), random.below(3));
    Choice choice = warmChoice(p);
    Schedule schedule = algorithm1(p, choice).schedule(p);
    OverlaySchedule gpu = randomOverlaySchedule(random, p);
    bool cached = random.flip();
    Timeline t = simulateOverlay(p, choice, schedule, gpu, cached);
    size_t lanes = 0;
    for (const Event &e : t.events)
      lanes = std::max<size_t>(lanes, e.lane + 1);
    std::vector<double> laneEnd(lanes, 0);
    double device = 0, last = 0, executed = 0;
    std::vector<double> pipelineEnd(p.pipelines.size(), 0),
        uploadEnd(p.layers.size(), 0), handOver(p.layers.size(), -1),
        kernels(p.layers.size(), -1);
    uint32_t computed = 0, stretches = 0;
    for (const Event &e : t.events) {
      EXPECT_GE(e.start, last);
      last = e.start;
      EXPECT_GE(e.end, e.start);
      EXPECT_GE(e.start, laneEnd[e.lane] - 1e-12) << "lanes are serial";
      laneEnd[e.lane] = e.end;
      uint32_t index = e.operation.layer;
      switch (e.operation.stage) {
      case Stage::Device:
        device = e.end;
        break;
      case Stage::Pipeline:
        EXPECT_GE(e.start, device - 1e-12);
        break;
      case Stage::Upload:
        EXPECT_GE(e.start, device - 1e-12);
        uploadEnd[index] = e.end;
        break;
      case Stage::Execute:
        EXPECT_EQ(index, computed) << "in order";
        EXPECT_GE(e.start, executed - 1e-12);
        executed = e.end;
        ++computed;
        break;
      case Stage::HandOver: {
        ASSERT_EQ(index, stretches++);
        EXPECT_EQ(gpu.stretches[index].first, computed);
        EXPECT_GE(e.start, executed - 1e-12)
            << "what it reads is computed before";
        EXPECT_GE(e.start, device - 1e-12);
        handOver[index] = e.end;
        break;
      }
      case Stage::Kernels:
        EXPECT_EQ(e.lane, lanes - 1);
        EXPECT_GE(e.start, handOver[index] - 1e-12);
        EXPECT_GE(handOver[index], 0);
        kernels[index] = e.end;
        break;
      case Stage::TakeBack:
        EXPECT_GE(e.start, kernels[index] - 1e-12);
        EXPECT_GE(kernels[index], 0);
        executed = e.end;
        computed = gpu.stretches[index].end();
        break;
      default:
        break;
      }
    }
    EXPECT_EQ(computed, p.layers.size());
    EXPECT_EQ(stretches, gpu.stretches.size());
    EXPECT_EQ(executed, t.finish);
    // No hand-over before its pipelines and weights.
    for (const Event &e : t.events) {
      if (e.operation.stage == Stage::Pipeline)
        for (const auto &lane : gpu.lanes)
          for (const StretchPreparation &preparation : lane)
            if (preparation.stage == Stage::Pipeline &&
                preparation.items[0] == e.operation.layer)
              for (uint32_t item : preparation.items)
                pipelineEnd[item] = e.end;
    }
    for (const Event &e : t.events)
      if (e.operation.stage == Stage::HandOver) {
        const Stretch &s = gpu.stretches[e.operation.layer];
        for (uint32_t i = s.first; i < s.end(); ++i) {
          EXPECT_GE(e.start, uploadEnd[i] - 1e-12);
          for (uint32_t pipeline :
               p.layers[i].inStretch[gpu.choice[i]].pipelines) {
            EXPECT_GT(pipelineEnd[pipeline], 0);
            EXPECT_GE(e.start, pipelineEnd[pipeline] - 1e-12);
          }
        }
      }
  }
}

/// Three layers of 10 ms on the CPU, of 1 ms on a GPU that starts in 2 ms and
/// has one pipeline of 3 ms (1 ms cached).
static Problem threeLayers() {
  Problem p;
  for (uint32_t i = 0; i < 3; ++i) {
    Candidate c;
    c.execute = 10;
    Candidate g;
    g.pipelines = {0};
    g.execute = 1;
    Layer layer;
    layer.candidates = {c};
    layer.inStretch = {g};
    p.layers.push_back(layer);
    p.tensors.push_back({1000, i, {}, false});
    if (i < 2)
      p.tensors.back().readers = {i + 1};
    else
      p.tensors.back().output = true;
  }
  p.tensors.push_back({500, Tensor::input, {0}, false});
  p.pipelines = {{3, 1}};
  p.device.cpus = 2;
  p.device.coprocessor = Coprocessor();
  p.device.coprocessor->start = 2;
  p.device.coprocessor->submit = 0.25;
  p.device.coprocessor->sync = 0.5;
  return p;
}

static const Choice threeChoice = {0, 0, 0};
static const Schedule threeSchedule = {
    {{{0, Stage::Execute}, {1, Stage::Execute}, {2, Stage::Execute}}}};

static OverlaySchedule handOverAt(const Problem &p, uint32_t k) {
  OverlaySchedule gpu;
  gpu.choice = {0, 0, 0};
  gpu.stretches = {{k, 3 - k}};
  gpu.lanes = prepareStretches(p, gpu.choice, gpu.stretches, 1, true, false);
  return gpu;
}

TEST(OverlaySimulator, handsOverWhenBothAreReady) {
  Problem p = threeLayers();
  auto finish = [&](uint32_t k, bool cached = false) {
    return simulateOverlay(p, threeChoice, threeSchedule, handOverAt(p, k),
                           cached)
        .finish;
  };
  EXPECT_DOUBLE_EQ(finish(0), 2 + 3 + 0.25 + 3 + 0.5) << "waits for the GPU";
  EXPECT_DOUBLE_EQ(finish(0, true), 2 + 1 + 0.25 + 3 + 0.5);
  EXPECT_DOUBLE_EQ(finish(1), 10 + 0.25 + 2 + 0.5) << "or for the CPU";
  EXPECT_DOUBLE_EQ(finish(2), 20 + 0.25 + 1 + 0.5);
  p.device.coprocessor->inPerByte = 1e-3;
  p.device.coprocessor->outPerByte = 2e-3;
  EXPECT_DOUBLE_EQ(finish(0), 2 + 3 + 0.5 + 0.25 + 3 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(finish(1), 10 + 1 + 0.25 + 2 + 2 + 0.5);
  p.device.laneStart = 0.125; // one thread, which starts others
  EXPECT_DOUBLE_EQ(finish(1), 0.125 + 10 + 1 + 0.25 + 2 + 2 + 0.5);
}

TEST(OverlaySimulator, preparingTakesCpusThatAreLeft) {
  Problem p = threeLayers();
  p.device.cpus = 1;
  // Executes come first: nothing is prepared before the hand-over waits.
  EXPECT_DOUBLE_EQ(
      simulateOverlay(p, threeChoice, threeSchedule, handOverAt(p, 1), false)
          .finish,
      10 + 2 + 3 + 0.25 + 2 + 0.5);
  // Two threads build on two CPUs, three share them.
  p.device.cpus = 2;
  p.device.coprocessor->start = 0;
  p.pipelines = {{6, 6}, {6, 6}, {6, 6}};
  for (uint32_t i = 0; i < 3; ++i)
    p.layers[i].inStretch[0].pipelines = {i};
  OverlaySchedule gpu = handOverAt(p, 0);
  auto finish = [&](unsigned threads) {
    gpu.lanes =
        prepareStretches(p, gpu.choice, gpu.stretches, threads, true, false);
    EXPECT_EQ(gpu.lanes.size(), threads);
    return simulateOverlay(p, threeChoice, threeSchedule, gpu, false).finish;
  };
  double rest = 0.25 + 3 + 0.5;
  EXPECT_DOUBLE_EQ(finish(1), 18 + rest);
  EXPECT_DOUBLE_EQ(finish(2), 12 + rest);
  EXPECT_DOUBLE_EQ(finish(3), 9 + rest);
  // A driver with a lock: threads gain nothing.
  p.device.coprocessor->pipelineScaling = 0;
  p.device.cpus = 3;
  EXPECT_DOUBLE_EQ(finish(3), 18 + rest);
  // One call for all.
  p.device.coprocessor->batch = 3;
  EXPECT_DOUBLE_EQ(finish(1), 18 + rest);
  EXPECT_EQ(gpu.lanes[0].size(), 2u);
}

TEST(OverlaySimulator, softwareTakesCpus) {
  Problem p = threeLayers();
  p.device.preparationLanes = {Core::Big};
  p.layers[2].candidates[0].transform = {4, 4};
  Schedule schedule = threeSchedule;
  schedule.lanes.push_back({{2, Stage::Transform}});
  OverlaySchedule gpu = handOverAt(p, 0);
  gpu.stretches = {{0, 2}};
  auto finish = [&] {
    return simulateOverlay(p, threeChoice, schedule, gpu, false).finish;
  };
  EXPECT_DOUBLE_EQ(finish(), 5 + 0.25 + 2 + 0.5 + 10);
  p.device.coprocessor->hostCores = 4; // on two CPUs
  EXPECT_DOUBLE_EQ(finish(), 5 + 0.25 + 4 + 0.5 + 10);
}

TEST(OverlaySimulator, skipsWhatStretchesReplace) {
  Problem p = threeLayers();
  p.layers[1].candidates[0].transform = {4, 4};
  // Between the executes of a stretch: stepped over.
  Schedule schedule = {{{{0, Stage::Execute},
                         {1, Stage::Transform},
                         {1, Stage::Execute},
                         {2, Stage::Execute}}}};
  OverlaySchedule gpu = handOverAt(p, 0);
  EXPECT_DOUBLE_EQ(simulateOverlay(p, threeChoice, schedule, gpu, false).finish,
                   5 + 0.25 + 3 + 0.5);
  // Before its first: done, as the CPUs' plan says.
  std::swap(schedule.lanes[0][0], schedule.lanes[0][1]);
  EXPECT_DOUBLE_EQ(simulateOverlay(p, threeChoice, schedule, gpu, false).finish,
                   5 + 0.25 + 3 + 0.5);
  p.device.cpus = 1;
  EXPECT_DOUBLE_EQ(simulateOverlay(p, threeChoice, schedule, gpu, false).finish,
                   4 + 5 + 0.25 + 3 + 0.5);
}

static Plan cpuPlan(const Problem &p) {
  Options options;
  options.steps = 20000;
  return plan(p, options);
}

/// A hand-over that begins no later than this behind the operation before it
/// has not waited: milliseconds, more than sums of times are rounded by.
static constexpr double notWaited = 1e-9;

namespace {
struct Ran {
  double finish, wait;
};
} // namespace

/// The first run, with the waits of its hand-overs.
static Ran runOf(const Problem &p, const Plan &cpu,
                 const OverlaySchedule &schedule, bool cached) {
  OverlayJobs jobs = overlayJobs(p, cpu.choice, cpu.schedule, schedule, cached);
  Simulator simulator(p.device);
  std::vector<std::vector<Simulator::Span>> spans;
  Ran result = {jobs.start + simulator.run(jobs.lanes, jobs.counters,
                                           Simulator::never, &spans),
                0};
  for (size_t j = 0; j < jobs.operations[0].size(); ++j)
    if (jobs.operations[0][j].stage == Stage::HandOver)
      result.wait += spans[0][j].start - (j ? spans[0][j - 1].end : 0);
  return result;
}

/// The first run where the driver's cache is empty. It waits for nothing: at
/// the first point that finds everything ready the rest is taken over.
static double finishUncached(const Problem &p, const Plan &cpu,
                             const Overlay &plan) {
  OverlaySchedule schedule = plan.cold;
  Ran planned = runOf(p, cpu, schedule, /*cached=*/false);
  if (planned.wait <= notWaited)
    return planned.finish;
  std::vector<WarmStretches> rests =
      planWarmSuffixes(p, cpu.choice, schedule.choice);
  for (uint32_t k : plan.handOvers) {
    const std::vector<Stretch> &rest = rests[k].stretches;
    // Behind the planned point only prepared stretches can be taken.
    if (rest.empty() || rest[0].first != k)
      continue;
    schedule.stretches = rest;
    if (!checkOverlaySchedule(p, schedule).empty())
      continue;
    Ran ran = runOf(p, cpu, schedule, /*cached=*/false);
    if (ran.wait <= notWaited)
      return ran.finish;
  }
  schedule.stretches.clear();
  return runOf(p, cpu, schedule, /*cached=*/false).finish;
}

TEST(Overlay, decidesWhenToStart) {
  Problem p = threeLayers();
  Plan cpu = cpuPlan(p);
  Overlay found = planOverlay(p, cpu);
  EXPECT_EQ(found.start, OverlayStart::AtOpen);
  EXPECT_DOUBLE_EQ(found.cpuOnly, 30);
  EXPECT_DOUBLE_EQ(found.stretchesOnly, 3 + 3.75);
  EXPECT_DOUBLE_EQ(found.finishCached, 3 + 3.75);
  EXPECT_DOUBLE_EQ(runOf(p, cpu, found.cold, true).wait, 3);
  EXPECT_EQ(found.cold.stretches, (std::vector<Stretch>{{0, 3}}));
  EXPECT_EQ(found.handOvers, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_TRUE(found.later.empty()) << "all is there after the first run";
  // Without cache it is not ready at first; layer 1 finds it ready.
  EXPECT_DOUBLE_EQ(finishUncached(p, cpu, found), 10 + 2 + 0.75);
  EXPECT_DOUBLE_EQ(found.warm.time, 3.75);

  // Slow pipelines: the first run hands over where it need not wait.
  p.pipelines[0] = {15, 15};
  cpu = cpuPlan(p);
  found = planOverlay(p, cpu);
  EXPECT_EQ(found.start, OverlayStart::AtOpen);
  EXPECT_DOUBLE_EQ(found.finishCached, 17 + 2 + 0.75);
  EXPECT_EQ(found.handOvers, (std::vector<uint32_t>{1, 2}));
  EXPECT_DOUBLE_EQ(runOf(p, cpu, found.cold, true).wait, 7);
  EXPECT_DOUBLE_EQ(finishUncached(p, cpu, found), 20 + 1 + 0.75);

  // Slower than the CPU: it serves later runs.
  p.pipelines[0] = {40, 40};
  found = planOverlay(p, cpuPlan(p));
  EXPECT_EQ(found.start, OverlayStart::AfterFirst);
  EXPECT_DOUBLE_EQ(found.finish, 30);
  EXPECT_DOUBLE_EQ(found.finishCached, 30);
  EXPECT_DOUBLE_EQ(found.stretchesOnly, 42 + 3.75);
  EXPECT_TRUE(found.cold.stretches.empty() && found.handOvers.empty());
  ASSERT_EQ(found.later.size(), 1u);
  EXPECT_EQ(found.later[0], (std::vector<StretchPreparation>{
                                {Stage::Device, {}}, {Stage::Pipeline, {0}}}));

  // A gain of less than 3 % is none.
  p.pipelines[0] = {0, 0};
  p.device.coprocessor->start = 27.5;
  EXPECT_EQ(planOverlay(p, cpuPlan(p)).start, OverlayStart::AfterFirst);
  Options eager;
  eager.worthOverlay = 1;
  EXPECT_EQ(planOverlay(p, cpuPlan(p), eager).start, OverlayStart::AtOpen);

  // No use at all.
  for (Layer &layer : p.layers)
    layer.inStretch[0].execute = 11;
  found = planOverlay(p, cpuPlan(p));
  EXPECT_EQ(found.start, OverlayStart::Never);
  EXPECT_TRUE(found.warm.stretches.empty());
  EXPECT_TRUE(found.later.empty());
  p.device.coprocessor.reset();
  found = planOverlay(p, cpuPlan(p));
  EXPECT_EQ(found.start, OverlayStart::Never);
  EXPECT_DOUBLE_EQ(found.finishCached, 30);
  EXPECT_TRUE(std::isinf(found.stretchesOnly));
  EXPECT_EQ(planOverlay(Problem(), Plan()).start, OverlayStart::Never);
}

TEST(Overlay, sharesPipelinesWhereThatIsSooner) {
  // Each layer has a kernel of its own that is a little faster.
  Problem p = threeLayers();
  for (uint32_t i = 0; i < 3; ++i) {
    p.pipelines.push_back({3, 3});
    Candidate own = p.layers[i].inStretch[0];
    own.pipelines = {i + 1};
    own.execute = 0.9;
    p.layers[i].inStretch.push_back(own);
  }
  p.pipelines[0] = {3, 3};
  Overlay found = planOverlay(p, cpuPlan(p));
  EXPECT_EQ(found.warm.choice, (StretchChoice{1, 1, 1}));
  EXPECT_EQ(found.cold.choice, (StretchChoice{0, 0, 0}));
  EXPECT_DOUBLE_EQ(found.finishCached, 2 + 3 + 3.75);
  // The others come afterwards.
  ASSERT_EQ(found.later.size(), 1u);
  EXPECT_EQ(found.later[0].size(), 3u);
  Options fixed;
  fixed.selectKernels = false;
  EXPECT_GT(planOverlay(p, cpuPlan(p), fixed).finishCached, 2 + 3 + 3.75 + 1);
}

TEST(Overlay, runsInPartsWhilePreparing) {
  Problem p = threeLayers();
  p.pipelines = {{2, 2}, {2, 2}, {2, 2}};
  for (uint32_t i = 0; i < 3; ++i) {
    p.layers[i].inStretch[0].pipelines = {i};
    p.layers[i].inStretch[0].execute = 2;
  }
  p.device.coprocessor->submit = p.device.coprocessor->sync = 0;
  Overlay found = planOverlay(p, cpuPlan(p));
  EXPECT_DOUBLE_EQ(found.finishCached, 2 + 2 + 2 + 2 + 2);
  EXPECT_EQ(found.cold.stretches.size(), 3u);
  Options sequential;
  sequential.pipeline = false;
  found = planOverlay(p, cpuPlan(p), sequential);
  EXPECT_DOUBLE_EQ(found.stretchesOnly, 2 + 6 + 6);
}

TEST(Overlay, neverWorseThanEither) {
  Random random(15);
  unsigned starts[3] = {}, atOnce = 0, between = 0;
  for (int round = 0; round < 400; ++round) {
    Problem p =
        randomOverlayProblem(random, 1 + random.below(12), random.below(3));
    if (random.flip())
      p.device.coprocessor->start /= 4;
    Plan cpu = cpuPlan(p);
    Options options;
    options.pipelineCache = random.below(4);
    Overlay found = planOverlay(p, cpu, options);
    double finish = found.finish;
    ++starts[unsigned(found.start)];
    EXPECT_EQ(found.cpuOnly, cpu.finish);
    EXPECT_LE(finish, cpu.finish) << nameOf(round);
    EXPECT_LE(found.warm.time, found.warm.cpuOnly + 1e-9);

    // All that the GPU can do, in one go, simulated here.
    OverlaySchedule all;
    all.choice = fastestInStretches(p);
    for (uint32_t i = 0; i < p.layers.size(); ++i) {
      if (p.layers[i].inStretch.empty())
        continue;
      if (all.stretches.empty() || all.stretches.back().end() != i)
        all.stretches.push_back({i, 0});
      ++all.stretches.back().count;
    }
    if (!all.stretches.empty()) {
      all.lanes = prepareStretches(
          p, all.choice, all.stretches, p.device.coprocessor->threads,
          all.stretches.size() == 1, options.pipelineCache);
      double stretchesOnly = simulateOverlay(p, cpu.choice, cpu.schedule, all,
                                             options.pipelineCache)
                                 .finish;
      EXPECT_LE(found.stretchesOnly, stretchesOnly + 1e-9) << nameOf(round);
    }
    if (found.start == OverlayStart::AtOpen) {
      EXPECT_LT(finish, cpu.finish * options.worthOverlay);
      EXPECT_LE(finish, found.stretchesOnly + 1e-9);
      EXPECT_EQ(checkOverlaySchedule(p, found.cold), "");
      EXPECT_NEAR(simulateOverlay(p, cpu.choice, cpu.schedule, found.cold,
                                  options.pipelineCache)
                      .finish,
                  finish, 1e-9);
      ASSERT_FALSE(found.handOvers.empty());
      EXPECT_EQ(found.handOvers[0], found.cold.stretches[0].first);
      EXPECT_TRUE(
          std::is_sorted(found.handOvers.begin(), found.handOvers.end()));
      EXPECT_GE(runOf(p, cpu, found.cold, options.pipelineCache).wait, 0);
      EXPECT_TRUE(std::isfinite(finishUncached(p, cpu, found)));
      if (options.pipelineCache) {
        EXPECT_EQ(found.finishCached, finish);
      }
      atOnce += found.handOvers[0] == 0;
      between += found.handOvers[0] > 0;
    } else {
      EXPECT_EQ(found.finishCached, cpu.finish);
      EXPECT_EQ(finish, cpu.finish);
      if (found.start == OverlayStart::AfterFirst) {
        EXPECT_GE(found.stretchesOnly,
                  cpu.finish * options.worthOverlay - 1e-9);
        EXPECT_LT(found.warm.time, found.warm.cpuOnly);
      }
    }
    // All that later runs need is prepared somewhere, once.
    std::set<uint32_t> pipelines, uploads;
    for (const HostLanes *lanes : {&found.cold.lanes, &found.later})
      for (const auto &lane : *lanes)
        for (const StretchPreparation &preparation : lane)
          for (uint32_t item : preparation.items) {
            if (preparation.stage == Stage::Pipeline)
              EXPECT_TRUE(pipelines.insert(item).second);
            else
              uploads.insert(item);
          }
    if (found.start != OverlayStart::Never)
      for (const Stretch &s : found.warm.stretches)
        for (uint32_t i = s.first; i < s.end(); ++i) {
          const Candidate &c = p.layers[i].inStretch[found.warm.choice[i]];
          for (uint32_t pipeline : c.pipelines)
            EXPECT_TRUE(pipelines.count(pipeline));
          EXPECT_TRUE(!hasUpload(c) || uploads.count(i));
        }
    // Once more: the same.
    Overlay again = planOverlay(p, cpu, options);
    EXPECT_EQ(again.finishCached, found.finishCached);
    EXPECT_EQ(again.steps, found.steps);
    EXPECT_EQ(again.cold.stretches, found.cold.stretches);
    EXPECT_EQ(again.cold.lanes, found.cold.lanes);
  }
  printf("never %u, at open %u (%u hand over at once, %u later), after first "
         "%u\n",
         starts[0], starts[1], atOnce, between, starts[2]);
  for (unsigned count : {starts[0], starts[1], starts[2], atOnce, between})
    EXPECT_GT(count, 10u) << "all happen";
}

TEST(Overlay, anUnusedCoprocessorChangesNothing) {
  Random random(16);
  for (int round = 0; round < 50; ++round) {
    Problem p = randomProblem(random, 6, 2, 2);
    Plan without = cpuPlan(p);
    addRandomCoprocessor(random, p);
    Plan with = cpuPlan(p);
    EXPECT_EQ(with.finish, without.finish);
    EXPECT_EQ(with.choice, without.choice);
    EXPECT_EQ(with.steps, without.steps);
  }
}

TEST(CheckOverlaySchedule, saysWhatIsWrong) {
  Problem p = threeLayers();
  for (Layer &layer : p.layers)
    layer.inStretch[0].upload = 10;
  OverlaySchedule good = handOverAt(p, 1), bad = good;
  EXPECT_EQ(checkOverlaySchedule(p, good), "");
  bad.choice = {0};
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "overlay: found a choice for 1 layers, expected 3");
  bad = good;
  bad.choice[2] = 1;
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "stretch 0: layer 2 has no candidate in stretches 1");
  for (Stretch wrong : {Stretch{1, 0}, Stretch{1, 3}, Stretch{4, ~0u}}) {
    bad = good;
    bad.stretches = {wrong};
    EXPECT_EQ(checkOverlaySchedule(p, bad),
              "stretch 0 is empty, or not behind the one before, or ends "
              "behind the last layer");
  }
  bad = good;
  bad.lanes.clear();
  EXPECT_EQ(checkOverlaySchedule(p, bad), "host lanes: the device is missing");
  bad = good;
  bad.lanes[0].erase(bad.lanes[0].begin());
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "host lanes: the device comes once, first of all");
  bad = good;
  bad.lanes[0].push_back({Stage::Upload, {2}});
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "host lanes: upload of layer 2 is there twice");
  bad = good;
  bad.lanes[0].push_back({Stage::Pipeline, {1}});
  EXPECT_EQ(checkOverlaySchedule(p, bad), "host lanes: there is no pipeline 1");
  bad = good;
  bad.lanes[0].push_back({Stage::Execute, {1}});
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "host lanes: found an operation that prepares nothing");
  bad = good;
  bad.lanes[0].push_back({Stage::Upload, {}});
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "host lanes: found an operation without its pipelines or layer");
  bad = good;
  bad.lanes[0].erase(bad.lanes[0].begin() + 1);
  EXPECT_EQ(checkOverlaySchedule(p, bad), "host lanes: pipeline 0 is missing");
  bad = good;
  bad.lanes[0].pop_back();
  EXPECT_EQ(checkOverlaySchedule(p, bad),
            "host lanes: upload of layer 1 is missing");
  EXPECT_TRUE(std::isinf(
      simulateOverlay(p, threeChoice, threeSchedule, bad, false).finish));
}
