//===- ChromeTrace.cpp - Recordings for chrome://tracing ------------------===//
#include "tools/common/Traces.h"

#include "runtime/include/nnv12_counters.h"
#include "tools/common/Json.h"

#include <algorithm>

namespace nnv12::tools {

static void beginEvent(Json &json, const std::string &name,
                       const char *category, uint32_t thread, double start,
                       double duration) {
  json.beginObject().member("name", name).member("cat", category);
  json.member("ph", "X").member("pid", 1u).member("tid", thread);
  json.member("ts", start).member("dur", duration);
  json.key("args").beginObject().member("kind", category);
}

static void nameThread(Json &json, uint32_t thread, const std::string &name) {
  json.beginObject().member("name", "thread_name").member("ph", "M");
  json.member("pid", 1u).member("tid", thread);
  json.key("args").beginObject().member("name", name).endObject().endObject();
}

static void addArguments(Json &json, const Bundle &bundle,
                         const nnv12_record &record) {
  json.member("run", record.run);
  if (record.kind == NNV12_RECORD_GPU_KERNEL)
    json.member("layer", nameOf(bundle, record)).member("index", record.index);
  if (record.kind != NNV12_RECORD_EXECUTE && !isPreparation(record))
    return;
  json.member("layer", nameOf(bundle, record)).member("index", record.index);
  json.member("kernel", kernelOf(bundle, record));
  json.member("lane", uint32_t(record.lane));
  bool isExecute = record.kind == NNV12_RECORD_EXECUTE;
  json.member("stolen",
              !isExecute && (record.flags & NNV12_RECORD_STOLEN) != 0);
  if (isExecute) {
    json.member("switched", (record.flags & NNV12_RECORD_SWITCHED) != 0);
  } else if (record.index < bundle.info().num_preparations) {
    nnv12_preparation_info info = bundle.preparation(record.index);
    json.member("stored_bytes", info.stored_bytes);
    json.member("written_bytes", info.written_bytes);
  }
}

/// Adds a thread's count in a run, or how much of the arena holds values.
static void addCounter(Json &json, const std::string &name, double time,
                       uint64_t value) {
  json.beginObject().member("name", name).member("ph", "C");
  json.member("pid", 1u).member("ts", time);
  json.key("args").beginObject().member("value", value).endObject();
  json.endObject();
}

std::string chromeTrace(const Bundle &bundle, const Recorded &recorded) {
  uint64_t origin = ~uint64_t(0);
  for (const ToolStage &stage : recorded.stages)
    origin = std::min(origin, stage.start);
  for (const nnv12_record &record : recorded.records)
    origin = std::min(origin, record.start_ns);
  auto micros = [](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) * 1e-3;
  };

  Json json;
  json.beginObject().member("displayTimeUnit", "ms");
  json.key("traceEvents").beginArray();
  for (uint32_t i = 0, count = numLines(recorded); i < count; ++i)
    nameThread(json, i, lineName(recorded.info, i));
  for (const ToolStage &stage : recorded.stages) {
    beginEvent(json, stage.name, stage.name, 0, micros(origin, stage.start),
               micros(stage.start, stage.end));
    json.endObject().endObject();
  }
  for (const nnv12_record &record : recorded.records) {
    if (isSkipped(record))
      continue;
    double start = micros(origin, record.start_ns);
    if (record.kind == NNV12_RECORD_COUNTER) {
      addCounter(json,
                 std::string(nnv12_counter_name(record.index)) + " of " +
                     lineName(recorded.info, record.lane),
                 start, record.duration_ns);
      continue;
    }
    if (record.kind == NNV12_RECORD_EXECUTE &&
        record.index < bundle.info().num_operations)
      addCounter(json, "live bytes of the arena", start,
                 bundle.operation(record.index).live_bytes);
    beginEvent(json, nameOf(bundle, record), kindName(record), lineOf(record),
               start, micros(0, record.duration_ns));
    addArguments(json, bundle, record);
    json.endObject().endObject();
  }
  json.endArray().endObject();
  return json.text();
}

} // namespace nnv12::tools
