//===- Pipelines.cpp - The passes in their order --------------------------===//

#include "passes/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

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
  // With all the padding that it will have.
  add(createTrimWindow());
  add(createRaiseRank());
  add(createFlushTinyWeights());
  cleanUp();
  add(createDedupeConstants());
}

void nnv12::buildLayoutPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createAssignLayouts());
  pm.addNestedPass<func::FuncOp>(createFuseElementwise());
  pm.addNestedPass<func::FuncOp>(createCopyOutputs());
}

void nnv12::buildPlanPipeline(OpPassManager &pm,
                              const PlanPipelineOptions &options,
                              const SharedProfile &costs) {
  SelectRoutinesOptions select;
  select.target = options.target;
  select.profile = options.profile;
  select.threads = options.threads;
  select.lanes = options.lanes;
  select.mode = options.mode;
  select.memory = options.memory;
  select.parts = options.parts;
  select.allowPredicted = options.allowPredicted;
  PlanWeightsOptions weights;
  weights.target = options.target;
  weights.profile = options.profile;
  weights.threads = options.threads;
  weights.laterWaits = options.mode == Mode::Auto;
  ScheduleOptions schedule;
  schedule.profile = options.profile;
  schedule.lanes = options.lanes;
  schedule.parts = options.parts;
  pm.addPass(createSelectRoutines(select, costs));
  pm.addPass(createPlanWeights(weights, costs));
  if (!options.gpu.empty()) {
    PlaceGpuOptions gpu;
    gpu.target = options.gpu;
    gpu.profile = options.profile;
    gpu.lanes = options.lanes;
    gpu.parts = options.parts;
    gpu.pipelineCache = options.pipelineCache;
    gpu.force = options.gpuForce;
    gpu.forceFrom = options.gpuForceFrom;
    gpu.half = options.gpuHalf;
    pm.addPass(createPlaceGpu(gpu, costs));
  }
  pm.addPass(createSchedule(schedule, costs));
}

void nnv12::registerPipelines() {
  PassPipelineRegistration<>(
      "nn-simplify", "make a model simpler, whatever it is compiled for",
      buildSimplifyPipeline);
  PassPipelineRegistration<>(
      "nn-layout", "give a simple model layouts and kernels of several layers",
      buildLayoutPipeline);
  PassPipelineRegistration<PlanPipelineOptions>(
      "nn-plan", "choose routines, and plan stages on lanes",
      [](OpPassManager &pm, const PlanPipelineOptions &options) {
        buildPlanPipeline(pm, options);
      });
}
