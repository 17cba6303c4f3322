//===- nnv12-opt.cpp - mlir-opt with our dialects and passes --------------===//

#include "artifact/InputFiles.h"
#include "compiler/codegen/cpu/Lowering.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipelines.h"
#include "tools/common/Nearest.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

/// The first option that there is none of; empty: there is none such. Passes
/// and pipelines are options, too.
static std::string findUnknown(int argc, char **argv) {
  const auto &known = llvm::cl::getRegisteredOptions();
  std::vector<std::string> names = {"o"}; // which MLIR makes when it parses
  for (const auto &[name, option] : known)
    names.push_back(name.str());
  llvm::sort(names);
  for (int i = 1; i < argc && llvm::StringRef(argv[i]) != "--"; ++i) {
    llvm::StringRef given = llvm::StringRef(argv[i]).split('=').first;
    std::string name = given.ltrim('-').str();
    if (given.starts_with("-") && !name.empty() &&
        !llvm::is_contained(names, name))
      return nnv12::tools::unknownOption(given.str(), names, "nnv12-opt");
  }
  return "";
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  // Dialects of models, and of kernels on their way down.
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::ub::UBDialect,
                  mlir::vector::VectorDialect, nnv12::nn::NNDialect,
                  nnv12::plan::PlanDialect>();
  mlir::registerTransformsPasses();
  nnv12::registerNNV12Passes();
  nnv12::registerPipelines();
  nnv12::codegen::registerKernelPasses();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "nnv12-opt " << NNV12_VERSION << " (LLVM " << LLVM_VERSION_STRING
       << ")\n";
  });
  std::string header = mlir::registerCLIOptions(
      "nnv12-opt: runs passes on nn layers\n", registry);
  if (std::string unknown = findUnknown(argc, argv); !unknown.empty()) {
    llvm::errs() << "nnv12-opt: " << unknown << "\n";
    return 1;
  }
  auto [input, output] = mlir::parseCLIOptions(argc, argv, header);
  // The input is mapped while the output is emptied.
  nnv12::artifact::InputFiles inputs;
  nnv12::artifact::Fault fault;
  inputs.add(input);
  if (!inputs.allowsWriting(output, fault)) {
    llvm::errs() << "nnv12-opt: " << output << ": " << fault.text << "\n";
    return 1;
  }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
