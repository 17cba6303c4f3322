//===- TraceFile.cpp - Reads a trace of nnv12-run -------------------------===//
#include "tools/nnv12-inspect/TraceFile.h"

#include "tools/common/Files.h"
#include "tools/common/Report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace nnv12::tools {

using Value = nlohmann::json;

/// More than any run has; keeps a wrong file from filling the memory.
static constexpr size_t maxFileSize = 256 << 20;
static constexpr uint32_t maxLanes = 256;

/// The start of a value's text, for an error line.
static std::string found(const Value &value) {
  if (value.is_structured())
    return value.is_array() ? "an array" : "an object";
  std::string text =
      value.dump(-1, ' ', false, Value::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

/// Null where the object has no such member.
static const Value *member(const Value &object, const char *name) {
  auto place = object.find(name);
  return place == object.end() ? nullptr : &*place;
}

namespace {
/// Reads fields of one event; names the event where one is wrong.
class EventReader {
public:
  EventReader(const std::string &path, size_t number, const Value &event)
      : path_(path), number_(number), event_(event) {
    if (!event.is_object())
      refuse("", &event, "an object");
  }

  /// `value` is null where there is none.
  [[noreturn]] void refuse(const std::string &field, const Value *value,
                           const char *expected) const {
    fail(path_ + ": traceEvents[" + std::to_string(number_) + "]" +
         (field.empty() ? "" : "." + field) + ": found " +
         (value ? found(*value) : "none") + ", expected " + expected);
  }
  const Value *field(const char *name) const { return member(event_, name); }
  double time(const char *name) const {
    const Value *value = field(name);
    if (!value || !value->is_number() || !std::isfinite(value->get<double>()))
      refuse(name, value, "a number of microseconds");
    return value->get<double>();
  }
  uint32_t lane() const {
    const Value *value = field("tid");
    if (!value || !value->is_number_integer() || value->get<int64_t>() < 0 ||
        value->get<int64_t>() >= maxLanes)
      refuse("tid", value, "the number of a lane, less than 256");
    return value->get<uint32_t>();
  }

private:
  const std::string &path_;
  size_t number_;
  const Value &event_;
};
} // namespace

static bool isStage(const std::string &text) {
  for (bundle::OperationKind kind : bundle::EnumValuesOperationKind())
    if (text == stageName(kind))
      return true;
  return false;
}

static bool isComplete(const EventReader &reader) {
  const Value *phase = reader.field("ph");
  if (!phase || !phase->is_string())
    reader.refuse("ph", phase, "a phase, as \"X\"");
  return *phase == "X";
}

static TraceEvent readEvent(const EventReader &reader) {
  TraceEvent result;
  result.lane = reader.lane();
  result.start = reader.time("ts");
  result.duration = reader.time("dur");
  if (result.duration < 0)
    reader.refuse("dur", reader.field("dur"), "at least 0");
  result.stage = "other";
  if (const Value *name = reader.field("name"); name && name->is_string())
    result.layer = *name;
  const Value *arguments = reader.field("args");
  if (!arguments || !arguments->is_object() || !arguments->contains("kind"))
    return result;
  const Value &kind = (*arguments)["kind"];
  if (!kind.is_string())
    reader.refuse("args.kind", &kind, "read, decode, transform or execute");
  // Leaves out starts of threads, and events of later runtimes.
  if (!isStage(kind))
    return result;
  const Value *layer = member(*arguments, "layer");
  if (!layer || !layer->is_string())
    reader.refuse("args.layer", layer, "the name of a layer");
  result.stage = kind;
  result.layer = *layer;
  if (const Value *index = member(*arguments, "index")) {
    if (!index->is_number_unsigned() || index->get<uint64_t>() > UINT32_MAX)
      reader.refuse("args.index", index, "the number of an operation");
    result.index = index->get<uint32_t>();
  }
  if (const Value *stolen = member(*arguments, "stolen")) {
    if (!stolen->is_boolean() && !stolen->is_number())
      reader.refuse("args.stolen", stolen, "true or false");
    result.stolen =
        stolen->is_boolean() ? stolen->get<bool>() : stolen->get<double>() != 0;
  }
  return result;
}

/// The operation that an event names by number.
static uint32_t findByIndex(const TraceEvent &event, const Plan &plan) {
  for (uint32_t i = 0; i < plan.operations.size(); ++i) {
    const PlannedOperation &entry = plan.operations[i];
    if (entry.index == event.index &&
        event.stage == stageName(entry.operation->kind()) &&
        event.layer == entry.operation->layer()->str())
      return i;
  }
  return UINT32_MAX;
}

/// Finds each event's operation. Returns whether any was found.
static bool match(std::vector<TraceEvent> &events, const Plan &plan) {
  using Key = std::pair<std::string, std::string>;
  struct Candidates {
    std::vector<uint32_t> operations; ///< in the order of the program
    size_t next = 0;
  };
  std::map<Key, Candidates> byKey;
  for (uint32_t i = 0; i < plan.operations.size(); ++i)
    byKey[{plan.operations[i].operation->layer()->str(),
           stageName(plan.operations[i].operation->kind())}]
        .operations.push_back(i);
  for (auto &[key, candidates] : byKey)
    std::stable_sort(candidates.operations.begin(), candidates.operations.end(),
                     [&](uint32_t a, uint32_t b) {
                       return plan.operations[a].index <
                              plan.operations[b].index;
                     });
  bool any = false;
  for (TraceEvent &event : events) {
    if (event.index != UINT32_MAX) {
      event.planned = findByIndex(event, plan);
      any |= event.planned != UINT32_MAX;
      continue;
    }
    auto place = byKey.find({event.layer, event.stage});
    if (place == byKey.end())
      continue;
    Candidates &candidates = place->second;
    // Pieces of one operation, as on several threads, stay with its last one.
    size_t at = std::min(candidates.next++, candidates.operations.size() - 1);
    event.planned = candidates.operations[at];
    any = true;
  }
  return any;
}

std::vector<TraceEvent> readTrace(const std::string &path, const Plan &plan,
                                  const std::string &bundlePath) {
  artifact::MappedFile file;
  failIf(openInput(path, file));
  if (file.size() > maxFileSize)
    fail(path + ": found " + std::to_string(file.size()) +
         " bytes, expected at most " + std::to_string(maxFileSize));
  auto *text = reinterpret_cast<const char *>(file.data());
  Value root;
  try {
    root = Value::parse(text, text + file.size());
  } catch (const Value::parse_error &error) {
    fail(path + ": not JSON, as of byte " + std::to_string(error.byte));
  } catch (const Value::out_of_range &) {
    fail(path + ": found a number that is too large, expected microseconds");
  }
  const Value *list = &root;
  if (root.is_object()) {
    if (!root.contains("traceEvents"))
      fail(path + ": found no traceEvents, expected a Chrome trace");
    list = &root["traceEvents"];
  }
  if (!list->is_array())
    fail(path + ": traceEvents: found " + found(*list) +
         ", expected an array of events");
  std::vector<TraceEvent> events;
  for (size_t i = 0; i < list->size(); ++i) {
    EventReader reader(path, i, (*list)[i]);
    if (isComplete(reader))
      events.push_back(readEvent(reader));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent &a, const TraceEvent &b) {
                     return a.start < b.start;
                   });
  for (size_t i = events.size(); i-- > 0;)
    events[i].start -= events[0].start;
  if (!match(events, plan))
    fail(path + ": traceEvents: found no operation of " + bundlePath +
         ", expected a trace of that bundle");
  return events;
}

} // namespace nnv12::tools
