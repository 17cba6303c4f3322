//===- Subprogram.cpp - Runs the programs beside this one -----------------===//

#include "tools/nnv12c/Subprogram.h"

#include "compiler/codegen/common/HeldSignals.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nnv12;
using llvm::StringRef;
using llvm::sys::RetryAfterSignal;

/// The program that runs; 0: none.
static std::atomic<pid_t> running{0};

void nnv12::endSubprogram() {
  int saved = errno;
  if (pid_t child = running.load()) {
    kill(child, SIGKILL);
    RetryAfterSignal(-1, waitpid, child, nullptr, 0);
  }
  errno = saved;
}

static std::string pathOf(const std::string &name) {
  static int here;
  llvm::SmallString<256> path(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, &here)));
  llvm::sys::path::append(path, name);
  return path.str().str();
}

namespace {
/// A program that was started, with a pipe from its standard error.
struct Child {
  pid_t id = 0;
  int messages = -1; ///< -1: they go to this process's standard error
};
} // namespace

/// Returns 0 or an error number.
static int start(const std::string &path,
                 const std::vector<std::string> &arguments, bool isShown,
                 Child &child) {
  int ends[2] = {-1, -1};
  if (!isShown && pipe2(ends, O_CLOEXEC) != 0)
    return errno;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                   0);
  if (!isShown)
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  std::vector<char *> words = {const_cast<char *>(path.c_str())};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  int error;
  {
    // Its number is known before a signal can ask for it.
    HeldSignals held;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &held.before());
    error = posix_spawn(&child.id, path.c_str(), &files, &attributes,
                        words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (!error)
      running = child.id;
  }
  posix_spawn_file_actions_destroy(&files);
  if (!isShown)
    close(ends[1]);
  if (error && !isShown)
    close(ends[0]);
  child.messages = ends[0];
  return error;
}

/// The last line that it says until it closes the pipe.
static std::string lastLine(int from) {
  static constexpr size_t enough = 4096;
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t n = RetryAfterSignal(-1, read, from, &buffer[0], sizeof buffer);
    if (n <= 0)
      break;
    text.append(buffer, size_t(n));
    if (text.size() > 2 * enough)
      text.erase(0, text.size() - enough);
  }
  StringRef rest = StringRef(text).rtrim();
  return rest.substr(rest.rfind('\n') + 1).str();
}

/// Its status, as waitpid() gives it.
static int wait(pid_t child) {
  siginfo_t info;
  RetryAfterSignal(-1, waitid, P_PID, id_t(child), &info, WEXITED | WNOWAIT);
  // Once it is waited for, its number may be another's.
  HeldSignals held;
  running = 0;
  int status = 0;
  RetryAfterSignal(-1, waitpid, child, &status, 0);
  return status;
}

std::string nnv12::runSubprogram(const std::string &name,
                                 const std::vector<std::string> &arguments,
                                 bool showsProgress) {
  std::string path = pathOf(name);
  if (!llvm::sys::fs::can_execute(path))
    return path + ": found no such program, which measures";
  bool isShown = showsProgress && llvm::sys::Process::StandardErrIsDisplayed();
  Child child;
  if (int error = start(path, arguments, isShown, child))
    return name + ": cannot be started: " + strerror(error);
  std::string reason;
  if (!isShown) {
    reason = lastLine(child.messages);
    close(child.messages);
  }
  int status = wait(child.id);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return "";
  if (WIFSIGNALED(status)) // this counts more than its output
    reason = std::string("ended by a signal: ") + strsignal(WTERMSIG(status));
  else if (reason.empty())
    reason = "exit status " + std::to_string(WEXITSTATUS(status)) +
             (isShown ? " (see above)" : "");
  std::string prefix = name + ": ";
  return StringRef(reason).starts_with(prefix) ? reason : prefix + reason;
}
