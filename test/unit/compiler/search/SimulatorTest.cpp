//===- SimulatorTest.cpp - The simulator against small steps of time ------===//

#include "RandomProblem.h"
#include "compiler/search/Algorithm1.h"

#include <gtest/gtest.h>
#include <numeric>

#include <algorithm>
#include <cmath>

using namespace nnv12::search;

/// Piece by piece from the end of the file.
static double arrivalByHand(const Device &d, double bytes, double total) {
  if (bytes <= d.arrivedBytes)
    return 0;
  if (bytes > d.arrival.back().bytes)
    return d.arrival.back().time +
           (bytes - d.arrival.back().bytes) / d.readBandwidth;
  for (size_t i = d.arrival.size(); i-- > 0;) {
    Arrival before = i ? d.arrival[i - 1] : Arrival{0, 0};
    if (bytes > before.bytes) {
      double missing = std::max(0.0, d.arrival[i].bytes - total);
      return d.arrival[i].time - missing * (d.arrival[i].time - before.time) /
                                     (d.arrival[i].bytes - before.bytes);
    }
  }
  return 0;
}

/// The model of Simulator.h once more, as plainly as possible: time moves in
/// small steps, and in each every lane works if it may. Wrong by some steps an
/// operation.
static double smallSteps(const Problem &problem, const Choice &choice,
                         const Schedule &schedule, double dt) {
  const Device &d = problem.device;
  size_t lanes = schedule.lanes.size(), layers = problem.layers.size();
  struct State {
    size_t next = 0;
    bool running = false;
    double latency = 0, bytes = 0, work = 0;
  };
  std::vector<State> states(lanes);
  std::vector<int> left(layers, 0); // operations of the preparation
  std::vector<double> want(layers, 0);
  for (auto &lane : schedule.lanes)
    for (Operation o : lane) {
      left[o.layer] += o.stage != Stage::Execute;
      if (o.stage == Stage::Read)
        want[o.layer] =
            problem.layers[o.layer].candidates[choice[o.layer]].bytes;
    }
  auto end = [&](uint32_t layer) {
    return std::accumulate(want.begin(), want.begin() + layer + 1, 0.0);
  };
  auto isRead = [](Operation o) { return o.stage == Stage::Read; };
  double readers = 0;
  for (const auto &lane : schedule.lanes)
    readers += std::any_of(lane.begin(), lane.end(), isRead);
  double now = 0;
  for (; now < 1e4; now += dt) {
    // Start operations that may start; end those that have nothing left.
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t l = 0; l < lanes; ++l) {
        State &s = states[l];
        if (s.next == schedule.lanes[l].size())
          continue;
        Operation o = schedule.lanes[l][s.next];
        const Candidate &c =
            problem.layers[o.layer].candidates[choice[o.layer]];
        Core core = l ? d.preparationLanes[l - 1] : d.executeCore;
        if (!s.running) {
          if (o.stage == Stage::Execute && left[o.layer] > 0)
            continue;
          s = {s.next, true, 0, 0, 0};
          if (o.stage == Stage::Read) {
            s.bytes = c.bytes;
            s.latency = s.bytes > 0 ? d.readLatency : 0;
            if (!d.arrival.empty()) {
              s.bytes = 0;
              s.latency =
                  arrivalByHand(d, end(o.layer), end(uint32_t(layers) - 1)) -
                  now;
              if (l == 0 && end(o.layer) > d.arrival[0].bytes)
                s.latency =
                    std::max(s.latency, c.bytes * readers / d.readBandwidth);
            }
            s.work = c.bytes * d.mapPerByte.on(core);
          } else {
            s.work = o.stage == Stage::Decode ? c.decode.on(core)
                     : o.stage == Stage::Transform
                         ? c.transform.on(core)
                         : c.execute + problem.layers[o.layer].firstTouch;
          }
          moved = true;
        }
        if (s.latency <= 0 && s.bytes <= 0 && s.work <= 0) {
          left[o.layer] -= o.stage != Stage::Execute;
          s.running = false;
          ++s.next;
          moved = true;
        }
      }
    }
    if (states[0].next == schedule.lanes[0].size())
      return now;
    // What runs in this step?
    int transfers = 0, computing = 0, preparing = 0;
    auto working = [&](size_t l) {
      const State &s = states[l];
      return s.running && s.latency <= 0 && s.bytes <= 0;
    };
    auto executes = [&](size_t l) {
      return schedule.lanes[l][states[l].next].stage == Stage::Execute;
    };
    for (size_t l = 0; l < lanes; ++l) {
      transfers +=
          states[l].running && states[l].latency <= 0 && states[l].bytes > 0;
      if (working(l) && executes(l))
        computing = int(d.executeThreads);
      else
        preparing += working(l);
    }
    // Executes come first.
    double cpus = d.cpus, left = std::max(0.0, cpus - computing);
    double share = std::min(1.0, cpus / std::max(1, computing)),
           shareOfLeft = std::min(1.0, left / std::max(1, preparing));
    for (size_t l = 0; l < lanes; ++l) {
      State &s = states[l];
      if (working(l) && executes(l))
        s.work -=
            dt * share / (preparing && left > 0 ? d.executeInterference : 1);
      else if (working(l))
        s.work -= dt * shareOfLeft / (computing ? d.prepareInterference : 1);
      else if (s.running && s.latency > 0)
        s.latency -= dt;
      else if (s.running)
        s.bytes -= dt * d.readBandwidth / transfers;
    }
  }
  return INFINITY;
}

TEST(Simulator, oneLayer) {
  Problem p;
  p.layers.resize(1);
  Candidate c;
  c.bytes = 1000;
  c.decode = {1, 2};
  c.transform = {3, 6};
  c.execute = 5;
  p.layers[0].candidates = {c};
  p.layers[0].firstTouch = 0.5;
  p.device.readBandwidth = 100; // 10 ms
  p.device.readLatency = 0.25;
  p.device.mapPerByte = {0.001, 0.002}; // 1 or 2 ms
  Schedule s = {{{{0, Stage::Read},
                  {0, Stage::Decode},
                  {0, Stage::Transform},
                  {0, Stage::Execute}}}};
  Timeline t = simulate(p, {0}, s);
  EXPECT_DOUBLE_EQ(t.finish, 0.25 + 10 + 1 + 1 + 3 + 5.5);
  ASSERT_EQ(t.events.size(), 4u);
  EXPECT_DOUBLE_EQ(t.events[0].end, 11.25);
  EXPECT_DOUBLE_EQ(t.events[3].start, 15.25);
  EXPECT_DOUBLE_EQ(warmTime(p, {0}), 5);

  p.device.preparationLanes = {Core::Little};
  s = {{{{0, Stage::Execute}},
        {{0, Stage::Read}, {0, Stage::Decode}, {0, Stage::Transform}}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0}, s).finish, 0.25 + 10 + 2 + 2 + 6 + 5.5);
}

/// Two layers, each with bytes to read on a lane of its own.
static Problem twoReads() {
  Problem p;
  p.layers.resize(2);
  for (Layer &layer : p.layers) {
    Candidate c;
    c.bytes = 1000;
    c.execute = 1;
    layer.candidates = {c};
  }
  p.device.readBandwidth = 100;
  p.device.preparationLanes = {Core::Big, Core::Big};
  p.device.cpus = 3;
  return p;
}
static const Schedule twoLanes = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                                   {{0, Stage::Read}},
                                   {{1, Stage::Read}}}};

TEST(Simulator, executesOfNoLengthWait) {
  Problem p = twoReads();
  p.layers[1].candidates[0].execute = 0;
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, twoLanes).finish, 21);
  p.layers[0].candidates[0].execute = 0;
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, twoLanes).finish, 20);
}

TEST(Simulator, readsShareBandwidth) {
  // Both end at 20, not at 10.
  EXPECT_DOUBLE_EQ(simulate(twoReads(), {0, 0}, twoLanes).finish, 22);
}

TEST(Simulator, arrival) {
  Problem p = twoReads(); // 1000 bytes each
  p.device.readBandwidth = 100;
  p.device.readLatency = 5; // neither of these counts any more
  p.device.arrival = {{500, 0}, {1500, 3}};
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 500, 2000), 0);
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 501, 2000), 3);
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 501, 1000),
                   1.5); // half of the piece is all there is
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 2000, 2000), 3 + 5);
  p.device.arrivedBytes = 600;
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 600, 2000), 0);
  EXPECT_DOUBLE_EQ(arrivalOf(p.device, 601, 2000), 3);
  p.device.arrivedBytes = 0;
  EXPECT_DOUBLE_EQ(earliestArrival(p.device), 15 - 3);
  Schedule s = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                 {{0, Stage::Read}, {1, Stage::Read}}}};
  double first = p.layers[0].candidates[0].execute,
         second = p.layers[1].candidates[0].execute;
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, s).finish,
                   std::max(3 + first, 8.0) + second);
  // Lanes may ask in any order, but bytes come in that of the layers.
  std::swap(s.lanes[1][0], s.lanes[1][1]);
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, s).finish, 8 + first + second);
  // Nobody reads ahead of an execute lane that reads for itself.
  s = {{{{0, Stage::Read},
         {0, Stage::Execute},
         {1, Stage::Read},
         {1, Stage::Execute}},
        {}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, s).finish, 10 + first + 10 + second);
  // Or takes its share where another lane reads, too.
  Schedule both = {
      {{{0, Stage::Execute}, {1, Stage::Read}, {1, Stage::Execute}},
       {{0, Stage::Read}}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, both).finish, 3 + first + 20 + second);
  p.device.arrival[0].bytes =
      1200; // the first layer is in the piece that is there at once
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, s).finish, first + 10 + second);
}

TEST(Simulator, storagePausesForBusyLanes) {
  Problem p = twoReads(); // 1000 bytes each
  p.device.readBandwidth = 100;
  p.device.arrival = {{500, 0}, {1500, 3}};
  p.layers[0].candidates[0].decode = {10, 10};
  Schedule s = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                 {{0, Stage::Read}, {0, Stage::Decode}, {1, Stage::Read}}}};
  double second = p.layers[1].candidates[0].execute;
  auto readEnd = [&] { return simulate(p, {0, 0}, s).finish - second; };
  double first = p.layers[0].candidates[0].execute;
  // All is there when the first layer is decoded, at 13.
  EXPECT_DOUBLE_EQ(readEnd(), 13 + first);
  p.device.askedAhead = 1000;
  EXPECT_DOUBLE_EQ(readEnd(), 13 + first);
  // 1200 bytes were asked for and there at 3; the rest is asked for at 13.
  p.device.askedAhead = 200;
  EXPECT_DOUBLE_EQ(readEnd(), std::max(13 + first, 8.0 + 10));
}

TEST(Simulator, slowStorageGivesOneThingAfterAnother) {
  Problem p = twoReads(); // 1000 bytes each
  p.device.readBandwidth = 100;
  p.device.arrival = {{500, 0}, {1500, 3}};
  p.device.askedAhead = 200;
  Schedule inOrder = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                       {{0, Stage::Read}, {1, Stage::Read}}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, inOrder).finish, 8 + 1);
  // The storage turns to the second layer at once: the first has to wait for
  // its 10 ms.
  Schedule outOfOrder = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                          {{1, Stage::Read}},
                          {{0, Stage::Read}}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, outOfOrder).finish, 3 + 10 + 1 + 1);
  p.device.readBandwidth = 1e6; // there is enough for both
  EXPECT_NEAR(simulate(p, {0, 0}, outOfOrder).finish, 3 + 1 + 1, 1e-3);
}

TEST(Simulator, interference) {
  Problem p = twoReads();
  p.device.readBandwidth = 1e6; // 1 us
  p.layers[0].candidates[0].execute = 10;
  p.layers[1].candidates[0].transform = {4, 4};
  Schedule s = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                 {{0, Stage::Read}},
                 {{1, Stage::Read}, {1, Stage::Transform}}}};
  double reads = 2000 / 1e6;
  EXPECT_NEAR(simulate(p, {0, 0}, s).finish, reads + 10 + 1, 1e-9);
  p.device.executeInterference = 2; // during 4 ms: 2 ms of it remain
  EXPECT_NEAR(simulate(p, {0, 0}, s).finish, reads + 12 + 1, 1e-9);
  p.device.prepareInterference = 1.5; // now 6 ms long
  EXPECT_NEAR(simulate(p, {0, 0}, s).finish, reads + 13 + 1, 1e-9);
}

TEST(Simulator, sharesCpus) {
  Problem p = twoReads();
  p.device.readBandwidth = 1e9;
  p.device.cpus = 1;
  p.layers[0].candidates[0].execute = 4;
  p.layers[1].candidates[0].transform = {4, 4};
  Schedule s = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                 {{0, Stage::Read}},
                 {{1, Stage::Read}, {1, Stage::Transform}}}};
  EXPECT_NEAR(simulate(p, {0, 0}, s).finish, 8 + 1, 1e-3);
  // A lane that waits for the storage takes none of it.
  p = twoReads();
  p.device.cpus = 1;
  p.layers[0].candidates[0].bytes = 0;
  p.layers[0].candidates[0].execute = 10;
  s = {{{{0, Stage::Execute}, {1, Stage::Execute}}, {}, {{1, Stage::Read}}}};
  EXPECT_DOUBLE_EQ(simulate(p, {0, 0}, s).finish, 11);
}

TEST(Simulator, executesComeFirst) {
  Problem p = twoReads();
  p.device.readBandwidth = 1e9;
  p.device.executeThreads = 2;
  p.layers[0].candidates[0].execute = 4;
  p.layers[1].candidates[0].transform = {4, 4};
  Schedule s = {{{{0, Stage::Execute}, {1, Stage::Execute}},
                 {{0, Stage::Read}},
                 {{1, Stage::Read}, {1, Stage::Transform}}}};
  p.device.cpus = 3;
  EXPECT_NEAR(simulate(p, {0, 0}, s).finish, 4 + 1, 1e-3);
  p.device.cpus = 2;
  Timeline timeline = simulate(p, {0, 0}, s);
  EXPECT_NEAR(timeline.finish, 4 + 4 + 1, 1e-3);
  double firstExecute = 0;
  for (const Event &event : timeline.events)
    if (event.operation == Operation{0, Stage::Execute})
      firstExecute = event.end;
  EXPECT_NEAR(firstExecute, 4, 1e-3) << "nothing holds it up";
}

TEST(Simulator, againstSmallSteps) {
  Random random(7);
  for (int round = 0; round < 150; ++round) {
    Problem p = randomProblem(random, 1 + random.below(6), 2, random.below(4));
    Assignment a = Assignment::onExecuteLane(Choice(p.layers.size(), 0));
    for (size_t i = 0; i < p.layers.size(); ++i) {
      a.lane[i] = random.below(unsigned(p.device.preparationLanes.size()) + 1);
      a.choice[i] = random.below(unsigned(p.layers[i].candidates.size()));
      a.key[i] = random.between(0, double(i) + 2);
    }
    Schedule s = a.schedule(p);
    ASSERT_EQ(checkSchedule(p, a.choice, s), "");
    double dt = 2e-4;
    double start = decoderStart(p, a.choice);
    double expected = start + smallSteps(p, a.choice, s, dt);
    // Each operation has up to three phases and each may end up to a step late.
    double tolerance = dt * 4 * 4 * double(p.layers.size());
    EXPECT_NEAR(simulate(p, a.choice, s).finish, expected, tolerance)
        << "round " << round;
    // As one job each, preparations take as long as in stages.
    std::vector<std::vector<Job>> jobs;
    a.jobs(p, jobs);
    EXPECT_NEAR(start + Simulator(p.device).run(jobs, p.layers.size()),
                simulate(p, a.choice, s).finish, 1e-9);
  }
}

TEST(Simulator, eventsFitTogether) {
  Random random(8);
  for (int round = 0; round < 100; ++round) {
    Problem p = randomProblem(random, 6, 2, 2);
    Choice choice(6, 0);
    Schedule s = algorithm1(p, choice).schedule(p);
    Timeline t = simulate(p, choice, s);
    std::vector<double> ready(6, 0), lane(3, 0);
    double executed = 0, last = 0;
    for (const Event &e : t.events) {
      EXPECT_GE(e.start, last);
      last = e.start;
      EXPECT_GE(e.start, lane[e.lane] - 1e-12);
      EXPECT_GE(e.end, e.start);
      lane[e.lane] = e.end;
      if (e.operation.stage == Stage::Execute) {
        EXPECT_GE(e.start, ready[e.operation.layer] - 1e-12);
        executed = e.end;
      } else {
        ready[e.operation.layer] = e.end;
      }
    }
    EXPECT_EQ(executed, t.finish);
  }
}

TEST(CheckSchedule, saysWhatIsWrong) {
  Problem p = twoReads();
  Choice choice = {0, 0};
  EXPECT_EQ(checkSchedule(p, choice, twoLanes), "");
  EXPECT_EQ(checkSchedule(p, {0}, twoLanes),
            "choice: found 1 layers, expected 2");
  EXPECT_EQ(checkSchedule(p, {0, 1}, twoLanes),
            "choice: layer 1 has no candidate 1");
  Schedule s = twoLanes;
  s.lanes.push_back({});
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: found 4 lanes, expected 1 to 3");
  s = twoLanes;
  s.lanes[2].clear();
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: read of layer 1 is missing");
  s.lanes[2] = {{0, Stage::Read}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: read of layer 0 is there twice");
  s.lanes[2] = {{2, Stage::Read}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: there is no read of layer 2");
  s.lanes[2] = {{1, Stage::Read}, {1, Stage::Decode}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: decode of layer 1 has nothing to do");
  s = {{{{0, Stage::Execute}},
        {{0, Stage::Read}, {1, Stage::Execute}},
        {{1, Stage::Read}}}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: execute of layer 1 is not on the execute lane");
  s = {{{{0, Stage::Execute}, {0, Stage::Read}, {1, Stage::Execute}},
        {},
        {{1, Stage::Read}}}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: execute of layer 0 waits for something behind it");
  EXPECT_TRUE(std::isinf(simulate(p, choice, s).finish));
  s = {{{{1, Stage::Execute}, {0, Stage::Execute}},
        {{0, Stage::Read}},
        {{1, Stage::Read}}}};
  EXPECT_EQ(checkSchedule(p, choice, s),
            "schedule: execute of layer 1 waits for something behind it");
}
