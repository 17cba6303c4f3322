//===- PlannedModel.cpp - A model with its plan ---------------------------===//

#include "test/unit/compiler/verify/PlannedModel.h"

#include "artifact/Limits.h"
#include "artifact/Writer.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/emit/OverlayEmitter.h"
#include "compiler/emit/VideoEmitter.h"
#include "compiler/import/Import.h"
#include "compiler/plan/ProgramWriter.h"
#include "compiler/verify/PlanProof.h"
#include "compiler/verify/VideoProof.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "tools/nnv12c/Compiler.h"
#include "tools/nnv12c/HostTuning.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;

PlannedModel::PlannedModel(MLIRContext &context, const std::string &model,
                           PlanOptions options, bool alternatives,
                           const std::string &target)
    : context(context), target(*codegen::Target::byName(target)) {
  loadDialects(context);
  error = faultOf([&] {
    return success(succeeded(load(model)) && succeeded(plan(options)) &&
                   succeeded(emit(options, alternatives)));
  });
}

std::string PlannedModel::faultOf(llvm::function_ref<LogicalResult()> call) {
  std::string found;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (found.empty())
      found = diagnostic.str();
    return success();
  });
  return succeeded(call()) ? "" : found.empty() ? "no diagnostic" : found;
}

LogicalResult PlannedModel::load(const std::string &model) {
  module = StringRef(model).ends_with(".onnx")
               ? importOnnx(model, ImportOptions(), context)
               : parseSourceString<ModuleOp>(model, &context);
  if (!module)
    return failure();
  for (auto program : module->getOps<plan::ProgramOp>())
    planned = program;
  PassManager passes(module.get()->getName());
  buildSimplifyPipeline(passes);
  buildLayoutPipeline(passes);
  // A plan is of the layers as they are.
  if (!planned && failed(passes.run(*module)))
    return failure();
  main = module->lookupSymbol<func::FuncOp>("main");
  order.emplace(main);
  return success();
}

LogicalResult PlannedModel::plan(const PlanOptions &options) {
  if (planned)
    return success();
  auto profile =
      std::make_shared<const device::DeviceProfile>(hostBuiltin(target));
  auto made = planModel(main, {target, profile, true}, options);
  if (failed(made))
    return failure();
  auto written = writeProgram(*made, *module);
  if (failed(written))
    return failure();
  planned = *written;
  return success();
}

LogicalResult PlannedModel::emit(const PlanOptions &options,
                                 bool alternatives) {
  if (!options.gpu.empty() && !planned.gpu())
    return main.emitError("the GPU takes over nothing");
  if (alternatives)
    addAlternatives();
  kernelBuilder = std::make_unique<codegen::KernelBuilder>(context, target);
  kernelModule = OwningOpRef<ModuleOp>(kernelBuilder->module);
  kernels = std::make_unique<KernelTable>(*kernelBuilder);
  cells = std::make_unique<KernelTable>(*kernelBuilder);
  if (failed(builder.describeTensors(main)))
    return failure();
  if (planned.gpu()) {
    builder.weights.alignPieces(artifact::gpuAlignment);
    builder.gpu.emplace(*codegen::GpuTarget::byName(options.gpu));
  }
  auto made = emitProgram(*order, planned, *kernels, builder.weights);
  if (failed(made))
    return failure();
  emitted = std::move(*made);
  if (planned.gpu() && failed(emitOverlay(*order, planned.gpu(), *builder.gpu,
                                          *kernels, builder.weights, emitted)))
    return failure();
  program = emitted.program;
  for (uint32_t number : emitted.layers)
    layers.push_back(order->layers()[number]);
  return success();
}

std::string PlannedModel::addVideo(artifact::VideoReuse reuse, size_t tail) {
  auto chooseTail = [&](const artifact::ProgramVideo &video) {
    withoutTail = video;
    return std::min(tail, video.executes.size());
  };
  std::string fault = faultOf([&] {
    return emitVideo(main, reuse, *order, *kernels, *cells, emitted,
                     /*checkedWork=*/8, chooseTail);
  });
  program = emitted.program;
  return fault;
}

/// Parts of the stretches of a plan: its first half, its middle, and all but
/// its beginning.
void PlannedModel::addAlternatives() {
  plan::GpuOp gpu = planned.gpu();
  std::vector<std::pair<plan::StretchOp, plan::RecordOp>> all;
  llvm::DenseMap<uint64_t, plan::RecordOp> records;
  for (auto record : gpu.getBody().getOps<plan::RecordOp>())
    records[record.getStretch()] = record;
  OpBuilder b(&context);
  for (auto [i, stretch] : llvm::enumerate(gpu.stretches())) {
    plan::RecordOp record = records[i];
    all.push_back({stretch, record});
    uint64_t first = stretch.getFirst(), count = stretch.getCount();
    if (count < 4)
      continue;
    for (auto [begin, size] :
         {std::pair(first, count / 2), std::pair(first + count / 4, count / 2),
          std::pair(first + count / 4, count - count / 4)}) {
      b.setInsertionPointAfter(record);
      auto otherRecord = cast<plan::RecordOp>(b.clone(*record));
      b.setInsertionPoint(stretch);
      auto other = cast<plan::StretchOp>(b.clone(*stretch));
      other.setFirst(begin);
      other.setCount(size);
      other.setWarm(false);
      for (auto dispatch : llvm::make_early_inc_range(
               other.getBody().getOps<plan::DispatchOp>()))
        if (dispatch.getLayer() < begin || dispatch.getLayer() >= begin + size)
          dispatch.erase();
      other->replaceUsesOfWith(record.getDone(), otherRecord.getDone());
      for (auto lane : gpu.getBody().getOps<plan::GpuLaneOp>())
        if (llvm::is_contained(lane.getQueue(), record.getDone()))
          lane.getQueueMutable().append(otherRecord.getDone());
      all.push_back({other, otherRecord});
    }
  }
  llvm::stable_sort(all, [](auto a, auto b) {
    return std::pair(a.first.getFirst(), ~a.first.getCount()) <
           std::pair(b.first.getFirst(), ~b.first.getCount());
  });
  Operation *lane = *gpu.getBody().getOps<plan::GpuLaneOp>().begin();
  for (auto [i, pair] : llvm::enumerate(all)) {
    pair.first->moveBefore(lane);
    pair.second.setStretch(i);
  }
}

std::string PlannedModel::prove(const artifact::Program &changed) {
  PlanClaim claim = {main,         layers,     *kernels, builder.weights,
                     std::nullopt, cells.get()};
  if (builder.gpu)
    claim.gpu.emplace(GpuClaim{planned.gpu(), order->layers(), *builder.gpu});
  return faultOf([&] {
    return success(succeeded(provePlan(claim, changed)) &&
                   (!changed.video || succeeded(proveVideo(claim, changed))));
  });
}

std::string PlannedModel::write(const artifact::Program &changed,
                                const std::string &path) {
  if (!isWritable) {
    auto code =
        codegen::compileModule(*kernelModule, target, codegen::Effort::Least);
    if (failed(code))
      return "found no code";
    builder.addProgram(target, program, *kernels, std::move(*code));
    std::string fault =
        faultOf([&] { return builder.write(context, path, ""); });
    if (!fault.empty())
      return fault;
    isWritable = true;
  }
  artifact::Bundle bundle = builder.bundle;
  artifact::Program &copy = bundle.programs[0];
  copy.gpu = changed.gpu;
  copy.video = changed.video;
  return artifact::writeBundle(bundle, path, "");
}
