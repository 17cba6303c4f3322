//===- ProfilePage.cpp - A profile as a web page --------------------------===//
#include "tools/nnv12-prof/Profile.h"

#include "tools/page/PlanPage.h"

#include <algorithm>
#include <cmath>

namespace nnv12::prof {

/// Which of a plan's operations a record is about; UINT32_MAX: none.
static uint32_t placeOf(const Bundle &bundle, const tools::Plan &plan,
                        const nnv12_record &record) {
  uint64_t executes = bundle.info().num_operations, number = record.index,
           end = executes;
  if (tools::isPreparation(record)) {
    number += executes;
    end = plan.places.size();
  }
  return number < end ? plan.places[number] : UINT32_MAX;
}

/// When and where the record was made.
static tools::TraceEvent eventAt(const nnv12_record &record, uint64_t start) {
  tools::TraceEvent event;
  event.lane = tools::lineOf(record);
  // A GPU's preparations in a foreign file may be before all else.
  event.start = double(static_cast<int64_t>(record.start_ns - start)) * 1e-3;
  event.duration = double(record.duration_ns) * 1e-3;
  return event;
}

/// The events of a run: operations on the execute lane, tiles on other threads,
/// preparations.
static std::vector<tools::TraceEvent> eventsOf(const Bundle &bundle,
                                               const tools::Recorded &recorded,
                                               const tools::Plan &plan,
                                               uint32_t run, uint64_t start) {
  std::vector<tools::TraceEvent> events;
  for (const nnv12_record &record : recorded.records) {
    bool isExecute = record.kind == NNV12_RECORD_EXECUTE ||
                     record.kind == NNV12_RECORD_GPU_KERNEL ||
                     (record.kind == NNV12_RECORD_TILES && record.thread != 0);
    bool isPreparation = tools::isPreparation(record);
    if (record.run != run || (!isExecute && !isPreparation) ||
        tools::isSkipped(record))
      continue;
    tools::TraceEvent event = eventAt(record, start);
    event.layer = tools::nameOf(bundle, record);
    event.stage = isExecute ? "execute" : tools::kindName(record);
    event.stolen = (record.flags & NNV12_RECORD_STOLEN) != 0;
    event.index = record.index;
    event.planned = placeOf(bundle, plan, record);
    events.push_back(std::move(event));
  }
  return events;
}

/// When the first thing was done of a run, GPU aside.
static uint64_t startOf(const tools::Recorded &recorded, uint32_t run) {
  uint64_t start = UINT64_MAX;
  for (const nnv12_record &record : recorded.records)
    if (record.run == run && record.kind != NNV12_RECORD_COUNTER &&
        !tools::isGpuPreparation(record))
      start = std::min(start, record.start_ns);
  return start;
}

/// The first run, from the session's beginning on, and all that was done for a
/// GPU, be it in later runs.
static std::vector<tools::TraceEvent>
coldEvents(const Bundle &bundle, const tools::Recorded &recorded,
           const tools::Plan &plan, const GpuPreparing &gpu) {
  uint64_t start = std::min(startOf(recorded, 0), recorded.info.start_ns);
  std::vector<tools::TraceEvent> events =
      eventsOf(bundle, recorded, plan, 0, start);
  for (const nnv12_record &record : recorded.records) {
    size_t place = tools::isGpuPreparation(record) ? gpu.placeOf(record.index)
                                                   : gpu.all.size();
    if (place == gpu.all.size())
      continue;
    const GpuPreparation &planned = gpu.all[place];
    tools::TraceEvent event = eventAt(record, start);
    event.layer = planned.what;
    event.stage = tools::stageName(planned.stage);
    event.id = planned.id;
    events.push_back(std::move(event));
  }
  return events;
}

/// The warm run that took as long as half of them.
static const Run *typicalRun(const Profile &profile) {
  const Run *typical = nullptr;
  auto distance = [&](const Run &run) {
    return std::abs(run.time - profile.time.median);
  };
  for (const Run &run : profile.runs)
    if (!typical || distance(run) < distance(*typical))
      typical = &run;
  return typical;
}

/// A page with the plan.
static tools::PlanPage planPage(const std::string &path,
                                const StoredProgram &stored,
                                const Bundle &bundle, const tools::Plan &plan) {
  tools::PlanPage page = {path,
                          bundle.info().file_size,
                          bundle.info().model,
                          stored.overlays,
                          stored.program,
                          plan};
  if (const char *precision = bundle.property("nnv12.precision"))
    page.precision = precision;
  return page;
}

std::string videoPage(const std::string &path, const StoredProgram &stored,
                      const Bundle &bundle, const VideoProfile &profile) {
  tools::Plan plan(stored.target, stored.program);
  tools::PlanPage page = planPage(path, stored, bundle, plan);
  page.profile = videoJson(path, bundle, profile);
  return tools::makePage(page);
}

std::string profilePage(const std::string &path, const StoredProgram &stored,
                        const Bundle &bundle, const tools::Recorded &recorded,
                        const Profile &profile) {
  tools::Plan plan(stored.target, stored.program);
  tools::PlanPage page = planPage(path, stored, bundle, plan);
  page.profile = profileJson(path, bundle, profile);
  for (uint32_t i = 0, count = tools::numLines(recorded); i < count; ++i)
    page.lines.push_back(tools::lineName(recorded.info, i));
  if (profile.cold.isKnown) {
    page.tracePath = "first run";
    page.trace = coldEvents(bundle, recorded, plan, profile.gpu);
  }
  if (const Run *run = typicalRun(profile))
    page.warmRun = eventsOf(bundle, recorded, plan, run->number,
                            startOf(recorded, run->number));
  return tools::makePage(page);
}

} // namespace nnv12::prof
