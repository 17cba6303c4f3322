//===- ProfileText.cpp - Profiles as text and as tables -------------------===//
#include "runtime/include/nnv12_counters.h"
#include "tools/nnv12-prof/Profile.h"
#include "tools/page/FlatPlan.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace nnv12::prof {

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
  printf("threads:");
  const char *separator = " ";
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    // In warm runs there is nothing to prepare.
    if (i != 0 && i <= profile.info.num_preparing)
      continue;
    const Thread &thread = profile.threads[i];
    printf("%s%s busy %.1f %%", separator, thread.name.c_str(),
           100 * thread.busy);
    if (i == 0)
      printf(", waits for others %.1f %%", 100 * thread.waiting);
    separator = "; ";
  }
  printf("\n");
}

static void printCounters(const Profile &profile) {
  if (profile.counters.empty() && profile.countersState.empty())
    return;
  printf("counted a run, all threads:");
  const char *separator = " ";
  for (const Counter &counter : profile.counters) {
    bool isTime = counter.counter == NNV12_COUNTER_CPU_TIME ||
                  counter.counter == NNV12_COUNTER_CPU_WAIT;
    printf("%s%s %.*f%s", separator, nnv12_counter_name(counter.counter),
           isTime ? 3 : 1, counter.perRun * (isTime ? 1e-6 : 1),
           isTime ? " ms" : "");
    separator = ", ";
  }
  if (profile.othersCpu >= 0) {
    printf("%sother programs %.3f ms of CPUs", separator,
           profile.othersCpu * 1e-6);
    separator = "; ";
  }
  if (!profile.countersState.empty())
    printf("%s%s", profile.counters.empty() ? " " : "; ",
           profile.countersState.c_str());
  printf("\n");
}

/// Prints the parts of the time, largest first, and the cause to look at.
static void printExplanation(const char *what, const Explanation &explanation) {
  if (!explanation.isKnown)
    return;
  double time = 0;
  std::vector<Cause> order;
  for (unsigned i = 0; i < numCauses; ++i) {
    time += explanation.parts[i];
    order.push_back(Cause(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](Cause a, Cause b) {
    return explanation.part(a) > explanation.part(b);
  });
  printf("%s:", what);
  const char *separator = " ";
  for (Cause cause : order)
    if (double part = explanation.part(cause) / time; part >= 0.005) {
      printf("%s%s %.0f %%", separator, causeName(cause), 100 * part);
      separator = ", ";
    }
  printf("; first %s: %s\n", causeName(explanation.cause),
         explanation.text.c_str());
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
  printf("for the GPU:");
  const char *separator = " ";
  if (const auto &device = gpu.of(bundle::GpuStage_Device);
      device.preparations) {
    printf("%sdevice opened in %.3f ms", separator, device.took * 1e-6);
    separator = "; ";
  }
  if (const auto &made = gpu.of(bundle::GpuStage_Pipeline); made.preparations) {
    const GpuPreparation &longest = gpu.all[made.longest];
    printf("%s%u pipeline%s %.3f ms, longest %.3f: %s %s", separator,
           made.pipelines, made.pipelines == 1 ? "" : "s", made.took * 1e-6,
           longest.took * 1e-6, longest.id.c_str(), longest.what.c_str());
    separator = "; ";
  }
  if (const auto &brought = gpu.of(bundle::GpuStage_Upload);
      brought.preparations) {
    printf("%suploads of %s %.3f ms, %.2f GB/s", separator,
           tools::bytesText(brought.bytes).c_str(), brought.took * 1e-6,
           brought.rate());
    separator = "; ";
  }
  if (const auto &written = gpu.of(bundle::GpuStage_Record);
      written.preparations) {
    printf("%scommands of %u stretch%s %.3f ms", separator,
           written.preparations, written.preparations == 1 ? "" : "es",
           written.took * 1e-6);
    separator = "; ";
  }
  if (gpu.notRecorded.empty())
    printf("%sall ready %.3f ms after the session began", separator,
           gpu.ready * 1e-6);
  else
    printf("%s%zu of %zu not recorded, only planned: %s", separator,
           gpu.notRecorded.size(), gpu.all.size(), idsOf(gpu).c_str());
  printf("\n");
}

static void printSlowRuns(const Profile &profile) {
  std::vector<const Operation *> order;
  for (const Operation &operation : profile.operations)
    if (operation.slowShare >= 0.05)
      order.push_back(&operation);
  if (order.empty())
    return;
  std::stable_sort(order.begin(), order.end(),
                   [](const Operation *a, const Operation *b) {
                     return a->slowShare > b->slowShare;
                   });
  order.resize(std::min<size_t>(order.size(), 3));
  printf("slow runs (the slowest hundredth) lose");
  for (const Operation *operation : order)
    printf("%s %.0f %% in %s", operation == order[0] ? "" : ",",
           100 * operation->slowShare,
           operation->layer.empty() ? operation->shownKernel()
                                    : operation->layer.c_str());
  printf("\n");
}

static double perNanosecond(double amount, double time) {
  return time > 0 ? amount / time : 0;
}

static void printOperations(const Profile &profile, unsigned top) {
  if (profile.info.level < NNV12_RECORD_OPERATION || profile.runs.empty())
    return;
  bool hasPieces = profile.info.level >= NNV12_RECORD_PIECE;
  std::vector<const Operation *> order;
  for (const Operation &operation : profile.operations)
    order.push_back(&operation);
  if (top) {
    std::stable_sort(order.begin(), order.end(),
                     [](const Operation *a, const Operation *b) {
                       return a->time.median > b->time.median;
                     });
    order.resize(std::min<size_t>(order.size(), top));
  }
  printf("%10s %6s %8s %8s %8s %6s %8s  %-10s %8s  %-24s %-36s %s\n", "us", "%",
         "p90", "GMAC/s", "GB/s", hasPieces ? "idle%" : "", "tiles", "why",
         "us back", "routine", "kernel", "layer");
  for (const Operation *operation : order) {
    double time = operation->time.median;
    char idle[16] = "";
    if (hasPieces && !operation->isOnGpu)
      snprintf(idle, sizeof idle, "%.1f", 100 * operation->idle);
    const Explanation &explanation = operation->explanation;
    printf("%10.1f %6.2f %8.1f %8.2f %8.2f %6s %8" PRIu64
           "  %-10s %8.1f  %-24s %-36s %s\n",
           time * 1e-3, 100 * operation->share, operation->time.p90 * 1e-3,
           perNanosecond(double(operation->multiplyAdds), time),
           perNanosecond(double(operation->bytes), time), idle,
           operation->tiles,
           explanation.isKnown ? causeName(explanation.cause) : "",
           explanation.givesBack() * 1e-3, operation->shownRoutine(),
           operation->shownKernel(), operation->layer.c_str());
  }
  if (order.size() < profile.operations.size())
    printf("%10s %6s %8s and %zu more operations\n", "", "", "",
           profile.operations.size() - order.size());
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
    char numbers[200];
    table += quoted(path) + "," + info.target + "," + std::to_string(threads) +
             "," + std::to_string(operation.index) + "," +
             quoted(operation.layer) + "," + quoted(operation.shownRoutine()) +
             "," + quoted(operation.shownKernel()) + "," +
             (operation.isOnGpu ? "" : bundle.operation(operation.index).key);
    snprintf(numbers, sizeof numbers,
             ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%.3f,%.3f,%.3f,%.3f\n",
             operation.multiplyAdds, operation.bytes, operation.tiles,
             operation.time.samples.size(), operation.time.median * 1e-3,
             operation.time.p10 * 1e-3, operation.time.p90 * 1e-3,
             operation.time.mean * 1e-3);
    table += numbers;
  }
  return table;
}

} // namespace nnv12::prof
