//===- ProfileJson.cpp - Profiles for programs ----------------------------===//
#include "runtime/include/nnv12_counters.h"
#include "tools/common/Json.h"
#include "tools/nnv12-prof/Profile.h"

namespace nnv12::prof {

using tools::Json;

static void addDistribution(Json &json, const char *name,
                            const Distribution &distribution) {
  json.key(name).beginObject();
  json.member("median", distribution.median * 1e-3);
  json.member("least", distribution.min * 1e-3);
  json.member("p10", distribution.p10 * 1e-3);
  json.member("p90", distribution.p90 * 1e-3);
  json.member("p95", distribution.p95 * 1e-3);
  json.member("p99", distribution.p99 * 1e-3);
  json.member("most", distribution.max * 1e-3);
  json.endObject();
}

static void addExplanation(Json &json, const Explanation &explanation) {
  if (!explanation.isKnown)
    return;
  json.key("explanation").beginObject();
  json.member("cause", causeName(explanation.cause));
  json.member("text", explanation.text);
  json.member("gives_back_us", explanation.givesBack() * 1e-3);
  json.key("parts_us").beginObject();
  for (unsigned i = 0; i < numCauses; ++i)
    json.member(causeName(Cause(i)), explanation.parts[i] * 1e-3);
  json.endObject().endObject();
}

/// Adds the machine's best rates, all threads together.
static void addRoof(Json &json, const Machine &machine) {
  if (machine.memory.empty())
    return;
  json.key("roof").beginObject();
  json.member("multiply_adds_per_second", machine.multiplyAdds * 1e9);
  json.member("bytes_per_second", machine.memory.back().rate * 1e9);
  json.objects("by_size", machine.memory, [&](const Machine::Memory &memory) {
    json.member("bytes", memory.bytes);
    json.member("bytes_per_second", memory.rate * 1e9);
  });
  json.member("page_fault_us", machine.faultNs * 1e-3);
  json.member("speed_of_cpus", machine.speed).endObject();
}

static void addCounters(Json &json, const Profile &profile) {
  json.key("counters").beginObject();
  json.member("state", profile.countersState);
  if (profile.othersCpu >= 0)
    json.member("other_programs_us", profile.othersCpu * 1e-3);
  json.objects("values", profile.counters, [&](const Counter &counter) {
    json.member("name", nnv12_counter_name(counter.counter));
    json.member("per_run", counter.perRun);
    json.array("of_thread", counter.ofThread);
  });
  json.endObject();
}

static void addCold(Json &json, const Bundle &bundle, const Cold &cold) {
  json.key("first_run").beginObject();
  json.member("us", cold.work.time * 1e-3).member("run_us", cold.run * 1e-3);
  json.member("predicted_us", double(bundle.info().predicted_cold_ns) * 1e-3);
  json.member("stored_bytes", cold.work.storedBytes);
  json.member("waits_us", cold.waits * 1e-3);
  json.key("stages_us").beginObject();
  for (const auto &[stage, time] : cold.stages)
    json.member(stage.c_str(), time * 1e-3);
  json.endObject();
  json.objects("longest_waits", cold.longestWaits, [&](const auto &wait) {
    json.member("for", nameOfWait(bundle, wait.first));
    json.member("us", wait.second * 1e-3);
  });
  addExplanation(json, cold.explanation);
  json.endObject();
}

/// A preparation without thread and times is planned and was not recorded.
static void addGpuPreparation(Json &json, const GpuPreparation &preparation) {
  json.member("id", preparation.id);
  json.member("stage", tools::stageName(preparation.stage));
  json.member("what", preparation.what);
  if (preparation.isPredicted()) {
    json.member("planned_start_us", double(preparation.start) * 1e-3);
    json.member("planned_us",
                double(preparation.end - preparation.start) * 1e-3);
  }
  json.member("recorded", preparation.isRecorded);
  if (preparation.isRecorded) {
    json.member("thread", preparation.thread);
    json.member("start_us", preparation.begin * 1e-3);
    json.member("us", preparation.took * 1e-3);
  }
}

/// Times are from the session's beginning.
static void addGpu(Json &json, const GpuPreparing &gpu) {
  json.key("gpu").beginObject();
  if (gpu.notRecorded.empty())
    json.member("ready_us", gpu.ready * 1e-3);
  json.key("stages").beginObject();
  for (bundle::GpuStage stage : bundle::EnumValuesGpuStage()) {
    const GpuPreparing::Sum &sum = gpu.of(stage);
    if (sum.preparations == 0)
      continue;
    json.key(tools::stageName(stage).c_str()).beginObject();
    json.member("preparations", sum.preparations);
    json.member("us", sum.took * 1e-3);
    json.member("longest", gpu.all[sum.longest].id);
    json.member("longest_us", gpu.all[sum.longest].took * 1e-3);
    if (sum.pipelines)
      json.member("pipelines", sum.pipelines);
    if (sum.bytes) {
      json.member("bytes", sum.bytes);
      json.member("bytes_per_second", sum.rate() * 1e9);
    }
    json.endObject();
  }
  json.endObject().objects(
      "preparations", gpu.all,
      [&](const auto &preparation) { addGpuPreparation(json, preparation); });
  json.endObject();
}

static void addOperation(Json &json, const Operation &operation,
                         bool hasPieces) {
  json.member("index", operation.index);
  json.member("layer", operation.info.layer);
  json.member("kernel", operation.shownKernel());
  json.member("routine", operation.shownRoutine());
  if (operation.isOnGpu)
    json.member("on_gpu", true);
  json.member("multiply_adds", operation.info.multiply_adds);
  json.member("bytes", operation.info.bytes);
  json.member("tiles", operation.info.tiles);
  addDistribution(json, "us", operation.time);
  json.member("share", operation.share);
  json.member("slow_share", operation.slowShare);
  if (hasPieces && !operation.isOnGpu) {
    json.member("busy_us", operation.busy * 1e-3);
    json.member("join_us", operation.join * 1e-3);
    json.member("idle", operation.idle);
  }
  json.member("live_bytes", operation.info.live_bytes);
  addExplanation(json, operation.explanation);
}

std::string profileJson(const std::string &path, const Bundle &bundle,
                        const Profile &profile) {
  nnv12_bundle_info info = bundle.info();
  bool hasPieces = profile.info.level >= NNV12_RECORD_PIECE;
  Json json;
  json.beginObject().member("file", path).member("model", info.model);
  json.member("target", info.target);
  json.member("threads", profile.info.num_threads - profile.info.num_preparing);
  json.member("preparing", profile.info.num_preparing);
  json.member("level", uint32_t(profile.info.level));
  json.member("sample_every", profile.info.sample_every);
  json.member("lost", profile.lost);
  addCounters(json, profile);
  json.key("memory").beginObject().member("arena_bytes", info.arena_size);
  json.member("scratch_bytes_per_thread", info.scratch_size);
  json.member("prepared_bytes", info.prepared_size);
  json.member("weights_bytes", info.weights_size).endObject();
  if (profile.cold.isKnown)
    addCold(json, bundle, profile.cold);
  if (!profile.gpu.all.empty())
    addGpu(json, profile.gpu);
  json.key("warm").beginObject();
  json.member("runs", uint64_t(profile.runs.size()));
  json.member("predicted_us", double(info.predicted_warm_ns) * 1e-3);
  if (!profile.runs.empty()) {
    addDistribution(json, "us", profile.time);
    json.member("outside_of_operations", profile.gaps);
    addRoof(json, profile.machine);
    addExplanation(json, profile.explanation);
    json.key("samples_us").beginArray();
    for (double sample : profile.time.samples)
      json.value(sample * 1e-3);
    json.endArray();
    json.objects("threads", profile.threads, [&](const Thread &thread) {
      json.member("name", thread.name);
      json.member("busy", thread.busy).member("waiting", thread.waiting);
    });
    if (!profile.splits.empty())
      json.objects("splits", profile.splits, [&](const SplitWait &split) {
        json.member("first", split.operation).member("count", split.count);
        json.member("runs", split.runs).member("us", split.time * 1e-3);
        json.member("parts_us", split.parts * 1e-3);
        json.member("waited_us", split.waited * 1e-3);
        if (split.kernels > 0)
          json.member("kernels_us", split.kernels * 1e-3);
      });
    json.objects("operations", profile.operations, [&](const auto &operation) {
      addOperation(json, operation, hasPieces);
    });
  }
  json.endObject().endObject();
  return json.text();
}

} // namespace nnv12::prof
