//===- TraceWriter.cpp - Traces for Perfetto and chrome://tracing ---------===//
#include "tools/common/TraceWriter.h"

#include "tools/common/Json.h"

#include <algorithm>
#include <cassert>

namespace nnv12::tools {

/// Helping threads take preparations in pieces, each an event of its own: reads
/// of a megabyte, sixteenths of a transform.
static size_t mostEvents(const Bundle &bundle, unsigned runs) {
  nnv12_bundle_info info = bundle.info();
  size_t events = size_t(info.num_operations) * runs + info.num_lanes + 1;
  for (uint32_t i = 0; i < info.num_preparations; ++i)
    events += 17 + (bundle.preparation(i).stored_bytes >> 20);
  return std::min<size_t>(events, 1u << 24);
}

TraceRecorder::TraceRecorder(const Bundle &bundle, unsigned runs)
    : events(mostEvents(bundle, runs)),
      header NNV12_TRACE_INIT(events.data(),
                              static_cast<uint32_t>(events.size())) {}

std::vector<std::vector<uint64_t>>
TraceRecorder::runs(uint32_t numOperations) const {
  std::vector<std::vector<uint64_t>> result;
  for (uint32_t i = 0; i < header.count; ++i) {
    const nnv12_trace_event &event = events[i];
    if (event.stage != NNV12_EXECUTE)
      continue;
    if (event.index == 0)
      result.emplace_back(numOperations);
    assert(!result.empty() && event.index < numOperations &&
           "each run begins with the first operation");
    result.back()[event.index] = event.end_ns - event.start_ns;
  }
  return result;
}

static void beginEvent(Json &json, const std::string &name,
                       const char *category, uint32_t thread, double start,
                       double duration) {
  json.beginObject().member("name", name).member("cat", category);
  json.member("ph", "X").member("pid", 1u).member("tid", thread);
  json.member("ts", start).member("dur", duration);
  json.key("args").beginObject().member("kind", category);
}

static void nameThread(Json &json, uint32_t thread, uint32_t lanes) {
  json.beginObject().member("name", "thread_name").member("ph", "M");
  json.member("pid", 1u).member("tid", thread);
  std::string name = thread == 0 ? "execute lane"
                     : thread < lanes
                         ? "preparation lane " + std::to_string(thread)
                         : "background";
  json.key("args").beginObject().member("name", name).endObject().endObject();
}

static const char *kernelOf(const Bundle &bundle,
                            const nnv12_trace_event &event) {
  if (event.stage != NNV12_EXECUTE)
    return bundle.preparation(event.index).kernel;
  if (event.flags & NNV12_TRACE_SWITCHED)
    for (uint32_t i = 0; i < bundle.info().num_switches; ++i)
      if (bundle.kernelSwitch(i).operation == event.index)
        return bundle.kernelSwitch(i).kernel;
  return bundle.operation(event.index).kernel;
}

std::string TraceRecorder::json(const Bundle &bundle) const {
  assert(header.count <= events.size() && "the runtime drops what is more");
  uint64_t origin = ~uint64_t(0);
  uint32_t threads = 1;
  for (const Stage &stage : stages)
    origin = std::min(origin, stage.start);
  for (uint32_t i = 0; i < header.count; ++i) {
    origin = std::min(origin, events[i].start_ns);
    threads = std::max(threads, events[i].thread + 1);
  }
  auto micros = [](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) * 1e-3;
  };

  Json json;
  json.beginObject().member("displayTimeUnit", "ms");
  json.key("traceEvents").beginArray();
  for (uint32_t i = 0; i < threads; ++i)
    nameThread(json, i, bundle.info().num_lanes);
  for (const Stage &stage : stages) {
    beginEvent(json, stage.name, stage.name, 0, micros(origin, stage.start),
               micros(stage.start, stage.end));
    json.endObject().endObject();
  }
  for (uint32_t i = 0; i < header.count; ++i) {
    const nnv12_trace_event &event = events[i];
    const char *stage = nnv12_stage_name(nnv12_stage(event.stage));
    bool isStart = event.stage == NNV12_THREAD_START;
    bool isExecute = event.stage == NNV12_EXECUTE;
    std::string layer = isStart     ? "thread start"
                        : isExecute ? bundle.operation(event.index).layer
                                    : bundle.preparation(event.index).layer;
    beginEvent(json, layer, stage, event.thread, micros(origin, event.start_ns),
               micros(event.start_ns, event.end_ns));
    if (!isStart) {
      json.member("layer", layer).member("index", event.index);
      json.member("kernel", kernelOf(bundle, event));
      json.member("lane", event.lane);
      json.member("stolen", (event.flags & NNV12_TRACE_STOLEN) != 0);
      if (isExecute) {
        json.member("switched", (event.flags & NNV12_TRACE_SWITCHED) != 0);
      } else {
        nnv12_preparation_info info = bundle.preparation(event.index);
        json.member("stored_bytes", info.stored_bytes);
        json.member("written_bytes", info.written_bytes);
      }
    }
    json.endObject().endObject();
  }
  json.endArray().endObject();
  return json.text();
}

} // namespace nnv12::tools
