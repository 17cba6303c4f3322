//===- ProfilePage.cpp - A profile as a web page --------------------------===//
#include "tools/nnv12-prof/Profile.h"

#include "artifact/MappedFile.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "tools/common/Report.h"
#include "tools/page/PlanPage.h"

#include <algorithm>
#include <cmath>

namespace nnv12::prof {

namespace {

/// Which of a plan's operations a record is about.
class Places {
public:
  explicit Places(const tools::Plan &plan) {
    for (size_t i = 0; i < plan.operations.size(); ++i) {
      const tools::PlannedOperation &operation = plan.operations[i];
      auto &places = operation.isPreparation ? preparations : executes;
      places.resize(std::max<size_t>(places.size(), operation.index + 1),
                    UINT32_MAX);
      places[operation.index] = uint32_t(i);
    }
  }

  uint32_t of(const nnv12_record &record) const {
    const auto &places = tools::isPreparation(record) ? preparations : executes;
    return record.index < places.size() ? places[record.index] : UINT32_MAX;
  }

private:
  std::vector<uint32_t> executes, preparations;
};

} // namespace

/// What was recorded of a run: operations on the execute lane, tiles on other
/// threads, preparations.
static std::vector<tools::TraceEvent> eventsOf(const Bundle &bundle,
                                               const tools::Recorded &recorded,
                                               const Places &places,
                                               uint32_t run) {
  std::vector<tools::TraceEvent> events;
  uint64_t start = UINT64_MAX;
  for (const nnv12_record &record : recorded.records)
    if (record.run == run && record.kind != NNV12_RECORD_COUNTER)
      start = std::min(start, record.start_ns);
  for (const nnv12_record &record : recorded.records) {
    bool isExecute = record.kind == NNV12_RECORD_EXECUTE ||
                     record.kind == NNV12_RECORD_GPU_KERNEL ||
                     (record.kind == NNV12_RECORD_TILES && record.thread != 0);
    bool isPreparation = tools::isPreparation(record);
    if (record.run != run || (!isExecute && !isPreparation))
      continue;
    tools::TraceEvent event;
    event.lane = record.thread;
    event.layer = tools::nameOf(bundle, record);
    event.stage = isExecute ? "execute" : tools::kindName(record);
    event.start = double(record.start_ns - start) * 1e-3;
    event.duration = double(record.duration_ns) * 1e-3;
    event.stolen = (record.flags & NNV12_RECORD_STOLEN) != 0;
    event.index = record.index;
    event.planned = places.of(record);
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

std::string profilePage(const std::string &path, const Bundle &bundle,
                        const tools::Recorded &recorded,
                        const Profile &profile) {
  // The runtime tells of a plan what is to be known of it while it runs; the
  // picture has more.
  artifact::Fault fault;
  artifact::MappedFile file;
  const bundle::Bundle *stored = nullptr;
  if (file.open(path.c_str(), fault))
    stored = artifact::verifyBundle(file.data(), file.size(), fault);
  if (!stored)
    tools::fail(path + ": " + fault.text);
  uint32_t number = bundle.info().program;
  if (number >= stored->programs()->size())
    tools::fail(path + ": the file has changed meanwhile");
  const bundle::Program *program = stored->programs()->Get(number);
  tools::Plan plan(program);
  Places places(plan);
  tools::PlanPage page = {path,
                          bundle.info().file_size,
                          bundle.info().model,
                          artifact::overlaysIn(stored, file.data()),
                          program,
                          plan,
                          /*tracePath=*/"",
                          {},
                          {},
                          profileJson(path, bundle, profile)};
  if (profile.cold.isKnown) {
    page.tracePath = "first run";
    page.trace = eventsOf(bundle, recorded, places, 0);
  }
  if (const Run *run = typicalRun(profile))
    page.warmRun = eventsOf(bundle, recorded, places, run->number);
  return tools::makePage(page);
}

} // namespace nnv12::prof
