//===- WarmUp.h - Runs until a session has all that it prepares -*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_WARMUP_H
#define NNV12_TOOLS_COMMON_WARMUP_H

#include "runtime/include/nnv12.hpp"

namespace nnv12::tools {

/// Calls `run`, which runs the session once, an even number of times: at least
/// `least`, and until all weights are prepared and all kernels are changed to.
template <typename Run>
void warmUp(const Session &session, unsigned least, Run run) {
  // A plan with preparations that never end is the session's fault to tell.
  constexpr unsigned most = 100000;
  for (unsigned i = 0; i < most; i += 2) {
    nnv12_session_info info = session.info();
    if (i >= least && info.switches_done == info.num_switches &&
        info.preparations_done == info.num_preparations)
      break;
    run();
    run();
  }
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_WARMUP_H
