//===- PlanText.h - A bundle's plan as text and as JSON ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H
#define NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H

#include "tools/common/Json.h"
#include "tools/page/Plan.h"

namespace nnv12::tools {

/// Prints the plan of a program that has one: what is predicted, what prepares
/// the weights, the lanes and, unless `summary`, their queues and the switches.
void printPlan(const bundle::Program *program, bool summary);

/// Adds the members "lanes", "preparations", "switches" and the sums that
/// printPlan() gives to the object that is open. Times are nanoseconds.
void addPlan(Json &json, const bundle::Program *program, bool summary);

/// Adds an operation's members that say what of its grid runs and when: tiles,
/// stage, after, predicted.
void addSchedule(Json &json, const bundle::Program *program,
                 const bundle::Operation *operation);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H
