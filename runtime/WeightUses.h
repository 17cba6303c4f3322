//===- WeightUses.h - Whose weights nobody else uses ------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_WEIGHTUSES_H
#define NNV12_RUNTIME_WEIGHTUSES_H

#include "artifact/Array.h"
#include "bundle_generated.h"

namespace nnv12::runtime {

/// Sets shared[i] for each preparation i of `program`, a verified one, that
/// uses bytes of weights which another preparation, an execute or a switch uses
/// as well; reads bring weights, which is no use of them. In n log n for n
/// operands. False when memory ran out.
bool findSharedWeights(const bundle::Program *program,
                       artifact::Array<bool> &shared);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_WEIGHTUSES_H
