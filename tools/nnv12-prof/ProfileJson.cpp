//===- ProfileJson.cpp - Profiles for programs ----------------------------===//
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

static void addCold(Json &json, const Bundle &bundle, const Cold &cold) {
  json.key("first_run").beginObject();
  json.member("us", cold.time * 1e-3).member("run_us", cold.run * 1e-3);
  json.member("predicted_us", double(bundle.info().predicted_cold_ns) * 1e-3);
  json.member("stored_bytes", cold.storedBytes);
  json.member("waits_us", cold.waits * 1e-3);
  json.key("stages_us").beginObject();
  for (const auto &[stage, time] : cold.stages)
    json.member(stage.c_str(), time * 1e-3);
  json.endObject();
  json.key("longest_waits").beginArray();
  for (auto [operation, time] : cold.longestWaits) {
    nnv12_record record = {};
    record.kind = NNV12_RECORD_WAIT;
    record.index = operation;
    json.beginObject().member("for", tools::nameOf(bundle, record));
    json.member("us", time * 1e-3).endObject();
  }
  json.endArray().endObject();
}

static void addOperation(Json &json, const Operation &operation,
                         bool hasPieces) {
  json.beginObject().member("index", operation.index);
  json.member("layer", operation.layer).member("kernel", operation.kernel);
  json.member("routine", operation.routine);
  json.member("multiply_adds", operation.multiplyAdds);
  json.member("bytes", operation.bytes).member("tiles", operation.tiles);
  addDistribution(json, "us", operation.time);
  json.member("share", operation.share);
  json.member("slow_share", operation.slowShare);
  if (hasPieces) {
    json.member("busy_us", operation.busy * 1e-3);
    json.member("join_us", operation.join * 1e-3);
    json.member("idle", operation.idle);
  }
  json.endObject();
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
  if (profile.cold.isKnown)
    addCold(json, bundle, profile.cold);
  json.key("warm").beginObject();
  json.member("runs", uint64_t(profile.runs.size()));
  json.member("predicted_us", double(info.predicted_warm_ns) * 1e-3);
  if (!profile.runs.empty()) {
    addDistribution(json, "us", profile.time);
    json.member("outside_of_operations", profile.gaps);
    json.key("samples_us").beginArray();
    for (double sample : profile.time.samples)
      json.value(sample * 1e-3);
    json.endArray();
    json.key("threads").beginArray();
    for (const Thread &thread : profile.threads) {
      json.beginObject().member("name", thread.name);
      json.member("busy", thread.busy).member("waiting", thread.waiting);
      json.endObject();
    }
    json.endArray();
    json.key("operations").beginArray();
    for (const Operation &operation : profile.operations)
      addOperation(json, operation, hasPieces);
    json.endArray();
  }
  json.endObject().endObject();
  return json.text();
}

} // namespace nnv12::prof
