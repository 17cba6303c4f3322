//===- Compiler.cpp - From an ONNX file to a bundle -----------------------===//

#include "tools/nnv12c/Compiler.h"

#include "artifact/AtomicFile.h"
#include "artifact/Escape.h"
#include "artifact/FileKind.h"
#include "artifact/Header.h"
#include "artifact/InputFiles.h"
#include "artifact/Limits.h"
#include "artifact/MappedFile.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/emit/BundleBuilder.h"
#include "compiler/emit/TuningDispatches.h"
#include "compiler/emit/TuningKernels.h"
#include "compiler/emit/TuningLayers.h"
#include "compiler/import/Import.h"
#include "compiler/plan/Report.h"
#include "compiler/plan/UsedExtension.h"
#include "compiler/select/LayoutSelection.h"
#include "compiler/select/OtherLayouts.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/HostBundles.h"
#include "tools/nnv12c/HostPlans.h"
#include "tools/nnv12c/HostTuning.h"
#include "tools/nnv12c/ModelProperties.h"
#include "tools/nnv12c/ModelTuning.h"
#include "tools/nnv12c/Precision.h"
#include "tools/nnv12c/ProgramCode.h"
#include "tools/nnv12c/RoundingError.h"
#include "tools/nnv12c/Stage.h"
#include "tools/nnv12c/VideoClip.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;
using namespace nnv12;

void nnv12::loadDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, nn::NNDialect, plan::PlanDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

/// The function that a model computes. Null: there is none.
static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

namespace {
/// How a program of one target is planned.
struct Planning {
  codegen::Target target;
  Costs costs;
  PlanOptions how;
  std::string report = {}; ///< lines for people: why so
  /// The plan, where it is made already.
  std::optional<SelectedLayouts> made = std::nullopt;
};
} // namespace

static StringRef nameOf(WeightBits bits) {
  switch (bits) {
  case WeightBits::F32:
    return "f32";
  case WeightBits::F16:
    return "f16";
  case WeightBits::Q8:
    return "q8";
  case WeightBits::Auto:
    return "auto";
  }
  llvm_unreachable("all widths have names");
}

/// "" where the model has no name.
static std::string nameOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>("nn.model");
  return name ? name.str() : "";
}

namespace {
/// One model on its way. Each stage fails with a diagnostic.
class Compilation {
public:
  /// Without `shared` a bundle has the kernels of its own programs alone.
  Compilation(const CompileOptions &options, MLIRContext &context,
              SharedCodes *shared = nullptr)
      : options(options), context(context), askedWeights(options.weights.bits),
        shared(shared) {}

  LogicalResult run() {
    loadDialects(context);
    if (failed(readOptions()))
      return failure();
    if (options.precision.precision != Precision::F32 ||
        options.precision.calibration.isGiven()) {
      CompileOptions reading = options;
      reading.import.inputs = &inputs;
      SharedCodes trials;
      auto quantized = quantizeModel(
          reading, context,
          [&](const CompileOptions &other) {
            return Compilation(other, context, &trials).run();
          },
          [&](const CompileOptions &other) {
            return Compilation(other, context).price();
          });
      if (failed(quantized) || failed(checkOutput()))
        return failure();
      precisionReport = std::move(quantized->report);
      options.weights = std::move(quantized->weights);
      if (!quantized->property.empty())
        options.properties.emplace_back("nnv12.precision",
                                        std::move(quantized->property));
      if (options.emit == Emit::Qdq)
        return writeFile(quantized->bytes);
      options.modelBytes =
          std::make_shared<const std::string>(std::move(quantized->bytes));
    }
    if (failed(importModel()))
      return failure();
    if (options.emit == Emit::Imported)
      return printModel(*module);
    if (failed(simplifyModel()))
      return failure();
    if (options.emit == Emit::NN)
      return printModel(*module);
    settleTargets();
    switch (options.emit) {
    case Emit::Routines:
      return printRoutineCosts();
    case Emit::Tuning:
      return writeTuning();
    default:
      return writeModel();
    }
  }

  /// The plan for the first target.
  FailureOr<PricedPlan> price() {
    saysReduced = false;
    loadDialects(context);
    if (failed(readOptions()) || failed(importModel()) ||
        failed(simplifyModel()))
      return failure();
    settleTargets();
    auto costs = costsOf(targets.front());
    if (failed(costs))
      return failure();
    auto selected =
        planWith(main, {targets.front(), std::move(*costs), options.plan});
    if (failed(selected))
      return failure();
    return PricedPlan(selected->plan, options.plan);
  }

private:
  InFlightDiagnostic error() const {
    return emitError(UnknownLoc::get(&context));
  }

  /// Fails if writing the output would replace something that is read.
  LogicalResult checkOutput() const {
    artifact::Fault fault;
    if (options.output == "-" || inputs.allowsWriting(options.output, fault))
      return success();
    return error() << options.output << ": " << fault.text;
  }

  /// Fails for a bundle, whose name is also that of what would be written.
  LogicalResult checkInput() const {
    artifact::MappedFile file;
    artifact::Fault fault; // of which the import tells
    if (!file.open(options.input.c_str(), fault) ||
        file.size() < sizeof artifact::magic ||
        memcmp(file.data(), artifact::magic, sizeof artifact::magic) != 0)
      return success();
    return error() << options.input << ": found "
                   << artifact::fileKind(file.data(), file.size())
                   << ", expected an ONNX model";
  }

  LogicalResult readOptions() {
    // The import adds those that the model names.
    for (const std::string &file :
         {options.input, options.profile, options.gpuProfile,
          options.signingKey, options.labels, options.clip.path})
      inputs.add(file);
    for (const auto &[name, file] : options.import.constants)
      inputs.add(file);
    if (failed(checkInput()) || failed(checkOutput()))
      return failure();
    auto profiles = readProfiles(options, context);
    if (failed(profiles))
      return failure();
    given = std::move(*profiles);
    auto found = targetsOf(options, given.device.get(), context);
    if (failed(found))
      return failure();
    targets = std::move(*found);
    return success();
  }

  OwningOpRef<ModuleOp> load() {
    if (options.input.empty())
      return tuningLayers(context);
    if (llvm::sys::path::extension(options.input) == ".mlir") {
      // MLIR would read a special file for as long as it gives bytes.
      artifact::Fault fault;
      if (!artifact::MappedFile().open(options.input.c_str(), fault)) {
        error() << options.input << ": " << fault.text;
        return {};
      }
      return parseSourceFile<ModuleOp>(options.input, &context);
    }
    ImportOptions import = options.import;
    import.inputs = &inputs;
    if (options.emit == Emit::Imported)
      import.names = &names;
    return options.modelBytes ? importOnnxBuffer(*options.modelBytes,
                                                 options.input, import, context)
                              : importOnnx(options.input, import, context);
  }

  /// Whether layers have tensors of f16.
  static bool hasHalves(ModuleOp module) {
    auto isHalf = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
    return module
        .walk([&](Operation *op) {
          return llvm::any_of(op->getResultTypes(), isHalf)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult importModel() {
    Stage stage(options, "import");
    module = load();
    if (module && options.gpuIsOrdinary && hasHalves(*module)) {
      auto target = *codegen::GpuTarget::byName(options.plan.gpu);
      target.features.add(codegen::GpuFeature::Storage16);
      options.plan.gpu = codegen::GpuTarget::of(target.features).name;
    }
    // Now the files that the model names are known.
    return success(module && succeeded(checkOutput()));
  }

  /// Brings the model into the form that kernels are generated from.
  LogicalResult simplifyModel() {
    Stage stage(options, "simplify");
    if (!mainOf(*module))
      return module->emitError("found no function @main");
    PassManager pm(module.get()->getName());
    buildSimplifyPipeline(pm, options.quantized);
    buildLayoutPipeline(pm);
    if (failed(pm.run(*module)))
      return failure();
    if (options.weights.areRounded() && failed(roundWeights()))
      return failure();
    main = mainOf(*module);
    return success();
  }

  LogicalResult roundWeights() {
    exact = module->clone();
    PassManager pm(module.get()->getName());
    RoundWeightsOptions how;
    how.bits = options.weights.bits;
    for (const auto &[name, bits] : options.weights.layers)
      how.layers.push_back(name + "=" + nameOf(bits).str());
    pm.addNestedPass<func::FuncOp>(createRoundWeights(how));
    options.plan.keepsNarrow = true;
    return pm.run(*module);
  }

  /// The target with no more than `used`. Makes a remark if that is less, and
  /// the user named the target.
  codegen::Target reduced(const codegen::Target &target,
                          codegen::Extension used) const {
    codegen::Target result = target.upTo(used);
    if (result.name != target.name && saysReduced &&
        llvm::is_contained(options.targets, target.name))
      emitRemark(UnknownLoc::get(&context))
          << "--target " << target.name
          << ": no kernel of the model uses more than " << result.name
          << " has, whose program is written";
    return result;
  }

  /// Leaves each target once whose program may differ from those of others.
  void settleTargets() {
    // CPUs run nothing but copies in a tuning bundle for GPUs.
    bool copiesAlone =
        options.emit == Emit::Tuning && !options.plan.gpu.empty();
    std::vector<codegen::Target> all = std::move(targets);
    targets.clear();
    for (const codegen::Target &target : all) {
      codegen::Target least =
          reduced(target, copiesAlone ? codegen::Extension::None
                                      : usableExtension(main, target));
      if (llvm::none_of(targets, [&](auto &t) { return t.name == least.name; }))
        targets.push_back(std::move(least));
    }
  }

  /// Prints all before anything is written: a fault leaves the output as it
  /// was.
  LogicalResult writeText(
      llvm::function_ref<LogicalResult(llvm::raw_ostream &)> print) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (failed(print(os)))
      return failure();
    if (options.output == "-") {
      llvm::outs() << text;
      llvm::outs().flush();
      if (!llvm::outs().has_error())
        return success();
      std::error_code code = llvm::outs().error();
      llvm::outs().clear_error();
      return error() << "standard output: cannot write: " << code.message();
    }
    return writeFile(text);
  }

  LogicalResult writeFile(StringRef bytes) const {
    artifact::AtomicFile file;
    artifact::Fault fault;
    if (!file.open(options.output.c_str(), fault) ||
        !file.write(bytes.data(), bytes.size(), fault) ||
        !file.commit(fault, artifact::AtomicFile::Durability::None))
      return error() << options.output << ": " << fault.text;
    return success();
  }

  LogicalResult printModel(ModuleOp model) {
    return writeText([&](llvm::raw_ostream &os) {
      OpPrintingFlags flags;
      flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
      AsmState state(model, flags);
      model.print(os, state);
      if (names.tensors.empty())
        return success();
      // As comments, so that the text stays a module.
      os << "\n// Tensors of the model by name, for --output:\n";
      for (auto [name, value] : names.tensors) {
        os << "//   ";
        value.printAsOperand(os, state);
        os << " '" << artifact::escaped(name) << "'\n";
      }
      return success();
    });
  }

  FailureOr<Costs> costsOf(const codegen::Target &target) {
    Stage stage(options, "costs");
    auto costs = resolveCosts(options, target, given.device, main);
    if (failed(costs) || !given.gpu)
      return costs;
    auto both = std::make_shared<device::DeviceProfile>(*costs->profile);
    both->gpu = given.gpu;
    costs->profile = std::move(both);
    return costs;
  }

  LogicalResult printRoutineCosts() {
    const codegen::Target &target = targets.front();
    auto costs = costsOf(target);
    if (failed(costs))
      return failure();
    auto selected =
        planWith(main, {target, {costs->profile, true}, options.plan});
    if (failed(selected))
      return failure();
    return writeText([&](llvm::raw_ostream &os) {
      if (!selected->report.empty())
        os << "layouts: " << selected->report << "\n";
      printRoutines(selected->plan, selected->notes, os);
      printSplits(selected->plan, os);
      return success();
    });
  }

  LogicalResult writeTuning() {
    Stage stage(options, "tuning");
    if (!options.plan.gpu.empty())
      return writeTuningBundle(main, targets,
                               *codegen::GpuTarget::byName(options.plan.gpu),
                               codeRevision(), options.tuning.parts,
                               options.output, options.signingKey);
    OtherLayouts others =
        options.tuning.otherLayouts ? OtherLayouts(main) : OtherLayouts();
    std::vector<TuningProgram> programs;
    for (const codegen::Target &target : targets) {
      TuningProgram &program = programs.emplace_back(
          TuningProgram{target, tuningKernels(main, target, others.layers()),
                        codeRevision()});
      if (options.tuning.parts)
        llvm::append_range(program.kernels, tuningParts(main, target));
    }
    return writeTuningBundle(main, programs, options.output,
                             options.signingKey);
  }

  /// A target's plan, and why so.
  struct Planned {
    Planning planning;
    SelectedLayouts selected;
  };

  /// The plans of all targets, or of the first one for a text of it. A target
  /// whose extension no kernel of its plan uses gives way to a lesser one.
  FailureOr<std::vector<Planned>> planTargets() {
    std::vector<Planned> all;
    auto isThere = [&](const codegen::Target &target) {
      return llvm::any_of(all, [&](const Planned &other) {
        return other.planning.target.name == target.name;
      });
    };
    for (codegen::Target target : targets) {
      while (!isThere(target)) {
        auto planning = planningOf(target);
        if (failed(planning))
          return failure();
        // Targets share the weights of the first one's layouts.
        FailureOr<SelectedLayouts> selected =
            !all.empty()     ? planWith(all.front().selected.main, *planning,
                                        /*constantsStay=*/true)
            : planning->made ? std::move(*planning->made)
                             : planWith(main, *planning);
        if (failed(selected))
          return failure();
        codegen::Target least = reduced(target, usedExtension(selected->plan));
        if (least.name == target.name)
          all.push_back({std::move(*planning), std::move(*selected)});
        target = std::move(least);
      }
      if (options.emit != Emit::Bundle)
        break;
    }
    return all;
  }

  LogicalResult writeModel() {
    auto properties = modelProperties(*module, main, options);
    if (failed(properties))
      return failure();
    auto planned = planTargets();
    if (failed(planned))
      return failure();
    BundleBuilder builder(nameOf(*module), planned->size());
    builder.bundle.threads = options.plan.threads;
    if (failed(builder.describeTensors(main)))
      return failure();
    builder.bundle.properties = std::move(*properties);
    std::string summary;
    llvm::raw_string_ostream os(summary);
    for (auto &[planning, selected] : *planned) {
      std::unique_ptr<SharedCode> own;
      std::unique_ptr<SharedCode> &code =
          shared ? (*shared)[planning.target.name] : own;
      if (!code)
        code = std::make_unique<SharedCode>(context, options, planning.target);
      auto written = lowerPlan(selected.plan, selected.main, code->kernels);
      if (failed(written))
        return failure();
      Lowered &lowered = *written;
      plan::GpuOp overlay = lowered.planned.gpu();
      // Several targets share the weights, some of them perhaps with a GPU.
      if (!builder.weights.size() &&
          (overlay || (!options.plan.gpu.empty() && planned->size() > 1)))
        builder.weights.alignPieces(artifact::gpuAlignment);
      // A text that is asked for is that of the first target.
      if (options.emit == Emit::Plan)
        return printModel(lowered.planned->getParentOfType<ModuleOp>());
      if (failed(emitLowered(options, builder, lowered)))
        return failure();
      if (options.emit != Emit::Bundle)
        return printKernels(lowered, builder.gpu);
      auto blob = code->compile(options);
      if (failed(blob) ||
          failed(addLowered(options, builder, lowered, std::move(*blob))))
        return failure();
      printSummary(lowered.main(), lowered.plan, lowered.planned,
                   builder.weights.size(), os);
      if (const artifact::Program &program = builder.bundle.programs.back();
          program.video && options.summary)
        printVideo(program, lowered, os);
      if (!selected.report.empty())
        os << "  layouts    " << selected.report << "\n";
      if (overlay)
        printGpuSummary(overlay, *planning.costs.profile,
                        builder.gpu->numPipelines(), builder.gpu->bytes(), os);
      if (overlay && options.plan.gpuHalf && options.summary) {
        auto error = errorOfHalf();
        if (failed(error))
          return failure();
        os << *error;
      }
      if (exact && options.summary &&
          failed(reportRounded(planning, selected.plan, builder.weights.size(),
                               os)))
        return failure();
      os << planning.report;
    }
    if (exact && options.summary) {
      auto error = errorOfWeights();
      if (failed(error))
        return failure();
      os << *error;
    }
    os << precisionReport;
    if (!options.clip.path.empty()) {
      auto report = findTolerancesFor(builder);
      if (failed(report))
        return failure();
      os << *report;
    }
    Stage stage(options, "write");
    if (failed(builder.write(context, options.output, options.signingKey)))
      return failure();
    if (options.summary)
      llvm::outs() << summary;
    return success();
  }

  /// Tries the bundle on the clip, and gives its programs the tolerances.
  /// Returns lines for people.
  FailureOr<std::string> findTolerancesFor(BundleBuilder &builder) {
    Stage stage(options, "clip");
    TemporaryFolder folder;
    if (!folder.error.empty())
      return error() << "no folder for temporary files: " << folder.error,
             failure();
    std::string trial = folder.file("trial.nnv");
    if (failed(builder.write(context, trial, /*signingKey=*/"")))
      return failure();
    ClipTolerances found;
    std::string fault = findTolerances(trial, options.clip, folder, found);
    if (!fault.empty())
      return error() << fault, failure();
    for (artifact::Program &program : builder.bundle.programs) {
      program.video->inputTolerance = found.input;
      program.video->tolerance = found.value;
      program.video->refresh = found.refresh;
    }
    return std::move(found.report);
  }

  /// Adds the times of kernels inside of the model to the costs, if these are
  /// measured.
  LogicalResult tuneInModel(Planning &planning) {
    if (!planning.costs.profile->measured)
      return success();
    Stage stage(options, "in model");
    device::DeviceProfile profile = *planning.costs.profile;
    PlanOptions how = options.plan;
    how.gpu.clear();
    how.layouts = Layouts::First;
    how.mode = Mode::Cold;
    auto write = [&](unsigned rank,
                     std::shared_ptr<const device::DeviceProfile> alone,
                     const std::string &file) {
      PlanOptions ranked = how;
      ranked.rank = rank;
      return writeHostBundle(
          *module, {planning.target, {alone, /*mayLack=*/true}, ranked}, file);
    };
    if (failed(measureInModel(main, planning.target, how, options.tuning,
                              profile, write)))
      return failure();
    planning.costs.profile =
        std::make_shared<device::DeviceProfile>(std::move(profile));
    return success();
  }

  FailureOr<Planning> planningOf(const codegen::Target &target) {
    auto costs = costsOf(target);
    if (failed(costs))
      return failure();
    Planning planning{target, std::move(*costs), options.plan};
    bool isHost = isTuned(options, target, given.device.get());
    if (isHost && options.tuning.inModel && failed(tuneInModel(planning)))
      return failure();
    // Plans with options that were asked for are not compared with others.
    if (!isHost || options.storageMBps > 0 ||
        options.plan.parts != Parts::KCP || options.checkBounds)
      return planning;
    Stage stage(options, "race");
    HostBundles bundles(options, *module, target);
    auto choice = chooseHostPlan(planning.costs, target, options.plan,
                                 options.tuning, bundles);
    if (failed(choice))
      return failure();
    if (options.plan.gpu.empty())
      planning.made = bundles.take(choice->number);
    planning.costs = std::move(choice->costs);
    planning.how.lanes = choice->lanes;
    planning.report = std::move(choice->report);
    return planning;
  }

  FailureOr<std::string> writeHostBundle(ModuleOp model,
                                         const Planning &planning,
                                         const std::string &file) {
    HostBundles bundles(options, model, planning.target);
    auto number = bundles.plan(planning.costs, planning.how);
    if (failed(number))
      return failure();
    return bundles.write(*number, file);
  }

  FailureOr<SelectedLayouts> planWith(func::FuncOp main,
                                      const Planning &planning,
                                      bool constantsStay = false) {
    Stage stage(options, "plan");
    return selectLayouts(
        main, {planning.target, planning.costs.profile, planning.costs.mayLack},
        planning.how, constantsStay);
  }

  /// A line for people: the savings of rounded weights, beside the plan
  /// of f32.
  LogicalResult reportRounded(const Planning &planning, const ModelPlan &plan,
                              double fileBytes, llvm::raw_ostream &os) {
    PlanOptions how = planning.how;
    how.keepsNarrow = false;
    auto wide = planWith(
        mainOf(*exact), {planning.target, {planning.costs.profile, true}, how});
    if (failed(wide))
      return failure();
    unsigned products = 0, narrow = 0;
    for (const PlannedLayer &layer : plan.layers) {
      auto op = dyn_cast<nn::Weighted>(layer.layer.op);
      if (!op || !layer.layer.mainOperand ||
          !op.isFactor(*layer.layer.mainOperand) ||
          !nn::typeOf(layer.layer.weights()).getElementType().isF32())
        continue;
      ++products;
      narrow += layer.first().storage.narrow.has_value();
    }
    os << llvm::formatv("  rounded    weights {0}: {1:f1} of {2:f1} MB, {3} of "
                        "{4} layers; predicted cold {5:f2}, warm {6:f2} of "
                        "f32\n",
                        nameOf(askedWeights), fileBytes / 1e6,
                        modelWeightBytes(mainOf(*exact)) / 1e6, narrow,
                        products, coldTime(plan) / coldTime(wide->plan),
                        plan.warmTime / wide->plan.warmTime);
    return success();
  }

  /// A line for people: the error of rounded weights.
  FailureOr<std::string> errorOfWeights() {
    Stage stage(options, "error");
    RoundingError error;
    auto fault = compareOnHost(*module, *exact, error);
    if (failed(fault))
      return failure();
    if (!fault->empty())
      return "             their error is not known: " + *fault + "\n";
    return llvm::formatv(
               "             outputs of random inputs differ by {0:e2} of the "
               "largest at most, {1:e2} on average\n",
               error.magnitude > 0 ? error.largest / error.magnitude : 0,
               error.magnitude > 0 ? error.mean / error.magnitude : 0)
        .str();
  }

  /// A line for people: the error of f16 on the GPU of the planned program.
  FailureOr<std::string> errorOfHalf() {
    Stage stage(options, "f16 error");
    RoundingError error;
    OwningOpRef<ModuleOp> exact(module->clone()); // without the plan
    auto fault = compareOnHost(*roundedAsOnGpu(*module), *exact, error);
    if (failed(fault))
      return failure();
    if (!fault->empty())
      return "             f16: its error is not known: " + *fault + "\n";
    return llvm::formatv("             f16: outputs of random inputs differ by "
                         "{0:e2} at most, {1:e2} on average, of up to {2:e2}\n",
                         error.largest, error.mean, error.magnitude)
        .str();
  }

  /// Runs a model with roundings on this machine, and that without them. Fails
  /// with a diagnostic where the model cannot be compiled; "" or a line that
  /// says why the error is not known.
  FailureOr<std::string> compareOnHost(ModuleOp rounded, ModuleOp exact,
                                       RoundingError &error) {
    auto host = codegen::Target::byName("host");
    if (!host)
      return std::string("found no target for this machine");
    TemporaryFolder folder;
    if (!folder.error.empty())
      return "no folder for temporary files: " + folder.error;
    codegen::Target target = host->upTo(usableExtension(main, *host));
    Costs costs{std::make_shared<device::DeviceProfile>(hostBuiltin(*host)),
                /*mayLack=*/true};
    // Both have the same plan, and so the same kernels.
    PlanOptions how = options.plan;
    how.mode = Mode::Cold;
    how.parts = Parts::K;
    how.memory = Memory::Default;
    HostBundles bundles(options, rounded, target);
    std::pair<ModuleOp, std::string> models[] = {
        {rounded, folder.file("rounded.nnv")},
        {exact, folder.file("exact.nnv")}};
    for (auto &[model, file] : models) {
      auto number = bundles.plan(costs, how, model);
      if (failed(number))
        return failure();
      auto fault = bundles.write(*number, file);
      if (failed(fault) || !fault->empty())
        return fault;
    }
    std::vector<bool> isF32;
    for (Type type : main.getResultTypes())
      isF32.push_back(getElementTypeOrSelf(type).isF32());
    return compareRounded(models[0].second, models[1].second, isF32, folder,
                          error);
  }

  /// The text of kernels that `emit` asks for.
  LogicalResult printKernels(const Lowered &lowered,
                             const std::optional<GpuCode> &gpu) {
    return writeText([&](llvm::raw_ostream &os) {
      if (options.emit == Emit::Spirv)
        return gpu ? gpu->print(context, os) : success();
      if (options.emit == Emit::Kernels) {
        lowered.kernels.module.get()->print(os);
        return success();
      }
      return codegen::printModule(
          lowered.kernels.module.get(), lowered.target(),
          options.emit == Emit::LLVM ? codegen::CodeText::LLVM
                                     : codegen::CodeText::Assembly,
          os);
    });
  }

  CompileOptions options; ///< f16 models add to the GPU target
  MLIRContext &context;
  artifact::InputFiles inputs;
  TensorNames names;
  GivenProfiles given;
  std::string precisionReport; ///< lines for people
  WeightBits askedWeights;     ///< for people, too
  bool saysReduced = true;     ///< see reduced()
  SharedCodes *shared;         ///< with the kernels of other models, or null
  std::vector<codegen::Target> targets;
  OwningOpRef<ModuleOp> module;
  OwningOpRef<ModuleOp> exact; ///< before weights were rounded, if they were
  func::FuncOp main;
};
} // namespace
LogicalResult nnv12::compile(const CompileOptions &options,
                             MLIRContext &context) {
  return Compilation(options, context).run();
}
