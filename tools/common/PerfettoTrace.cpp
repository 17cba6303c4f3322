//===- PerfettoTrace.cpp - Recordings for Perfetto ------------------------===//
#include "tools/common/Traces.h"

#include "runtime/include/nnv12_counters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>

namespace nnv12::tools {

namespace {

/// A message of protocol buffers, field by field.
class Message {
public:
  void number(unsigned field, uint64_t value) {
    varint(field << 3 | 0);
    varint(value);
  }
  void fixed(unsigned field, uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; ++i)
      bytes_ += static_cast<char>(value >> 8 * i);
  }
  void text(unsigned field, const std::string &value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(unsigned field, const Message &value) {
    text(field, value.bytes_);
  }
  const std::string &encoded() const { return bytes_; }

private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Numbers of fields, by message.
namespace trace {
constexpr unsigned packet = 1;
}
namespace packet {
constexpr unsigned timestamp = 8, sequence = 10, trackEvent = 11,
                   trackDescriptor = 60;
}
namespace track {
constexpr unsigned uuid = 1, name = 2, process = 3, thread = 4, parent = 5,
                   counter = 8;
}
namespace process {
constexpr unsigned pid = 1, name = 6;
}
namespace thread {
constexpr unsigned pid = 1, tid = 2, name = 5;
}
namespace event {
constexpr unsigned annotations = 4, type = 9, track = 11, categories = 22,
                   name = 23, counterValue = 30, flows = 47;
constexpr uint64_t sliceBegin = 1, sliceEnd = 2, counter = 4;
} // namespace event
namespace annotation {
constexpr unsigned unsignedValue = 3, stringValue = 6, name = 10;
}

constexpr uint64_t processTrack = 1;
constexpr uint64_t trackOf(uint32_t line) { return 2 + line; }
// More than there are threads.
constexpr uint64_t liveBytesTrack = 1000, firstCounterTrack = 1001;

/// Adds a fact about a slice beside its name.
template <typename Value>
void annotate(Message &target, const char *name, Value value) {
  Message result;
  result.text(annotation::name, name);
  if constexpr (std::is_integral_v<Value>)
    result.number(annotation::unsignedValue, value);
  else
    result.text(annotation::stringValue, value);
  target.message(event::annotations, result);
}

class Writer {
public:
  Writer(const Bundle &bundle, const Recorded &recorded)
      : bundle_(bundle), recorded_(recorded) {
    for (uint32_t i = 0; i < bundle.info().num_operations; ++i)
      operations_.emplace(bundle.operation(i).layer, i);
  }

  std::string write() {
    std::string model = bundle_.info().model;
    addTrack(processTrack, 0, model.empty() ? "nnv12" : "nnv12 " + model);
    uint32_t lines = numLines(recorded_);
    for (uint32_t i = 0; i < lines; ++i)
      addTrack(trackOf(i), i, lineName(recorded_.info, i));
    for (uint32_t i = 0; i < lines; ++i)
      addLine(i);
    addCounters();
    if (!operations_.empty())
      addLiveBytes();
    return all_.encoded();
  }

private:
  /// A stretch of a thread's time; these nest.
  struct Slice {
    uint64_t start, end;
    const nnv12_record *record; ///< or null:
    const char *name;
  };

  /// Adds a packet.
  void add(unsigned field, const Message &content,
           std::optional<uint64_t> time = std::nullopt) {
    Message result;
    if (time)
      result.number(packet::timestamp, *time);
    result.number(packet::sequence, 1);
    result.message(field, content);
    all_.message(trace::packet, result);
  }

  void addTrack(uint64_t uuid, uint32_t threadNumber, const std::string &name) {
    Message descriptor, owner;
    descriptor.number(track::uuid, uuid);
    uint64_t pid = recorded_.info.process;
    if (uuid == processTrack) {
      owner.number(process::pid, pid);
      owner.text(process::name, name);
      descriptor.message(track::process, owner);
    } else {
      descriptor.number(track::parent, processTrack);
      owner.number(thread::pid, pid);
      // The system's own numbers are not known; the caller's is the process's.
      owner.number(thread::tid, pid + threadNumber);
      owner.text(thread::name, name);
      descriptor.message(track::thread, owner);
    }
    add(packet::trackDescriptor, descriptor);
  }

  void addCounterTrack(uint64_t uuid, const std::string &name) {
    Message descriptor;
    descriptor.number(track::uuid, uuid);
    descriptor.number(track::parent, processTrack);
    descriptor.text(track::name, name);
    descriptor.message(track::counter, Message());
    add(packet::trackDescriptor, descriptor);
  }

  /// Slices must nest; where a clock's rounding makes them overlap by a
  /// nanosecond, the later one is cut.
  void addLine(uint32_t number) {
    std::vector<Slice> slices;
    for (const nnv12_record &record : recorded_.records)
      if (lineOf(record) == number && record.kind != NNV12_RECORD_COUNTER &&
          !isSkipped(record))
        slices.push_back({record.start_ns, endOf(record), &record, nullptr});
    if (number == 0)
      for (const ToolStage &stage : recorded_.stages)
        slices.push_back({stage.start, stage.end, nullptr, stage.name});
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Slice &a, const Slice &b) {
                       return nestsBefore(a.start, a.end - a.start, b.start,
                                          b.end - b.start);
                     });
    uint64_t track = trackOf(number), last = 0;
    std::vector<uint64_t> open;
    auto close = [&](uint64_t until) {
      for (; !open.empty() && open.back() <= until; open.pop_back())
        end(last = open.back(), track);
    };
    for (Slice slice : slices) {
      // One that begins where another ends is not a part of it.
      constexpr uint64_t rounding = 2;
      close(slice.start + rounding);
      slice.start = std::max(slice.start, last);
      if (!open.empty())
        slice.end = std::min(slice.end, open.back());
      slice.end = std::max(slice.end, slice.start);
      begin(slice, track);
      last = slice.start;
      open.push_back(slice.end);
    }
    close(~uint64_t(0));
  }

  /// Adds the counts of each thread, from the run's start on.
  void addCounters() {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> tracks;
    for (const nnv12_record &record : recorded_.records) {
      if (record.kind != NNV12_RECORD_COUNTER ||
          record.lane >= recorded_.info.num_threads)
        continue;
      auto [place, isNew] = tracks.insert(
          {{record.lane, record.index}, firstCounterTrack + tracks.size()});
      if (isNew)
        addCounterTrack(place->second,
                        std::string(nnv12_counter_name(record.index)) + " of " +
                            lineName(recorded_.info, record.lane));
      count(record.start_ns, place->second, record.duration_ns);
    }
  }

  /// How much of the arena holds values.
  void addLiveBytes() {
    addCounterTrack(liveBytesTrack, "live bytes of the arena");
    for (const nnv12_record &record : recorded_.records)
      if (record.kind == NNV12_RECORD_EXECUTE &&
          record.index < bundle_.info().num_operations)
        count(record.start_ns, liveBytesTrack,
              bundle_.operation(record.index).live_bytes);
  }

  void count(uint64_t time, uint64_t trackNumber, uint64_t value) {
    Message counted;
    counted.number(event::type, event::counter);
    counted.number(event::track, trackNumber);
    counted.number(event::counterValue, value);
    add(packet::trackEvent, counted, time);
  }

  void begin(const Slice &slice, uint64_t trackNumber) {
    Message described = describe(slice);
    described.number(event::track, trackNumber);
    add(packet::trackEvent, described, slice.start);
  }

  void end(uint64_t time, uint64_t trackNumber) {
    Message ended;
    ended.number(event::type, event::sliceEnd);
    ended.number(event::track, trackNumber);
    add(packet::trackEvent, ended, time);
  }

  Message describe(const Slice &slice) const {
    Message result;
    result.number(event::type, event::sliceBegin);
    if (!slice.record) {
      result.text(event::categories, "tool");
      result.text(event::name, slice.name);
      return result;
    }
    const nnv12_record &record = *slice.record;
    std::string name = nameOf(bundle_, record);
    result.text(event::categories, kindName(record));
    result.text(event::name, name);
    annotate(result, "run", record.run);
    if (record.kind == NNV12_RECORD_TILES) {
      annotate(result, "first / 65535", record.first);
      annotate(result, "count / 65535", record.count);
    }
    bool isExecute = record.kind == NNV12_RECORD_EXECUTE;
    if (!isExecute && !isPreparation(record))
      return result;
    annotate(result, "index", record.index);
    annotate(result, "kernel", kernelOf(bundle_, record));
    if (isExecute && record.index < bundle_.info().num_operations) {
      nnv12_operation_info info = bundle_.operation(record.index);
      annotate(result, "routine", info.routine);
      annotate(result, "multiply-adds", info.multiply_adds);
      annotate(result, "bytes", info.bytes);
      annotate(result, "tiles", info.tiles);
      if (record.flags & NNV12_RECORD_PARTIAL)
        annotate(result, "computed / 65535", record.count);
    } else if (!isExecute) {
      annotate(result, "lane", record.lane);
      annotate(result, "stolen", (record.flags & NNV12_RECORD_STOLEN) != 0);
    }
    // If a layer is several operations, nobody knows which one needs the
    // prepared weights: the flow leads through all of them.
    auto first = operations_.find(name);
    if (first != operations_.end() && record.run == 0)
      result.fixed(event::flows, uint64_t(first->second) + 1);
    return result;
  }

  const Bundle &bundle_;
  const Recorded &recorded_;
  /// A layer's first operation, by the layer's name.
  std::map<std::string, uint32_t> operations_;
  Message all_;
};
} // namespace

std::string perfettoTrace(const Bundle &bundle, const Recorded &recorded) {
  return Writer(bundle, recorded).write();
}

} // namespace nnv12::tools
