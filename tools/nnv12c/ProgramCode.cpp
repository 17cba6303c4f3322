//===- ProgramCode.cpp - From a plan to a program and its code ------------===//

#include "tools/nnv12c/ProgramCode.h"

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/CheckBounds.h"
#include "compiler/codegen/cpu/TileCheck.h"
#include "compiler/emit/OverlayEmitter.h"
#include "compiler/emit/VideoEmitter.h"
#include "compiler/emit/VideoTimes.h"
#include "compiler/plan/ProgramWriter.h"
#include "compiler/verify/PlanProof.h"
#include "compiler/verify/VideoProof.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/Forks.h"
#include "tools/nnv12c/Stage.h"

using namespace mlir;
using namespace nnv12;

FailureOr<codegen::CodeBlob> nnv12::codeOf(ModuleOp kernels,
                                           const CompileOptions &options,
                                           const codegen::Target &target) {
  Stage stage(options, "code");
  if (options.checkBounds && failed(codegen::checkBounds(kernels, target)))
    return failure();
  return codegen::compileModule(
      kernels, target,
      options.checkBounds ? codegen::Effort::Least : codegen::Effort::Full,
      [](unsigned count, llvm::function_ref<bool(unsigned)> task) {
        return llvm::all_of(doInForks(count, task),
                            [](bool isDone) { return isDone; });
      });
}

/// Code works at any multiple of a page.
static void append(codegen::CodeBlob &code, const codegen::CodeBlob &more) {
  uint32_t begin = llvm::alignTo<4096>(code.bytes.size());
  code.bytes.resize(begin);
  code.bytes.insert(code.bytes.end(), more.bytes.begin(), more.bytes.end());
  for (const auto &[symbol, entry] : more.entries)
    code.entries[symbol] = begin + entry;
  code.fingerprints.insert(more.fingerprints.begin(), more.fingerprints.end());
}

FailureOr<codegen::CodeBlob>
SharedCode::compile(const CompileOptions &options) {
  size_t count = kernels.table.kernels().size();
  if (count == compiled)
    return code;
  auto blob = codeOf(*kernels.module, options, target);
  if (failed(blob))
    return failure();
  append(code, *blob);
  compiled = count;
  // Kernels that come later have a module of their own.
  kernels.module->getBody()->clear();
  return code;
}

func::FuncOp Lowered::main() const {
  auto module = planned->getParentOfType<ModuleOp>();
  return module.lookupSymbol<func::FuncOp>("main");
}

FailureOr<Lowered> nnv12::lowerPlan(const ModelPlan &plan, func::FuncOp main,
                                    ProgramKernels &kernels) {
  auto model = main->getParentOfType<ModuleOp>();
  for (auto program :
       llvm::make_early_inc_range(model.getOps<plan::ProgramOp>()))
    program.erase();
  auto program = writeProgram(plan, model);
  if (failed(program))
    return failure();
  return Lowered{plan, *program, kernels};
}

/// Milliseconds of the executes of a later run, by operation.
static std::vector<double> executeTimes(const Lowered &lowered) {
  std::vector<double> times;
  for (uint32_t layer : lowered.emitted.layers)
    times.push_back(lowered.plan.problem.layers[layer].candidates[1].execute);
  return times;
}

static double memoryGBps(const Lowered &lowered) {
  return lowered.plan.device.profile->big.memoryGBps;
}

LogicalResult nnv12::emitLowered(const CompileOptions &options,
                                 BundleBuilder &builder, Lowered &lowered) {
  const ExecutionOrder &order = lowered.plan.order;
  {
    Stage stage(options, "kernels");
    auto emitted = emitProgram(order, lowered.planned, lowered.kernels.table,
                               builder.weights);
    if (failed(emitted))
      return failure();
    lowered.emitted = std::move(*emitted);
    lowered.emitted.program.revision = codeRevision();
  }
  std::optional<GpuClaim> gpu;
  if (plan::GpuOp overlay = lowered.planned.gpu()) {
    Stage stage(options, "gpu");
    if (!builder.gpu)
      builder.gpu.emplace(*codegen::GpuTarget::byName(options.plan.gpu));
    if (failed(emitOverlay(order, overlay, *builder.gpu, lowered.kernels.table,
                           builder.weights, lowered.emitted)))
      return failure();
    gpu.emplace(GpuClaim{overlay, order.layers(), *builder.gpu});
  }
  if (options.video != VideoMode::Off) {
    Stage stage(options, "video");
    lowered.videoKernels = std::make_unique<ProgramKernels>(
        *lowered.main()->getContext(), lowered.target(), options.checkBounds);
    auto reuse = options.video == VideoMode::Exact
                     ? artifact::VideoReuse::Exact
                     : artifact::VideoReuse::Bounded;
    auto chooseTail = [&](const artifact::ProgramVideo &video) {
      return chooseVideoTail(lowered.emitted.program, video,
                             executeTimes(lowered), memoryGBps(lowered));
    };
    if (failed(emitVideo(lowered.main(), reuse, order, lowered.kernels.table,
                         lowered.videoKernels->table, lowered.emitted,
                         leastCheckedWork, chooseTail)))
      return failure();
    if (reuse == artifact::VideoReuse::Bounded) {
      artifact::ProgramVideo &video = *lowered.emitted.program.video;
      video.tolerance = 0.02F;
      video.inputTolerance = 0.05F;
      video.refresh = 10;
    }
  }
  Stage stage(options, "proof");
  std::vector<Operation *> layers;
  for (uint32_t number : lowered.emitted.layers)
    layers.push_back(order.layers()[number]);
  PlanClaim claim = {lowered.main(),
                     layers,
                     lowered.kernels.table,
                     builder.weights,
                     gpu,
                     lowered.videoKernels ? &lowered.videoKernels->table
                                          : nullptr};
  const artifact::Program &program = lowered.emitted.program;
  if (failed(provePlan(claim, program)))
    return failure();
  return program.video ? proveVideo(claim, program) : success();
}

/// Proves what the kernels write by running them (see TileCheck.h).
static LogicalResult checkTiles(Location location, const KernelTable &kernels,
                                const codegen::CodeBlob &blob,
                                const codegen::Target &target) {
  std::vector<codegen::TileCheck> checks;
  for (const KernelTable::Kernel &kernel : kernels.kernels()) {
    codegen::TileCheck check;
    check.name = kernel.name + " (" + kernel.symbol + ")";
    check.entry = blob.entries.at(kernel.symbol);
    check.results = kernel.outputs;
    check.info = kernel.info;
    for (const KernelTable::Memory &memory : kernel.memories)
      check.operands.push_back({memory.bytes, memory.element});
    checks.push_back(std::move(check));
  }
  std::string fault = codegen::runTileChecks(checks, blob.bytes, target);
  if (!fault.empty())
    return emitError(location)
           << "--check-tiles, " << target.name << ": " << fault;
  return success();
}

/// Adds the kernels of the part for video behind the program's code.
static LogicalResult addVideoCode(const CompileOptions &options,
                                  Lowered &lowered, codegen::CodeBlob &code) {
  const KernelTable &table = lowered.videoKernels->table;
  if (table.kernels().empty())
    return success();
  auto blob = codeOf(*lowered.videoKernels->module, options, lowered.target());
  if (failed(blob))
    return failure();
  append(code, *blob);
  for (const KernelTable::Kernel &kernel : table.kernels())
    lowered.emitted.program.video->kernels.push_back(
        describeKernel(kernel, code));
  return success();
}

LogicalResult nnv12::addLowered(const CompileOptions &options,
                                BundleBuilder &builder, Lowered &lowered,
                                codegen::CodeBlob code) {
  if (lowered.videoKernels && failed(addVideoCode(options, lowered, code)))
    return failure();
  if (options.checkTiles) {
    Stage stage(options, "check tiles");
    auto check = [&](const KernelTable &table) {
      return checkTiles(lowered.main().getLoc(), table, code, lowered.target());
    };
    if (failed(check(lowered.kernels.table)) ||
        (lowered.videoKernels && failed(check(lowered.videoKernels->table))))
      return failure();
  }
  builder.addProgram(lowered.target(), std::move(lowered.emitted.program),
                     lowered.kernels.table, std::move(code));
  return success();
}

void nnv12::printVideo(const artifact::Program &program, const Lowered &lowered,
                       llvm::raw_ostream &os) {
  printVideoSummary(program, os);
  const ModelPlan &plan = lowered.plan;
  search::FrameTimes frames = search::predictFrames(
      frameProblemOf(program, executeTimes(lowered), memoryGBps(lowered)));
  std::optional<double> gpu;
  plan::ProgramOp planned = lowered.planned;
  if (plan::GpuOp overlay = planned.gpu(); overlay && overlay.getWarm())
    gpu = double(*overlay.getWarm()) / 1e6;
  printVideoTimes(frames, plan.warmTime, gpu, os);
}
