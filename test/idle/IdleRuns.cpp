//===- IdleRuns.cpp - Sessions that run now and then ----------------------===//
//
//   idle-runs THREADS BUNDLE.nnv NAME=FILE... [-- BUNDLE.nnv NAME=FILE...]...
//
// The process that tools/measure-idle watches: it does nothing between runs.
// The protocol is that of tools/lib/ortidle.js. Commands come on standard
// input, one a line; each is answered by one line of JSON:
//
//   ready         the inputs are loaded, no bundle is open     {}
//   open N        opens each bundle, with N sessions, and runs {}
//                 each of them until nothing is left to prepare
//   pace WHICH NS COUNT                                        {"cpu", "wall"}
//                 runs every NS nanoseconds: `first`, the first session; `all`,
//                 all of them; `next`, one after the other; `none`. `cpu`: the
//                 CPU time of the process, nanoseconds, from before the first
//                 wait until a wait after the last run. `wall`: a list of the
//                 nanoseconds of each run
//   run           runs the first session once                  {"cpu"}
//                 `cpu`: from the call of the run to its end
//   close         closes all sessions and bundles              {}
//
//===----------------------------------------------------------------------===//
#include "tools/common/Clock.h"
#include "tools/common/InputStream.h"
#include "tools/common/Json.h"
#include "tools/common/Loading.h"
#include "tools/common/Report.h"
#include "tools/common/WarmUp.h"

#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <sstream>

using namespace nnv12;
using namespace nnv12::tools;

namespace {

/// A bundle's file, and the inputs of all its sessions.
struct Model {
  std::string path;
  std::vector<Tensor> inputs;
};

/// A session with outputs of its own.
class Runner {
public:
  Runner(const Model &model, const Bundle &bundle, unsigned threads)
      : path_(model.path), outputs_(makeOutputs(bundle)),
        in_(asInputs(model.inputs)), out_(asOutputs(outputs_)),
        session_(openSession(path_, bundle, options(threads))) {
    warmUp(session_, /*least=*/2, [&] { run(); });
  }
  // The buffers of runs point to the outputs.
  Runner(Runner &&) = default;

  void run() { runSession(path_, session_, in_, out_); }

private:
  static SessionOptions options(unsigned threads) {
    SessionOptions result;
    result.threads = threads;
    return result;
  }

  std::string path_;
  std::vector<Tensor> outputs_;
  std::vector<Input> in_;
  std::vector<Output> out_;
  Session session_;
};

/// The CPU time of all threads that there are when it is made. The clock of the
/// process does not know the last milliseconds of threads that run now; those
/// of threads do.
class ThreadClocks {
public:
  ThreadClocks() {
    DIR *folder = opendir("/proc/self/task");
    if (!folder)
      fail("/proc/self/task: cannot be read");
    while (const dirent *entry = readdir(folder))
      if (unsigned long thread = strtoul(entry->d_name, nullptr, 10))
        clocks_.push_back(clockOf(thread));
    closedir(folder);
  }
  uint64_t now() const {
    uint64_t sum = 0;
    for (clockid_t clock : clocks_)
      sum += nanoseconds(clock);
    return sum;
  }

private:
  /// Linux's encoding, as pthread_getcpuclockid makes it: the inverted number
  /// of the thread above three bits, which ask for a thread's time on CPUs.
  static clockid_t clockOf(unsigned long thread) {
    return clockid_t(~unsigned(thread) << 3 | 6);
  }

  std::vector<clockid_t> clocks_;
};

class Host {
public:
  Host(std::vector<Model> models, unsigned threads)
      : models_(std::move(models)), threads_(threads) {}

  /// Answers a line.
  std::string answer(const std::string &line);

private:
  void open(unsigned count);
  void close();
  void pace(const std::string &which, uint64_t period, unsigned count,
            Json &json);
  void run(const std::string &which, unsigned number);
  void expectSessions() const {
    if (runners_.empty())
      fail("found no session, expected `open N` before");
  }

  std::vector<Model> models_;
  unsigned threads_;
  std::vector<Bundle> bundles_;
  std::vector<Runner> runners_;
};

} // namespace

/// All bundles' first sessions come first, then their second ones.
void Host::open(unsigned count) {
  for (const Model &model : models_)
    bundles_.push_back(openBundle(model.path, {}));
  for (unsigned i = 0; i < count; ++i)
    for (size_t k = 0; k < models_.size(); ++k)
      runners_.emplace_back(models_[k], bundles_[k], threads_);
}

void Host::close() {
  runners_.clear();
  bundles_.clear();
}

void Host::run(const std::string &which, unsigned number) {
  if (which == "first")
    runners_[0].run();
  else if (which == "next")
    runners_[number % runners_.size()].run();
  else if (which == "all")
    for (Runner &runner : runners_)
      runner.run();
}

void Host::pace(const std::string &which, uint64_t period, unsigned count,
                Json &json) {
  std::vector<double> wall(count);
  uint64_t cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), next = nanoseconds();
  for (unsigned i = 0; i < count; ++i) {
    sleepUntil(next += period);
    uint64_t start = nanoseconds();
    run(which, i);
    uint64_t end = nanoseconds();
    wall[i] = double(end - start);
    // Runs that are late are not made up for.
    if (next + period < end)
      next = end;
  }
  // Other threads may go on for a while.
  sleepUntil(next + period);
  cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  json.member("cpu", cpu).array("wall", wall);
}

std::string Host::answer(const std::string &line) {
  std::istringstream words(line);
  std::string command, which;
  uint64_t period = 0;
  unsigned count = 0;
  words >> command;
  Json json;
  json.beginObject();
  if (command == "open" && words >> count && count) {
    open(count);
  } else if (command == "pace" && words >> which >> period >> count &&
             (which == "none" || which == "first" || which == "all" ||
              which == "next")) {
    if (which != "none")
      expectSessions();
    pace(which, period, count, json);
  } else if (command == "run") {
    expectSessions();
    ThreadClocks clocks;
    uint64_t cpu = clocks.now();
    runners_[0].run();
    json.member("cpu", clocks.now() - cpu);
  } else if (command == "close") {
    close();
  } else if (command != "ready") {
    fail("standard input: found '" + line +
         "', expected ready, open N, pace WHICH NS COUNT, run or close");
  }
  json.endObject();
  return json.line();
}

/// The models of a command line: see above.
static std::vector<Model> loadModels(int argc, char **argv) {
  std::vector<Model> models;
  for (int i = 2; i < argc; ++i) {
    Model model;
    model.path = argv[i];
    InputOptions given;
    while (++i < argc && strcmp(argv[i], "--") != 0)
      given.inputs.push_back(argv[i]);
    // Nothing of a bundle stays before the first one is opened.
    Bundle bundle = openBundle(model.path, {});
    model.inputs = loadInputs(model.path, bundle, given, "");
    models.push_back(std::move(model));
  }
  return models;
}

int main(int argc, char **argv) {
  setToolName("idle-runs");
  unsigned threads = argc > 2 ? unsigned(strtoul(argv[1], nullptr, 10)) : 0;
  if (!threads)
    fail("expected THREADS BUNDLE.nnv NAME=FILE... "
         "[-- BUNDLE.nnv NAME=FILE...]...");
  Host host(loadModels(argc, argv), threads);
  InputStream commands;
  failIf(commands.open("-"));
  std::string line;
  while (commands.readLine(/*most=*/1000, line)) {
    printf("%s\n", host.answer(line).c_str());
    finishOutput();
  }
  return 0;
}
