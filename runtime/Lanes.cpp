//===- Lanes.cpp - Preparations in the order of the plan ------------------===//
#include "runtime/Lanes.h"

#include "artifact/ProgramView.h"
#include "runtime/FloatMode.h"
#include "runtime/system/Cpus.h"

#include <algorithm>
#include <sys/resource.h>

namespace nnv12::runtime {

/// The nice value of threads that prepare for later runs while others compute:
/// 10 has a tenth of the weight of 0.
static constexpr int backgroundNiceness = 10;

static bool hasBackground(const bundle::Program *program) {
  for (const bundle::Lane *lane : *program->lanes())
    if (artifact::elementsOf(lane->background()).size())
      return true;
  return false;
}

uint32_t Lanes::wantedThreads(const bundle::Program *program, bool continuous,
                              bool steal) {
  uint32_t lanes = artifact::numLanes(program);
  if (lanes < 2)
    return 0;
  // In the first run lanes mostly wait for the storage. One thread more
  // prepares for switches meanwhile, while CPUs are idle.
  return lanes - 1 +
         (continuous && steal && !program->later_waits() &&
          hasBackground(program));
}

bool Lanes::create(Preparations &items, const LaneList *lanes,
                   const Options &options, uint8_t *scratch, size_t stride,
                   Events &events, Recorder &recorder, artifact::Fault &fault) {
  items_ = &items;
  recorder_ = &recorder;
  events_ = &events;
  preparing_.store(options.preparing, std::memory_order_relaxed);
  uint32_t threads = 1 + options.preparing + options.helping;
  onlyReads_ = options.onlyReads;
  later_.store(options.later, std::memory_order_relaxed);
  // A lane without a thread, or whose thread only reads, needs others.
  steal_ = options.steal || onlyReads_ || lanes->size() > threads;
  return collect(lanes, options, fault) &&
         (!options.decodes || loadZstd(fault)) &&
         makePreparers(threads, options, scratch, stride, fault);
}

/// Fills the queues. Preparations that are in none of them are unwanted.
bool Lanes::collect(const LaneList *lanes, const Options &options,
                    artifact::Fault &fault) {
  size_t count = items_->size();
  if (!entryTable_.allocate(count) || !laneOf_.allocate(count) ||
      !wishes_.allocate(count) || !queues_.allocate(lanes->size()) ||
      !backgrounds_.allocate(lanes->size()))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for the lanes");
  uint32_t *entry = entryTable_.data();
  auto add = [&](uint32_t lane, Queue &queue, const After *operations,
                 Wish wish) {
    queue.entries = entry;
    for (uint32_t operation : artifact::elementsOf(operations)) {
      if (!items_->isPreparation(operation))
        continue;
      uint32_t index = items_->indexOf(operation);
      laneOf_[index] = lane;
      wishes_[index].store(wish, std::memory_order_relaxed);
      *entry++ = index;
      ++queue.count;
    }
  };
  for (uint32_t i = 0; i < lanes->size(); ++i) {
    const bundle::Lane *lane = lanes->Get(i);
    add(i, queues_[i], lane->queue(), Wish::Wanted);
    add(i, backgrounds_[i], options.continuous ? lane->background() : nullptr,
        options.holdsLater ? Wish::Held : Wish::Wanted);
  }
  return true;
}

bool Lanes::makePreparers(uint32_t count, const Options &options,
                          uint8_t *scratch, size_t stride,
                          artifact::Fault &fault) {
  preparers_ = static_cast<Preparer *>(malloc(count * sizeof(Preparer)));
  if (!preparers_)
    return fault.set(artifact::Fault::OutOfMemory, "no memory for the lanes");
  for (; numPreparers_ < count; ++numPreparers_) {
    Preparer *preparer = ::new (&preparers_[numPreparers_]) Preparer();
    preparer->thread = numPreparers_;
    preparer->scratch = scratch + numPreparers_ * stride;
  }
  for (uint32_t i = 0; options.decodes && i < count; ++i)
    if (!preparers_[i].decoder.create(options.largestSplit, fault))
      return false;
  return true;
}

uint32_t Lanes::numWanted() const {
  uint32_t result = 0;
  for (uint32_t i = 0; i < wishes_.size(); ++i)
    result += wishOf(i) == Wish::Wanted;
  return result;
}

uint32_t Lanes::numDone() const {
  uint32_t result = 0;
  for (uint32_t i = 0; i < wishes_.size(); ++i)
    result += wishOf(i) == Wish::Wanted && items_->isDone(i);
  return result;
}

bool Lanes::areAllDone() {
  while (doneBefore_ < wishes_.size() &&
         (wishOf(doneBefore_) != Wish::Wanted || items_->isDone(doneBefore_)))
    ++doneBefore_;
  return doneBefore_ == wishes_.size();
}

bool Lanes::areAllOver() const {
  for (uint32_t i = 0; i < wishes_.size(); ++i)
    if (wishOf(i) == Wish::Wanted && items_->endOf(i) == Progress::End::Open)
      return false;
  return true;
}

uint32_t Lanes::findFailed() const {
  if (!items_ || items_->numFailed() == 0)
    return none;
  uint32_t known = failed_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; known == none && i < wishes_.size(); ++i)
    if (wishOf(i) == Wish::Wanted &&
        items_->endOf(i) == Progress::End::Failed &&
        failed_.compare_exchange_strong(known, i, std::memory_order_relaxed))
      return i;
  return known;
}

void Lanes::beginLater() {
  later_.store(true, std::memory_order_relaxed);
  if (numWanted())
    events_->happen(Events::Preparation);
}

void Lanes::setThreads(uint32_t numPreparing, bool areAll) {
  if (!areAll)
    steal_.store(true, std::memory_order_relaxed);
  preparing_.store(numPreparing, std::memory_order_relaxed);
}

bool Lanes::areHeld(const After *after) const {
  for (uint32_t i = 0; after && i < after->size(); ++i)
    if (items_->isPreparation(after->Get(i)) &&
        wishOf(items_->indexOf(after->Get(i))) == Wish::Held)
      return true;
  return false;
}

void Lanes::release(const After *after) {
  for (uint32_t i = 0; after && i < after->size(); ++i) {
    // Behind the program's are those of its overlay.
    if (!items_->isPreparation(after->Get(i)))
      continue;
    uint32_t index = items_->indexOf(after->Get(i));
    // It waits only for preparations in queues (artifact/PlanVerifier.cpp:
    // verifyBackground), or in backgrounds.
    if (wishOf(index) == Wish::Held) {
      doneBefore_ = 0;
      wishes_[index].store(Wish::Wanted, std::memory_order_release);
      release(items_->afterOf(index));
    }
  }
}

Lanes::~Lanes() {
  for (uint32_t i = 0; i < numPreparers_; ++i)
    preparers_[i].~Preparer();
  free(preparers_);
}

/// The kinds of preparation that a thread with that role does. While a thread
/// waits for the storage, others leave reads to it: two of them disturb the
/// system's reading ahead.
Lanes::Kinds Lanes::kindsOf(Role role) const {
  if (role == Role::Read)
    return reads;
  bool leavesReads = role == Role::Compute && mayHelp() && numPreparing();
  return leavesReads ? ~reads : ~0u;
}

/// A thread that only prepares and has no lane has no part in the first run.
Lanes::Help Lanes::help(uint32_t number, Role role, bool idle) {
  if (!prepares(number) || hasFailed())
    return Help::Over;
  Preparer &preparer = preparers_[number];
  bool computes = role == Role::Compute;
  Kinds kinds = kindsOf(role);
  uint32_t own = number % static_cast<uint32_t>(queues_.size());
  if (hasLane(number) || (computes && mayHelp())) {
    uint32_t index =
        role == Role::Upload ? findReady(queues_, own, uploads) : none;
    if (index == none)
      index = findReady(queues_, own, kinds);
    if (index != none) {
      workOn(index, preparer, computes ? 1 : ~0u);
      return Help::Did;
    }
    if (!isEmpty(queues_, own, kinds))
      return Help::Nothing;
  }
  // To those that only prepare, where they may take it.
  bool leaves = computes && numPreparing() && !onlyReads_ && mayHelp();
  if (!leaves && !isEmpty(backgrounds_, own, kinds)) {
    uint32_t index = !isLater() || (computes && !idle)
                         ? none
                         : findReady(backgrounds_, own, kinds);
    if (index == none)
      return Help::Nothing;
    // Lowers the priority of this thread, but never below the application's
    // own.
    if (!computes && !preparer.inBackground &&
        getpriority(PRIO_PROCESS, 0) < backgroundNiceness)
      setpriority(PRIO_PROCESS, 0, backgroundNiceness);
    preparer.inBackground = true;
    workOn(index, preparer, computes ? 1 : ~0u);
    return Help::Did;
  }
  preparer.decoder.release();
  return Help::Over;
}

/// The first entry of the kinds that can be worked on, or `none`.
uint32_t Lanes::findReady(Queue &queue, Kinds kinds) {
  uint32_t head = queue.head.load(std::memory_order_relaxed);
  while (head < queue.count &&
         items_->endOf(queue.entries[head]) != Progress::End::Open)
    ++head;
  // The thread that stores last may put it back a little: the next one moves it
  // on.
  queue.head.store(head, std::memory_order_relaxed);
  for (uint32_t i = head; i < queue.count; ++i)
    if (isOf(queue.entries[i], kinds) && items_->hasPieces(queue.entries[i]) &&
        wishOf(queue.entries[i]) == Wish::Wanted &&
        items_->isReady(queue.entries[i]))
      return queue.entries[i];
  return none;
}

/// The same, beginning with lane `own` and stealing from the others then.
uint32_t Lanes::findReady(Array<Queue> &queues, uint32_t own, Kinds kinds) {
  size_t count = mayHelp() ? queues.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    uint32_t index = findReady(queues[(own + i) % queues.size()], kinds);
    if (index != none)
      return index;
  }
  return none;
}

/// Whether all pieces of the kinds are begun.
bool Lanes::isEmpty(const Queue &queue, Kinds kinds) const {
  for (uint32_t i = queue.head.load(std::memory_order_relaxed); i < queue.count;
       ++i)
    if (isOf(queue.entries[i], kinds) && items_->hasPieces(queue.entries[i]))
      return false;
  return true;
}

/// Whether all queues that lane `own` may take from are empty.
bool Lanes::isEmpty(const Array<Queue> &queues, uint32_t own,
                    Kinds kinds) const {
  if (!mayHelp())
    return isEmpty(queues[own], kinds);
  for (const Queue &queue : queues)
    if (!isEmpty(queue, kinds))
      return false;
  return true;
}

/// A preparation that `after` waits for, by way of others maybe, and whose turn
/// it is: one with pieces that nobody has begun, or one without such. `none`
/// where there is no such one.
uint32_t Lanes::findNeeded(const After *after, bool begun) const {
  for (uint32_t i = 0; i < after->size(); ++i) {
    if (!items_->isPreparation(after->Get(i)))
      continue;
    uint32_t index = items_->indexOf(after->Get(i));
    while (index != none && !items_->isDone(index)) {
      if (items_->hasPieces(index) != begun && items_->isReady(index))
        return index;
      const After *before = items_->afterOf(index);
      index = none;
      for (uint32_t k = 0; before && k < before->size(); ++k)
        if (!items_->isDone(items_->indexOf(before->Get(k))))
          index = items_->indexOf(before->Get(k));
    }
  }
  return none;
}

void Lanes::workOn(uint32_t index, Preparer &preparer, uint32_t most) {
  uint64_t start = recorder_->startTime();
  uint32_t pieces = 0;
  while (pieces < most && !hasFailed() && items_->workOnPiece(index, preparer))
    ++pieces;
  if (pieces)
    record(index, preparer.thread, start);
}

/// Records a preparation, or a part of one, that ends now.
void Lanes::record(uint32_t index, uint32_t thread, uint64_t start) {
  if (!start)
    return;
  Record record = {};
  record.start = start;
  record.index = index;
  record.kind = items_->kindOf(index);
  items_->write(record, thread, laneOf_[index], *recorder_);
}

/// The execute lane's, which ends now if there is one.
void Lanes::recordWait(uint32_t operation, uint64_t &since) {
  Record record = {};
  record.start = since;
  record.index = operation;
  record.kind = RecordKind::Wait;
  recorder_->end(record);
  since = 0;
}

/// On a plan that has failed this does nothing, and the next waitFor() says so.
void Lanes::prepare(uint32_t index, Workers &workers) {
  if (!items_->hasPieces(index) ||
      !waitFor(items_->operationOf(index), items_->afterOf(index), workers))
    return;
  uint64_t start = recorder_->startTime();
  if (items_->workOnRest(index, preparers_[0], workers))
    record(index, 0, start);
}

/// Each wait is for one event, and is bounded:
/// - This thread does a preparation that has pieces left. Without stealing, the
///   thread of its lane does, which works as long as its queue has something
///   ready (start() turns stealing on where such a thread is missing).
/// - The verifier has proven that there is always something ready
///   (artifact/PlanVerifier.cpp: verifyNoDeadlock, verifyBackground).
/// - Pieces that others have begun end with an event, after one piece a thread
///   at most: Preparations::finish() signals success and failure. This thread
///   also does pieces that take them too long.
/// - A failed preparation is never done, so preparations that wait for it never
///   get ready. The loop looks at this after each event, before the next wait.
bool Lanes::waitFor(uint32_t operation, const After *after, Workers &workers) {
  for (uint64_t idle = 0;;) {
    uint32_t seen = events_->seen();
    if (hasFailed())
      return false;
    bool isDone = items_->areDone(after);
    if (isDone || isOver(deadline_)) {
      recordWait(operation, idle);
      return isDone;
    }
    uint64_t start = recorder_->startTime();
    uint32_t index = mayHelp() ? findNeeded(after, /*begun=*/false) : none;
    if (index != none) {
      recordWait(operation, idle);
      if (items_->workOnRest(index, preparers_[0], workers))
        record(index, 0, start);
    } else if (mayHelp() && (index = findReady(queues_, 0, ~reads)) != none) {
      recordWait(operation, idle);
      // It does one piece at a time, since its weights may be ready any moment.
      // It does no reads, which would wait for the storage like those of other
      // threads.
      workOn(index, preparers_[0], 1);
    } else {
      if (!idle)
        idle = start;
      if (events_->spin(seen))
        continue;
      index = mayHelp() ? findNeeded(after, /*begun=*/true) : none;
      if (waitForOthers(index, seen))
        continue;
      recordWait(operation, idle);
      start = recorder_->startTime();
      items_->repeat(index, preparers_[0]);
      record(index, 0, start);
    }
  }
}

/// Until an event. False, at once or later, where others have had a piece of
/// `begun` for too long.
bool Lanes::waitForOthers(uint32_t begun, uint32_t seen) {
  uint64_t left = begun == none ? never : items_->patience(begun);
  if (left)
    events_->sleep(seen, Events::Preparation,
                   std::min(deadline_, left == never ? never : now() + left));
  return left != 0;
}

bool Lanes::prepareInBackground(uint64_t nanoseconds) {
  uint64_t deadline = now() + nanoseconds;
  bool did = false;
  do {
    uint32_t index = findReady(queues_, 0, ~0u);
    if (index == none)
      index = findReady(backgrounds_, 0, ~0u);
    if (index == none)
      break;
    workOn(index, preparers_[0], 1);
    did = true;
  } while (now() < deadline);
  if (areAllDone())
    preparers_[0].decoder.release();
  return did;
}

} // namespace nnv12::runtime
