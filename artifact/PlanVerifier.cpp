//===- PlanVerifier.cpp - Checks the plan of a program --------------------===//
#include "artifact/PlanVerifier.h"

#include "artifact/Array.h"
#include "artifact/Limits.h"

#include <algorithm>
#include <cinttypes>

namespace nnv12::artifact {

namespace {

using After = flatbuffers::Vector<uint32_t>;

/// Bytes of Prepared that a preparation writes.
struct Write {
  uint64_t begin, end;
  uint32_t preparation;
};

/// One operation of the program, as a message names it.
struct Name {
  const char *what; ///< "operation", "preparation", "switch"
  uint32_t index;
};

/// Nodes of the dependency graph are preparations, then operations.
class PlanVerifier {
public:
  PlanVerifier(const bundle::Program *program, unsigned number, Fault &fault)
      : program(program), number(number), fault(fault),
        numPreparations(
            program->preparations() ? program->preparations()->size() : 0),
        numOperations(program->operations()->size()),
        numLanes(program->lanes() ? program->lanes()->size() : 0),
        numSwitches(program->switches() ? program->switches()->size() : 0) {}

  bool verify() {
    if (numLanes == 0)
      return verifyNoPlan();
    return verifyCounts() && allocate() && verifyDependencies() &&
           verifyLanes() && verifyNoCycle() && verifyBackground() &&
           verifyNoDeadlock() && collectWrites() && verifyPreparations() &&
           verifyOperations() && verifySwitches();
  }

private:
  bool verifyNoPlan();
  bool verifyCounts();
  bool allocate();
  bool verifyDependencies();
  bool verifyAfter(Name name, const After *after);
  bool verifyLanes();
  bool verifyLane(uint32_t lane);
  bool verifyEntry(uint32_t lane, uint32_t position, bundle::LaneEntry entry,
                   uint32_t &executes);
  bool place(uint32_t lane, uint32_t preparation, bool isBackground);
  bool verifyNoCycle();
  bool verifyNoDeadlock();
  uint32_t sort(uint32_t numNodes, bool withLanes);
  bool verifyBackground();
  bool collectWrites();
  bool verifyPreparations();
  bool verifyReader(uint32_t index);
  bool verifyOperations();
  bool verifySwitches();
  void markWaited(const After *after, uint32_t mark);
  bool verifyReads(Name name, const bundle::Operation *operation);
  void markBefore(uint32_t reader, uint32_t earliest);
  bool isBefore(uint32_t first, uint32_t second);
  template <typename Visit>
  bool forEachWrite(uint64_t begin, uint64_t end, Visit visit);

  const After *afterOf(uint32_t node) const {
    return node < numPreparations
               ? program->preparations()->Get(node)->after()
               : program->operations()->Get(node - numPreparations)->after();
  }
  const bundle::Operation *preparation(uint32_t index) const {
    return program->preparations()->Get(index);
  }

  static constexpr uint32_t none = ~0u;
  /// Steps of the searches below, for each preparation, operation, dependency
  /// and write: sensible plans take a few, and a plan made to keep us busy is
  /// given up after a time in proportion to its size.
  static constexpr uint64_t stepsPerPart = 256;
  static constexpr uint64_t leastSteps = 1 << 16;

  const bundle::Program *program;
  unsigned number;
  Fault &fault;
  uint32_t numPreparations, numOperations, numLanes, numSwitches;
  uint64_t steps = 0, maxSteps = 0;

  Array<uint32_t> laneOf;   ///< of a preparation; `none` before it is placed
  Array<bool> background;   ///< by preparation
  Array<uint32_t> next;     ///< by node: the next one in its lane, or `none`
  Array<uint32_t> pending;  ///< by node: what it still waits for, in sort()
  Array<uint32_t> position; ///< by preparation, in an order by dependencies
  Array<uint32_t> stack;    ///< of nodes
  Array<uint32_t> waited;   ///< by preparation: marks, see markWaited()
  Array<uint32_t> marked;   ///< by preparation: see markBefore(); reader + 1
  Array<uint32_t> visited;  ///< by preparation: number of the last search
  uint32_t search = 0;
  Array<uint32_t> firstUser; ///< by preparation: where in `users` its begin
  Array<uint32_t> users;     ///< nodes that wait for it
  Array<Write> writes;       ///< by begin
  Array<uint64_t> furthest;  ///< the largest end of writes up to this one
};

} // namespace

static uint32_t size(const After *after) { return after ? after->size() : 0; }

bool PlanVerifier::verifyNoPlan() {
  if (numPreparations || numSwitches)
    return fault.set(Fault::BadBundle,
                     "program %u: lanes: found none, expected at least one for "
                     "%u preparations and %u switches",
                     number, numPreparations, numSwitches);
  for (uint32_t i = 0; i < numOperations; ++i)
    if (!verifyAfter({"operation", i}, program->operations()->Get(i)->after()))
      return false;
  return true;
}

bool PlanVerifier::verifyCounts() {
  if (numLanes > maxLanes)
    return fault.set(Fault::BadBundle,
                     "program %u: lanes: found %u, expected at most %u", number,
                     numLanes, maxLanes);
  if (numPreparations > maxOperations || numOperations > maxOperations ||
      numSwitches > maxOperations)
    return fault.set(Fault::BadBundle,
                     "program %u: found %u operations, %u preparations and %u "
                     "switches, expected at most %u",
                     number, numOperations, numPreparations, numSwitches,
                     maxOperations);
  return true;
}

bool PlanVerifier::allocate() {
  uint32_t nodes = numPreparations + numOperations;
  if (!laneOf.allocate(numPreparations) ||
      !background.allocate(numPreparations) || !next.allocate(nodes) ||
      !pending.allocate(nodes) || !position.allocate(numPreparations) ||
      !stack.allocate(nodes) || !waited.allocate(numPreparations) ||
      !marked.allocate(numPreparations) || !visited.allocate(numPreparations) ||
      !firstUser.allocate(size_t(numPreparations) + 1))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  for (uint32_t &lane : laneOf)
    lane = none;
  for (uint32_t &node : next)
    node = none;
  return true;
}

bool PlanVerifier::verifyAfter(Name name, const After *after) {
  for (uint32_t i = 0; i < size(after); ++i)
    if (after->Get(i) >= numPreparations)
      return fault.set(Fault::BadBundle,
                       "program %u: %s %u: after: found preparation %u, "
                       "expected less than %u",
                       number, name.what, name.index, after->Get(i),
                       numPreparations);
  return true;
}

/// Checks all `after` and turns them round.
bool PlanVerifier::verifyDependencies() {
  uint32_t nodes = numPreparations + numOperations;
  uint64_t edges = 0;
  for (uint32_t node = 0; node < nodes; ++node) {
    bool isPreparation = node < numPreparations;
    Name name = isPreparation ? Name{"preparation", node}
                              : Name{"operation", node - numPreparations};
    if (!verifyAfter(name, afterOf(node)))
      return false;
    edges += size(afterOf(node));
    for (uint32_t i = 0; i < size(afterOf(node)); ++i) {
      uint32_t before = afterOf(node)->Get(i);
      if (isPreparation && before == node)
        return fault.set(Fault::BadBundle,
                         "program %u: preparation %u: after: found itself",
                         number, node);
      ++firstUser[before];
    }
  }
  for (uint32_t i = 0; i < numSwitches; ++i)
    if (!verifyAfter({"switch", i},
                     program->switches()->Get(i)->replacement()->after()))
      return false;
  if (!users.allocate(edges))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  // Counts become ends, and filling backwards makes them begins.
  for (uint32_t i = 1; i <= numPreparations; ++i)
    firstUser[i] += firstUser[i - 1];
  for (uint32_t node = nodes; node-- > 0;)
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      users[--firstUser[afterOf(node)->Get(i)]] = node;
  return true;
}

bool PlanVerifier::verifyLanes() {
  for (uint32_t lane = 0; lane < numLanes; ++lane)
    if (!verifyLane(lane))
      return false;
  for (uint32_t i = 0; i < numPreparations; ++i)
    if (laneOf[i] == none)
      return fault.set(Fault::BadBundle,
                       "program %u: preparation %u: found it in no lane, "
                       "expected one",
                       number, i);
  return true;
}

bool PlanVerifier::verifyLane(uint32_t index) {
  const bundle::Lane *lane = program->lanes()->Get(index);
  if (lane->kind() > bundle::LaneKind_MAX)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: kind: found %u, expected at most %u",
                     number, index, lane->kind(), bundle::LaneKind_MAX);
  if ((lane->kind() == bundle::LaneKind_Execute) != (index == 0))
    return fault.set(
        Fault::BadBundle,
        "program %u: lane %u: kind: found %s, expected Execute for "
        "lane 0 and for no other",
        number, index, bundle::EnumNameLaneKind(lane->kind()));
  if (lane->core() > bundle::CoreKind_MAX)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: core: found %u, expected at most %u",
                     number, index, lane->core(), bundle::CoreKind_MAX);
  uint32_t executes = 0, last = none;
  for (uint32_t i = 0; i < lane->queue()->size(); ++i) {
    bundle::LaneEntry entry = *lane->queue()->Get(i);
    if (!verifyEntry(index, i, entry, executes))
      return false;
    uint32_t node = entry.kind() == bundle::LaneKind_Execute
                        ? numPreparations + entry.index()
                        : entry.index();
    if (last != none)
      next[last] = node;
    last = node;
  }
  if (index == 0 && executes != numOperations)
    return fault.set(Fault::BadBundle,
                     "program %u: lane 0: found %u executes, expected all %u",
                     number, executes, numOperations);
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
                               bundle::LaneEntry entry, uint32_t &executes) {
  if (entry.kind() > bundle::LaneKind_MAX)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: entry %u: kind: found %u, expected "
                     "at most %u",
                     number, lane, entryNumber, entry.kind(),
                     bundle::LaneKind_MAX);
  if (entry.kind() == bundle::LaneKind_Prepare)
    return place(lane, entry.index(), false);
  if (lane != 0)
    return fault.set(
        Fault::BadBundle,
        "program %u: lane %u: entry %u: found an execute, expected "
        "them in lane 0",
        number, lane, entryNumber);
  if (entry.index() != executes || executes == numOperations)
    return fault.set(Fault::BadBundle,
                     "program %u: lane 0: entry %u: found operation %u, "
                     "expected %u (each execute once, in order)",
                     number, entryNumber, entry.index(), executes);
  ++executes;
  return true;
}

bool PlanVerifier::place(uint32_t lane, uint32_t index, bool isBackground) {
  if (index >= numPreparations)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: found preparation %u, expected less "
                     "than %u",
                     number, lane, index, numPreparations);
  if (laneOf[index] != none)
    return fault.set(Fault::BadBundle,
                     "program %u: lane %u: found preparation %u, which is in "
                     "lane %u already",
                     number, lane, index, laneOf[index]);
  laneOf[index] = lane;
  background[index] = isBackground;
  return true;
}

/// Counts nodes that can run in some order: less than `numNodes` when there is
/// a cycle, and `pending` is not zero for the rest.
uint32_t PlanVerifier::sort(uint32_t numNodes, bool withLanes) {
  uint32_t depth = 0, done = 0;
  for (uint32_t node = 0; node < numNodes; ++node)
    pending[node] = size(afterOf(node));
  if (withLanes)
    for (uint32_t node = 0; node < numNodes; ++node)
      if (next[node] != none)
        ++pending[next[node]];
  for (uint32_t node = 0; node < numNodes; ++node)
    if (pending[node] == 0)
      stack[depth++] = node;
  while (depth) {
    uint32_t node = stack[--depth];
    auto release = [&](uint32_t user) {
      if (user < numNodes && --pending[user] == 0)
        stack[depth++] = user;
    };
    if (node < numPreparations) {
      if (!withLanes)
        position[node] = done;
      for (uint32_t i = firstUser[node]; i < firstUser[node + 1]; ++i)
        release(users[i]);
    }
    if (withLanes && next[node] != none)
      release(next[node]);
    ++done;
  }
  return done;
}

bool PlanVerifier::verifyNoCycle() {
  if (sort(numPreparations, false) == numPreparations)
    return true;
  uint32_t node = 0;
  while (pending[node] == 0)
    ++node;
  return fault.set(Fault::BadBundle,
                   "program %u: preparation %u: after: found a cycle", number,
                   node);
}

bool PlanVerifier::verifyNoDeadlock() {
  uint32_t nodes = numPreparations + numOperations;
  if (sort(nodes, true) == nodes)
    return true;
  uint32_t node = 0;
  while (pending[node] == 0)
    ++node;
  bool isPreparation = node < numPreparations;
  return fault.set(Fault::BadBundle,
                   "program %u: lanes: %s %u never starts: the order of the "
                   "lanes and `after` form a cycle",
                   number, isPreparation ? "preparation" : "operation",
                   isPreparation ? node : node - numPreparations);
}

/// What is done after the queues must not be needed by them.
bool PlanVerifier::verifyBackground() {
  uint32_t nodes = numPreparations + numOperations;
  for (uint32_t node = 0; node < nodes; ++node) {
    bool isPreparation = node < numPreparations;
    if (isPreparation && background[node])
      continue;
    for (uint32_t i = 0; i < size(afterOf(node)); ++i)
      if (background[afterOf(node)->Get(i)])
        return fault.set(Fault::BadBundle,
                         "program %u: %s %u: after: found preparation %u of a "
                         "background, expected one of a queue",
                         number, isPreparation ? "preparation" : "operation",
                         isPreparation ? node : node - numPreparations,
                         afterOf(node)->Get(i));
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
  for (uint32_t i = 0; i < numPreparations; ++i)
    count += numWritten(program, preparation(i));
  if (!writes.allocate(count) || !furthest.allocate(count))
    return fault.set(Fault::OutOfMemory, "no memory to check the plan");
  Write *write = writes.data();
  for (uint32_t i = 0; i < numPreparations; ++i)
    for (uint32_t k = 0; k < numWritten(program, preparation(i)); ++k) {
      const bundle::Operand *operand = preparation(i)->operands()->Get(k);
      *write++ = {operand->offset(), operand->offset() + operand->size(), i};
    }
  std::sort(writes.begin(), writes.end(), [](const Write &a, const Write &b) {
    return a.begin != b.begin ? a.begin < b.begin
                              : a.preparation < b.preparation;
  });
  uint64_t end = 0;
  for (size_t i = 0; i < count; ++i)
    furthest[i] = end = std::max(end, writes[i].end);
  maxSteps = leastSteps + stepsPerPart * (uint64_t(numPreparations) +
                                          numOperations + users.size() + count);
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
    // Then what a search found means nothing.
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
    const After *after = preparation(stack[--depth])->after();
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

/// Whether the preparation `second` starts only after `first` has finished, by
/// `after` alone: the order in a lane means nothing where lanes steal.
bool PlanVerifier::isBefore(uint32_t first, uint32_t second) {
  uint32_t depth = 0;
  ++search;
  stack[depth++] = second;
  while (depth) {
    const After *after = preparation(stack[--depth])->after();
    for (uint32_t i = 0; i < size(after); ++i) {
      uint32_t before = after->Get(i);
      if (before == first)
        return true;
      // Past the limit every answer is "no", which refuses the plan.
      if (++steps > maxSteps)
        return false;
      if (visited[before] == search || position[before] < position[first])
        continue;
      visited[before] = search;
      stack[depth++] = before;
    }
  }
  return false;
}

/// Any two preparations that touch the same bytes, one of them writing, must be
/// ordered; and what is read must have been written.
bool PlanVerifier::verifyPreparations() {
  for (const Write &write : writes)
    if (!forEachWrite(write.begin, write.end, [&](const Write &other) {
          uint32_t a = write.preparation, b = other.preparation;
          if (&write == &other ||
              (a != b && (isBefore(a, b) || isBefore(b, a))))
            return true;
          return fault.set(Fault::BadBundle,
                           "program %u: preparations %u and %u: found both "
                           "writing Prepared bytes at %" PRIu64
                           ", expected one to wait for the other",
                           number, std::min(a, b), std::max(a, b),
                           std::max(write.begin, other.begin));
        }))
      return false;
  for (uint32_t i = 0; i < numPreparations; ++i)
    if (!verifyReader(i))
      return false;
  return true;
}

/// Whether all that preparation `index` reads of Prepared was written by
/// preparations that it waits for, and is written by others after it only.
bool PlanVerifier::verifyReader(uint32_t index) {
  const bundle::Operation *reader = preparation(index);
  auto forEachRead = [&](auto visit) {
    for (uint32_t k = numWritten(program, reader);
         k < reader->operands()->size(); ++k) {
      const bundle::Operand *operand = reader->operands()->Get(k);
      if (operand->space() == bundle::Space_Prepared && operand->size() &&
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
          if (writer != index && isBefore(index, writer))
            return true;
          return fault.set(Fault::BadBundle,
                           "program %u: preparation %u: operand %u: found "
                           "Prepared bytes that preparation %u writes, "
                           "expected it in `after`",
                           number, index, k, writer);
        }))
      return false;
    return covered >= end ||
           fault.set(Fault::BadBundle,
                     "program %u: preparation %u: operand %u: found "
                     "Prepared bytes at %" PRIu64
                     " that no preparation before it writes",
                     number, index, k, covered);
  });
}

/// Marks what `after` names and what that waits for with `mark`, unless it has
/// a mark of all operations (1) or this one already.
void PlanVerifier::markWaited(const After *after, uint32_t mark) {
  uint32_t depth = 0;
  auto push = [&](const After *list) {
    steps += size(list);
    for (uint32_t i = 0; i < size(list); ++i) {
      uint32_t before = list->Get(i);
      if (waited[before] == 1 || waited[before] == mark)
        continue;
      waited[before] = mark;
      stack[depth++] = before;
    }
  };
  push(after);
  while (depth)
    push(preparation(stack[--depth])->after());
}

/// Whether all that `operation` reads of Prepared was written by preparations
/// with a mark, and by no others.
bool PlanVerifier::verifyReads(Name name, const bundle::Operation *operation) {
  uint32_t mark = name.what[0] == 's' ? name.index + 2 : 1;
  for (uint32_t k = 0; k < operation->operands()->size(); ++k) {
    const bundle::Operand *operand = operation->operands()->Get(k);
    if (operand->space() != bundle::Space_Prepared || operand->size() == 0)
      continue;
    uint64_t covered = operand->offset();
    uint64_t end = operand->offset() + operand->size();
    if (!forEachWrite(covered, end, [&](const Write &write) {
          if (waited[write.preparation] != 1 &&
              waited[write.preparation] != mark)
            return fault.set(Fault::BadBundle,
                             "program %u: %s %u: operand %u: found Prepared "
                             "bytes that preparation %u writes, expected it in "
                             "`after` (operation before its weights)",
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
                       "%" PRIu64 " that no preparation that it waits for "
                       "writes (operation before its weights)",
                       number, name.what, name.index, k, covered);
  }
  return true;
}

/// An operation starts after those before it, so it has waited for what they
/// waited for.
bool PlanVerifier::verifyOperations() {
  for (uint32_t i = 0; i < numOperations; ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    markWaited(operation->after(), 1);
    if (!verifyReads({"operation", i}, operation))
      return false;
  }
  return true;
}

/// A switch happens after a whole run.
bool PlanVerifier::verifySwitches() {
  Array<bool> switched;
  if (!switched.allocate(numOperations))
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

bool verifyPlan(const bundle::Program *program, unsigned number, Fault &fault) {
  return PlanVerifier(program, number, fault).verify();
}

} // namespace nnv12::artifact
