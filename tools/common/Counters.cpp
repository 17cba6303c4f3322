//===- Counters.cpp - Counters of a session's threads ---------------------===//
#include "tools/common/Counters.h"

#include "tools/common/Report.h"

namespace nnv12::tools {

void Counters::addTo(Options &options) {
  options.choice("counters", {"none", "software", "all"}, wanted_,
                 ("The counters of each thread in runs: none; the system's "
                  "(time on CPUs and without one, page faults, context "
                  "switches, migrations); the processor's as well, where the "
                  "system grants them. Default " +
                  wanted_ + ".")
                     .c_str());
}

void Counters::open() {
  if (wanted_ == "none")
    return;
  handle_.reset(nnv12_counters_create(wanted_ == "all" ? NNV12_COUNT_HARDWARE
                                                       : NNV12_COUNT_SOFTWARE));
  if (!handle_)
    fail("no memory for counters");
}

} // namespace nnv12::tools
