//===- OverlayJobs.cpp - A run with an overlay as jobs --------------------===//

#include "compiler/search/OverlayJobs.h"
#include "compiler/search/Search.h"

#include <algorithm>
#include <cassert>

namespace nnv12::search {

static constexpr uint32_t none = ~0u;

bool hasUpload(const Candidate &c) {
  return c.bytes > 0 || c.upload > 0 || c.transform;
}

/// The core of host lanes: as preparation lanes have it.
static Core hostCore(const Device &device, bool onExecuteLane) {
  return onExecuteLane || device.preparationLanes.empty()
             ? device.executeCore
             : device.preparationLanes.front();
}

/// How many times longer pipelines take where lanes build them together.
static double crowded(const Coprocessor &coprocessor, size_t lanes) {
  double n = double(std::max<size_t>(1, lanes));
  return n / (1 + (n - 1) * coprocessor.pipelineScaling);
}

/// Alone on a core of this kind.
static Job jobOf(const Problem &problem, const StretchChoice &choice,
                 const StretchPreparation &preparation, Core core,
                 bool cached) {
  const Coprocessor &coprocessor = *problem.device.coprocessor;
  Job job = {0, 0, false, 0, 0, 0};
  switch (preparation.stage) {
  case Stage::Device:
    job.work = coprocessor.start;
    break;
  case Stage::Pipeline:
    for (uint32_t p : preparation.items)
      job.work +=
          cached ? problem.pipelines[p].cached : problem.pipelines[p].build;
    break;
  case Stage::Upload: {
    uint32_t layer = preparation.items.front();
    const Candidate &c = problem.chosenInStretch(choice, layer);
    job.layer = layer;
    job.latency = c.bytes > 0 ? problem.device.readLatency : 0;
    job.bytes = c.bytes;
    job.work = c.bytes * problem.device.mapPerByte.on(core) +
               c.transform.on(core) + c.upload / coprocessor.uploadBandwidth;
    break;
  }
  default:
    assert(false && "nothing else is prepared for a coprocessor");
  }
  return job;
}

namespace {

/// The first stretch that needs each pipeline, and each layer's weights.
struct Needs {
  std::vector<uint32_t> pipeline, layer;

  Needs(const Problem &problem, const StretchChoice &choice,
        const std::vector<Stretch> &stretches)
      : pipeline(problem.pipelines.size(), none),
        layer(problem.layers.size(), none) {
    for (uint32_t s = 0; s < stretches.size(); ++s)
      for (uint32_t i = stretches[s].first; i < stretches[s].end(); ++i) {
        layer[i] = s;
        for (uint32_t p : problem.chosenInStretch(choice, i).pipelines)
          pipeline[p] = std::min(pipeline[p], s);
      }
  }

  /// The first stretch that needs it; `none` if none does.
  uint32_t firstOf(const StretchPreparation &preparation) const {
    const auto &of = preparation.stage == Stage::Pipeline ? pipeline : layer;
    uint32_t first = none;
    for (uint32_t item : preparation.items)
      first = std::min(first, of[item]);
    return first;
  }
};

} // namespace

OverlayJobs overlayJobs(const Problem &problem, const Choice &choice,
                        const Schedule &schedule,
                        const OverlaySchedule &overlay, bool cached) {
  assert(problem.device.coprocessor && "there is a coprocessor");
  assert(checkOverlaySchedule(problem, overlay).empty() &&
         "it can be carried out");
  const Device &device = problem.device;
  uint32_t layers = uint32_t(problem.layers.size());
  uint32_t stretches = uint32_t(overlay.stretches.size());
  // Counters behind those of layers: the device's; for each stretch its ready
  // preparations, and how far it is.
  uint32_t deviceCounter = layers;
  auto readyCounter = [&](uint32_t s) { return layers + 1 + 2 * s; };
  auto progressCounter = [&](uint32_t s) { return layers + 2 + 2 * s; };
  Needs needs(problem, overlay.choice, overlay.stretches);

  OverlayJobs result;
  result.counters = layers + 1 + 2 * size_t(stretches);
  size_t hosts = overlay.onExecuteLane ? 0 : overlay.lanes.size();
  size_t cpuLanes = device.preparationLanes.size() + 1;
  result.lanes.resize(cpuLanes + hosts + 1);
  result.operations.resize(result.lanes.size());
  auto add = [&](size_t lane, const Job &job, Operation operation) {
    result.lanes[lane].push_back(job);
    result.operations[lane].push_back(operation);
  };

  std::vector<uint32_t> prepared(stretches, 0);
  Core core = hostCore(device, overlay.onExecuteLane);
  double longer = crowded(*device.coprocessor, hosts);
  for (size_t l = 0; l < overlay.lanes.size(); ++l)
    for (const StretchPreparation &preparation : overlay.lanes[l]) {
      Job job = jobOf(problem, overlay.choice, preparation, core, cached);
      job.counts = deviceCounter;
      if (preparation.stage != Stage::Device) {
        job.needs = deviceCounter;
        job.after = 1;
        uint32_t first = needs.firstOf(preparation);
        if (first != none) {
          ++prepared[first];
          job.counts = readyCounter(first);
        }
      }
      if (preparation.stage == Stage::Pipeline)
        job.work *= longer;
      uint32_t item = preparation.items.empty() ? 0 : preparation.items.front();
      add(overlay.onExecuteLane ? 0 : cpuLanes + l, job,
          {item, preparation.stage});
    }

  std::vector<std::vector<Job>> cpuJobs = jobsOf(problem, choice, schedule);
  bool decodes = false;
  size_t usedLanes = 0;
  std::vector<uint8_t> begun(stretches, false);
  for (size_t l = 0; l < cpuJobs.size(); ++l) {
    for (size_t j = 0; j < cpuJobs[l].size(); ++j) {
      Operation operation = schedule.lanes[l][j];
      uint32_t s = needs.layer[operation.layer];
      if (operation.stage == Stage::Execute && s != none) {
        if (operation.layer != overlay.stretches[s].first)
          continue;
        begun[s] = true;
        StretchTime time =
            stretchTime(problem, overlay.choice, overlay.stretches[s]);
        Job job = {operation.layer, 0, true, 0, 0, 0};
        job.busy = Busy::Caller;
        job.counts = job.needs = progressCounter(s);
        Job kernels = job, back = job;
        job.work = time.handOver;
        job.needs = prepared[s] ? readyCounter(s) : deviceCounter;
        job.after = std::max(1u, prepared[s]);
        kernels.work = time.kernels;
        kernels.execute = false;
        kernels.busy = Busy::Coprocessor;
        kernels.after = 1;
        back.work = time.takeBack;
        back.after = 2;
        add(0, job, {s, Stage::HandOver});
        add(result.lanes.size() - 1, kernels, {s, Stage::Kernels});
        add(0, back, {s, Stage::TakeBack});
        continue;
      }
      // The execute lane steps over operations between the executes of a
      // stretch.
      if (s != none && l == 0 && begun[s])
        continue;
      decodes |= operation.stage == Stage::Decode;
      add(l, cpuJobs[l][j], operation);
    }
    usedLanes += l > 0 && !result.lanes[l].empty();
  }
  // The thread of the first host lane is started before the first operation;
  // it starts the others.
  result.start =
      (decodes ? device.decoderStart : 0) +
      (usedLanes ? double(usedLanes) * device.laneStart : device.aloneStart) +
      (hosts ? device.laneStart : 0);
  return result;
}

Timeline simulateOverlay(const Problem &problem, const Choice &choice,
                         const Schedule &schedule,
                         const OverlaySchedule &overlay, bool cached) {
  if (!problem.device.coprocessor ||
      !checkSchedule(problem, choice, schedule).empty() ||
      !checkOverlaySchedule(problem, overlay).empty())
    return {{}, Simulator::never};
  if (problem.layers.empty())
    return {};
  OverlayJobs jobs = overlayJobs(problem, choice, schedule, overlay, cached);
  return timelineOf(problem.device, jobs.lanes, jobs.operations, jobs.counters,
                    jobs.start);
}

std::string checkOverlaySchedule(const Problem &problem,
                                 const OverlaySchedule &overlay) {
  size_t layers = problem.layers.size();
  if (overlay.choice.size() != layers)
    return "overlay: found a choice for " +
           std::to_string(overlay.choice.size()) + " layers, expected " +
           std::to_string(layers);
  uint32_t end = 0;
  for (size_t s = 0; s < overlay.stretches.size(); ++s) {
    const Stretch &stretch = overlay.stretches[s];
    std::string name = "stretch " + std::to_string(s);
    if (stretch.count == 0 || stretch.first < end || stretch.first > layers ||
        stretch.count > layers - stretch.first)
      return name + " is empty, or not behind the one before, or ends behind "
                    "the last layer";
    end = stretch.end();
    if (stretch.split)
      return name + " is split, which only those of later runs are";
    for (uint32_t i = stretch.first; i < end; ++i)
      if (overlay.choice[i] >= problem.layers[i].inStretch.size())
        return name + ": layer " + std::to_string(i) +
               " has no candidate in stretches " +
               std::to_string(overlay.choice[i]);
  }
  std::vector<uint8_t> built(problem.pipelines.size(), false),
      uploaded(layers, false);
  for (const auto &lane : overlay.lanes)
    for (const StretchPreparation &preparation : lane) {
      bool isDevice = preparation.stage == Stage::Device;
      if (isDevice != (&preparation == overlay.lanes[0].data()))
        return "host lanes: the device comes once, first of all";
      if (isDevice)
        continue;
      bool isPipeline = preparation.stage == Stage::Pipeline;
      if (!isPipeline && preparation.stage != Stage::Upload)
        return "host lanes: found an operation that prepares nothing";
      if (preparation.items.empty() ||
          (!isPipeline && preparation.items.size() > 1))
        return "host lanes: found an operation without its pipelines or layer";
      for (uint32_t item : preparation.items) {
        std::vector<uint8_t> &seen = isPipeline ? built : uploaded;
        const char *name = isPipeline ? "pipeline " : "upload of layer ";
        if (item >= seen.size() ||
            (!isPipeline &&
             overlay.choice[item] >= problem.layers[item].inStretch.size()))
          return "host lanes: there is no " + (name + std::to_string(item));
        if (seen[item])
          return "host lanes: " + (name + std::to_string(item)) +
                 " is there twice";
        seen[item] = true;
      }
    }
  if (!overlay.stretches.empty() &&
      (overlay.lanes.empty() || overlay.lanes[0].empty()))
    return "host lanes: the device is missing";
  for (const Stretch &stretch : overlay.stretches)
    for (uint32_t i = stretch.first; i < stretch.end(); ++i) {
      const Candidate &c = problem.chosenInStretch(overlay.choice, i);
      for (uint32_t p : c.pipelines)
        if (p >= built.size() || !built[p])
          return "host lanes: pipeline " + std::to_string(p) + " is missing";
      if (hasUpload(c) && !uploaded[i])
        return "host lanes: upload of layer " + std::to_string(i) +
               " is missing";
    }
  return "";
}

HostLanes prepareStretches(const Problem &problem, const StretchChoice &choice,
                           const std::vector<Stretch> &stretches,
                           unsigned threads, bool backwards, bool cached,
                           const HostLanes &have) {
  assert(problem.device.coprocessor && "there is a coprocessor");
  const Coprocessor &coprocessor = *problem.device.coprocessor;
  std::vector<uint8_t> built(problem.pipelines.size(), false),
      uploaded(problem.layers.size(), false);
  bool hasDevice = false;
  for (const auto &lane : have)
    for (const StretchPreparation &preparation : lane) {
      hasDevice |= preparation.stage == Stage::Device;
      for (uint32_t item : preparation.items)
        (preparation.stage == Stage::Pipeline ? built : uploaded)[item] = true;
    }

  // In the order in which they are wanted: a stretch's pipelines, so many a
  // call, then its uploads.
  std::vector<StretchPreparation> wanted;
  auto wantStretch = [&](const Stretch &stretch) {
    std::vector<uint32_t> pipelines, uploads;
    for (uint32_t n = 0; n < stretch.count; ++n) {
      uint32_t i = backwards ? stretch.end() - 1 - n : stretch.first + n;
      const Candidate &c = problem.chosenInStretch(choice, i);
      for (uint32_t p : c.pipelines)
        if (!built[p]) {
          built[p] = true;
          pipelines.push_back(p);
        }
      if (hasUpload(c) && !uploaded[i]) {
        uploaded[i] = true;
        uploads.push_back(i);
      }
    }
    size_t batch = std::max(1u, coprocessor.batch);
    for (size_t p = 0; p < pipelines.size(); p += batch)
      wanted.push_back(
          {Stage::Pipeline,
           {pipelines.begin() + p,
            pipelines.begin() + std::min(p + batch, pipelines.size())}});
    for (uint32_t i : uploads)
      wanted.push_back({Stage::Upload, {i}});
  };
  for (size_t s = 0; s < stretches.size(); ++s)
    wantStretch(stretches[backwards ? stretches.size() - 1 - s : s]);

  HostLanes lanes;
  if (stretches.empty() || (wanted.empty() && hasDevice))
    return lanes;
  lanes.resize(std::clamp<size_t>(wanted.size(), 1, std::max(1u, threads)));
  if (!hasDevice)
    lanes[0].push_back({});
  // Each to the lane that is free first; all lanes wait for the device.
  std::vector<double> load(lanes.size(), 0);
  Core core = hostCore(problem.device, false);
  for (const StretchPreparation &preparation : wanted) {
    Job job = jobOf(problem, choice, preparation, core, cached);
    size_t least = std::min_element(load.begin(), load.end()) - load.begin();
    load[least] +=
        job.latency + job.bytes / problem.device.readBandwidth + job.work;
    lanes[least].push_back(preparation);
  }
  return lanes;
}

} // namespace nnv12::search
