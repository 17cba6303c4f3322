//===- PlanText.h - A bundle's plan as text and as JSON ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H
#define NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H

#include "artifact/Fault.h"
#include "tools/common/Json.h"
#include "tools/page/FlatPlan.h"

#include <cstdint>
#include <string>

namespace nnv12::tools {

/// Names of spaces as people and scripts read them: a memory by its kind, of
/// which a program has one each.
std::string spaceName(const bundle::Program *program,
                      const bundle::Operand *operand);

std::string textOf(const flatbuffers::String *text);

/// Why a program is not understood, without the beginning of that line, which
/// names it, and without its end.
std::string reasonOf(const artifact::Fault &why, const std::string &start);

/// "[0, 4096)".
std::string rangeText(uint64_t offset, uint64_t size);
/// "arena[0, 4096)" or "weights2[64, 128)".
std::string rangeText(const bundle::Program *program,
                      const bundle::Operand *operand);

/// " after p1, p2"; empty where there are none.
std::string afterText(const bundle::Program *program,
                      const flatbuffers::Vector<uint32_t> *after);

/// "1.250 ms", or that there is no prediction.
std::string predictionText(uint64_t nanoseconds);

/// Prints the columns of an operation's predicted times, if it has any.
void printTimes(bool isPredicted, uint64_t start, uint64_t end);

/// Adds an array of the names of operations.
void addNames(Json &json, const char *name, const bundle::Program *program,
              const flatbuffers::Vector<uint32_t> *numbers);

/// Adds an operand's members to the object that is open.
void addOperand(Json &json, const bundle::Program *program,
                const bundle::Operand *operand);

/// Prints the plan of a program that has one: the predictions, the preparations
/// of weights, the lanes and, unless `summary`, their queues and the switches.
void printPlan(const bundle::Target *target, const bundle::Program *program,
               bool summary);

/// Adds the members "lanes", "preparations", "switches" and the sums that
/// printPlan() gives to the object that is open. Times are nanoseconds.
void addPlan(Json &json, const bundle::Target *target,
             const bundle::Program *program, bool summary);

/// Adds an operation's members that say what of its grid runs and when: tiles,
/// stage, after, predicted.
void addSchedule(Json &json, const bundle::Program *program,
                 const bundle::Operation *operation);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_PLANTEXT_H
