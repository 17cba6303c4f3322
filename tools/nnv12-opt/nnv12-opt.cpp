//===- nnv12-opt.cpp - mlir-opt with our dialects and passes --------------===//

#include "dialects/nn/NNDialect.h"
#include "dialects/plan/PlanDialect.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  nnv12::nn::NNDialect, nnv12::plan::PlanDialect>();
  mlir::registerTransformsPasses();
  nnv12::registerNNV12Passes();
  nnv12::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "nnv12-opt: runs passes on nn layers\n", registry));
}
