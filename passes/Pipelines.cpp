//===- Pipelines.cpp - The passes in their order --------------------------===//

#include "passes/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

void nnv12::buildSimplifyPipeline(OpPassManager &pm) {
  auto cleanUp = [&] {
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  };
  auto add = [&](std::unique_ptr<Pass> pass) {
    pm.addNestedPass<func::FuncOp>(std::move(pass));
  };
  add(createWidenHalf());
  cleanUp();
  add(createSimplifySlices());
  add(createSinkTransposes());
  cleanUp();
  add(createRecognizeFunctions());
  add(createRecognizeNormalize());
  // A function has one operand where its spelling read the transpose twice.
  add(createSinkTransposes());
  add(createFoldScale());
  add(createFuseActivation());
  add(createFuseResidual());
  FuseActivationOptions both;
  both.second = true;
  add(createFuseActivation(both));
  // After the activations: what they leave non-negative tells a max pool more.
  add(createFusePad());
  add(createLowerRank());
  add(createFlushTinyWeights());
  cleanUp();
  add(createDedupeConstants());
}

void nnv12::registerPipelines() {
  PassPipelineRegistration<>(
      "nn-simplify", "make a model simpler, whatever it is compiled for",
      buildSimplifyPipeline);
}
