//===- Pipelines.cpp - The passes in their order --------------------------===//

#include "passes/Pipelines.h"

#include "passes/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nnv12::buildSimplifyPipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void nnv12::registerPipelines() {
  PassPipelineRegistration<>("nn-simplify",
                             "make a model simpler, whatever it is compiled for",
                             buildSimplifyPipeline);
}
