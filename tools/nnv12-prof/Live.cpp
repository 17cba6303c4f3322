//===- Live.cpp - nnv12-prof live FILE ------------------------------------===//
#include "tools/nnv12-prof/Commands.h"

#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/RecordFile.h"
#include "tools/common/Recorded.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/common/TextFormat.h"

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <deque>
#include <optional>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::tools;
using namespace nnv12::prof;

static void printBar(double part) {
  static constexpr int width = 20;
  int filled = int(std::min(1.0, std::max(0.0, part)) * width + 0.5);
  for (int i = 0; i < width; ++i)
    putchar(i < filled ? '#' : '.');
}

namespace {

struct LiveOptions {
  std::string recording;          ///< the file that a session writes to
  unsigned interval = 100;        ///< milliseconds
  unsigned updates = 0;           ///< end after so many; 0: with the session
  unsigned top = 10;              ///< operations
  const Bundle *bundle = nullptr; ///< for names; may be null
  std::string bundlePath;
};

/// The records of the last seconds.
class Window {
public:
  void add(const nnv12_record &record) { records_.push_back(record); }

  /// Forgets records that are older than two seconds before `now`.
  void forget(uint64_t now) {
    // By when they were read, nearly: threads come one after the other.
    while (!records_.empty() && endOf(records_.front()) + length < now)
      records_.pop_front();
  }

  void print(const LiveOptions &options, const nnv12_recording_info &info,
             uint64_t lost) const {
    std::vector<double> runs;
    std::vector<double> operations, busy(info.num_threads);
    double inRuns = 0, inOperations = 0;
    for (const nnv12_record &record : records_) {
      double time = double(record.duration_ns);
      if (record.kind == NNV12_RECORD_WHOLE_RUN) {
        runs.push_back(time);
        inRuns += time;
      }
      // Numbers are foreign.
      static constexpr uint32_t mostOperations = 1 << 20;
      bool isOperation = record.kind == NNV12_RECORD_EXECUTE ||
                         record.kind == NNV12_RECORD_GPU_KERNEL;
      if (isOperation && record.index < mostOperations) {
        if (record.index >= operations.size())
          operations.resize(record.index + 1);
        operations[record.index] += time;
        inOperations += time;
      }
      if (record.thread >= busy.size())
        continue;
      if (isPreparation(record))
        busy[record.thread] += time;
      // The execute lane's own work has no tiles.
      else if (record.thread == 0)
        busy[0] += record.kind == NNV12_RECORD_EXECUTE ? time
                   : record.kind == NNV12_RECORD_JOIN  ? -time
                                                       : 0;
      else if (record.kind == NNV12_RECORD_TILES)
        busy[record.thread] += time;
    }
    printf("process %u, run %" PRIu64, info.process, info.runs);
    if (lost)
      printf(", %" PRIu64 " records lost", lost);
    if (runs.empty()) {
      printf(": nothing recorded in the last two seconds\n");
      return;
    }
    Statistics statistics(runs);
    printf(": %zu recorded in two seconds, median %.3f ms, p95 %.3f, p99 %.3f, "
           "%.0f %% of the time\n",
           runs.size(), statistics.median * 1e-6, statistics.p95 * 1e-6,
           statistics.p99 * 1e-6, 100 * inRuns / double(length));
    for (uint32_t i = 0; i < info.num_threads; ++i) {
      printf("  ");
      printBar(busy[i] / inRuns);
      printf(" %3.0f %%  %s\n", 100 * busy[i] / inRuns,
             lineName(info, i).c_str());
    }
    for (size_t operation :
         findLargest(operations.size(), options.top,
                     [&](size_t i) { return operations[i]; })) {
      nnv12_record record = {};
      record.index = uint32_t(operation);
      std::string name = options.bundle
                             ? nameOf(*options.bundle, record)
                             : "operation " + std::to_string(operation);
      printf("  %5.1f %%  %s\n", 100 * operations[operation] / inOperations,
             name.c_str());
    }
  }

private:
  static constexpr uint64_t length = 2'000'000'000;
  std::deque<nnv12_record> records_;
};

} // namespace

/// Whether a process of that number is there, as far as one can tell.
static bool isAlive(uint32_t process) {
  return kill(pid_t(process), 0) == 0 || errno != ESRCH;
}

/// Prints what goes on, again and again, until the session ends. Ends the
/// process with one line when the writer has gone without ending it.
static void watch(const LiveOptions &options) {
  RecordView view(options.recording);
  Recording recording = openRecording(options.recording, view);
  if (options.bundle)
    checkBundle(options.recording, recording.info(), options.bundlePath,
                *options.bundle);
  bool isTerminal = isatty(1);
  uint64_t lost = 0, lastNews = nanoseconds(), lastRuns = ~uint64_t(0);
  Window window;
  for (unsigned update = 0; !options.updates || update < options.updates;
       ++update) {
    // Asks before the records: no record comes after an end that it has seen.
    nnv12_recording_info info = recording.info();
    for (const nnv12_record &record : recording.readAll(lost))
      window.add(record);
    uint64_t now = nanoseconds();
    window.forget(now);
    // Moves the cursor home and erases the old text.
    if (isTerminal)
      printf("\033[H\033[J");
    window.print(options, info, lost);
    if (info.is_closed) {
      printf("the session has ended\n");
      return;
    }
    if (info.runs != lastRuns)
      lastNews = now;
    lastRuns = info.runs;
    // Its number may be that of another one where this runs: while something
    // comes it does not matter.
    if (now - lastNews > 1'000'000'000 && !isAlive(info.process)) {
      fflush(stdout);
      fail(options.recording + ": process " + std::to_string(info.process) +
           " has gone without ending its session, after " +
           std::to_string(info.runs) + " runs");
    }
    fflush(stdout);
    if (update + 1 == options.updates)
      return;
    sleepUntil(nanoseconds() + uint64_t(options.interval) * 1'000'000);
  }
}

static constexpr char overview[] =
    "shows what a session does now that records to a file: its runs of the "
    "last two seconds, threads and operations, again and again until it ends. "
    "The session notices nothing of it";

static constexpr char examples[] =
    R"(  nnv12-prof live /dev/shm/camera.nnr --bundle camera.nnv
      ten times a second, with the names of layers
  nnv12-prof live camera.nnr --updates 1
      once
)";

int prof::liveMain(int argc, char **argv) {
  LiveOptions live;
  LoadOptions load;
  Options options("nnv12-prof live", overview, examples);
  options.positional("RECORDING.nnr", live.recording);
  options.text("bundle", "FILE", live.bundlePath,
               "The bundle that runs, for the names of layers.");
  options.number("interval", "MS", live.interval, 1, 1000000,
                 "Milliseconds from one look to the next. Default 100.");
  options.number("updates", "N", live.updates, 0, 1000000000,
                 "End after so many; 0, the default: with the session.");
  options.number("top", "N", live.top, 0, 1000,
                 "Show the N operations that take longest. Default 10.");
  load.addTo(options);
  options.parse(argc, argv);
  std::optional<Bundle> bundle;
  if (!live.bundlePath.empty())
    bundle.emplace(openBundle(live.bundlePath, load));
  live.bundle = bundle ? &*bundle : nullptr;
  watch(live);
  return 0;
}
