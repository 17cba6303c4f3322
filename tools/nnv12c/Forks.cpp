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

/// A process that does every `step`th task from `first` on and ends; -1: there
/// is none.
static pid_t startFork(unsigned first, unsigned count, unsigned step,
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
  for (unsigned i = first; i < count; i += step)
    if (!task(i))
      _exit(1);
  _exit(0);
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
  unsigned processes = std::min(count, usableCpus());
  std::vector<pid_t> children;
  for (unsigned first = 1; first < processes; ++first)
    children.push_back(startFork(first, count, processes, task));
  auto doHere = [&](unsigned first) {
    for (unsigned i = first; i < count; i += processes)
      done[i] = task(i);
  };
  if (count)
    doHere(0);
  std::vector<unsigned> left;
  for (unsigned first = 1; first < processes; ++first) {
    pid_t child = children[first - 1];
    if (child <= 0 || !isDone(child))
      left.push_back(first);
    else
      for (unsigned i = first; i < count; i += processes)
        done[i] = true;
  }
  for (unsigned first : left)
    doHere(first);
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
