//===- PlanVerifier.cpp - Checks the plan of a program --------------------===//
#include "artifact/PlanVerifier.h"

#include "artifact/Array.h"
#include "artifact/Limits.h"
#include "artifact/ProgramView.h"

#include <algorithm>
#include <cinttypes>

namespace nnv12::artifact {

namespace {

using After = flatbuffers::Vector<uint32_t>;

/// Bytes of Prepared that a preparation writes.
struct Write {
  uint64_t begin, end;
  uint32_t preparation; ///< its number among the operations
};

/// A reader of Prepared, as a message names it.
struct Name {
  const char *what; ///< "operation", "switch"
  uint32_t index;
};

/// Nodes of the dependency graph are operations by number: executes, then, from
/// `first` on, preparations, and from `firstGpu` on those of the GPU. Its lanes
/// count on behind the program's, too.
class PlanVerifier {
public:
  PlanVerifier(const bundle::Program *program, const bundle::ProgramGpu *gpu,
               unsigned number, Fault &fault)
      : program_(program), gpu_(gpu), number_(number), fault_(fault),
        first_(numExecutes(program)), firstGpu_(program->operations()->size()),
        numNodes_(firstGpu_ + (gpu ? gpu->preparations()->size() : 0)),
        numLanes_(artifact::numLanes(program)),
        numSwitches_(artifact::numSwitches(program)) {}

  bool verify() {
    if (numLanes_ == 0)
      return verifyNoPlan();
    return verifyCounts() && allocate() && verifyDependencies() &&
           verifyLanes() && verifyGpuLanes() && verifyPlaces() &&
           verifyNoCycle() && verifyBackground() && verifyNoDeadlock() &&
           collectWrites() && verifyPreparations() && verifyExecutes() &&
           verifySwitches();
  }

private:
  bool verifyNoPlan();
  bool verifyCounts();
  bool allocate();
  bool verifyDependencies();
  bool verifyAfter(Name name, const After *after, uint32_t executes,
                   uint32_t end);
  bool verifyLanes();
  bool verifyGpuLanes();
  bool verifyPlaces();
  bool verifyLane(uint32_t index);
  bool verifyEntry(uint32_t lane, uint32_t position, uint32_t node,
                   uint32_t &executes);
  bool place(uint32_t lane, uint32_t node, bool isBackground);
  bool verifyNoCycle();
  bool verifyNoDeadlock();
  uint32_t sort(uint32_t begin, bool withLanes);
  bool verifyBackground();
  bool collectWrites();
  bool arePartsOfOne(const Write &a, const Write &b) const;
  bool verifyPreparations();
  bool verifyReader(uint32_t index);
  bool verifyExecutes();
  bool verifySwitches();
  void markWaited(const After *after, uint32_t mark);
  bool verifyReads(Name name, const bundle::Operation *operation);
  void markBefore(uint32_t reader, uint32_t earliest);
  template <typename Visit>
  bool forEachWrite(uint64_t begin, uint64_t end, Visit visit);

  const bundle::Operation *operation(uint32_t node) const {
    return program_->operations()->Get(node);
  }
  const bundle::GpuPreparation *gpuPreparation(uint32_t node) const {
    return gpu_->preparations()->Get(node - firstGpu_);
  }
  const After *afterOf(uint32_t node) const {
    return node < firstGpu_ ? operation(node)->after()
                            : gpuPreparation(node)->after();
  }

  bool isPrepared(const bundle::Operand *operand) const {
    return isIn(program_, operand, bundle::MemoryKind_Prepared);
  }

  static constexpr uint32_t none = ~0u;
  /// Steps of the searches below, for each operation, dependency and
  /// write: sensible plans take a few, and a plan made to keep us busy is
  /// given up after a time in proportion to its size.
  static constexpr uint64_t stepsPerPart = 256;
  static constexpr uint64_t leastSteps = 1 << 16;

  const bundle::Program *program_;
  const bundle::ProgramGpu *gpu_; ///< or null
  unsigned number_;
  Fault &fault_;
  uint32_t first_, firstGpu_, numNodes_, numLanes_, numSwitches_;
  uint64_t steps_ = 0, maxSteps_ = 0;

  // By node; preparations alone where it says so.
  Array<uint32_t> laneOf_;   ///< of a preparation; `none` before it is placed
  Array<bool> background_;   ///< of a preparation
  Array<uint32_t> next_;     ///< the next one in its lane, or `none`
  Array<uint32_t> pending_;  ///< the nodes it still waits for, in sort()
  Array<uint32_t> position_; ///< of a preparation, in an order by dependencies
  Array<uint32_t> stack_;    ///< of nodes
  Array<uint32_t> waited_;   ///< of a preparation: marks, see markWaited()
  Array<uint32_t> marked_;   ///< of a preparation: see markBefore(); reader + 1
  Array<uint32_t> firstUser_; ///< where in `users` those of a node begin
  Array<uint32_t> users_;     ///< nodes that wait for it
  Array<Write> writes_;       ///< by begin
  Array<uint64_t> furthest_;  ///< the largest end of writes up to this one
};

} // namespace

static uint32_t size(const After *after) { return after ? after->size() : 0; }

bool PlanVerifier::verifyNoPlan() {
  if (numNodes_ != first_ || numSwitches_)
    return fault_.set(
        Fault::BadBundle,
        "program %u: lanes: found none, expected at least one for "
        "%u preparations and %u switches",
        number_, numNodes_ - first_, numSwitches_);
  for (uint32_t i = 0; i < first_; ++i)
    if (!verifyAfter({"operation", i}, afterOf(i), i, firstGpu_))
      return false;
  return true;
}

bool PlanVerifier::verifyCounts() {
  uint32_t lanes = numLanes_ + (gpu_ ? gpu_->lanes()->size() : 0);
  if (lanes > maxLanes)
    return fault_.set(Fault::BadBundle,
                      "program %u: lanes: found %u, expected at most %u",
                      number_, lanes, maxLanes);
  if (numNodes_ > maxOperations || numSwitches_ > maxOperations)
    return fault_.set(Fault::BadBundle,
                      "program %u: found %u operations and %u switches, "
                      "expected at most %u",
                      number_, numNodes_, numSwitches_, maxOperations);
  return true;
}

bool PlanVerifier::allocate() {
  if (!laneOf_.allocate(numNodes_) || !background_.allocate(numNodes_) ||
      !next_.allocate(numNodes_) || !pending_.allocate(numNodes_) ||
      !position_.allocate(numNodes_) || !stack_.allocate(numNodes_) ||
      !waited_.allocate(numNodes_) || !marked_.allocate(numNodes_) ||
      !firstUser_.allocate(size_t(numNodes_) + 1))
    return fault_.set(Fault::OutOfMemory, "no memory to check the plan");
  for (uint32_t &lane : laneOf_)
    lane = none;
  for (uint32_t &node : next_)
    node = none;
  return true;
}

/// `executes`: those before this number run before it. `end`: it may wait for
/// operations before this number.
bool PlanVerifier::verifyAfter(Name name, const After *after, uint32_t executes,
                               uint32_t end) {
  for (uint32_t i = 0; i < size(after); ++i) {
    uint32_t before = after->Get(i);
    if (before >= end)
      return fault_.set(
          Fault::BadBundle,
          "program %u: %s %u: after: found operation %u, expected "
          "less than %u",
          number_, name.what, name.index, before, end);
    if (before < first_ && before >= executes)
      return fault_.set(
          Fault::BadBundle,
          "program %u: %s %u: after: found execute %u, which does "
          "not run before it",
          number_, name.what, name.index, before);
  }
  return true;
}

/// Checks all `after` and turns them round.
bool PlanVerifier::verifyDependencies() {
  uint64_t edges = 0;
  for (uint32_t node = 0; node < numNodes_; ++node) {
    if (!verifyAfter({"operation", node}, afterOf(node),
                     node < first_ ? node : 0,
                     node < firstGpu_ ? firstGpu_ : numNodes_))
      return false;
    edges += size(afterOf(node));
    for (uint32_t i = 0; i < size(afterOf(node)); ++i) {
      uint32_t before = afterOf(node)->Get(i);
      if (before == node)
        return fault_.set(Fault::BadBundle,
                          "program %u: operation %u: after: found itself",
                          number_, node);
      ++firstUser_[before];
    }
  }
  for (uint32_t i = 0; i < numSwitches_; ++i) {
    const bundle::Switch *change = program_->switches()->Get(i);
    if (!verifyAfter({"switch", i}, change->replacement()->after(),
                     change->operation(), firstGpu_))
      return false;
  }
  for (uint32_t i = 0; gpu_ && i < gpu_->stretches()->size(); ++i)
    if (!verifyAfter({"gpu: stretch", i}, gpu_->stretches()->Get(i)->after(), 0,
                     numNodes_))
      return false;
  if (!users_.allocate(edges))
    return fault_.set(Fault::OutOfMemory, "no memory to check the plan");
  // Counts become ends, and filling backwards makes them begins.
  for (uint32_t i = 1; i <= numNodes_; ++i)
    firstUser_[i] += firstUser_[i - 1];
  for (uint32_t node = numNodes_; node-- > 0;)
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      users_[--firstUser_[afterOf(node)->Get(i)]] = node;
  return true;
}

bool PlanVerifier::verifyLanes() {
  for (uint32_t lane = 0; lane < numLanes_; ++lane)
    if (!verifyLane(lane))
      return false;
  return true;
}

/// Threads of the CPU work on them, beside those of the program.
bool PlanVerifier::verifyGpuLanes() {
  for (uint32_t i = 0; gpu_ && i < gpu_->lanes()->size(); ++i) {
    const bundle::Lane *lane = gpu_->lanes()->Get(i);
    if (lane->kind() != bundle::LaneKind_Prepare || lane->processor() != 0 ||
        size(lane->background()))
      return fault_.set(
          Fault::BadBundle,
          "program %u: gpu: lane %u: found kind %u, processor %u "
          "and %u in the background, expected Prepare, 0 and none",
          number_, i, lane->kind(), lane->processor(),
          size(lane->background()));
    uint32_t last = none;
    for (uint32_t node : *lane->queue()) {
      if (!place(numLanes_ + i, node, false))
        return false;
      if (last != none)
        next_[last] = node;
      last = node;
    }
  }
  return true;
}

bool PlanVerifier::verifyPlaces() {
  for (uint32_t node = first_; node < numNodes_; ++node)
    if (laneOf_[node] == none)
      return fault_.set(Fault::BadBundle,
                        "program %u: operation %u: found it in no lane, "
                        "expected one",
                        number_, node);
  return true;
}

bool PlanVerifier::verifyLane(uint32_t index) {
  const bundle::Lane *lane = program_->lanes()->Get(index);
  if (lane->processor() >= program_->processors()->size())
    return fault_.set(Fault::BadBundle,
                      "program %u: lane %u: processor: found %u, expected less "
                      "than %u",
                      number_, index, lane->processor(),
                      program_->processors()->size());
  if ((lane->kind() == bundle::LaneKind_Execute) != (index == 0))
    return fault_.set(
        Fault::BadBundle,
        "program %u: lane %u: kind: found %s, expected Execute for "
        "lane 0 and for no other",
        number_, index, bundle::EnumNameLaneKind(lane->kind()));
  uint32_t executes = 0, last = none;
  for (uint32_t i = 0; i < lane->queue()->size(); ++i) {
    uint32_t node = lane->queue()->Get(i);
    if (!verifyEntry(index, i, node, executes))
      return false;
    if (last != none)
      next_[last] = node;
    last = node;
  }
  if (index == 0 && executes != first_)
    return fault_.set(Fault::BadBundle,
                      "program %u: lane 0: found %u executes, expected all %u",
                      number_, executes, first_);
  for (uint32_t i = 0; lane->background() && i < lane->background()->size();
       ++i) {
    if (!place(index, lane->background()->Get(i), true))
      return false;
    uint32_t node = lane->background()->Get(i);
    if (last != none)
      next_[last] = node;
    last = node;
  }
  return true;
}

bool PlanVerifier::verifyEntry(uint32_t lane, uint32_t position, uint32_t node,
                               uint32_t &executes) {
  if (node >= first_)
    return place(lane, node, false);
  if (lane != 0)
    return fault_.set(
        Fault::BadBundle,
        "program %u: lane %u: entry %u: found an execute, expected "
        "them in lane 0",
        number_, lane, position);
  if (node != executes)
    return fault_.set(Fault::BadBundle,
                      "program %u: lane 0: entry %u: found operation %u, "
                      "expected %u (each execute once, in order)",
                      number_, position, node, executes);
  ++executes;
  return true;
}

bool PlanVerifier::place(uint32_t lane, uint32_t node, bool isBackground) {
  uint32_t begin = lane < numLanes_ ? first_ : firstGpu_;
  uint32_t end = lane < numLanes_ ? firstGpu_ : numNodes_;
  if (node >= end || node < begin)
    return fault_.set(Fault::BadBundle,
                      "program %u: lane %u: found operation %u, expected a "
                      "preparation, %u to %u",
                      number_, lane, node, begin, end - 1);
  if (laneOf_[node] != none)
    return fault_.set(Fault::BadBundle,
                      "program %u: lane %u: found operation %u, which is in "
                      "lane %u already",
                      number_, lane, node, laneOf_[node]);
  laneOf_[node] = lane;
  background_[node] = isBackground;
  return true;
}

/// Counts nodes from `begin` on that can run in some order: fewer than there
/// are when there is a cycle, and `pending` is not zero for the rest.
uint32_t PlanVerifier::sort(uint32_t begin, bool withLanes) {
  uint32_t depth = 0, done = 0;
  for (uint32_t node = begin; node < numNodes_; ++node)
    pending_[node] = size(afterOf(node));
  if (withLanes)
    for (uint32_t node = begin; node < numNodes_; ++node)
      if (next_[node] != none)
        ++pending_[next_[node]];
  for (uint32_t node = begin; node < numNodes_; ++node)
    if (pending_[node] == 0)
      stack_[depth++] = node;
  while (depth) {
    uint32_t node = stack_[--depth];
    auto release = [&](uint32_t user) {
      if (user >= begin && --pending_[user] == 0)
        stack_[depth++] = user;
    };
    if (!withLanes)
      position_[node] = done;
    for (uint32_t i = firstUser_[node]; i < firstUser_[node + 1]; ++i)
      release(users_[i]);
    if (withLanes && next_[node] != none)
      release(next_[node]);
    ++done;
  }
  return done;
}

/// Preparations wait for preparations alone (artifact/Compatibility.h).
bool PlanVerifier::verifyNoCycle() {
  if (sort(first_, false) == numNodes_ - first_)
    return true;
  uint32_t node = first_;
  while (pending_[node] == 0)
    ++node;
  return fault_.set(Fault::BadBundle,
                    "program %u: operation %u: after: found a cycle", number_,
                    node);
}

bool PlanVerifier::verifyNoDeadlock() {
  if (sort(0, true) == numNodes_)
    return true;
  uint32_t node = 0;
  while (pending_[node] == 0)
    ++node;
  return fault_.set(
      Fault::BadBundle,
      "program %u: lanes: operation %u never starts: the order of "
      "the lanes and `after` form a cycle",
      number_, node);
}

/// The queues must not need preparations that are done after them. Lanes of a
/// GPU hold nobody up, and may wait for those.
bool PlanVerifier::verifyBackground() {
  for (uint32_t node = 0; node < firstGpu_; ++node) {
    if (background_[node])
      continue;
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      if (background_[afterOf(node)->Get(i)])
        return fault_.set(Fault::BadBundle,
                          "program %u: operation %u: after: found operation %u "
                          "of a background, expected one of a queue",
                          number_, node, afterOf(node)->Get(i));
  }
  return true;
}

/// How many operands the preparation writes.
static uint32_t numWritten(const bundle::Program *program,
                           const bundle::Operation *operation) {
  switch (operation->kind()) {
  case bundle::OperationKind_Decode:
    return 1;
  case bundle::OperationKind_Transform:
    return program->kernels()->Get(operation->kernel())->outputs();
  default:
    return 0;
  }
}

bool PlanVerifier::collectWrites() {
  size_t count = 0;
  for (uint32_t node = first_; node < firstGpu_; ++node)
    count += numWritten(program_, operation(node));
  if (!writes_.allocate(count) || !furthest_.allocate(count))
    return fault_.set(Fault::OutOfMemory, "no memory to check the plan");
  Write *write = writes_.data();
  for (uint32_t node = first_; node < firstGpu_; ++node)
    for (uint32_t k = 0; k < numWritten(program_, operation(node)); ++k) {
      const bundle::Operand *operand = operation(node)->operands()->Get(k);
      *write++ = {operand->offset(), operand->offset() + operand->size(), node};
    }
  auto before = [](const Write &a, const Write &b) {
    return a.begin != b.begin ? a.begin < b.begin
                              : a.preparation < b.preparation;
  };
  // Half the code of std::sort, and as good in the worst case.
  std::make_heap(writes_.begin(), writes_.end(), before);
  std::sort_heap(writes_.begin(), writes_.end(), before);
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i)
    furthest_[i] = end = std::max(end, writes_[i].end);
  maxSteps_ =
      leastSteps + stepsPerPart * (uint64_t(numNodes_) + users_.size() + count);
  return true;
}

/// Visits the writes that touch [begin, end), by begin. Stops at the first
/// visit that returns false.
template <typename Visit>
bool PlanVerifier::forEachWrite(uint64_t begin, uint64_t end, Visit visit) {
  size_t i = std::upper_bound(furthest_.begin(), furthest_.end(), begin) -
             furthest_.begin();
  for (; i < writes_.size() && writes_[i].begin < end; ++i) {
    ++steps_;
    bool good = writes_[i].end <= begin || visit(writes_[i]);
    // Beyond the limit the result of a search means nothing.
    if (steps_ > maxSteps_)
      return fault_.set(Fault::BadBundle,
                        "program %u: preparations: too entangled to check",
                        number_);
    if (!good)
      return false;
  }
  return true;
}

/// Marks the preparations that `reader` waits for, by way of others too, as far
/// as they stand at `earliest` or later in the order by dependencies. Past the
/// limit some lack the mark, which refuses the plan.
void PlanVerifier::markBefore(uint32_t reader, uint32_t earliest) {
  uint32_t depth = 0;
  stack_[depth++] = reader;
  while (depth) {
    const After *after = afterOf(stack_[--depth]);
    for (uint32_t i = 0; i < size(after); ++i) {
      uint32_t before = after->Get(i);
      if (++steps_ > maxSteps_)
        return;
      if (marked_[before] == reader + 1 || position_[before] < earliest)
        continue;
      marked_[before] = reader + 1;
      stack_[depth++] = before;
    }
  }
}

/// Whether two preparations compute different tiles of one grid.
bool PlanVerifier::arePartsOfOne(const Write &a, const Write &b) const {
  const bundle::Operation *one = operation(a.preparation),
                          *two = operation(b.preparation);
  return a.begin == b.begin && a.end == b.end &&
         one->kind() == bundle::OperationKind_Transform &&
         two->kind() == one->kind() && one->kernel() == two->kernel() &&
         (one->tile_end() <= two->tile_begin() ||
          two->tile_end() <= one->tile_begin());
}

/// Bytes have one writer: a runtime may write them again at any time, if the
/// thread that was at it seems to have stopped. And bytes that are read must
/// have been written.
bool PlanVerifier::verifyPreparations() {
  for (const Write &write : writes_)
    if (!forEachWrite(write.begin, write.end, [&](const Write &other) {
          if (&write == &other || arePartsOfOne(write, other))
            return true;
          return fault_.set(
              Fault::BadBundle,
              "program %u: operations %u and %u: found both "
              "writing Prepared bytes at %" PRIu64 ", expected one",
              number_, std::min(write.preparation, other.preparation),
              std::max(write.preparation, other.preparation),
              std::max(write.begin, other.begin));
        }))
      return false;
  for (uint32_t node = first_; node < numNodes_; ++node)
    if (!verifyReader(node))
      return false;
  return true;
}

/// Whether all that preparation `index` reads of Prepared was written by
/// preparations that it waits for.
bool PlanVerifier::verifyReader(uint32_t index) {
  bool isGpu = index >= firstGpu_;
  const bundle::Operation *reader = isGpu ? nullptr : operation(index);
  const auto *uploads = isGpu ? gpuPreparation(index)->uploads() : nullptr;
  uint32_t begin = isGpu ? 0 : numWritten(program_, reader);
  uint32_t end = !isGpu    ? reader->operands()->size()
                 : uploads ? uploads->size()
                           : 0;
  auto forEachRead = [&](auto visit) {
    for (uint32_t k = begin; k < end; ++k) {
      const bundle::Operand *operand =
          isGpu ? uploads->Get(k)->source() : reader->operands()->Get(k);
      if (isPrepared(operand) && operand->size() &&
          !visit(k, operand->offset(), operand->offset() + operand->size()))
        return false;
    }
    return true;
  };
  uint32_t earliest = none;
  if (!forEachRead([&](uint32_t, uint64_t begin, uint64_t end) {
        return forEachWrite(begin, end, [&](const Write &write) {
          earliest = std::min(earliest, position_[write.preparation]);
          return true;
        });
      }))
    return false;
  if (earliest != none)
    markBefore(index, earliest);
  return forEachRead([&](uint32_t k, uint64_t begin, uint64_t end) {
    uint64_t covered = begin;
    if (!forEachWrite(begin, end, [&](const Write &write) {
          uint32_t writer = write.preparation;
          if (marked_[writer] == index + 1) {
            if (write.begin <= covered)
              covered = std::max(covered, write.end);
            return true;
          }
          return fault_.set(Fault::BadBundle,
                            "program %u: operation %u: operand %u: found "
                            "Prepared bytes that operation %u writes, "
                            "expected it in `after`",
                            number_, index, k, writer);
        }))
      return false;
    return covered >= end ||
           fault_.set(Fault::BadBundle,
                      "program %u: operation %u: operand %u: found Prepared "
                      "bytes at %" PRIu64 " that no operation before it writes",
                      number_, index, k, covered);
  });
}

/// Marks the operations that `after` names, and those that they wait for, with
/// `mark`, unless they have a mark of all operations (1) or this one already.
void PlanVerifier::markWaited(const After *after, uint32_t mark) {
  uint32_t depth = 0;
  auto push = [&](const After *list) {
    steps_ += size(list);
    for (uint32_t i = 0; i < size(list); ++i) {
      uint32_t before = list->Get(i);
      // An execute before it has been looked at itself.
      if (before < first_ || waited_[before] == 1 || waited_[before] == mark)
        continue;
      waited_[before] = mark;
      stack_[depth++] = before;
    }
  };
  push(after);
  while (depth)
    push(afterOf(stack_[--depth]));
}

/// Whether all that `operation` reads of Prepared was written by preparations
/// with a mark, and by no others.
bool PlanVerifier::verifyReads(Name name, const bundle::Operation *operation) {
  uint32_t mark = name.what[0] == 's' ? name.index + 2 : 1;
  for (uint32_t k = 0; k < operation->operands()->size(); ++k) {
    const bundle::Operand *operand = operation->operands()->Get(k);
    if (!isPrepared(operand) || operand->size() == 0)
      continue;
    uint64_t covered = operand->offset();
    uint64_t end = operand->offset() + operand->size();
    if (!forEachWrite(covered, end, [&](const Write &write) {
          if (waited_[write.preparation] != 1 &&
              waited_[write.preparation] != mark)
            return fault_.set(Fault::BadBundle,
                              "program %u: %s %u: operand %u: found Prepared "
                              "bytes that operation %u writes, expected it in "
                              "`after` (it starts before its weights)",
                              number_, name.what, name.index, k,
                              write.preparation);
          if (write.begin <= covered)
            covered = std::max(covered, write.end);
          return true;
        }))
      return false;
    if (covered < end)
      return fault_.set(
          Fault::BadBundle,
          "program %u: %s %u: operand %u: found Prepared bytes at "
          "%" PRIu64 " that nothing that it waits for writes "
          "(it starts before its weights)",
          number_, name.what, name.index, k, covered);
  }
  return true;
}

/// An execute starts after the executes before it, so it has waited for all
/// that they waited for.
bool PlanVerifier::verifyExecutes() {
  for (uint32_t i = 0; i < first_; ++i) {
    markWaited(afterOf(i), 1);
    if (!verifyReads({"operation", i}, operation(i)))
      return false;
  }
  return true;
}

/// A switch happens after a whole run.
bool PlanVerifier::verifySwitches() {
  Array<bool> switched;
  if (!switched.allocate(first_))
    return fault_.set(Fault::OutOfMemory, "no memory to check the plan");
  for (uint32_t i = 0; i < numSwitches_; ++i) {
    const bundle::Switch *change = program_->switches()->Get(i);
    if (switched[change->operation()])
      return fault_.set(Fault::BadBundle,
                        "program %u: switch %u: operation: found %u, which an "
                        "earlier switch replaces",
                        number_, i, change->operation());
    switched[change->operation()] = true;
    markWaited(change->replacement()->after(), i + 2);
    if (steps_ > maxSteps_)
      return fault_.set(Fault::BadBundle,
                        "program %u: switches: too entangled to check",
                        number_);
    if (!verifyReads({"switch", i}, change->replacement()))
      return false;
  }
  return true;
}

bool verifyPlan(const bundle::Program *program, const bundle::ProgramGpu *gpu,
                unsigned number, Fault &fault) {
  return PlanVerifier(program, gpu, number, fault).verify();
}

} // namespace nnv12::artifact
