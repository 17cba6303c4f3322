//===- Lanes.cpp - Threads that follow the plan ---------------------------===//
#include "runtime/Lanes.h"

#include "artifact/ProgramView.h"
#include "runtime/Cpus.h"
#include "runtime/FloatMode.h"

#include <algorithm>
#include <sys/resource.h>

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
/// Tests delay a lane's thread here; see test/unit/runtime/FailedPlanTest.cpp.
void (*betweenLooks)() = nullptr;
#define BETWEEN_LOOKS() (betweenLooks ? betweenLooks() : (void)0)
#else
#define BETWEEN_LOOKS() (void)0
#endif

/// Of threads that prepare for later runs while others compute: a nice value of
/// 10 has a tenth of the weight of 0.
static constexpr int backgroundNiceness = 10;

static bool hasBackground(const bundle::Program *program) {
  for (const bundle::Lane *lane : *program->lanes())
    if (lane->background() && lane->background()->size())
      return true;
  return false;
}

uint32_t Lanes::numThreads(const bundle::Program *program,
                           const Options &options) {
  uint32_t lanes = artifact::numLanes(program);
  // On a single CPU another thread only takes turns with the caller.
  if (lanes < 2 || options.threads == 0 || availableCpus() == 1)
    return 0;
  // In the first run lanes mostly wait for the storage. One thread more
  // prepares what switches need meanwhile, while CPUs are idle.
  bool oneMore = options.continuous && options.steal && hasBackground(program);
  return std::min(lanes - 1 + oneMore, options.threads);
}

bool Lanes::create(const nnv12_bundle &bundle, const Options &options,
                   Memory memory, uint8_t *scratch, size_t stride,
                   FirstTouch &touched, const Trace &events,
                   artifact::Fault &fault) {
  const bundle::Program *program = bundle.chosenProgram();
  trace = &events;
  firstTouch = &touched;
  numMembers = 1 + numThreads(program, options);
  steal = options.steal || artifact::numLanes(program) > numMembers;
  Array<bool> skipped;
  return collect(program, options.continuous, skipped, fault) &&
         items.create(bundle, memory, skipped, fault) &&
         (!items.usesZstd() || Zstd::load(fault)) &&
         makeMembers(program, options, scratch, stride, fault);
}

/// Fills the queues, and marks what is in none of them as skipped.
bool Lanes::collect(const bundle::Program *program, bool continuous,
                    Array<bool> &skipped, artifact::Fault &fault) {
  uint32_t executes = artifact::numExecutes(program);
  uint32_t count = program->operations()->size() - executes;
  uint32_t lanes = artifact::numLanes(program);
  if (!entryTable.allocate(count) || !laneOf.allocate(count) ||
      !skipped.allocate(count) || !queues.allocate(lanes) ||
      !backgrounds.allocate(lanes))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for the lanes");
  uint32_t *entry = entryTable.data();
  for (bool &skip : skipped)
    skip = true;
  auto add = [&](uint32_t lane, Queue &queue, uint32_t operation) {
    if (operation < executes)
      return;
    uint32_t index = operation - executes;
    laneOf[index] = lane;
    skipped[index] = false;
    *entry++ = index;
    ++queue.count;
    ++wanted;
  };
  for (uint32_t i = 0; i < lanes; ++i) {
    const bundle::Lane *lane = program->lanes()->Get(i);
    queues[i].entries = entry;
    for (uint32_t operation : *lane->queue())
      add(i, queues[i], operation);
    backgrounds[i].entries = entry;
    if (continuous && lane->background())
      for (uint32_t operation : *lane->background())
        add(i, backgrounds[i], operation);
  }
  return true;
}

bool Lanes::makeMembers(const bundle::Program *program, const Options &options,
                        uint8_t *scratch, size_t stride,
                        artifact::Fault &fault) {
  members = static_cast<Thread *>(malloc(numMembers * sizeof(Thread)));
  if (!members) {
    numMembers = 0;
    return fault.set(artifact::Fault::OutOfMemory, "no memory for the lanes");
  }
  for (uint32_t i = 0; i < numMembers; ++i)
    ::new (&members[i]) Thread();
  if (options.pin)
    chooseCpus(program, options.computing);
  for (uint32_t i = 0; i < numMembers; ++i) {
    members[i].lanes = this;
    members[i].preparer.thread = i;
    members[i].preparer.scratch = scratch + i * stride;
    if (items.usesZstd() &&
        !members[i].preparer.decoder.create(items.largestSplit(), fault))
      return false;
  }
  return true;
}

/// Slow CPUs for lanes that are meant for them, in order; CPUs behind those of
/// the threads that compute for others.
void Lanes::chooseCpus(const bundle::Program *program, uint32_t computing) {
  Cpus cpus;
  cpus.find();
  uint32_t numSlow = 0, numOthers = computing;
  for (uint32_t i = 1; i < numMembers && i < program->lanes()->size(); ++i) {
    bundle::CoreKind core = program->lanes()->Get(i)->core();
    if (core == bundle::CoreKind_Little)
      members[i].cpu = cpus.at(Cpus::Slow, numSlow++);
    else
      members[i].cpu = cpus.at(
          core == bundle::CoreKind_Big ? Cpus::Fast : Cpus::Any, numOthers++);
  }
}

void Lanes::start() {
  if (numMembers < 2)
    return;
  // Storage idles until a lane that has got its bytes asks for the next ones.
  ThreadStarter starter(ThreadStarter::Slices::Short);
  allowed = starter.callersCpus();
  for (uint32_t i = 1; i < numMembers; ++i) {
    members[i].startTime = trace->time();
    if (starter.start(members[i].handle, threadMain, &members[i]) != 0) {
      steal = true;
      break;
    }
    ++started;
  }
}

Lanes::~Lanes() {
  stop.store(true, std::memory_order_relaxed);
  items.finishes().happen();
  for (uint32_t i = 1; i <= started; ++i)
    pthread_join(members[i].handle, nullptr);
  // None where create() failed before it made them.
  for (uint32_t i = 0; members && i < numMembers; ++i)
    members[i].~Thread();
  free(members);
}

void *Lanes::threadMain(void *argument) {
  auto *thread = static_cast<Thread *>(argument);
  Lanes &lanes = *thread->lanes;
  pinTo(thread->cpu);
  lanes.trace->add({thread->startTime, 0, 0, NNV12_THREAD_START,
                    thread->preparer.thread, thread->preparer.thread, 0});
  FloatMode mode;
  lanes.work(thread->preparer);
  thread->preparer.decoder.release();
  return nullptr;
}

/// Until there are no pieces left that nobody has begun, and no memory that
/// nobody has touched; or until a preparation has failed, for then no result is
/// wanted. A thread without a lane has no part in the first run.
///
/// It may wait for what the caller does in a run, for as long as there is none:
/// nobody waits for this thread then but ~Lanes, which ends the wait.
void Lanes::work(Preparer &preparer) {
  bool hasLane = preparer.thread < queues.size(), inBackground = false;
  // The first layers want it, and the storage has not answered yet.
  if (hasLane)
    firstTouch->touchNext();
  for (;;) {
    // First the count, then all that an event may tell of: the end as well.
    // What happens in between makes the wait below return at once.
    uint32_t seen = items.finishes().seen();
    BETWEEN_LOOKS();
    if (isOver())
      break;
    uint32_t index = hasLane ? findReady(queues, preparer.thread) : none;
    if (index == none && (!hasLane || isEmpty(queues, preparer.thread))) {
      index = findReady(backgrounds, preparer.thread);
      if (index == none && isEmpty(backgrounds, preparer.thread))
        break;
      if (!inBackground) {
        // Of this thread, and never more than the application's own.
        if (getpriority(PRIO_PROCESS, 0) < backgroundNiceness)
          setpriority(PRIO_PROCESS, 0, backgroundNiceness);
        if (members[preparer.thread].cpu < 0)
          allowed.apply();
      }
      inBackground = true;
    }
    if (index != none)
      workOn(index, preparer, ~0u);
    else if (!hasLane || !firstTouch->touchNext())
      items.finishes().wait(seen);
  }
  while (hasLane && !isOver() && firstTouch->touchNext())
    continue;
}

/// The first entry that can be worked on, or `none`; without `reads` it is none
/// of those.
uint32_t Lanes::findReady(Queue &queue, bool reads) {
  uint32_t head = queue.head.load(std::memory_order_relaxed);
  while (head < queue.count && !items.hasPieces(queue.entries[head]))
    ++head;
  // Whoever stores last may put it back a little: the next one moves it on.
  queue.head.store(head, std::memory_order_relaxed);
  for (uint32_t i = head; i < queue.count; ++i)
    if (items.hasPieces(queue.entries[i]) && items.isReady(queue.entries[i]) &&
        (reads || items.stageOf(queue.entries[i]) != NNV12_READ))
      return queue.entries[i];
  return none;
}

/// The same, beginning with lane `own` and stealing from the others then.
uint32_t Lanes::findReady(Array<Queue> &lanes, uint32_t own, bool reads) {
  size_t count = mayHelp() ? lanes.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t index = findReady(lanes[(own + i) % lanes.size()], reads);
    if (index != none)
      return index;
  }
  return none;
}

/// Whether all pieces are begun.
bool Lanes::isEmpty(const Queue &queue) const {
  for (uint32_t i = queue.head.load(std::memory_order_relaxed); i < queue.count;
       ++i)
    if (items.hasPieces(queue.entries[i]))
      return false;
  return true;
}

/// The same of all that lane `own` may take from.
bool Lanes::isEmpty(const Array<Queue> &lanes, uint32_t own) const {
  if (!mayHelp())
    return isEmpty(lanes[own]);
  for (const Queue &queue : lanes)
    if (!isEmpty(queue))
      return false;
  return true;
}

/// A preparation that can be worked on and that `after` waits for, by way of
/// others maybe; `none` where others have begun all that there is.
uint32_t Lanes::findNeeded(const After *after) const {
  for (uint32_t i = 0; i < after->size(); ++i) {
    if (!items.isPreparation(after->Get(i)))
      continue;
    uint32_t index = items.indexOf(after->Get(i));
    while (index != none && !items.isDone(index)) {
      if (items.hasPieces(index) && items.isReady(index))
        return index;
      const After *before = items.afterOf(index);
      index = none;
      for (uint32_t k = 0; before && k < before->size(); ++k)
        if (!items.isDone(items.indexOf(before->Get(k))))
          index = items.indexOf(before->Get(k));
    }
  }
  return none;
}

void Lanes::workOn(uint32_t index, Preparer &preparer, uint32_t most) {
  uint64_t start = trace->time();
  uint32_t pieces = 0;
  while (pieces < most && !isOver() && items.workOnPiece(index, preparer))
    ++pieces;
  if (pieces)
    record(index, preparer.thread, start);
}

void Lanes::record(uint32_t index, uint32_t thread, uint64_t start) const {
  if (*trace)
    trace->add({start, 0, index, items.stageOf(index), thread, laneOf[index],
                thread != laneOf[index]});
}

/// On a plan that has failed this does nothing, and the next waitFor() says so.
void Lanes::prepare(uint32_t index, Workers &workers) {
  if (!items.hasPieces(index) || !waitFor(items.afterOf(index), workers))
    return;
  uint64_t start = trace->time();
  if (items.workOnRest(index, members[0].preparer, workers))
    record(index, 0, start);
}

/// Each wait is for one event, and is bounded:
///   - what is not done and has pieces that nobody has begun is done here, or,
///     without stealing, by the thread of its lane, which works as long as its
///     queue has something ready (start() turns stealing on where such a thread
///     is missing);
///   - that there is always something ready is proven before the plan is used
///     (artifact/PlanVerifier.cpp: verifyNoDeadlock, verifyBackground);
///   - what others have begun ends with an event, after one piece a thread at
///     most: Preparations::finish() tells of success and of failure;
///   - a failed preparation is never done, so what waits for it never gets
///     ready. This is looked at after each event, before the next wait.
bool Lanes::waitFor(const After *after, Workers &workers) {
  for (;;) {
    uint32_t seen = items.finishes().seen();
    if (items.hasFailed())
      return false;
    if (items.areDone(after))
      return true;
    uint64_t start = trace->time();
    uint32_t index = mayHelp() ? findNeeded(after) : none;
    if (index != none) {
      if (items.workOnRest(index, members[0].preparer, workers))
        record(index, 0, start);
    } else if (mayHelp() &&
               (index = findReady(queues, 0, /*reads=*/false)) != none) {
      // A piece at a time: what it waits for may be done any moment. No reads,
      // which would wait for the storage like those that others are at.
      workOn(index, members[0].preparer, 1);
    } else {
      items.finishes().wait(seen);
    }
  }
}

void Lanes::prepareInBackground(uint64_t nanoseconds) {
  uint64_t deadline = now() + nanoseconds;
  do {
    uint32_t index = findReady(queues, 0);
    if (index == none)
      index = findReady(backgrounds, 0);
    if (index == none)
      break;
    workOn(index, members[0].preparer, 1);
  } while (now() < deadline);
  if (items.numDone() == wanted)
    members[0].preparer.decoder.release();
}

} // namespace nnv12::runtime
