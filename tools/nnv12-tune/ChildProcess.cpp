//===- ChildProcess.cpp - Work that may crash or hang ---------------------===//
#include "tools/nnv12-tune/ChildProcess.h"

#include "tools/common/Clock.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nnv12::tune {

static bool writeAll(int to, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t n = write(to, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += std::max<ssize_t>(n, 0);
  }
  return true;
}

[[noreturn]] static void runChild(const std::function<std::string()> &work,
                                  int to) {
  // However its parent ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool isWritten = writeAll(to, work());
  // Without the functions that drivers have registered for the end of a
  // process, which may hang; all is said.
  fflush(nullptr);
  _exit(isWritten ? 0 : 1);
}

/// Until its end, or the time is over. Whether it has ended by itself.
static bool readAll(int from, double seconds, std::string &text) {
  double end = tools::milliseconds() + seconds * 1e3;
  for (;;) {
    double left = end - tools::milliseconds();
    if (left <= 0)
      return false;
    pollfd wanted = {from, POLLIN, 0};
    if (poll(&wanted, 1, int(std::min(left, 1e6)) + 1) <= 0)
      continue;
    char buffer[65536];
    ssize_t n = read(from, buffer, sizeof buffer);
    if (n > 0)
      text.append(buffer, size_t(n));
    else if (n == 0 || errno != EINTR)
      return true;
  }
}

ChildResult runInChild(const std::function<std::string()> &work,
                       double seconds) {
  ChildResult result;
  auto give = [&](const std::string &reason) {
    result.reason = reason;
    return result;
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return give(std::string("no pipe for it: ") + strerror(errno));
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    std::string why = strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return give("no process for it: " + why);
  }
  if (child == 0) {
    close(ends[0]);
    runChild(work, ends[1]);
  }
  close(ends[1]);
  bool hasEnded = readAll(ends[0], seconds, result.text);
  close(ends[0]);
  if (!hasEnded)
    kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!hasEnded)
    return give("gave no answer for " + std::to_string(int(seconds)) + " s");
  if (WIFSIGNALED(status))
    return give(std::string("crashed: ") + strsignal(WTERMSIG(status)));
  result.end = status == 0 ? ChildResult::End::Done : ChildResult::End::Refused;
  return result;
}

} // namespace nnv12::tune
