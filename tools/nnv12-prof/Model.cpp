//===- Model.cpp - A recording's facts about runs -------------------------===//
#include "tools/nnv12-prof/Model.h"

#include "tools/common/TextFormat.h"
#include "tools/nnv12-prof/Idle.h"

#include <algorithm>

namespace nnv12::prof {

using tools::endOf;
using tools::isPreparation;

namespace {

/// All that was recorded of an operation in a run.
struct OperationRecords {
  double time = -1; ///< negative: not known
  double busy = 0, join = 0;
  const nnv12_record *execute = nullptr; ///< null: none
  bool isOnGpu = false;
  std::vector<const nnv12_record *> tiles;

  double knownTime() const { return std::max(time, 0.0); }
};

/// All that was recorded of a run.
struct RunRecords {
  Run run;
  bool isWhole = false; ///< its own record and all of its operations are there
  std::vector<OperationRecords> operations;
  bool hasSubmits = false, hasKernels = false; ///< of a GPU
  double submits = 0, kernels = 0;             ///< times of these
  uint64_t firstSubmit = UINT64_MAX;           ///< when it began
  std::vector<const nnv12_record *> counters;

  /// The GPU's computing; the time of all its work where that is not known.
  double onGpu() const { return hasKernels ? kernels : submits; }
  /// The time of its work beside that.
  double handOver() const { return std::max(0.0, submits - onGpu()); }
};

using Runs = std::map<uint32_t, RunRecords>;

} // namespace

/// Records of operations that the bundle does not have are passed over: a
/// recording is foreign.
static Runs collectRuns(const tools::Recorded &recorded,
                        uint32_t numOperations) {
  Runs runs;
  for (const nnv12_record &record : recorded.records) {
    RunRecords &of = runs[record.run];
    of.operations.resize(numOperations);
    OperationRecords *operation =
        record.index < numOperations ? &of.operations[record.index] : nullptr;
    double time = double(record.duration_ns);
    switch (record.kind) {
    case NNV12_RECORD_WHOLE_RUN:
      of.run = {record.run,    record.index, record.start_ns,
                endOf(record), time,         0};
      of.isWhole = true;
      break;
    case NNV12_RECORD_EXECUTE:
      if (operation) {
        // Beside a GPU it may be computed in several parts.
        bool isPart = record.flags & NNV12_RECORD_PARTIAL;
        operation->time = isPart ? operation->knownTime() + time : time;
        operation->execute = &record;
      }
      break;
    case NNV12_RECORD_GPU_SUBMIT:
      of.hasSubmits = true;
      of.submits += time;
      of.firstSubmit = std::min(of.firstSubmit, record.start_ns);
      // Where the device has no time stamps its kernels are not known.
      for (uint32_t i = record.index;
           i < tools::endOfSubmission(record, numOperations); ++i) {
        of.operations[i].time = of.operations[i].knownTime();
        of.operations[i].isOnGpu = true;
      }
      break;
    case NNV12_RECORD_GPU_KERNEL:
      if (operation) {
        operation->time = operation->knownTime() + time;
        operation->isOnGpu = true;
        of.hasKernels = true;
        of.kernels += time;
      }
      break;
    case NNV12_RECORD_TILES:
      if (operation) {
        operation->busy += time;
        operation->tiles.push_back(&record);
      }
      break;
    case NNV12_RECORD_JOIN:
      if (operation)
        operation->join += time;
      break;
    case NNV12_RECORD_COUNTER:
      of.counters.push_back(&record);
      break;
    }
  }
  bool hasKernels = false;
  for (const auto &[number, of] : runs)
    hasKernels |= of.hasKernels;
  for (auto &[number, of] : runs) {
    // Recorders have time stamps in a part of the runs.
    of.isWhole &= !hasKernels || !of.hasSubmits || of.hasKernels;
    for (const OperationRecords &operation : of.operations) {
      of.isWhole &=
          operation.time >= 0 || recorded.info.level < NNV12_RECORD_OPERATION;
      of.run.operations += operation.knownTime();
    }
    of.isWhole &= of.run.status == NNV12_OK;
  }
  return runs;
}

/// The first run with nothing prepared in it or later, with the kernels of the
/// last one, and with its stretches on a GPU.
static uint32_t firstWarm(const tools::Recorded &recorded) {
  uint32_t first = 1;
  std::map<std::pair<uint8_t, uint32_t>, uint32_t> switchedIn;
  for (const nnv12_record &record : recorded.records)
    if (isPreparation(record))
      first = std::max(first, record.run + 1);
    else if ((record.kind == NNV12_RECORD_EXECUTE &&
              (record.flags & NNV12_RECORD_SWITCHED)) ||
             record.kind == NNV12_RECORD_GPU_SUBMIT)
      switchedIn.emplace(std::pair(record.kind, record.index), record.run);
  for (auto [operation, run] : switchedIn)
    first = std::max(first, run);
  return first;
}

static Operation describe(const Bundle &bundle, uint32_t index,
                          bool isSwitched) {
  Operation result;
  result.index = index;
  result.info = bundle.operation(index);
  for (uint32_t i = 0; isSwitched && i < bundle.info().num_switches; ++i) {
    nnv12_switch_info change = bundle.kernelSwitch(i);
    if (change.operation != index)
      continue;
    result.info.kernel = change.kernel;
    result.info.tiles = change.tiles;
  }
  return result;
}

/// Finds each operation's part of the lost time: how much longer than its
/// median it took in the slowest hundredth of the runs, at least one, as a part
/// of all that these runs took longer.
static void findSlowShares(Profile &profile) {
  size_t count = profile.runs.size();
  if (count < 10)
    return;
  std::vector<size_t> slowest =
      tools::findLargest(count, std::max<size_t>(1, count / 100),
                         [&](size_t run) { return profile.runs[run].time; });
  double more = 0;
  for (size_t run : slowest)
    more += profile.runs[run].time - profile.time.median;
  for (Operation &operation : profile.operations) {
    double here = 0;
    for (size_t run : slowest)
      here += operation.time.samples[run] - operation.time.median;
    operation.slowShare = more > 0 ? here / more : 0;
  }
}

static void findThreads(const Runs &runs, uint32_t first, Profile &profile) {
  uint32_t count = profile.info.num_threads;
  bool hasPieces = profile.info.level >= NNV12_RECORD_PIECE;
  std::vector<double> busy(count);
  double waiting = 0, all = 0, operations = 0;
  for (const auto &[number, of] : runs) {
    if (number < first || !of.isWhole)
      continue;
    all += of.run.time;
    operations += of.run.operations;
    for (const OperationRecords &operation : of.operations) {
      for (const nnv12_record *tiles : operation.tiles)
        if (tiles->thread < count)
          busy[tiles->thread] += double(tiles->duration_ns);
      waiting += operation.join;
      // No thread does an operation of a GPU, and the execute lane's own work
      // has no tiles.
      if (operation.isOnGpu)
        operations -= operation.knownTime();
      else if (operation.busy == 0)
        busy[0] += operation.knownTime();
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    Thread thread;
    thread.name = tools::lineName(profile.info, i);
    if (all > 0 && (hasPieces || i == 0))
      thread.busy = (hasPieces ? busy[i] : operations) / all;
    if (all > 0 && i == 0)
      thread.waiting = waiting / all;
    profile.threads.push_back(thread);
  }
}

static bool computes(const nnv12_recording_info &info, uint32_t thread) {
  return thread == 0 || thread > info.num_preparing;
}

/// The count of all threads that compute, a run; 0: not counted.
static double perRun(const std::vector<Counter> &counters,
                     nnv12_counter wanted) {
  for (const Counter &counter : counters)
    if (counter.counter == wanted)
      return counter.perRun;
  return 0;
}

/// The sum over runs that were counted, as a mean.
static std::vector<Counter>
findCounters(const std::vector<const RunRecords *> &runs,
             const nnv12_recording_info &info) {
  size_t counted = 0;
  std::map<uint32_t, Counter> found;
  for (const RunRecords *of : runs) {
    counted += !of->counters.empty();
    for (const nnv12_record *record : of->counters) {
      if (record->lane >= info.num_threads)
        continue;
      Counter &counter = found[record->index];
      counter.counter = record->index;
      counter.ofThread.resize(info.num_threads);
      counter.ofThread[record->lane] += double(record->duration_ns);
    }
  }
  std::vector<Counter> counters;
  for (auto &[number, counter] : found) {
    for (uint32_t i = 0; i < info.num_threads; ++i) {
      counter.ofThread[i] /= double(counted);
      if (computes(info, i))
        counter.perRun += counter.ofThread[i];
    }
    counters.push_back(counter);
  }
  return counters;
}

/// The count of the execute lane alone, in that run.
static double countOf(const RunRecords &run, nnv12_counter counter) {
  for (const nnv12_record *record : run.counters)
    if (record->index == counter && record->lane == 0)
      return double(record->duration_ns);
  return 0;
}

/// How long the execute lane had nothing to do in that run while a GPU was
/// prepared for it.
static double findGpuWait(const tools::Recorded &recorded,
                          const RunRecords &records) {
  if (!records.hasSubmits)
    return 0;
  Stretches preparing, busy;
  for (const nnv12_record &record : recorded.records) {
    if (tools::isGpuPreparation(record)) {
      uint64_t from = std::max(record.start_ns, records.run.start),
               to = std::min(endOf(record), records.firstSubmit);
      if (from < to)
        preparing.push_back({from, to});
    } else if (record.run == records.run.number && record.thread == 0 &&
               (record.kind == NNV12_RECORD_EXECUTE ||
                record.kind == NNV12_RECORD_WAIT || isPreparation(record))) {
      busy.push_back({record.start_ns, endOf(record)});
    }
  }
  return double(lengthOf(preparing)) - double(overlapOf(preparing, busy));
}

static void findCold(const Bundle &bundle, const tools::Recorded &recorded,
                     const Runs &runs, const std::vector<Operation> &operations,
                     Cold &cold) {
  auto first = runs.find(0);
  if (first == runs.end() || !first->second.isWhole || recorded.lost)
    return;
  const Run &run = first->second.run;
  uint64_t start = run.start, end = run.end;
  std::map<uint32_t, double> waits;
  Stretches forWeights, reads;
  for (const nnv12_record &record : recorded.records) {
    if (record.run != 0 || record.start_ns >= end)
      continue;
    start = std::min(start, record.start_ns);
    if (record.kind == NNV12_RECORD_EXECUTE || isPreparation(record) ||
        tools::isGpuPreparation(record) ||
        record.kind == NNV12_RECORD_THREAD_START)
      cold.stages[tools::kindName(record)] += double(record.duration_ns);
    if (record.kind == NNV12_RECORD_WAIT)
      waits[record.index] += double(record.duration_ns);
    Stretches::value_type stretch = {record.start_ns, endOf(record)};
    if (record.kind == NNV12_RECORD_READ)
      reads.push_back(stretch);
    if (record.thread == 0 && record.start_ns >= run.start &&
        (record.kind == NNV12_RECORD_WAIT || isPreparation(record)))
      forWeights.push_back(stretch);
  }
  cold.isKnown = true;
  cold.run = run.time;
  for (auto [operation, time] : waits) {
    cold.waits += time;
    cold.longestWaits.push_back({operation, time});
  }
  std::sort(cold.longestWaits.begin(), cold.longestWaits.end(),
            [](auto a, auto b) { return a.second > b.second; });
  cold.longestWaits.resize(std::min<size_t>(cold.longestWaits.size(), 5));
  for (uint32_t i = 0; i < bundle.info().num_preparations; ++i)
    if (bundle.preparation(i).stage == NNV12_READ)
      cold.work.storedBytes += bundle.preparation(i).stored_bytes;
  cold.work.time = double(end - start);
  cold.work.weights = double(lengthOf(forWeights));
  cold.work.reading = double(overlapOf(forWeights, reads));
  cold.work.executes = run.operations - first->second.kernels;
  for (const Operation &operation : operations)
    if (const OperationRecords &cpu = first->second.operations[operation.index];
        operation.isOnGpu && !cpu.isOnGpu)
      cold.work.unlike += cpu.knownTime();
  cold.work.gpuWait = findGpuWait(recorded, first->second);
  cold.work.onGpu = first->second.onGpu();
  cold.work.handOver = first->second.handOver();
  cold.work.pageFaults = countOf(first->second, NNV12_COUNTER_PAGE_FAULTS);
  cold.work.withoutCpu = countOf(first->second, NNV12_COUNTER_CPU_WAIT);
}

/// Finds the work of operation `i` in whole warm runs.
static Work findWork(const Operation &operation,
                     const std::vector<const RunRecords *> &runs,
                     const nnv12_recording_info &info, unsigned threads) {
  Work work;
  work.multiplyAdds = double(operation.info.multiply_adds);
  work.bytes = double(operation.info.bytes);
  work.tiles = operation.info.tiles;
  work.isOnGpu = operation.isOnGpu;
  work.least = operation.time.p10;
  Distribution idle;
  for (const RunRecords *of : runs) {
    const OperationRecords &records = of->operations[operation.index];
    work.time += records.knownTime();
    if (info.level < NNV12_RECORD_PIECE || !records.execute)
      continue;
    Idle found = findIdle(*records.execute, records.tiles, threads);
    work.late += found.late;
    work.tail += found.tail;
    work.absent += found.absent;
    idle.add(found.sum());
  }
  idle.close();
  work.leastIdle = idle.p10;
  for (double *sum : {&work.time, &work.late, &work.tail, &work.absent})
    *sum /= double(runs.size());
  return work;
}

/// Why warm runs, their operations and the first run take so long.
static void explain(const std::vector<const RunRecords *> &runs,
                    unsigned threads, Profile &profile) {
  if (runs.empty() || profile.info.level < NNV12_RECORD_OPERATION)
    return;
  RunWork run;
  run.threads = threads;
  for (const RunRecords *of : runs) {
    run.time += of->run.time / double(runs.size());
    run.handOver += of->handOver() / double(runs.size());
    run.onGpu += (of->onGpu() - of->kernels) / double(runs.size());
  }
  run.withoutCpu = perRun(profile.counters, NNV12_COUNTER_CPU_WAIT);
  run.othersCpu = profile.othersCpu;
  run.pageFaults = perRun(profile.counters, NNV12_COUNTER_PAGE_FAULTS);
  std::vector<Work> work;
  for (const Operation &operation : profile.operations)
    work.push_back(findWork(operation, runs, profile.info, threads));
  std::vector<Explanation> found =
      explainOperations(work, run, profile.machine);
  profile.explanation = explainRun(found, run);
  for (size_t i = 0; i < found.size(); ++i)
    profile.operations[i].explanation = std::move(found[i]);
  if (profile.cold.isKnown)
    profile.cold.explanation =
        explainCold(profile.cold.work, profile.explanation, profile.machine);
}

Profile makeProfile(const Bundle &bundle, const tools::Recorded &recorded,
                    const Machine &machine) {
  Profile profile;
  profile.machine = machine;
  profile.countersState = recorded.countersState;
  if (recorded.othersCpu >= 0 && recorded.info.runs)
    profile.othersCpu = recorded.othersCpu / double(recorded.info.runs);
  profile.info = recorded.info;
  profile.lost = recorded.lost;
  uint32_t count = bundle.info().num_operations;
  Runs runs = collectRuns(recorded, count);
  uint32_t first = firstWarm(recorded);
  std::vector<bool> isSwitched(count);
  for (const nnv12_record &record : recorded.records)
    if (record.kind == NNV12_RECORD_EXECUTE && record.index < count &&
        (record.flags & NNV12_RECORD_SWITCHED))
      isSwitched[record.index] = true;
  for (uint32_t i = 0; i < count; ++i)
    profile.operations.push_back(describe(bundle, i, isSwitched[i]));

  uint32_t computing = recorded.info.num_threads - recorded.info.num_preparing;
  std::vector<Distribution> busy(count), join(count);
  std::vector<const RunRecords *> warm;
  double all = 0, outside = 0;
  for (const auto &[number, of] : runs) {
    if (number < first || !of.isWhole)
      continue;
    warm.push_back(&of);
    profile.runs.push_back(of.run);
    profile.time.add(of.run.time);
    all += of.run.time;
    outside += of.run.time - of.run.operations;
    for (uint32_t i = 0; i < count; ++i) {
      profile.operations[i].time.add(of.operations[i].knownTime());
      profile.operations[i].isOnGpu |= of.operations[i].isOnGpu;
      busy[i].add(of.operations[i].busy);
      join[i].add(of.operations[i].join);
    }
  }
  profile.splits = findSplitWaits(recorded, first);
  profile.time.close();
  profile.gaps = all > 0 ? outside / all : 0;
  double sum = 0;
  for (Operation &operation : profile.operations) {
    operation.time.close();
    sum += operation.time.median;
  }
  for (uint32_t i = 0; i < count; ++i) {
    Operation &operation = profile.operations[i];
    operation.share = sum > 0 ? operation.time.median / sum : 0;
    busy[i].close();
    join[i].close();
    operation.busy = busy[i].median;
    operation.join = join[i].median;
    if (recorded.info.level < NNV12_RECORD_PIECE || operation.isOnGpu)
      continue;
    if (operation.busy == 0)
      operation.busy = operation.time.median; // by the execute lane, alone
    if (double had = operation.time.median * computing; had > 0)
      operation.idle = std::max(0.0, 1 - operation.busy / had);
  }
  findSlowShares(profile);
  findThreads(runs, first, profile);
  findCold(bundle, recorded, runs, profile.operations, profile.cold);
  profile.counters = findCounters(warm, profile.info);
  explain(warm, computing, profile);
  return profile;
}

} // namespace nnv12::prof
