//===- Lowering.cpp - Kernels to the LLVM dialect -------------------------===//

#include "compiler/codegen/cpu/Lowering.h"
#include "compiler/codegen/cpu/KernelBuilder.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

namespace {

/// The entry point artifact::KernelFn of a kernel's body: loads the operands'
/// addresses from the table and calls it.
void addEntryPoint(LLVM::LLVMFuncOp body) {
  auto name = body->getAttrOfType<StringAttr>(kernelEntryAttribute);
  body->removeAttr(kernelEntryAttribute);
  ImplicitLocOpBuilder b(body.getLoc(), body.getContext());
  b.setInsertionPointAfter(body);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64, pointer});
  auto entry = LLVM::LLVMFuncOp::create(b, name.getValue(), type);
  entry.setTargetFeaturesAttr(body.getTargetFeaturesAttr());
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> operands;
  assert(body.getNumArguments() >= 3 &&
         "operands, scratch, and the first and last tile");
  int64_t count = body.getNumArguments() - 3;
  for (int64_t i = 0; i < count; ++i) {
    Value place =
        LLVM::GEPOp::create(b, pointer, pointer, block->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{int32_t(i)});
    operands.push_back(LLVM::LoadOp::create(b, pointer, place));
  }
  operands.push_back(block->getArgument(3)); // scratch
  operands.push_back(block->getArgument(1)); // begin
  operands.push_back(block->getArgument(2)); // end
  LLVM::CallOp::create(b, body, operands);
  LLVM::ReturnOp::create(b, ValueRange());
}

struct AddEntryPoints : PassWrapper<AddEntryPoints, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddEntryPoints)
  StringRef getArgument() const override { return "add-entry-points"; }
  StringRef getDescription() const override {
    return "a function that loads the operands' addresses, for each kernel";
  }
  void runOnOperation() override {
    SmallVector<LLVM::LLVMFuncOp> bodies;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(kernelEntryAttribute))
        bodies.push_back(function);
    for (LLVM::LLVMFuncOp body : bodies)
      addEntryPoint(body);
  }
};

} // namespace

void nnv12::codegen::buildKernelPipeline(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions function;
  function.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(function));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(std::make_unique<AddEntryPoints>());
}

LogicalResult nnv12::codegen::lowerToLLVMDialect(ModuleOp module) {
  PassManager pm(module.getContext());
#ifdef NDEBUG
  pm.enableVerifier(false); // test builds have it between passes
#endif
  buildKernelPipeline(pm);
  return pm.run(module);
}

void nnv12::codegen::registerKernelPasses() {
  PassRegistration<AddEntryPoints>();
  PassPipelineRegistration<>("lower-kernels", "kernels to the LLVM dialect",
                             buildKernelPipeline);
}
