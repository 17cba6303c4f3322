//===- PlanVerifier.h - Checks the plan of a program ------------*- C++ -*-===//
//
// What lanes may rely on: every index exists, nothing waits for itself, no
// order of the lanes deadlocks, and whoever reads bytes of the session's
// Prepared memory has waited for all who write them. So a preparation may run
// at any time after those in its `after`, on any thread, and stealing needs no
// further thought.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_PLANVERIFIER_H
#define NNV12_ARTIFACT_PLANVERIFIER_H

#include "artifact/Fault.h"
#include "bundle_generated.h"

namespace nnv12::artifact {

/// Checks lanes, dependencies and switches of `program`, number `number` of the
/// bundle, whose single operations were found good.
bool verifyPlan(const bundle::Program *program, unsigned number, Fault &fault);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_PLANVERIFIER_H
