//===- PlanVerifier.cpp - Checks the plan of a program --------------------===//
#include "artifact/PlanVerifier.h"

#include "artifact/Checks.h"
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

/// How many operands the preparation writes.
uint32_t numWritten(const bundle::Target *target,
                    const bundle::Operation *operation) {
  switch (operation->kind()) {
  case bundle::OperationKind_Decode:
    return 1;
  case bundle::OperationKind_Transform:
    return kernelOf(target, operation)->outputs();
  default:
    return 0;
  }
}

/// Nodes of the dependency graph are operations by number: executes, then, from
/// `first` on, preparations, and from `firstGpu` on those of the GPU. Its lanes
/// count on behind the program's, too.
class PlanVerifier : public Checks {
public:
  PlanVerifier(const bundle::Target *target, const bundle::Program *program,
               const bundle::ProgramGpu *gpu, unsigned number, Fault &fault)
      : Checks(fault), target_(target), program_(program), gpu_(gpu),
        root_{nullptr, "program", number}, first_(numExecutes(program)),
        firstGpu_(program->operations()->size()),
        numNodes_(firstGpu_ + (gpu ? gpu->preparations()->size() : 0)),
        numLanes_(artifact::numLanes(program)),
        numSwitches_(artifact::numSwitches(program)) {}

  bool verify() {
    return hold([this] { numLanes_ ? verifyAll() : verifyNoPlan(); });
  }

private:
  using Self = PlanVerifier;

  void verifyAll() {
    verifyCounts();
    allocate();
    verifyDependencies();
    forEach(&root_, "lane", program_->lanes(), &Self::verifyLane);
    if (gpu_)
      forEach(&root_, "gpu: lane", gpu_->lanes(), &Self::verifyGpuLane);
    verifyPlaces();
    verifyNoCycle();
    verifyBackground();
    verifyNoDeadlock();
    collectWrites();
    verifyPreparations();
    if (gpu_)
      forEach(&root_, "gpu: stretch", gpu_->stretches(), &Self::verifyStretch);
    verifyExecutes();
    makeRoom(switched_, first_);
    forEach(&root_, "switch", program_->switches(), &Self::verifySwitch);
  }

  void verifyNoPlan() {
    if (numNodes_ != first_ || numSwitches_)
      refuse(
          root_,
          "lanes: found none|at least one for %u preparations and %u switches",
          numNodes_ - first_, numSwitches_);
    for (uint32_t i = 0; i < first_; ++i)
      verifyAfter({&root_, "operation", i}, afterOf(i), i, firstGpu_);
  }

  void verifyCounts() {
    uint32_t lanes = numLanes_ + (gpu_ ? gpu_->lanes()->size() : 0);
    if (lanes > maxLanes)
      refuse(root_, "lanes: found %u|at most %u", lanes, maxLanes);
    if (numNodes_ > maxOperations || numSwitches_ > maxOperations)
      refuse(root_, "found %u operations and %u switches|at most %u", numNodes_,
             numSwitches_, maxOperations);
  }

  void allocate() {
    for (Array<uint32_t> *list :
         {&laneOf_, &next_, &pending_, &position_, &stack_, &waited_, &marked_})
      makeRoom(*list, numNodes_);
    makeRoom(background_, numNodes_);
    makeRoom(firstUser_, size_t(numNodes_) + 1);
    std::fill(laneOf_.begin(), laneOf_.end(), none);
    std::fill(next_.begin(), next_.end(), none);
  }

  /// `executes`: those before this number run before it. `end`: it may wait for
  /// operations before this number.
  void verifyAfter(const Where &where, const After *after, uint32_t executes,
                   uint32_t end) {
    for (uint32_t before : elementsOf(after)) {
      if (before >= end)
        refuse(where, "after: found operation %u|less than %u", before, end);
      if (before < first_ && before >= executes)
        refuse(where, "after: found execute %u, which does not run before it",
               before);
    }
  }

  /// Checks all `after` and turns them round.
  void verifyDependencies() {
    uint64_t edges = 0;
    for (uint32_t node = 0; node < numNodes_; ++node) {
      Where where = {&root_, "operation", node};
      verifyAfter(where, afterOf(node), node < first_ ? node : 0,
                  node < firstGpu_ ? firstGpu_ : numNodes_);
      edges += elementsOf(afterOf(node)).size();
      for (uint32_t before : elementsOf(afterOf(node))) {
        if (before == node)
          refuse(where, "after: found itself");
        ++firstUser_[before];
      }
    }
    for (uint32_t i = 0; i < numSwitches_; ++i) {
      const bundle::Switch *change = program_->switches()->Get(i);
      verifyAfter({&root_, "switch", i}, change->replacement()->after(),
                  change->operation(), firstGpu_);
    }
    for (uint32_t i = 0; gpu_ && i < gpu_->stretches()->size(); ++i)
      verifyAfter({&root_, "gpu: stretch", i},
                  gpu_->stretches()->Get(i)->after(), 0, numNodes_);
    makeRoom(users_, edges);
    // Counts become ends, and filling backwards makes them begins.
    for (uint32_t i = 1; i <= numNodes_; ++i)
      firstUser_[i] += firstUser_[i - 1];
    for (uint32_t node = numNodes_; node-- > 0;)
      for (uint32_t before : elementsOf(afterOf(node)))
        users_[--firstUser_[before]] = node;
  }

  /// Threads of the CPU work on them, beside those of the program.
  void verifyGpuLane(const Where &where, const bundle::Lane *lane) {
    if (lane->kind() != bundle::LaneKind_Prepare || lane->processor() != 0 ||
        elementsOf(lane->background()).size())
      refuse(where,
             "found kind %u, processor %u and %u in the background|Prepare, 0 "
             "and none",
             lane->kind(), lane->processor(),
             elementsOf(lane->background()).size());
    last_ = none;
    for (uint32_t node : *lane->queue())
      place(numLanes_ + where.index, node, false);
  }

  void verifyPlaces() {
    for (uint32_t node = first_; node < numNodes_; ++node)
      if (laneOf_[node] == none)
        refuse({&root_, "operation", node}, "found it in no lane|one");
  }

  void verifyLane(const Where &where, const bundle::Lane *lane) {
    expect(where, "processor", lane->processor(), 0,
           target_->processors()->size());
    if ((lane->kind() == bundle::LaneKind_Execute) != (where.index == 0))
      refuse(where, "kind: found %s|Execute for lane 0 and for no other",
             bundle::EnumNameLaneKind(lane->kind()));
    last_ = none;
    forEach(&where, "entry", lane->queue(), &Self::verifyEntry);
    if (where.index == 0 && executesSeen_ != first_)
      refuse(where, "found %u executes|all %u", executesSeen_, first_);
    for (uint32_t node : elementsOf(lane->background()))
      place(where.index, node, true);
  }

  void verifyEntry(const Where &where, uint32_t node) {
    uint32_t lane = where.outer->index;
    if (node >= first_) {
      place(lane, node, false);
      return;
    }
    if (lane != 0)
      refuse(where, "found an execute|them in lane 0");
    if (node != executesSeen_)
      refuse(where, "found operation %u|%u (each execute once, in order)", node,
             executesSeen_);
    ++executesSeen_;
    append(node);
  }

  void place(uint32_t lane, uint32_t node, bool isBackground) {
    uint32_t begin = lane < numLanes_ ? first_ : firstGpu_;
    uint32_t end = lane < numLanes_ ? firstGpu_ : numNodes_;
    Where where = {&root_, "lane", lane};
    if (node >= end || node < begin)
      refuse(where, "found operation %u|a preparation, %u to %u", node, begin,
             end - 1);
    if (laneOf_[node] != none)
      refuse(where, "found operation %u, which is in lane %u already", node,
             laneOf_[node]);
    laneOf_[node] = lane;
    background_[node] = isBackground;
    append(node);
  }

  void append(uint32_t node) {
    if (last_ != none)
      next_[last_] = node;
    last_ = node;
  }

  /// The first node from `begin` on that cannot run in any order, because there
  /// is a cycle; `none` where all can.
  uint32_t findStuck(uint32_t begin, bool withLanes) {
    uint32_t depth = 0, done = 0;
    for (uint32_t node = begin; node < numNodes_; ++node)
      pending_[node] = elementsOf(afterOf(node)).size();
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
    if (done == numNodes_ - begin)
      return none;
    while (pending_[begin] == 0)
      ++begin;
    return begin;
  }

  /// Preparations wait for preparations alone (artifact/Compatibility.h).
  void verifyNoCycle() {
    if (uint32_t node = findStuck(first_, false); node != none)
      refuse({&root_, "operation", node}, "after: found a cycle");
  }

  void verifyNoDeadlock() {
    if (uint32_t node = findStuck(0, true); node != none)
      refuse(root_,
             "lanes: operation %u never starts: the order of the lanes and "
             "`after` form a cycle",
             node);
  }

  /// The queues must not need preparations that are done after them. Lanes of a
  /// GPU hold nobody up, and may wait for those.
  void verifyBackground() {
    for (uint32_t node = 0; node < firstGpu_; ++node) {
      if (background_[node])
        continue;
      for (uint32_t before : elementsOf(afterOf(node)))
        if (background_[before])
          refuse({&root_, "operation", node},
                 "after: found operation %u of a background|one of a queue",
                 before);
    }
  }

  void collectWrites() {
    size_t count = 0;
    for (uint32_t node = first_; node < firstGpu_; ++node)
      count += numWritten(target_, operation(node));
    makeRoom(writes_, count);
    makeRoom(furthest_, count);
    Write *write = writes_.data();
    for (uint32_t node = first_; node < firstGpu_; ++node)
      for (uint32_t k = 0; k < numWritten(target_, operation(node)); ++k) {
        const bundle::Operand *operand = operation(node)->operands()->Get(k);
        *write++ = {operand->offset(), operand->offset() + operand->size(),
                    node};
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
    maxSteps_ = leastSteps +
                stepsPerPart * (uint64_t(numNodes_) + users_.size() + count);
  }

  /// Visits the writes that touch [begin, end), by begin.
  template <typename Visit>
  void forEachWrite(uint64_t begin, uint64_t end, Visit visit) {
    size_t i = std::upper_bound(furthest_.begin(), furthest_.end(), begin) -
               furthest_.begin();
    for (; i < writes_.size() && writes_[i].begin < end; ++i) {
      // Beyond the limit the result of a search means nothing.
      if (++steps_ > maxSteps_)
        refuse(root_, "preparations: too entangled to check");
      if (writes_[i].end > begin)
        visit(writes_[i]);
    }
  }

  /// Marks the preparations that `reader` waits for, by way of others too, as
  /// far as they stand at `earliest` or later in the order by dependencies.
  /// Past the limit some lack the mark, which refuses the plan.
  void markBefore(uint32_t reader, uint32_t earliest) {
    uint32_t depth = 0;
    stack_[depth++] = reader;
    while (depth) {
      for (uint32_t before : elementsOf(afterOf(stack_[--depth]))) {
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
  bool arePartsOfOne(const Write &a, const Write &b) const {
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
  void verifyPreparations() {
    for (const Write &write : writes_)
      forEachWrite(write.begin, write.end, [&](const Write &other) {
        if (&write != &other && !arePartsOfOne(write, other))
          refuse(root_,
                 "operations %u and %u: found both writing Prepared bytes at "
                 "%" PRIu64 "|one",
                 std::min(write.preparation, other.preparation),
                 std::max(write.preparation, other.preparation),
                 std::max(write.begin, other.begin));
      });
    for (uint32_t node = first_; node < numNodes_; ++node)
      verifyReader(node);
  }

  /// Checks that all that preparation `index` reads of Prepared was written by
  /// preparations that it waits for.
  void verifyReader(uint32_t index) {
    bool isGpu = index >= firstGpu_;
    const bundle::Operation *reader = isGpu ? nullptr : operation(index);
    const auto &uploads =
        elementsOf(isGpu ? gpuPreparation(index)->uploads() : nullptr);
    uint32_t begin = isGpu ? 0 : numWritten(target_, reader);
    uint32_t end = isGpu ? uploads.size() : reader->operands()->size();
    auto forEachRead = [&](auto visit) {
      for (uint32_t k = begin; k < end; ++k) {
        const bundle::Operand *operand =
            isGpu ? uploads.Get(k)->source() : reader->operands()->Get(k);
        if (isPrepared(operand))
          visit(k, operand);
      }
    };
    uint32_t earliest = none;
    forEachRead([&](uint32_t, const bundle::Operand *operand) {
      forEachWrite(operand->offset(), operand->offset() + operand->size(),
                   [&](const Write &write) {
                     earliest =
                         std::min(earliest, position_[write.preparation]);
                   });
    });
    if (earliest != none)
      markBefore(index, earliest);
    Where where = {&root_, "operation", index};
    forEachRead([&](uint32_t k, const bundle::Operand *operand) {
      verifyRead(
          {&where, "operand", k}, operand,
          [&](uint32_t writer) { return marked_[writer] == index + 1; },
          "no operation before it writes", "");
    });
  }

  /// Checks that all bytes of an operand in Prepared were written by
  /// preparations that its reader has waited for, and by no others. `missing`
  /// and `why` are parts of messages.
  template <typename HasWaited>
  void verifyRead(const Where &where, const bundle::Operand *operand,
                  HasWaited hasWaited, const char *missing, const char *why) {
    uint64_t covered = operand->offset(), end = covered + operand->size();
    forEachWrite(covered, end, [&](const Write &write) {
      if (!hasWaited(write.preparation))
        refuse(where,
               "found Prepared bytes that operation %u writes|it in `after`%s",
               write.preparation, why);
      if (write.begin <= covered)
        covered = std::max(covered, write.end);
    });
    if (covered < end)
      refuse(where, "found Prepared bytes at %" PRIu64 " that %s%s", covered,
             missing, why);
  }

  /// Marks the operations that `after` names, and those that they wait for,
  /// with `mark`, unless they have a mark of all operations (1) or this one
  /// already.
  void markWaited(const After *after, uint32_t mark) {
    uint32_t depth = 0;
    auto push = [&](const After *list) {
      steps_ += elementsOf(list).size();
      for (uint32_t before : elementsOf(list)) {
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

  /// Checks that all that `operation` reads of Prepared was written by
  /// preparations with a mark, and by no others.
  void verifyReads(const Where &where, uint32_t mark,
                   const bundle::Operation *operation) {
    for (uint32_t k = 0; k < operation->operands()->size(); ++k)
      if (isPrepared(operation->operands()->Get(k)))
        verifyRead(
            {&where, "operand", k}, operation->operands()->Get(k),
            [&](uint32_t writer) {
              return waited_[writer] == 1 || waited_[writer] == mark;
            },
            "nothing that it waits for writes",
            " (it starts before its weights)");
  }

  /// A later run may take a split stretch before any execute has waited for its
  /// weights: the GPU may have computed it in all runs before. So the weights
  /// of its parts are those that the stretch itself waits for.
  void verifyStretch(const Where &where, const bundle::Stretch *stretch) {
    // Executes and switches have other marks, and are looked at later.
    uint32_t mark = numSwitches_ + 2 + where.index;
    if (elementsOf(stretch->parts()).size())
      markWaited(stretch->after(), mark);
    if (steps_ > maxSteps_)
      refuse(root_, "stretches: too entangled to check");
    for (uint32_t i = 0; i < elementsOf(stretch->parts()).size(); ++i)
      verifyReads({&where, "part", i}, mark, stretch->parts()->Get(i));
  }

  /// An execute starts after the executes before it, so it has waited for all
  /// that they waited for.
  void verifyExecutes() {
    for (uint32_t i = 0; i < first_; ++i) {
      markWaited(afterOf(i), 1);
      verifyReads({&root_, "operation", i}, 1, operation(i));
    }
  }

  /// A switch happens after a whole run.
  void verifySwitch(const Where &where, const bundle::Switch *change) {
    if (switched_[change->operation()])
      refuse(where, "operation: found %u, which an earlier switch replaces",
             change->operation());
    switched_[change->operation()] = true;
    markWaited(change->replacement()->after(), where.index + 2);
    if (steps_ > maxSteps_)
      refuse(root_, "switches: too entangled to check");
    verifyReads(where, where.index + 2, change->replacement());
  }

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

  /// Whether some bytes of the operand are in Prepared.
  bool isPrepared(const bundle::Operand *operand) const {
    return operand->size() &&
           isIn(program_, operand, bundle::MemoryKind_Prepared);
  }

  static constexpr uint32_t none = ~0u;
  /// Steps of the searches below, for each operation, dependency and
  /// write: sensible plans take a few, and a plan made to keep us busy is
  /// given up after a time in proportion to its size.
  static constexpr uint64_t stepsPerPart = 256;
  static constexpr uint64_t leastSteps = 1 << 16;

  const bundle::Target *target_;
  const bundle::Program *program_;
  const bundle::ProgramGpu *gpu_; ///< or null
  Where root_;
  uint32_t first_, firstGpu_, numNodes_, numLanes_, numSwitches_;
  uint64_t steps_ = 0, maxSteps_ = 0;
  uint32_t last_ = none;      ///< of the lane that is looked at, so far
  uint32_t executesSeen_ = 0; ///< in lane 0

  // By node; preparations alone where it says so.
  Array<uint32_t> laneOf_;   ///< of a preparation; `none` before it is placed
  Array<bool> background_;   ///< of a preparation
  Array<uint32_t> next_;     ///< the next one in its lane, or `none`
  Array<uint32_t> pending_;  ///< the nodes it still waits for, in findStuck()
  Array<uint32_t> position_; ///< of a preparation, in an order by dependencies
  Array<uint32_t> stack_;    ///< of nodes
  Array<uint32_t> waited_;   ///< of a preparation: marks, see markWaited()
  Array<uint32_t> marked_;   ///< of a preparation: see markBefore(); reader + 1
  Array<uint32_t> firstUser_; ///< where in `users` those of a node begin
  Array<uint32_t> users_;     ///< nodes that wait for it
  Array<Write> writes_;       ///< by begin
  Array<uint64_t> furthest_;  ///< the largest end of writes up to this one
  Array<bool> switched_;      ///< by execute
};

} // namespace

bool verifyPlan(const bundle::Target *target, const bundle::Program *program,
                const bundle::ProgramGpu *gpu, unsigned number, Fault &fault) {
  return PlanVerifier(target, program, gpu, number, fault).verify();
}

} // namespace nnv12::artifact
