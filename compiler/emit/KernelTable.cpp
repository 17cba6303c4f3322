//===- KernelTable.cpp - The kernels that a model needs -------------------===//

#include "compiler/emit/KernelTable.h"

#include "compiler/codegen/cpu/KernelKey.h"
#include "compiler/emit/StoragePlan.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;

FailureOr<KernelTable> KernelTable::build(func::FuncOp main,
                                          codegen::KernelBuilder &builder) {
  KernelTable table;
  Aliases aliases(main);
  llvm::StringMap<unsigned> known;
  for (Operation &op : main.getBody().front()) {
    if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      continue;
    const codegen::Routine *routine = codegen::routineFor(&op);
    if (!routine)
      return op.emitOpError("has no routine");
    auto [it, isNew] = known.try_emplace(codegen::kernelKey(&op, *routine),
                                         table.kernels_.size());
    table.index_[&op] = it->second;
    if (!isNew)
      continue;
    Kernel kernel;
    kernel.name = routine->name().str();
    kernel.symbol = "k" + std::to_string(table.kernels_.size());
    for (char c : kernel.name)
      kernel.symbol += llvm::isAlnum(c) ? c : '_';
    kernel.operands = op.getNumResults() + op.getNumOperands();
    kernel.outputs = op.getNumResults();
    kernel.info = routine->emit(builder, &op, kernel.symbol);
    table.kernels_.push_back(std::move(kernel));
  }
  return table;
}
