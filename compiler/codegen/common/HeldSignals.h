//===- HeldSignals.h - Signals that end a process, held back ----*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_HELDSIGNALS_H
#define NNV12_COMPILER_CODEGEN_COMMON_HELDSIGNALS_H

#include <csignal>

namespace nnv12 {

/// The signals by which a user ends a process: Ctrl-C, kill, a closed terminal.
constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// While one of these is alive, ending signals wait: a handler that cleans up
/// finds this thread's changes either not begun or complete.
class HeldSignals {
public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (int signal : endingSignals)
      sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &previous);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &previous, nullptr); }
  HeldSignals(const HeldSignals &) = delete;
  HeldSignals &operator=(const HeldSignals &) = delete;

  /// The mask of before, for processes that are started meanwhile.
  const sigset_t &before() const { return previous; }

private:
  sigset_t previous;
};

} // namespace nnv12

#endif // NNV12_COMPILER_CODEGEN_COMMON_HELDSIGNALS_H
