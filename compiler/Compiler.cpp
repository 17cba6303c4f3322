//===- Compiler.cpp - From an ONNX file to a bundle -----------------------===//

#include "compiler/Compiler.h"

#include "artifact/AtomicFile.h"
#include "artifact/InputFiles.h"
#include "artifact/MappedFile.h"
#include "artifact/Writer.h"
#include "compiler/Planning.h"
#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/CheckBounds.h"
#include "compiler/codegen/cpu/TileCheck.h"
#include "compiler/emit/Aliases.h"
#include "compiler/emit/ProgramPlan.h"
#include "compiler/emit/TuningBundle.h"
#include "compiler/plan/Report.h"
#include "compiler/verify/PlanProof.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/SmallTypes.h"
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
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;
using namespace nnv12;

void nnv12::loadDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, nn::NNDialect, plan::PlanDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

namespace {
/// Says on destruction how long a stage took.
class Stage {
public:
  Stage(const CompileOptions &options, StringRef name)
      : enabled(options.timing), name(name),
        start(std::chrono::steady_clock::now()) {}
  ~Stage() {
    if (enabled)
      llvm::errs() << llvm::formatv(
          "{0,-12} {1,9:f1} ms\n", name,
          std::chrono::duration<double, std::milli>(
              std::chrono::steady_clock::now() - start)
              .count());
  }

private:
  bool enabled;
  StringRef name;
  std::chrono::steady_clock::time_point start;
};
} // namespace

static std::optional<artifact::ElementType> elementType(Type type) {
  using E = artifact::ElementType;
  if (type.isF32())
    return E::F32;
  if (type.isF64())
    return E::F64;
  if (type.isF16())
    return E::F16;
  if (type.isBF16())
    return E::BF16;
  if (const artifact::SmallFloat *format = nn::smallFloat(type))
    return format->type;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return E::Bool;
  case 2:
    return isUnsigned ? E::U2 : E::I2;
  case 4:
    return isUnsigned ? E::U4 : E::I4;
  case 8:
    return isUnsigned ? E::U8 : E::I8;
  case 16:
    return isUnsigned ? E::U16 : E::I16;
  case 32:
    return isUnsigned ? E::U32 : E::I32;
  case 64:
    return isUnsigned ? E::U64 : E::I64;
  default:
    return std::nullopt;
  }
}

static LogicalResult describe(func::FuncOp main, TypeRange types,
                              llvm::function_ref<StringAttr(unsigned)> name,
                              StringRef what,
                              std::vector<artifact::Tensor> &tensors) {
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = cast<RankedTensorType>(type);
    auto element = elementType(tensor.getElementType());
    if (!element)
      return main.emitError() << what << " " << i << ": found elements of "
                              << tensor.getElementType()
                              << ", expected a type that a bundle can hold";
    StringAttr attr = name(i);
    tensors.push_back({attr ? attr.str() : (what + "_" + llvm::Twine(i)).str(),
                       *element,
                       {tensor.getShape().begin(), tensor.getShape().end()}});
  }
  return success();
}

/// What is read; `options.import.inputs` adds the files that the model names.
static void noteInputs(const CompileOptions &options,
                       artifact::InputFiles &inputs) {
  inputs.add(options.input);
  inputs.add(options.profile);
  inputs.add(options.signingKey);
  for (const auto &[name, file] : options.import.constants)
    inputs.add(file);
}

/// Fails if writing the output would replace something that is read.
static LogicalResult checkOutput(const CompileOptions &options,
                                 const artifact::InputFiles &inputs,
                                 MLIRContext &context) {
  artifact::Fault fault;
  if (options.output == "-" || inputs.allowsWriting(options.output, fault))
    return success();
  return emitError(UnknownLoc::get(&context))
         << options.output << ": " << fault.text;
}

static OwningOpRef<ModuleOp> load(const CompileOptions &options,
                                  artifact::InputFiles &inputs,
                                  MLIRContext &context) {
  if (llvm::sys::path::extension(options.input) == ".mlir") {
    // MLIR would read a special file for as long as it gives bytes.
    artifact::Fault fault;
    if (!artifact::MappedFile().open(options.input.c_str(), fault)) {
      emitError(UnknownLoc::get(&context))
          << options.input << ": " << fault.text;
      return {};
    }
    return parseSourceFile<ModuleOp>(options.input, &context);
  }
  ImportOptions import = options.import;
  import.inputs = &inputs;
  return importOnnx(options.input, import, context);
}

/// Brings the model into the form that kernels are generated from.
static LogicalResult lower(ModuleOp module) {
  PassManager pm(module->getName());
  buildSimplifyPipeline(pm);
  pm.addNestedPass<func::FuncOp>(createAssignLayouts());
  pm.addNestedPass<func::FuncOp>(createFuseElementwise());
  if (failed(pm.run(module)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return module.emitError("found no function @main");
  insertOutputCopies(main);
  return success();
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

/// Prints all before anything is written: a fault leaves the output as it was.
static LogicalResult
writeText(const CompileOptions &options, MLIRContext &context,
          llvm::function_ref<LogicalResult(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(print(os)))
    return failure();
  auto fail = [&](const llvm::Twine &message) {
    return emitError(UnknownLoc::get(&context)) << message;
  };
  if (options.output == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    if (!llvm::outs().has_error())
      return success();
    std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();
    return fail("standard output: cannot write: " + error.message());
  }
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (!file.open(options.output.c_str(), fault) ||
      !file.write(text.data(), text.size(), fault) ||
      !file.commit(fault, artifact::AtomicFile::Durability::None))
    return fail(options.output + ": " + fault.text);
  return success();
}

LogicalResult nnv12::compile(const CompileOptions &options,
                             MLIRContext &context) {
  loadDialects(context);
  artifact::InputFiles inputs;
  noteInputs(options, inputs);
  if (failed(checkOutput(options, inputs, context)))
    return failure();
  auto given = readProfileOption(options, context);
  if (failed(given))
    return failure();
  auto targets = targetsOf(options, given->get(), context);
  if (failed(targets))
    return failure();

  OwningOpRef<ModuleOp> module;
  {
    Stage stage(options, "import");
    module = load(options, inputs, context);
    if (!module || failed(checkOutput(options, inputs, context)))
      return failure();
  }
  if (options.emit != Emit::Imported) {
    Stage stage(options, "simplify");
    if (failed(lower(*module)))
      return failure();
  }
  auto print = [&](llvm::raw_ostream &os) {
    OpPrintingFlags flags;
    flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
    module->print(os, flags);
    return success();
  };
  if (options.emit == Emit::Imported || options.emit == Emit::NN)
    return writeText(options, context, print);

  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (options.emit == Emit::Tuning) {
    Stage stage(options, "tuning");
    std::vector<TuningProgram> programs;
    for (const codegen::Target &target : *targets)
      programs.push_back({target, tuningKernels(main, target)});
    return writeTuningBundle(main, programs, options.output,
                             options.signingKey);
  }
  // What a text is asked for, it is that of the first target.
  if (options.emit == Emit::Routines) {
    const codegen::Target &target = targets->front();
    auto costs = resolveCosts(options, target, *given, main);
    if (failed(costs))
      return failure();
    return writeText(options, context, [&](llvm::raw_ostream &os) {
      plan::printRoutines(plan::select(main, *costs->profile, target,
                                       options.threads, options.mode,
                                       options.parts),
                          *costs->profile, os);
      return success();
    });
  }
  artifact::Bundle bundle;
  if (auto name = (*module)->getAttrOfType<StringAttr>("nn.model"))
    bundle.model = name.str();
  bundle.producer = "nnv12c " NNV12_VERSION;
  bundle.threads = options.threads;
  if (failed(describe(
          main, main.getArgumentTypes(),
          [&](unsigned i) {
            return main.getArgAttrOfType<StringAttr>(i, "nn.name");
          },
          "input", bundle.inputs)) ||
      failed(describe(
          main, main.getResultTypes(),
          [&](unsigned i) {
            return main.getResultAttrOfType<StringAttr>(i, "nn.name");
          },
          "output", bundle.outputs)))
    return failure();

  WeightTable weights;
  std::vector<codegen::CodeBlob> blobs;
  const uint32_t weightsSegment = targets->size(); // after the code
  std::string summary;
  for (const codegen::Target &target : *targets) {
    FailureOr<Costs> costs = failure();
    {
      Stage stage(options, "costs");
      costs = resolveCosts(options, target, *given, main);
      if (failed(costs))
        return failure();
    }
    FailureOr<plan::ProgramOp> planned = failure();
    {
      Stage stage(options, "plan");
      planned = planModel(*module, options, target, *costs);
      if (failed(planned))
        return failure();
    }
    if (options.emit == Emit::Plan)
      return writeText(options, context, print);
    codegen::KernelBuilder builder(context, target);
    OwningOpRef<ModuleOp> owned(builder.module);
    KernelTable kernels(builder, options.checkBounds);
    artifact::Program program;
    std::vector<Operation *> layers;
    {
      Stage stage(options, "kernels");
      if (failed(planProgram(main, *planned, kernels, weights, weightsSegment,
                             program, layers)))
        return failure();
    }
    {
      Stage stage(options, "proof");
      if (failed(provePlan({main, layers, kernels, weights, weightsSegment},
                           program)))
        return failure();
    }
    if (options.emit != Emit::Bundle)
      return writeText(options, context, [&](llvm::raw_ostream &os) {
        return codegen::printModule(*owned, target,
                                    options.emit == Emit::LLVM
                                        ? codegen::CodeText::LLVM
                                        : codegen::CodeText::Assembly,
                                    os);
      });
    FailureOr<codegen::CodeBlob> blob = failure();
    {
      Stage stage(options, "code");
      if (options.checkBounds && failed(codegen::checkBounds(*owned, target)))
        return failure();
      blob = codegen::compileModule(
          *owned, target,
          options.checkBounds ? codegen::Effort::Least : codegen::Effort::Full);
      if (failed(blob))
        return failure();
    }
    if (options.checkTiles) {
      Stage stage(options, "check tiles");
      if (failed(checkTiles(main.getLoc(), kernels, *blob, target)))
        return failure();
    }
    program.target = target.name;
    program.architecture = target.architecture;
    program.features = target.required;
    program.code = blobs.size();
    for (const KernelTable::Kernel &kernel : kernels.kernels())
      program.kernels.push_back(
          {kernel.name, blob->entries.at(kernel.symbol), kernel.operands,
           kernel.outputs, static_cast<uint64_t>(kernel.info.scratchBytes)});
    bundle.programs.push_back(std::move(program));
    llvm::raw_string_ostream os(summary);
    plan::printSummary(main, *planned, *costs->profile, weights.size(), os);
    blobs.push_back(std::move(*blob));
  }

  Stage stage(options, "write");
  for (const codegen::CodeBlob &blob : blobs)
    bundle.segments.push_back({artifact::SegmentKind::Code,
                               {{blob.bytes.data(), blob.bytes.size()}}});
  if (weights.size())
    bundle.segments.push_back({artifact::SegmentKind::Weights, weights.pieces(),
                               WeightTable::alignment});
  std::string error =
      artifact::writeBundle(bundle, options.output, options.signingKey);
  if (!error.empty())
    return emitError(UnknownLoc::get(&context)) << error;
  if (options.summary)
    llvm::outs() << summary;
  return success();
}
