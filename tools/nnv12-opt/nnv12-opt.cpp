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

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  // Of models, and of kernels on their way down.
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
