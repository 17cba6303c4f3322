//===- PlanRace.h - First inferences of several bundles in turns *- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_PLANRACE_H
#define NNV12_TOOLS_NNV12C_PLANRACE_H

#include "compiler/codegen/common/TemporaryFolder.h"
#include "tools/common/Statistics.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace nnv12 {

/// A bundle and how long its cold runs took, from opening it until the first
/// result, each in a process of its own.
struct Racer {
  std::string bundle;
  std::vector<double> milliseconds = {};

  bool hasRun() const { return !milliseconds.empty(); }
  double median() const { return tools::Statistics(milliseconds).median; }
  double p90() const { return tools::Statistics(milliseconds).p90; }
};

/// Runs the bundles in turns, with other work between, by nnv12-bench, which
/// stands beside this program; forgets their earlier times. Those that are
/// clearly behind are given up on early, those that are alike run no longer
/// than that shows, and those that cannot be run have no times. Returns "" or
/// one line saying why none can. Files between programs go to `folder`.
std::string race(llvm::ArrayRef<Racer *> racers, const TemporaryFolder &folder);

/// Whether the first one is slower than the second, by the rounds that both
/// have run: chance would make it lose so often in less than one race of fifty.
bool isBeaten(const Racer &racer, const Racer &by);

/// Whether all medians are within a fiftieth of the smallest: which plan is
/// taken makes no difference that a user would notice.
bool areAlike(llvm::ArrayRef<Racer *> racers);

/// The one with the smallest median, and of those within a hundredth of it the
/// one with the smallest p90. One at least has run.
Racer *fastest(llvm::ArrayRef<Racer *> racers);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PLANRACE_H
