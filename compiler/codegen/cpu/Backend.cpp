//===- Backend.cpp - From a module of kernels to machine code -------------===//

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/KernelParts.h"
#include "compiler/codegen/cpu/Lowering.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

void initializeTargets() {
  static bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); // for the assembly of --check-bounds
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
  (void)once;
}

std::unique_ptr<llvm::TargetMachine>
createMachine(const Target &target, Effort effort, std::string &error) {
  initializeTargets();
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Only a kernel's own fma is contracted: results must not depend on the code
  // that the optimiser happens to see.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Aggressive;
  // Without any optimisation LLVM 22 fails on tiles that outlive a block.
  if (effort == Effort::Least)
    level = target.has("amx-tile") ? llvm::CodeGenOptLevel::Less
                                   : llvm::CodeGenOptLevel::None;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, level));
}

/// No function of a C library exists for kernels, not even memset.
llvm::TargetLibraryInfoImpl noLibrary(const llvm::Triple &triple) {
  llvm::TargetLibraryInfoImpl info(triple);
  info.disableAllFunctions();
  return info;
}

void setAttributes(llvm::Module &module, const Target &target) {
  std::string vectorBits = std::to_string(target.vectorLanes * 32);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    if (target.architecture == "x86-64") {
      function.addFnAttr("prefer-vector-width", vectorBits);
      function.addFnAttr("min-legal-vector-width", vectorBits);
    }
    if (!target.tuneCpu.empty())
      function.addFnAttr("tune-cpu", target.tuneCpu);
    if (!function.hasLocalLinkage())
      function.setVisibility(llvm::GlobalValue::ProtectedVisibility);
    else if (function.getName().ends_with(kernelBodySuffix))
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    else // micro-kernels are shared: inlining would multiply them
      function.addFnAttr(llvm::Attribute::NoInline);
  }
}

/// O1, without the vectorisers and the unroller: kernels are written unrolled
/// and vectorised already.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  functions.registerPass([&] {
    return llvm::TargetLibraryAnalysis(noLibrary(module.getTargetTriple()));
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1)
      .run(module, modules);
}

/// Kernels as LLVM IR, and all that makes machine code of them.
struct LoweredModule {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> code;
};

/// Lowers, translates and, at full effort, optimises. `module` is of no use
/// afterwards. `names`: whether labels and values keep theirs, for people to
/// read.
FailureOr<LoweredModule> toLLVM(ModuleOp module, const Target &target,
                                Effort effort, bool names) {
  LoweredModule result;
  std::string error;
  result.machine = createMachine(target, effort, error);
  if (!result.machine)
    return module.emitError(error), failure();
  if (failed(lowerToLLVMDialect(module)))
    return failure();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  result.context = std::make_unique<llvm::LLVMContext>();
  // A label's name would tell in which kernel it was before inlining.
  result.context->setDiscardValueNames(!names);
  result.code = translateModuleToLLVMIR(module, *result.context, "kernels");
  if (!result.code)
    return module.emitError("kernels cannot be translated to LLVM IR"),
           failure();
  result.code->setTargetTriple(result.machine->getTargetTriple());
  result.code->setDataLayout(result.machine->createDataLayout());
  result.code->setPICLevel(llvm::PICLevel::SmallPIC);
  setAttributes(*result.code, target);
  if (effort == Effort::Full)
    optimize(*result.code, *result.machine);
  return result;
}

LogicalResult emitFile(ModuleOp module, LoweredModule &lowered,
                       llvm::CodeGenFileType type,
                       llvm::raw_pwrite_stream &os) {
  llvm::TargetMachine &machine = *lowered.machine;
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(
      noLibrary(machine.getTargetTriple())));
  if (machine.addPassesToEmitFile(passes, os, nullptr, type))
    return module.emitError("LLVM cannot emit code for ")
           << machine.getTargetTriple().str();
  passes.run(*lowered.code);
  return success();
}

/// The files that come of a part of a module's kernels.
struct PartFiles {
  PartFiles(const TemporaryFolder &folder, unsigned number)
      : object(folder.file(std::to_string(number) + ".o")),
        fingerprints(folder.file(std::to_string(number) + ".fingerprints")) {}

  std::string object;
  std::string fingerprints; ///< a symbol and its fingerprint a line
};

LogicalResult compilePart(ModuleOp part, const Target &target, Effort effort,
                          const PartFiles &files) {
  auto lowered = toLLVM(part, target, effort, /*names=*/false);
  if (failed(lowered))
    return failure();
  std::string fingerprints;
  for (const auto &[symbol, bytes] :
       digestCode(*lowered->code, *lowered->machine))
    fingerprints += symbol + " " + llvm::toHex(bytes) + "\n";
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  if (failed(emitFile(part, *lowered, llvm::CodeGenFileType::ObjectFile, os)))
    return failure();
  for (auto [path, bytes] :
       {std::pair<StringRef, StringRef>(files.object, os.str()),
        std::pair<StringRef, StringRef>(files.fingerprints, fingerprints)})
    if (std::error_code error = writeTemporary(path, bytes))
      return part.emitError(path) << ": cannot write: " << error.message();
  return success();
}

/// Adds the fingerprints in a file. Whether there are some.
bool readFingerprints(const std::string &path, Fingerprints &fingerprints) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return false;
  for (llvm::line_iterator line(**buffer); !line.is_at_end(); ++line) {
    auto parts = line->rsplit(' ');
    std::string bytes;
    if (!llvm::tryGetFromHex(parts.second, bytes))
      return false;
    fingerprints[parts.first.str()] = {bytes.begin(), bytes.end()};
  }
  return true;
}

} // namespace

bool nnv12::codegen::doInTurn(unsigned count,
                              llvm::function_ref<bool(unsigned)> task) {
  for (unsigned i = 0; i < count; ++i)
    if (!task(i))
      return false;
  return true;
}

FailureOr<CodeBlob> nnv12::codegen::compileModule(ModuleOp module,
                                                  const Target &target,
                                                  Effort effort,
                                                  DoTasks doTasks) {
  TemporaryFolder folder;
  if (!folder.error.empty())
    return module.emitError("cannot make a temporary folder: ") << folder.error,
           failure();
  std::vector<OwningOpRef<ModuleOp>> parts = splitKernels(module);
  std::vector<PartFiles> files;
  std::vector<std::string> objects;
  for (unsigned i = 0; i < parts.size(); ++i) {
    files.emplace_back(folder, i);
    objects.push_back(files.back().object);
  }
  if (!doTasks(parts.size(), [&](unsigned i) {
        return succeeded(compilePart(*parts[i], target, effort, files[i]));
      }))
    return failure();
  auto blob = linkFlat(module, target, objects);
  if (failed(blob))
    return failure();
  for (const PartFiles &part : files)
    if (!readFingerprints(part.fingerprints, blob->fingerprints))
      return module.emitError(part.fingerprints) << ": cannot read", failure();
  return blob;
}

FailureOr<Fingerprints>
nnv12::codegen::fingerprintModule(ModuleOp module, const Target &target) {
  auto lowered = toLLVM(module, target, Effort::Full, /*names=*/false);
  if (failed(lowered))
    return failure();
  return digestCode(*lowered->code, *lowered->machine);
}

LogicalResult nnv12::codegen::printModule(ModuleOp module, const Target &target,
                                          CodeText kind,
                                          llvm::raw_ostream &os) {
  auto lowered = toLLVM(module, target, Effort::Full, /*names=*/true);
  if (failed(lowered))
    return failure();
  if (kind == CodeText::LLVM) {
    lowered->code->print(os, nullptr);
    return success();
  }
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream buffer(text);
  if (failed(emitFile(module, *lowered, llvm::CodeGenFileType::AssemblyFile,
                      buffer)))
    return failure();
  os << buffer.str();
  return success();
}
