//===- Pipelines.cpp - The passes in their order --------------------------===//

#include "passes/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nnv12::buildSimplifyPipeline(OpPassManager &pm,
                                  QuantizedProducts quantized) {
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
  // Before passes that change weights, or put something between a product and
  // the quantize behind it.
  if (!quantized.stayFloat) {
    add(createNormalizeQuantized());
    FuseQuantizedOptions fuse;
    fuse.whyFloat = quantized.why;
    add(createFuseQuantized(fuse));
  }
  DequantizeConstantsOptions others;
  others.keepWeights = true;
  add(createDequantizeConstants(others));
  add(createFoldScale());
  // Its scales are a part of the weights' by now.
  add(createDequantizeConstants());
  add(createFuseActivation());
  add(createFuseResidual());
  FuseActivationOptions both;
  both.second = true;
  add(createFuseActivation(both));
  // After the activations: non-negative results of theirs help a max pool.
  add(createFusePad());
  // With all the padding that it will have.
  add(createTrimWindow());
  add(createRaiseRank());
  add(createMergeGroups());
  add(createFlushTinyWeights());
  if (quantized.stayFloat)
    add(createSpellRoundTrips());
  cleanUp();
  add(createDedupeConstants());
  // Nothing looks at the elements of tables from here on.
  add(createNarrowTables());
}

void nnv12::buildLayoutPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createAssignLayouts());
  pm.addNestedPass<func::FuncOp>(createFuseElementwise());
  pm.addNestedPass<func::FuncOp>(createCopyOutputs());
}

void nnv12::registerPipelines() {
  PassPipelineRegistration<>(
      "nn-simplify", "make a model simpler, whatever it is compiled for",
      [](OpPassManager &pm) { buildSimplifyPipeline(pm); });
  PassPipelineRegistration<>(
      "nn-layout", "give a simple model layouts and kernels of several layers",
      buildLayoutPipeline);
}
