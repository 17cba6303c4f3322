//===- Forks.cpp - Work on several CPUs, by files -------------------------===//

#include "tools/nnv12c/Forks.h"

#include "llvm/Support/Threading.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nnv12;

unsigned nnv12::usableCpus() {
  return std::max(1u, llvm::hardware_concurrency().compute_thread_count());
}

/// A process that does the task and ends; -1: there is none.
static pid_t startFork(unsigned number,
                       llvm::function_ref<bool(unsigned)> task) {
  pid_t parent = getpid(), child = fork();
  if (child != 0)
    return child;
  // It ends with the process that waits for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (none < 0 || dup2(none, STDOUT_FILENO) < 0 ||
      dup2(none, STDERR_FILENO) < 0)
    _exit(1);
  _exit(task(number) ? 0 : 1);
}

static bool isDone(pid_t child) {
  int status;
  pid_t ended;
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<bool> nnv12::doInForks(unsigned count,
                                   llvm::function_ref<bool(unsigned)> task) {
  std::vector<bool> done(count, false);
  unsigned cpus = usableCpus();
  for (unsigned first = 0; first < count; first += cpus) {
    unsigned end = std::min(count, first + cpus);
    std::vector<pid_t> children;
    for (unsigned i = first + 1; i < end; ++i)
      children.push_back(startFork(i, task));
    done[first] = task(first);
    for (unsigned i = first + 1; i < end; ++i)
      done[i] = children[i - first - 1] > 0 && isDone(children[i - first - 1]);
  }
  for (unsigned i = 0; i < count; ++i)
    if (!done[i] && i % cpus != 0)
      done[i] = task(i);
  return done;
}

mlir::FailureOr<std::string> nnv12::writeInForks(
    unsigned count,
    llvm::function_ref<mlir::FailureOr<std::string>(unsigned)> write) {
  mlir::FailureOr<std::string> fault = std::string();
  doInForks(count, [&](unsigned i) {
    auto found = write(i);
    bool isDone = succeeded(found) && found->empty();
    if (!isDone && succeeded(fault) && fault->empty())
      fault = std::move(found);
    return isDone;
  });
  return fault;
}
