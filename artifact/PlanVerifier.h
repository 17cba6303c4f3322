//===- PlanVerifier.h - Checks the plan of a program ------------*- C++ -*-===//
//
// Lanes may rely on this: every index exists, nothing waits for itself, no
// order of the lanes deadlocks, bytes of the session's Prepared memory are
// written by one preparation alone (or by several that compute different tiles
// of one grid), and every reader has waited for them.
// So a preparation may run at any time after those in its `after`, on any
// thread, and even twice: stealing needs no further thought.
//
// Preparations of a GPU, whose numbers count on behind the program's, wait for
// any; nothing of the program waits for them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_PLANVERIFIER_H
#define NNV12_ARTIFACT_PLANVERIFIER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

namespace nnv12::artifact {

/// Checks lanes, dependencies and switches of `program`, number `number` of the
/// bundle, whose target and single operations were found good, and those of its
/// overlay `gpu` (null: none), whose tables were found good.
[[nodiscard]] bool verifyPlan(const bundle::Target *target,
                              const bundle::Program *program,
                              const bundle::ProgramGpu *gpu, unsigned number,
                              Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_PLANVERIFIER_H
