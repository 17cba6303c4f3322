//===- Interruption.cpp - Ctrl-C leaves nothing behind --------------------===//

#include "tools/nnv12c/Interruption.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/Support/Signals.h"

using namespace nnv12;

Interruption::Interruption() {
  for (size_t i = 0; i < std::size(endingSignals); ++i) {
    struct sigaction now;
    isOff[i] = sigaction(endingSignals[i], nullptr, &now) == 0 &&
               now.sa_handler == SIG_IGN;
  }
}

/// Only calls that are allowed in handlers of signals.
static void end(int signal) {
  endSubprogram();
  TemporaryFolder::removeAll();
  llvm::sys::RunInterruptHandlers();
  // The process that waits for this one sees what ended it. The signal waits
  // until this handler returns.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Interruption::handle() const {
  for (size_t i = 0; i < std::size(endingSignals); ++i) {
    struct sigaction action = {};
    action.sa_handler = isOff[i] ? SIG_IGN : end;
    // One after the other.
    for (int other : endingSignals)
      sigaddset(&action.sa_mask, other);
    sigaction(endingSignals[i], &action, nullptr);
  }
}
