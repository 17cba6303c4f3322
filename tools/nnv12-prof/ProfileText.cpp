//===- ProfileText.cpp - Profiles as text and as tables -------------------===//
#include "runtime/include/nnv12_counters.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-prof/Profile.h"
#include "tools/page/FlatPlan.h"

#include <cinttypes>
#include <cstdio>
#include <numeric>

namespace nnv12::prof {

using tools::findLargest;
using tools::format;
using tools::join;

static void printRuns(const Profile &profile) {
  if (profile.runs.empty()) {
    printf("warm runs: none recorded whole\n");
    return;
  }
  const Distribution &time = profile.time;
  printf("warm runs: %zu, median %.3f ms, p10 %.3f, p90 %.3f, p99 %.3f, most "
         "%.3f",
         profile.runs.size(), time.median * 1e-6, time.p10 * 1e-6,
         time.p90 * 1e-6, time.p99 * 1e-6, time.max * 1e-6);
  if (profile.info.level >= NNV12_RECORD_OPERATION)
    printf("; %.2f %% outside of operations", 100 * profile.gaps);
  printf("\n");
}

static void printThreads(const Profile &profile) {
  if (profile.info.level < NNV12_RECORD_PIECE || profile.runs.empty())
    return;
  std::vector<std::string> parts;
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    // In warm runs there is nothing to prepare.
    if (i != 0 && i <= profile.info.num_preparing)
      continue;
    const Thread &thread = profile.threads[i];
    parts.push_back(
        format("%s busy %.1f %%", thread.name.c_str(), 100 * thread.busy));
    if (i == 0)
      parts[0] += format(", waits for others %.1f %%", 100 * thread.waiting);
  }
  printf("threads: %s\n", join(parts, "; ").c_str());
}

static void printCounters(const Profile &profile) {
  if (profile.counters.empty() && profile.countersState.empty())
    return;
  std::vector<std::string> parts;
  for (const Counter &counter : profile.counters) {
    bool isTime = counter.counter == NNV12_COUNTER_CPU_TIME ||
                  counter.counter == NNV12_COUNTER_CPU_WAIT;
    parts.push_back(format("%s %.*f%s", nnv12_counter_name(counter.counter),
                           isTime ? 3 : 1, counter.perRun * (isTime ? 1e-6 : 1),
                           isTime ? " ms" : ""));
  }
  if (profile.othersCpu >= 0)
    parts.push_back(
        format("other programs %.3f ms of CPUs", profile.othersCpu * 1e-6));
  printf("counted a run, all threads:%s%s", parts.empty() ? "" : " ",
         join(parts).c_str());
  if (!profile.countersState.empty())
    printf("%s%s", profile.counters.empty() ? " " : "; ",
           profile.countersState.c_str());
  printf("\n");
}

/// Prints the parts of the time, largest first, and the cause to look at.
static void printExplanation(const char *what, const Explanation &explanation) {
  if (!explanation.isKnown)
    return;
  const auto &times = explanation.parts;
  double time = std::accumulate(times.begin(), times.end(), 0.0);
  std::vector<std::string> parts;
  for (size_t i :
       findLargest(numCauses, numCauses, [&](size_t i) { return times[i]; }))
    if (times[i] / time >= 0.005)
      parts.push_back(
          format("%s %.0f %%", causeName(Cause(i)), 100 * (times[i] / time)));
  printf("%s: %s; first %s: %s\n", what, join(parts).c_str(),
         causeName(explanation.cause), explanation.text.c_str());
}

std::string nameOfWait(const Bundle &bundle, uint32_t operation) {
  nnv12_record record = {};
  record.kind = NNV12_RECORD_WAIT;
  record.index = operation;
  return tools::nameOf(bundle, record);
}

static void printCold(const Bundle &bundle, const Cold &cold) {
  if (!cold.isKnown)
    return;
  printf("first run: %.3f ms from the first thing that was done, run %.3f",
         cold.work.time * 1e-6, cold.run * 1e-6);
  if (uint64_t predicted = bundle.info().predicted_cold_ns)
    printf(", %.3f predicted", double(predicted) * 1e-6);
  printf("; on all threads");
  for (const auto &[stage, time] : cold.stages)
    printf(" %s %.3f", stage.c_str(), time * 1e-6);
  printf("; waits for weights %.3f", cold.waits * 1e-6);
  if (!cold.longestWaits.empty())
    printf(", longest %.3f: %s", cold.longestWaits[0].second * 1e-6,
           nameOfWait(bundle, cold.longestWaits[0].first).c_str());
  printf("\n");
}

/// "g2, g5"; the first ones of many.
static std::string idsOf(const GpuPreparing &gpu) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t i = 0; i < gpu.notRecorded.size(); ++i) {
    if (i == most)
      return text + "...";
    text += (i ? ", " : "") + gpu.all[gpu.notRecorded[i]].id;
  }
  return text;
}

static void printGpu(const GpuPreparing &gpu) {
  if (gpu.all.empty())
    return;
  std::vector<std::string> parts;
  if (const auto &device = gpu.of(bundle::GpuStage_Device); device.preparations)
    parts.push_back(format("device opened in %.3f ms", device.took * 1e-6));
  if (const auto &made = gpu.of(bundle::GpuStage_Pipeline); made.preparations) {
    const GpuPreparation &longest = gpu.all[made.longest];
    parts.push_back(format("%u pipeline%s %.3f ms, longest %.3f: %s %s",
                           made.pipelines, made.pipelines == 1 ? "" : "s",
                           made.took * 1e-6, longest.took * 1e-6,
                           longest.id.c_str(), longest.what.c_str()));
  }
  if (const auto &brought = gpu.of(bundle::GpuStage_Upload);
      brought.preparations)
    parts.push_back(format("uploads of %s %.3f ms, %.2f GB/s",
                           tools::bytesText(brought.bytes).c_str(),
                           brought.took * 1e-6, brought.rate()));
  if (const auto &written = gpu.of(bundle::GpuStage_Record);
      written.preparations)
    parts.push_back(
        format("commands of %u stretch%s %.3f ms", written.preparations,
               written.preparations == 1 ? "" : "es", written.took * 1e-6));
  if (gpu.notRecorded.empty())
    parts.push_back(
        format("all ready %.3f ms after the session began", gpu.ready * 1e-6));
  else
    parts.push_back(format("%zu of %zu not recorded, only planned: %s",
                           gpu.notRecorded.size(), gpu.all.size(),
                           idsOf(gpu).c_str()));
  printf("for the GPU: %s\n", join(parts, "; ").c_str());
}

static void printSplits(const Profile &profile) {
  constexpr size_t most = 5;
  const std::vector<SplitWait> &splits = profile.splits;
  for (size_t i : findLargest(splits.size(), most,
                              [&](size_t i) { return splits[i].time; })) {
    const SplitWait &split = splits[i];
    const char *layer = split.operation < profile.operations.size()
                            ? profile.operations[split.operation].info.layer
                            : "";
    printf("split of %u operation%s from %s on: %.3f ms, the CPU's parts "
           "%.3f, then it waited %.3f for the GPU",
           split.count, split.count == 1 ? "" : "s", layer, split.time * 1e-6,
           split.parts * 1e-6, split.waited * 1e-6);
    if (split.kernels > 0)
      printf(", whose kernels took %.3f", split.kernels * 1e-6);
    printf("\n");
  }
  if (splits.size() > most)
    printf("and %zu more splits\n", splits.size() - most);
}

static void printSlowRuns(const Profile &profile) {
  std::vector<std::string> parts;
  for (size_t i : findLargest(profile.operations.size(), 3, [&](size_t i) {
         return profile.operations[i].slowShare;
       }))
    if (const Operation &slow = profile.operations[i]; slow.slowShare >= 0.05)
      parts.push_back(
          format("%.0f %% in %s", 100 * slow.slowShare,
                 *slow.info.layer ? slow.info.layer : slow.shownKernel()));
  if (!parts.empty())
    printf("slow runs (the slowest hundredth) lose %s\n", join(parts).c_str());
}

static double perNanosecond(double amount, double time) {
  return time > 0 ? amount / time : 0;
}

static void printOperations(const Profile &profile, unsigned top) {
  if (profile.info.level < NNV12_RECORD_OPERATION || profile.runs.empty())
    return;
  bool hasPieces = profile.info.level >= NNV12_RECORD_PIECE;
  const std::vector<Operation> &all = profile.operations;
  std::vector<size_t> order =
      findLargest(all.size(), top ? top : all.size(),
                  [&](size_t i) { return top ? all[i].time.median : 0; });
  printf("%10s %6s %8s %8s %8s %6s %8s  %-10s %8s  %-24s %-36s %s\n", "us", "%",
         "p90", "GMAC/s", "GB/s", hasPieces ? "idle%" : "", "tiles", "why",
         "us back", "routine", "kernel", "layer");
  for (size_t place : order) {
    const Operation &operation = all[place];
    double time = operation.time.median;
    std::string idle;
    if (hasPieces && !operation.isOnGpu)
      idle = format("%.1f", 100 * operation.idle);
    const Explanation &explanation = operation.explanation;
    printf("%10.1f %6.2f %8.1f %8.2f %8.2f %6s %8" PRIu64
           "  %-10s %8.1f  %-24s %-36s %s\n",
           time * 1e-3, 100 * operation.share, operation.time.p90 * 1e-3,
           perNanosecond(double(operation.info.multiply_adds), time),
           perNanosecond(double(operation.info.bytes), time), idle.c_str(),
           operation.info.tiles,
           explanation.isKnown ? causeName(explanation.cause) : "",
           explanation.givesBack() * 1e-3, operation.shownRoutine(),
           operation.shownKernel(), operation.info.layer);
  }
  if (order.size() < all.size())
    printf("%10s %6s %8s and %zu more operations\n", "", "", "",
           all.size() - order.size());
}

void printProfile(const std::string &path, const Bundle &bundle,
                  const Profile &profile, unsigned top) {
  nnv12_bundle_info info = bundle.info();
  static constexpr const char *levels[] = {"off", "run", "operation", "piece"};
  printf("%s: model '%s', %s, %u threads and %u that prepare, level %s",
         path.c_str(), info.model, info.target,
         profile.info.num_threads - profile.info.num_preparing,
         profile.info.num_preparing, levels[profile.info.level]);
  if (profile.info.sample_every > 1)
    printf(", one run of %u", profile.info.sample_every);
  if (profile.lost)
    printf(", %" PRIu64 " records lost", profile.lost);
  printf("\n");
  printRuns(profile);
  printThreads(profile);
  printCounters(profile);
  printExplanation("warm runs are", profile.explanation);
  printSlowRuns(profile);
  printCold(bundle, profile.cold);
  printExplanation("the first run is", profile.cold.explanation);
  printGpu(profile.gpu);
  printSplits(profile);
  printOperations(profile, top);
}

/// Names are the model's and may hold anything.
static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text)
    result += c == '"' ? "\"\"" : c == '\n' ? " " : std::string(1, c);
  return result + "\"";
}

std::string kernelTable(const std::string &path, const Bundle &bundle,
                        const Profile &profile, bool withHead) {
  std::string table;
  if (withHead)
    table = "bundle,target,threads,operation,layer,routine,kernel,key,"
            "multiply_adds,bytes,tiles,runs,median_us,p10_us,p90_us,mean_us\n";
  nnv12_bundle_info info = bundle.info();
  uint32_t threads = profile.info.num_threads - profile.info.num_preparing;
  for (const Operation &operation : profile.operations) {
    table += quoted(path) + "," + info.target + "," + std::to_string(threads) +
             "," + std::to_string(operation.index) + "," +
             quoted(operation.info.layer) + "," +
             quoted(operation.shownRoutine()) + "," +
             quoted(operation.shownKernel()) + "," +
             (operation.isOnGpu ? "" : operation.info.key);
    table +=
        format(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%.3f,%.3f,%.3f,%.3f\n",
               operation.info.multiply_adds, operation.info.bytes,
               operation.info.tiles, operation.time.samples.size(),
               operation.time.median * 1e-3, operation.time.p10 * 1e-3,
               operation.time.p90 * 1e-3, operation.time.mean * 1e-3);
  }
  return table;
}

} // namespace nnv12::prof
