//===- Team.cpp - The threads of a session --------------------------------===//
#include "runtime/Team.h"

#include "artifact/ProgramView.h"
#include "runtime/FloatMode.h"

#include <cassert>

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
/// Tests delay a thread here; see test/unit/runtime/FailedPlanTest.cpp.
void (*betweenLooks)() = nullptr;
#define BETWEEN_LOOKS() (betweenLooks ? betweenLooks() : (void)0)
/// Told whether a worker spins behind a run; see TeamTest.cpp.
void (*behindRun)(bool spins) = nullptr;
#define BEHIND_RUN(SPINS) (behindRun ? behindRun(SPINS) : (void)0)
#else
#define BETWEEN_LOOKS() (void)0
#define BEHIND_RUN(SPINS) (void)0
#endif

bool Team::start(const bundle::Program *program, Size size, bool pin,
                 Workers &workers, Lanes &lanes, Events &events,
                 FirstTouch &firstTouch, Recorder &recorder,
                 artifact::Fault &fault) {
  assert(size.computing >= 1 && size.computing <= maxThreads);
  workers_ = &workers;
  lanes_ = &lanes;
  events_ = &events;
  firstTouch_ = &firstTouch;
  recorder_ = &recorder;
  uint32_t count = size.preparing + size.computing - 1;
  if (count == 0)
    return true;
  if (!members_.allocate(count))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for threads");
  choosePlaces(program, size, pin);
  auto start = [&](ThreadStarter &starter, uint32_t i) {
    Member &member = members_[i];
    member.team = this;
    member.number = i + 1;
    member.worker = i < size.preparing ? 0 : i - size.preparing + 1;
    member.role = member.worker    ? Lanes::Role::Compute
                  : size.onlyReads ? Lanes::Role::Read
                                   : Lanes::Role::Prepare;
    member.mayBeHere = member.awaitsRuns = true;
    member.startTime = recorder_->startTime();
    member.isStarted =
        starter.start(member.thread, threadMain, &member, member.place) == 0;
    return member.isStarted;
  };
  if (size.preparing) {
    // Storage idles until a lane that has got its bytes asks for the next ones.
    ThreadStarter starter(ThreadStarter::Slices::Short);
    while (numPreparing_ < size.preparing && start(starter, numPreparing_))
      ++numPreparing_;
  }
  ThreadStarter starter;
  uint32_t computing = 1;
  while (computing < size.computing &&
         start(starter, size.preparing + computing - 1))
    ++computing;
  workers_->setThreads(computing);
  lanes_->setThreads(numPreparing_,
                     /*areAll=*/numPreparing_ + computing - 1 == count);
  return true;
}

/// Slow CPUs are for lanes that are meant for them. A thread that only reads
/// shares those of the others.
void Team::choosePlaces(const bundle::Program *program, Size size, bool pin) {
  Cpus cpus;
  cpus.find();
  allowed_ = cpus.allowed();
  uint32_t count = static_cast<uint32_t>(members_.size()),
           lanesEnd = artifact::numLanes(program);
  auto isSlow = [&](uint32_t i) {
    return cpus.differ() && i < size.preparing && i + 1 < lanesEnd &&
           program->lanes()->Get(i + 1)->core() == bundle::CoreKind_Little;
  };
  auto shares = [&](uint32_t i) {
    return size.onlyReads && i < size.preparing;
  };
  uint32_t numSlow = 0, numFast = 0, slow = 0, fast = 0;
  for (uint32_t i = 0; i < count; ++i)
    isSlow(i) ? ++numSlow : numFast += !shares(i);
  for (uint32_t i = 0; i < count; ++i) {
    Member &member = members_[i];
    Cpus::Kind kind = isSlow(i) ? Cpus::Slow : Cpus::Fast;
    member.cpu = -1;
    if (pin) {
      // The caller is said to have the first fast one.
      member.cpu = cpus.at(kind, isSlow(i) ? slow++ : 1 + fast++);
      if (member.cpu >= 0)
        member.place.add(member.cpu);
    } else if (isSlow(i)) {
      member.place = cpus.part(kind, slow++, numSlow);
    } else {
      member.place =
          shares(i) ? cpus.part(kind, 0, 1) : cpus.part(kind, fast++, numFast);
    }
  }
}

void Team::end() {
  stop_.store(true);
  if (events_)
    events_->wakeAll();
  for (Member &member : members_)
    if (member.isStarted)
      pthread_join(member.thread, nullptr);
  members_.reset();
}

void *Team::threadMain(void *argument) {
  auto *member = static_cast<Member *>(argument);
#ifndef __GLIBC__
  member->place.apply();
#endif
  Record record = {};
  record.start = member->startTime;
  record.kind = RecordKind::ThreadStart;
  record.thread = record.lane = static_cast<uint8_t>(member->number);
  member->team->recorder_->end(record);
  member->team->recorder_->attach(member->number);
  FloatMode mode;
  member->team->work(*member);
  return nullptr;
}

/// Threads that only prepare end when there is nothing left for them: no pieces
/// that nobody has begun, and no memory that nobody has touched.
///
/// A thread may wait for the caller's next run, however long that takes.
/// Meanwhile nobody waits for the thread but ~Team, which ends the wait.
void Team::work(Member &member) {
  bool computes = member.role == Lanes::Role::Compute, isIdle = false;
  bool touches = computes || lanes_->hasLane(member.number);
  uint32_t seenOperation = 0;
  auto help = Lanes::Help::Nothing;
  // The first layers want it, and the storage has not answered yet.
  if (!computes && touches)
    firstTouch_->touchNext();
  for (;;) {
    // First the count, then all that an event may tell of: the end as well.
    // An event in between makes the wait below return at once.
    uint32_t seen = events_->seen();
    BETWEEN_LOOKS();
    if (stop_.load(std::memory_order_relaxed))
      return;
    if (!member.isFree && member.cpu < 0 &&
        !isPlaced_.load(std::memory_order_relaxed)) {
      allowed_.apply();
      member.isFree = true;
    }
    if (computes && workers_->help(member.worker, seenOperation)) {
      isIdle = false;
      continue;
    }
    if (help != Lanes::Help::Over)
      help = lanes_->help(member.number, member.role, isIdle);
    if (help == Lanes::Help::Did || (touches && firstTouch_->touchNext()))
      continue;
    if (help == Lanes::Help::Over && !computes)
      return;
    if (help == Lanes::Help::Over && !workers_->isRunning()) {
      waitForRun(member, seen);
      continue;
    }
    uint32_t kinds = 0;
    if (computes)
      kinds |= Events::Operation;
    if (help != Lanes::Help::Over)
      kinds |= Events::Preparation;
    if (spin(member, seen))
      continue;
    // Only now is there time to prepare for later runs.
    if (computes && !isIdle && help != Lanes::Help::Over)
      isIdle = true;
    else
      sleep(member, seen, kinds);
  }
}

/// Looks for a while, and not beyond the end of a run; whether there may be
/// something to do.
bool Team::spin(const Member &member, uint32_t seen) const {
  if (!member.mayBeHere)
    return events_->seen() != seen;
  bool isRunning = workers_->isRunning();
  return spinUntil([&] {
    return events_->seen() != seen || workers_->isRunning() != isRunning;
  });
}

void Team::sleep(Member &member, uint32_t seen, uint32_t kinds) {
  events_->sleep(seen, kinds);
  if (member.worker && member.isFree)
    member.mayBeHere = workers_->wakesUp(member.worker, member.cpus);
}

/// There is nothing to prepare, and no run.
void Team::waitForRun(Member &member, uint32_t seen) {
  uint64_t start = now();
  bool spins = member.awaitsRuns && member.mayBeHere;
  BEHIND_RUN(spins);
  if (spins && events_->spin(seen))
    return;
  sleep(member, seen, Events::Operation);
  // Not the time of waking up, which may take longer than the pause.
  member.awaitsRuns = workers_->runStart() < start + spinNanoseconds;
}

} // namespace nnv12::runtime
