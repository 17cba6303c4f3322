//===- CopyOutputs.cpp - Results right in the caller's buffers ------------===//

#include "compiler/layers/OutputCopies.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"

namespace nnv12 {
#define GEN_PASS_DEF_COPYOUTPUTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;

namespace {
struct CopyOutputs : nnv12::impl::CopyOutputsBase<CopyOutputs> {
  void runOnOperation() override { copied += copyOutputs(getOperation()); }
};
} // namespace
