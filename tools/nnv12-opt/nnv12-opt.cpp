//===- nnv12-opt.cpp - mlir-opt with our dialects and passes --------------===//

#include "artifact/InputFiles.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  nnv12::nn::NNDialect, nnv12::plan::PlanDialect>();
  mlir::registerTransformsPasses();
  nnv12::registerNNV12Passes();
  nnv12::registerPipelines();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "nnv12-opt: runs passes on nn layers\n", registry);
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
