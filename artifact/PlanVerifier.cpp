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
      : program(program), gpu(gpu), number(number), fault(fault),
        first(numExecutes(program)), firstGpu(program->operations()->size()),
        numNodes(firstGpu + (gpu ? gpu->preparations()->size() : 0)),
        numLanes(artifact::numLanes(program)),
        numSwitches(artifact::numSwitches(program)) {}

  bool verify() {
    if (numLanes == 0)
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
  bool verifyLane(uint32_t lane);
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
  bool verifyReader(uint32_t reader);
  bool verifyExecutes();
  bool verifySwitches();
  void markWaited(const After *after, uint32_t mark);
  bool verifyReads(Name name, const bundle::Operation *operation);
  void markBefore(uint32_t reader, uint32_t earliest);
  template <typename Visit>
  bool forEachWrite(uint64_t begin, uint64_t end, Visit visit);

  const bundle::Operation *operation(uint32_t node) const {
    return program->operations()->Get(node);
  }
  const bundle::GpuPreparation *gpuPreparation(uint32_t node) const {
    return gpu->preparations()->Get(node - firstGpu);
  }
  const After *afterOf(uint32_t node) const {
    return node < firstGpu ? operation(node)->after()
                           : gpuPreparation(node)->after();
  }

  bool isPrepared(const bundle::Operand *operand) const {
    return isIn(program, operand, bundle::MemoryKind_Prepared);
  }

  static constexpr uint32_t none = ~0u;
  /// Steps of the searches below, for each operation, dependency and
  /// write: sensible plans take a few, and a plan made to keep us busy is
  /// given up after a time in proportion to its size.
  static constexpr uint64_t stepsPerPart = 256;
  static constexpr uint64_t leastSteps = 1 << 16;

  const bundle::Program *program;
  const bundle::ProgramGpu *gpu; ///< or null
  unsigned number;
  Fault &fault;
  uint32_t first, firstGpu, numNodes, numLanes, numSwitches;
  uint64_t steps = 0, maxSteps = 0;

  // By node; preparations alone where it says so.
  Array<uint32_t> laneOf;    ///< of a preparation; `none` before it is placed
  Array<bool> background;    ///< of a preparation
  Array<uint32_t> next;      ///< the next one in its lane, or `none`
  Array<uint32_t> pending;   ///< the nodes it still waits for, in sort()
  Array<uint32_t> position;  ///< of a preparation, in an order by dependencies
  Array<uint32_t> stack;     ///< of nodes
  Array<uint32_t> waited;    ///< of a preparation: marks, see markWaited()
  Array<uint32_t> marked;    ///< of a preparation: see markBefore(); reader + 1
  Array<uint32_t> firstUser; ///< where in `users` those of a node begin
  Array<uint32_t> users;     ///< nodes that wait for it
  Array<Write> writes;       ///< by begin
  Array<uint64_t> furthest;  ///< the largest end of writes up to this one
};

} // namespace

static uint32_t size(const After *after) { return after ? after->size() : 0; }

bool PlanVerifier::verifyNoPlan() {
  if (numNodes != first || numSwitches)
    return fault.set(Fault::BadBundle,
                     "program %u: lanes: found none, expected at least one for "
                     "%u preparations and %u switches",
                     number, numNodes - first, numSwitches);
  for (uint32_t i = 0; i < first; ++i)
    if (!verifyAfter({"operation", i}, afterOf(i), i, firstGpu))
      return false;
  return true;
}

bool PlanVerifier::verifyCounts() {
  uint32_t lanes = numLanes + (gpu ? gpu->lanes()->size() : 0);
  if (lanes > maxLanes)
    return fault.set(Fault::BadBundle,
                     "program %u: lanes: found %u, expected at most %u", number,
                     lanes, maxLanes);
  if (numNodes > maxOperations || numSwitches > maxOperations)
    return fault.set(Fault::BadBundle,
                     "program %u: found %u operations and %u switches, "
                     "expected at most %u",
                     number, numNodes, numSwitches, maxOperations);
  return true;
}

bool PlanVerifier::allocate() {
  if (!laneOf.allocate(numNodes) || !background.allocate(numNodes) ||
      !next.allocate(numNodes) || !pending.allocate(numNodes) ||
      !position.allocate(numNodes) || !stack.allocate(numNodes) ||
      !waited.allocate(numNodes) || !marked.allocate(numNodes) ||
      !firstUser.allocate(size_t(numNodes) + 1))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  for (uint32_t &lane : laneOf)
    lane = none;
  for (uint32_t &node : next)
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
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: after: found operation %u, expected "
                       "less than %u",
                       number, name.what, name.index, before, end);
    if (before < first && before >= executes)
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: after: found execute %u, which does "
                       "not run before it",
                       number, name.what, name.index, before);
  }
  return true;
}

/// Checks all `after` and turns them round.
bool PlanVerifier::verifyDependencies() {
  uint64_t edges = 0;
  for (uint32_t node = 0; node < numNodes; ++node) {
    if (!verifyAfter({"operation", node}, afterOf(node),
                     node < first ? node : 0,
                     node < firstGpu ? firstGpu : numNodes))
      return false;
    edges += size(afterOf(node));
    for (uint32_t i = 0; i < size(afterOf(node)); ++i) {
      uint32_t before = afterOf(node)->Get(i);
      if (before == node)
        return fault.set(Fault::BadBundle,
                         "program %u: operation %u: after: found itself",
                         number, node);
      ++firstUser[before];
    }
  }
  for (uint32_t i = 0; i < numSwitches; ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    if (!verifyAfter({"switch", i}, change->replacement()->after(),
                     change->operation(), firstGpu))
      return false;
  }
  for (uint32_t i = 0; gpu && i < gpu->stretches()->size(); ++i)
    if (!verifyAfter({"gpu: stretch", i}, gpu->stretches()->Get(i)->after(), 0,
                     numNodes))
      return false;
  if (!users.allocate(edges))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  // Counts become ends, and filling backwards makes them begins.
  for (uint32_t i = 1; i <= numNodes; ++i)
    firstUser[i] += firstUser[i - 1];
  for (uint32_t node = numNodes; node-- > 0;)
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      users[--firstUser[afterOf(node)->Get(i)]] = node;
  return true;
}

bool PlanVerifier::verifyLanes() {
  for (uint32_t lane = 0; lane < numLanes; ++lane)
    if (!verifyLane(lane))
      return false;
  return true;
}

/// Threads of the CPU work on them, beside those of the program.
bool PlanVerifier::verifyGpuLanes() {
  for (uint32_t i = 0; gpu && i < gpu->lanes()->size(); ++i) {
    const bundle::Lane *lane = gpu->lanes()->Get(i);
    if (lane->kind() != bundle::LaneKind_Prepare || lane->processor() != 0 ||
        size(lane->background()))
      return fault.set(Fault::BadBundle,
                       "program %u: gpu: lane %u: found kind %u, processor %u "
                       "and %u in the background, expected Prepare, 0 and none",
                       number, i, lane->kind(), lane->processor(),
                       size(lane->background()));
    uint32_t last = none;
    for (uint32_t node : *lane->queue()) {
      if (!place(numLanes + i, node, false))
        return false;
      if (last != none)
        next[last] = node;
      last = node;
    }
  }
  return true;
}

bool PlanVerifier::verifyPlaces() {
  for (uint32_t node = first; node < numNodes; ++node)
    if (laneOf[node] == none)
      return fault.set(Fault::BadBundle,
                       "program %u: operation %u: found it in no lane, "
                       "expected one",
                       number, node);
  return true;
}

bool PlanVerifier::verifyLane(uint32_t index) {
  const bundle::Lane *lane = program->lanes()->Get(index);
  if (lane->processor() >= program->processors()->size())
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: processor: found %u, expected less "
                     "than %u",
                     number, index, lane->processor(),
                     program->processors()->size());
  if ((lane->kind() == bundle::LaneKind_Execute) != (index == 0))
    return fault.set(
        Fault::BadBundle,
        "program %u: lane %u: kind: found %s, expected Execute for "
        "lane 0 and for no other",
        number, index, bundle::EnumNameLaneKind(lane->kind()));
  uint32_t executes = 0, last = none;
  for (uint32_t i = 0; i < lane->queue()->size(); ++i) {
    uint32_t node = lane->queue()->Get(i);
    if (!verifyEntry(index, i, node, executes))
      return false;
    if (last != none)
      next[last] = node;
    last = node;
  }
  if (index == 0 && executes != first)
    return fault.set(Fault::BadBundle,
                     "program %u: lane 0: found %u executes, expected all %u",
                     number, executes, first);
  for (uint32_t i = 0; lane->background() && i < lane->background()->size();
       ++i) {
    if (!place(index, lane->background()->Get(i), true))
      return false;
    uint32_t node = lane->background()->Get(i);
    if (last != none)
      next[last] = node;
    last = node;
  }
  return true;
}

bool PlanVerifier::verifyEntry(uint32_t lane, uint32_t entryNumber,
                               uint32_t node, uint32_t &executes) {
  if (node >= first)
    return place(lane, node, false);
  if (lane != 0)
    return fault.set(
        Fault::BadBundle,
        "program %u: lane %u: entry %u: found an execute, expected "
        "them in lane 0",
        number, lane, entryNumber);
  if (node != executes)
    return fault.set(Fault::BadBundle,
                     "program %u: lane 0: entry %u: found operation %u, "
                     "expected %u (each execute once, in order)",
                     number, entryNumber, node, executes);
  ++executes;
  return true;
}

bool PlanVerifier::place(uint32_t lane, uint32_t node, bool isBackground) {
  uint32_t begin = lane < numLanes ? first : firstGpu;
  uint32_t end = lane < numLanes ? firstGpu : numNodes;
  if (node >= end || node < begin)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: found operation %u, expected a "
                     "preparation, %u to %u",
                     number, lane, node, begin, end - 1);
  if (laneOf[node] != none)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: found operation %u, which is in "
                     "lane %u already",
                     number, lane, node, laneOf[node]);
  laneOf[node] = lane;
  background[node] = isBackground;
  return true;
}

/// Counts nodes from `begin` on that can run in some order: fewer than there
/// are when there is a cycle, and `pending` is not zero for the rest.
uint32_t PlanVerifier::sort(uint32_t begin, bool withLanes) {
  uint32_t depth = 0, done = 0;
  for (uint32_t node = begin; node < numNodes; ++node)
    pending[node] = size(afterOf(node));
  if (withLanes)
    for (uint32_t node = begin; node < numNodes; ++node)
      if (next[node] != none)
        ++pending[next[node]];
  for (uint32_t node = begin; node < numNodes; ++node)
    if (pending[node] == 0)
      stack[depth++] = node;
  while (depth) {
    uint32_t node = stack[--depth];
    auto release = [&](uint32_t user) {
      if (user >= begin && --pending[user] == 0)
        stack[depth++] = user;
    };
    if (!withLanes)
      position[node] = done;
    for (uint32_t i = firstUser[node]; i < firstUser[node + 1]; ++i)
      release(users[i]);
    if (withLanes && next[node] != none)
      release(next[node]);
    ++done;
  }
  return done;
}

/// Preparations wait for preparations alone (artifact/Compatibility.h).
bool PlanVerifier::verifyNoCycle() {
  if (sort(first, false) == numNodes - first)
    return true;
  uint32_t node = first;
  while (pending[node] == 0)
    ++node;
  return fault.set(Fault::BadBundle,
                   "program %u: operation %u: after: found a cycle", number,
                   node);
}

bool PlanVerifier::verifyNoDeadlock() {
  if (sort(0, true) == numNodes)
    return true;
  uint32_t node = 0;
  while (pending[node] == 0)
    ++node;
  return fault.set(Fault::BadBundle,
                   "program %u: lanes: operation %u never starts: the order of "
                   "the lanes and `after` form a cycle",
                   number, node);
}

/// The queues must not need preparations that are done after them. Lanes of a
/// GPU hold nobody up, and may wait for those.
bool PlanVerifier::verifyBackground() {
  for (uint32_t node = 0; node < firstGpu; ++node) {
    if (background[node])
      continue;
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      if (background[afterOf(node)->Get(i)])
        return fault.set(Fault::BadBundle,
                         "program %u: operation %u: after: found operation %u "
                         "of a background, expected one of a queue",
                         number, node, afterOf(node)->Get(i));
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
  for (uint32_t node = first; node < firstGpu; ++node)
    count += numWritten(program, operation(node));
  if (!writes.allocate(count) || !furthest.allocate(count))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  Write *write = writes.data();
  for (uint32_t node = first; node < firstGpu; ++node)
    for (uint32_t k = 0; k < numWritten(program, operation(node)); ++k) {
      const bundle::Operand *operand = operation(node)->operands()->Get(k);
      *write++ = {operand->offset(), operand->offset() + operand->size(), node};
    }
  auto before = [](const Write &a, const Write &b) {
    return a.begin != b.begin ? a.begin < b.begin
                              : a.preparation < b.preparation;
  };
  // Half the code of std::sort, and as good in the worst case.
  std::make_heap(writes.begin(), writes.end(), before);
  std::sort_heap(writes.begin(), writes.end(), before);
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i)
    furthest[i] = end = std::max(end, writes[i].end);
  maxSteps =
      leastSteps + stepsPerPart * (uint64_t(numNodes) + users.size() + count);
  return true;
}

/// Visits the writes that touch [begin, end), by begin. Stops at the first
/// visit that returns false.
template <typename Visit>
bool PlanVerifier::forEachWrite(uint64_t begin, uint64_t end, Visit visit) {
  size_t i = std::upper_bound(furthest.begin(), furthest.end(), begin) -
             furthest.begin();
  for (; i < writes.size() && writes[i].begin < end; ++i) {
    ++steps;
    bool good = writes[i].end <= begin || visit(writes[i]);
    // Beyond the limit the result of a search means nothing.
    if (steps > maxSteps)
      return fault.set(Fault::BadBundle,
                       "program %u: preparations: too entangled to check",
                       number);
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
  stack[depth++] = reader;
  while (depth) {
    const After *after = afterOf(stack[--depth]);
    for (uint32_t i = 0; i < size(after); ++i) {
      uint32_t before = after->Get(i);
      if (++steps > maxSteps)
        return;
      if (marked[before] == reader + 1 || position[before] < earliest)
        continue;
      marked[before] = reader + 1;
      stack[depth++] = before;
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
  for (const Write &write : writes)
    if (!forEachWrite(write.begin, write.end, [&](const Write &other) {
          if (&write == &other || arePartsOfOne(write, other))
            return true;
          return fault.set(
              Fault::BadBundle,
              "program %u: operations %u and %u: found both "
              "writing Prepared bytes at %" PRIu64 ", expected one",
              number, std::min(write.preparation, other.preparation),
              std::max(write.preparation, other.preparation),
              std::max(write.begin, other.begin));
        }))
      return false;
  for (uint32_t node = first; node < numNodes; ++node)
    if (!verifyReader(node))
      return false;
  return true;
}

/// Whether all that preparation `index` reads of Prepared was written by
/// preparations that it waits for.
bool PlanVerifier::verifyReader(uint32_t index) {
  bool isGpu = index >= firstGpu;
  const bundle::Operation *reader = isGpu ? nullptr : operation(index);
  const auto *uploads = isGpu ? gpuPreparation(index)->uploads() : nullptr;
  uint32_t begin = isGpu ? 0 : numWritten(program, reader);
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
          earliest = std::min(earliest, position[write.preparation]);
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
          if (marked[writer] == index + 1) {
            if (write.begin <= covered)
              covered = std::max(covered, write.end);
            return true;
          }
          return fault.set(Fault::BadBundle,
                           "program %u: operation %u: operand %u: found "
                           "Prepared bytes that operation %u writes, "
                           "expected it in `after`",
                           number, index, k, writer);
        }))
      return false;
    return covered >= end ||
           fault.set(Fault::BadBundle,
                     "program %u: operation %u: operand %u: found Prepared "
                     "bytes at %" PRIu64 " that no operation before it writes",
                     number, index, k, covered);
  });
}

/// Marks the operations that `after` names, and those that they wait for, with
/// `mark`, unless they have a mark of all operations (1) or this one already.
void PlanVerifier::markWaited(const After *after, uint32_t mark) {
  uint32_t depth = 0;
  auto push = [&](const After *list) {
    steps += size(list);
    for (uint32_t i = 0; i < size(list); ++i) {
      uint32_t before = list->Get(i);
      // An execute before it has been looked at itself.
      if (before < first || waited[before] == 1 || waited[before] == mark)
        continue;
      waited[before] = mark;
      stack[depth++] = before;
    }
  };
  push(after);
  while (depth)
    push(afterOf(stack[--depth]));
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
          if (waited[write.preparation] != 1 &&
              waited[write.preparation] != mark)
            return fault.set(Fault::BadBundle,
                             "program %u: %s %u: operand %u: found Prepared "
                             "bytes that operation %u writes, expected it in "
                             "`after` (it starts before its weights)",
                             number, name.what, name.index, k,
                             write.preparation);
          if (write.begin <= covered)
            covered = std::max(covered, write.end);
          return true;
        }))
      return false;
    if (covered < end)
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: operand %u: found Prepared bytes at "
                       "%" PRIu64 " that nothing that it waits for writes "
                       "(it starts before its weights)",
                       number, name.what, name.index, k, covered);
  }
  return true;
}

/// An execute starts after the executes before it, so it has waited for all
/// that they waited for.
bool PlanVerifier::verifyExecutes() {
  for (uint32_t i = 0; i < first; ++i) {
    markWaited(afterOf(i), 1);
    if (!verifyReads({"operation", i}, operation(i)))
      return false;
  }
  return true;
}

/// A switch happens after a whole run.
bool PlanVerifier::verifySwitches() {
  Array<bool> switched;
  if (!switched.allocate(first))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  for (uint32_t i = 0; i < numSwitches; ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    if (switched[change->operation()])
      return fault.set(Fault::BadBundle,
                       "program %u: switch %u: operation: found %u, which an "
                       "earlier switch replaces",
                       number, i, change->operation());
    switched[change->operation()] = true;
    markWaited(change->replacement()->after(), i + 2);
    if (steps > maxSteps)
      return fault.set(Fault::BadBundle,
                       "program %u: switches: too entangled to check", number);
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
