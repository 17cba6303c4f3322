//===- Counters.h - Counters of a session's threads -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_COUNTERS_H
#define NNV12_TOOLS_COMMON_COUNTERS_H

#include "runtime/include/nnv12_counters.h"
#include "tools/common/Options.h"

#include <memory>

namespace nnv12::tools {

/// As --counters says.
class Counters {
public:
  /// The default of --counters: "none", "software" or "all".
  explicit Counters(const char *wanted) : wanted_(wanted) {}

  void addTo(Options &options);
  /// After the options were parsed.
  void open();

  /// For recorders of one session at a time. Null: nothing is counted.
  const nnv12_counter_source *source() const {
    return handle_ ? nnv12_counters_source(handle_.get()) : nullptr;
  }
  /// Says what is not counted, and why; "" where all wanted counters count.
  const char *state() const {
    return handle_ ? nnv12_counters_state(handle_.get()) : "";
  }

private:
  std::string wanted_;
  std::unique_ptr<nnv12_counters, void (*)(nnv12_counters *)> handle_{
      nullptr, nnv12_counters_close};
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_COUNTERS_H
