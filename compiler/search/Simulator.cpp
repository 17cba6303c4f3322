//===- Simulator.cpp - When operations start and end ----------------------===//

#include "compiler/search/Simulator.h"
#include "compiler/search/Search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace nnv12::search {

/// Bytes a millisecond. eMMC 5.1 and SD cards read 300 MB/s at most; UFS 3 and
/// NVMe 1200 and more.
static constexpr double slowStorage = 3e5, fastStorage = 12e5;

double slowness(const Device &device) {
  return std::clamp(std::log(fastStorage / device.readBandwidth) /
                        std::log(fastStorage / slowStorage),
                    0.0, 1.0);
}

bool hasPreparation(const Candidate &c) {
  return c.bytes > 0 || c.decode || c.transform;
}

double decoderStart(const Problem &problem, const Choice &choice) {
  for (size_t i = 0; i < choice.size(); ++i)
    if (problem.chosen(choice, i).decode)
      return problem.device.decoderStart;
  return 0;
}

Job preparationJob(const Device &device, uint32_t layer, const Candidate &c,
                   Core core) {
  return {layer,
          0,
          false,
          c.bytes > 0 ? device.readLatency : 0,
          c.bytes,
          c.bytes * device.mapPerByte.on(core) + c.decode.on(core) +
              c.transform.on(core)};
}

Job executeJob(const Layer &layer, uint32_t index, const Candidate &c,
               uint32_t after) {
  return {index, after, true, 0, 0, c.execute + layer.firstTouch};
}

double preparationTime(const Device &device, const Candidate &c, Core core) {
  Job job = preparationJob(device, 0, c, core);
  return job.latency + job.bytes / device.readBandwidth + job.work;
}

double arrivalOf(const Device &device, double bytes, double total) {
  assert(!device.arrival.empty());
  if (bytes <= device.arrivedBytes)
    return 0;
  Arrival before = {0, 0};
  for (const Arrival &piece : device.arrival) {
    if (bytes <= piece.bytes) {
      if (total >= piece.bytes)
        return piece.time;
      double part = (total - before.bytes) / (piece.bytes - before.bytes);
      return before.time + part * (piece.time - before.time);
    }
    before = piece;
  }
  return before.time + (bytes - before.bytes) / device.readBandwidth;
}

double earliestArrival(const Device &device) {
  double most =
      device.arrival.empty() ? 0 : device.arrivedBytes / device.readBandwidth;
  for (const Arrival &point : device.arrival)
    most = std::max(most, point.bytes / device.readBandwidth - point.time);
  return most;
}

Simulator::Simulator(const Device &device)
    : device(device), slow(slowness(device)) {
  assert(std::adjacent_find(device.arrival.begin(), device.arrival.end(),
                            [](const Arrival &a, const Arrival &b) {
                              return a.bytes > b.bytes || a.time > b.time;
                            }) == device.arrival.end() &&
         "both ascend");
}

double Simulator::waitFor(const Job &job, bool isOnExecuteLane, double now) {
  uint32_t layer = job.layer;
  if (device.askedAhead > 0) {
    if (slow > 0 && ends[layer] - want[layer] > askedBytes)
      for (uint32_t i = 0; i < layer; ++i)
        if (ends[i] > askedBytes)
          arrived[i] += slow * want[layer] / device.readBandwidth;
    if (askedBytes < ends.back()) {
      double ready = arrivalOf(device, askedBytes, ends.back()) + paused;
      paused += std::max(0.0, now - ready);
    }
    askedBytes = std::max(askedBytes, ends[layer] + device.askedAhead);
  }
  double wait = arrived[layer] + paused - now;
  return isOnExecuteLane && !isEarly[layer]
             ? std::max(wait, job.bytes * readers / device.readBandwidth)
             : wait;
}

bool Simulator::nextPhase(LaneState &lane, const Job &job, double now) {
  bool arrives = !arrived.empty() && job.bytes > 0;
  while (lane.phase != Phase::Work) {
    lane.phase = Phase(unsigned(lane.phase) + 1);
    if (lane.phase == Phase::Latency)
      lane.remaining = arrives ? 0 : job.latency;
    else if (lane.phase == Phase::Work)
      lane.remaining = job.work;
    else
      lane.remaining =
          arrives ? waitFor(job, &lane == &states[0], now) : job.bytes;
    if (lane.remaining > 0)
      return true;
  }
  return false;
}

static bool isReady(const Job &job, const std::vector<uint32_t> &done) {
  return done[job.needs == Job::own ? job.layer : job.needs] >= job.after;
}

void Simulator::endJob(size_t i, const Job &job, double now) {
  assert(isReady(job, done) && "what it waits for is done");
  ++done[job.counts == Job::own ? job.layer : job.counts];
  if (job.execute) {
    finish = now;
    endSum += now;
  }
  if (spans)
    (*spans)[i][states[i].next].end = now;
  states[i].phase = Phase::Idle;
  ++states[i].next;
}

void Simulator::startJobs(const std::vector<std::vector<Job>> &lanes,
                          double now) {
  // A job of no length may let another lane start: until nothing moves.
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < lanes.size(); ++i) {
      LaneState &lane = states[i];
      while (lane.phase == Phase::Idle && lane.next < lanes[i].size()) {
        const Job &job = lanes[i][lane.next];
        if (!isReady(job, done))
          break;
        lane.execute = job.execute;
        lane.busy = job.busy;
        if (spans)
          (*spans)[i][lane.next].start = now;
        if (nextPhase(lane, job, now))
          break;
        endJob(i, job, now);
        moved = true;
      }
    }
  }
}

unsigned Simulator::threadsOf(const LaneState &lane) const {
  switch (lane.busy) {
  case Busy::Lane:
    return lane.execute ? std::max(1u, device.executeThreads) : 0;
  case Busy::Caller:
    return 1;
  case Busy::Coprocessor:
    return device.coprocessor ? device.coprocessor->hostCores : 0;
  }
  return 0;
}

void Simulator::setRates() {
  unsigned transfers = 0, preparing = 0, computing = 0;
  for (const LaneState &lane : states) {
    if (lane.phase == Phase::Transfer)
      ++transfers;
    if (lane.phase != Phase::Work)
      continue;
    computing += threadsOf(lane);
    preparing += !lane.execute && lane.busy == Busy::Lane;
  }
  bool executing = computing > 0;
  unsigned cpus = std::max(1u, device.cpus);
  double left = cpus > computing ? cpus - computing : 0;
  double executeRate = std::min(1.0, double(cpus) / std::max(1u, computing));
  double prepareRate = std::min(1.0, left / std::max(1u, preparing));
  if (preparing && left > 0)
    executeRate /= device.executeInterference;
  if (executing)
    prepareRate /= device.prepareInterference;
  for (LaneState &lane : states)
    lane.rate = lane.phase == Phase::Latency ? 1
                : lane.phase == Phase::Transfer
                    ? (arrived.empty() ? device.readBandwidth / transfers : 1)
                : lane.phase != Phase::Work      ? 0
                : threadsOf(lane) > 0            ? executeRate
                : lane.busy == Busy::Coprocessor ? 1
                                                 : prepareRate;
}

double Simulator::run(const std::vector<std::vector<Job>> &lanes, size_t layers,
                      double cutoff, std::vector<std::vector<Span>> *spansOut) {
  spans = spansOut;
  states.assign(lanes.size(), LaneState());
  done.assign(layers, 0);
  if (spans) {
    cutoff = never;
    spans->resize(lanes.size());
    for (size_t i = 0; i < lanes.size(); ++i)
      (*spans)[i].assign(lanes[i].size(), {never, never});
  }
  // The rest of the execute lane's work, for an early end.
  double left = 0;
  for (const Job &job : lanes[0])
    left += job.work;
  arrived.clear();
  if (!device.arrival.empty()) {
    want.assign(layers, 0);
    for (const auto &lane : lanes)
      for (const Job &job : lane)
        want[job.layer] += job.bytes;
    ends.resize(layers);
    std::partial_sum(want.begin(), want.end(), ends.begin());
    isEarly.clear();
    for (double end : ends) {
      arrived.push_back(arrivalOf(device, end, ends.back()));
      isEarly.push_back(end <= device.arrival[0].bytes);
    }
    askedBytes = device.arrival[0].bytes;
    paused = 0;
    readers = 0;
    for (const auto &lane : lanes)
      readers += std::any_of(lane.begin(), lane.end(),
                             [](const Job &job) { return job.bytes > 0; });
  }

  double now = 0;
  finish = endSum = 0;
  for (;;) {
    startJobs(lanes, now);
    if (!spans && states[0].next == lanes[0].size())
      break; // other lanes' rest comes after the last execute
    setRates();
    double step = never;
    bool working = false;
    for (const LaneState &lane : states)
      if (lane.rate > 0) {
        working = true;
        step = std::min(step, lane.remaining / lane.rate);
      }
    if (!working)
      break;
    ++stepCount;
    now += step;
    for (size_t i = 0; i < lanes.size(); ++i) {
      LaneState &lane = states[i];
      if (lane.rate <= 0)
        continue;
      double moved = step * lane.rate;
      if (i == 0 && lane.phase == Phase::Work)
        left -= moved;
      lane.remaining -= moved;
      if (lane.remaining > 1e-12 * moved)
        continue;
      const Job &job = lanes[i][lane.next];
      if (!nextPhase(lane, job, now))
        endJob(i, job, now);
    }
    if (now + left > cutoff)
      return never;
  }
  for (size_t i = 0; i < lanes.size(); ++i)
    if (states[i].next < lanes[i].size() && (spans || i == 0))
      return never; // something waits for ever
  return finish;
}

std::vector<std::vector<Job>>
jobsOf(const Problem &problem, const Choice &choice, const Schedule &schedule) {
  const Device &device = problem.device;
  // Place of each stage among its layer's jobs.
  std::vector<uint32_t> stages(problem.layers.size(), 0);
  for (const auto &lane : schedule.lanes)
    for (Operation o : lane)
      stages[o.layer] |= 1u << unsigned(o.stage);
  auto before = [&](Operation o) {
    uint32_t count = 0;
    for (unsigned s = 0; s < unsigned(o.stage); ++s)
      count += stages[o.layer] >> s & 1;
    return count;
  };
  std::vector<std::vector<Job>> jobs(schedule.lanes.size());
  for (size_t i = 0; i < schedule.lanes.size(); ++i) {
    Core core = device.coreOf(i);
    for (Operation o : schedule.lanes[i]) {
      const Layer &layer = problem.layers[o.layer];
      const Candidate &c = problem.chosen(choice, o.layer);
      Job job = {o.layer, before(o), false, 0, 0, 0};
      switch (o.stage) {
      case Stage::Read:
        job.latency = device.readLatency;
        job.bytes = c.bytes;
        job.work = c.bytes * device.mapPerByte.on(core);
        break;
      case Stage::Decode:
        job.work = c.decode.on(core);
        break;
      case Stage::Transform:
        job.work = c.transform.on(core);
        break;
      case Stage::Execute:
        job = executeJob(layer, o.layer, c, before(o));
        break;
      default:
        assert(false && "no schedule has stages of a coprocessor");
      }
      jobs[i].push_back(job);
    }
  }
  return jobs;
}

Timeline timelineOf(const Device &device,
                    const std::vector<std::vector<Job>> &jobs,
                    const std::vector<std::vector<Operation>> &operations,
                    size_t counters, double start) {
  Timeline result;
  Simulator simulator(device);
  std::vector<std::vector<Simulator::Span>> spans;
  result.finish =
      start + simulator.run(jobs, counters, Simulator::never, &spans);
  for (uint32_t i = 0; i < jobs.size(); ++i)
    for (size_t j = 0; j < jobs[i].size(); ++j)
      result.events.push_back({operations[i][j], i, start + spans[i][j].start,
                               start + spans[i][j].end});
  std::stable_sort(
      result.events.begin(), result.events.end(),
      [](const Event &a, const Event &b) { return a.start < b.start; });
  return result;
}

Timeline simulate(const Problem &problem, const Choice &choice,
                  const Schedule &schedule) {
  if (!checkSchedule(problem, choice, schedule).empty())
    return {{}, Simulator::never};
  if (problem.layers.empty())
    return {};
  return timelineOf(problem.device, jobsOf(problem, choice, schedule),
                    schedule.lanes, problem.layers.size(),
                    decoderStart(problem, choice) +
                        lanesStart(problem.device, schedule.lanes));
}

double warmTime(const Problem &problem, const Choice &choice) {
  double sum = 0;
  for (size_t i = 0; i < problem.layers.size(); ++i)
    sum += problem.chosen(choice, i).execute;
  return sum * problem.device.crowding();
}

std::string checkSchedule(const Problem &problem, const Choice &choice,
                          const Schedule &schedule) {
  auto name = [&](Operation o) {
    const char *stages[] = {"read",    "decode",   "transform", "execute",
                            "device",  "pipeline", "upload",    "hand-over",
                            "kernels", "take-back"};
    return std::string(stages[unsigned(o.stage)]) + " of layer " +
           std::to_string(o.layer);
  };
  size_t layers = problem.layers.size();
  size_t lanes = problem.device.preparationLanes.size() + 1;
  if (choice.size() != layers)
    return "choice: found " + std::to_string(choice.size()) +
           " layers, expected " + std::to_string(layers);
  for (size_t i = 0; i < layers; ++i)
    if (choice[i] >= problem.layers[i].candidates.size())
      return "choice: layer " + std::to_string(i) + " has no candidate " +
             std::to_string(choice[i]);
  if (schedule.lanes.size() > lanes || (layers && schedule.lanes.empty()))
    return "schedule: found " + std::to_string(schedule.lanes.size()) +
           " lanes, expected 1 to " + std::to_string(lanes);

  // Every operation once, in its place.
  std::vector<uint32_t> seen(layers, 0), lane(layers, 0);
  for (size_t i = 0; i < schedule.lanes.size(); ++i)
    for (Operation o : schedule.lanes[i]) {
      if (o.layer >= layers || o.stage > Stage::Execute)
        return "schedule: there is no " + name(o);
      if (seen[o.layer] >> unsigned(o.stage) & 1)
        return "schedule: " + name(o) + " is there twice";
      if (o.stage == Stage::Execute && i != 0)
        return "schedule: " + name(o) + " is not on the execute lane";
      bool first = (seen[o.layer] & 7) == 0;
      if (o.stage != Stage::Execute && !first && lane[o.layer] != i)
        return "schedule: " + name(o) +
               " is not on the lane of its layer's read";
      if (o.stage != Stage::Execute)
        lane[o.layer] = i;
      seen[o.layer] |= 1u << unsigned(o.stage);
    }
  for (uint32_t i = 0; i < layers; ++i) {
    const Candidate &c = problem.chosen(choice, i);
    bool need[] = {c.bytes > 0, bool(c.decode), bool(c.transform), true};
    for (unsigned s = 0; s < 4; ++s)
      if (need[s] != bool(seen[i] >> s & 1))
        return "schedule: " + name({i, Stage(s)}) +
               (need[s] ? " is missing" : " has nothing to do");
  }

  // Carried out as far as it goes, without times.
  std::vector<size_t> next(schedule.lanes.size(), 0);
  std::vector<uint32_t> done(layers, 0);
  uint32_t executed = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < schedule.lanes.size(); ++i)
      while (next[i] < schedule.lanes[i].size()) {
        Operation o = schedule.lanes[i][next[i]];
        uint32_t before = seen[o.layer] & ((1u << unsigned(o.stage)) - 1);
        if ((done[o.layer] & before) != before ||
            (o.stage == Stage::Execute && executed != o.layer))
          break;
        executed += o.stage == Stage::Execute;
        done[o.layer] |= 1u << unsigned(o.stage);
        ++next[i];
        moved = true;
      }
  }
  for (size_t i = 0; i < schedule.lanes.size(); ++i)
    if (next[i] < schedule.lanes[i].size())
      return "schedule: " + name(schedule.lanes[i][next[i]]) +
             " waits for something behind it";
  return "";
}

} // namespace nnv12::search
