//===- KernelTable.cpp - The kernels that a model needs -------------------===//

#include "compiler/emit/KernelTable.h"

#include "compiler/emit/StoragePlan.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;

/// Everything that a routine may look at, as text. Values are numbered in order
/// of appearance.
static void describe(Operation *op, llvm::DenseMap<Value, unsigned> &numbers,
                     llvm::raw_ostream &os) {
  auto number = [&](Value v) {
    return numbers.try_emplace(v, numbers.size()).first->second;
  };
  os << op->getName() << '(';
  for (Value v : op->getOperands()) {
    os << number(v) << ':' << v.getType();
    if (v.getDefiningOp<nn::ConstantOp>())
      os << '!';
    os << ',';
  }
  os << ')' << op->getAttrDictionary() << "->" << op->getResultTypes();
  for (Value v : op->getResults())
    number(v);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      os << '{';
      for (Value v : block.getArguments())
        os << number(v) << ':' << v.getType() << ',';
      for (Operation &inner : block)
        describe(&inner, numbers, os);
      os << '}';
    }
}

FailureOr<KernelTable> KernelTable::build(func::FuncOp main,
                                          codegen::KernelBuilder &builder) {
  KernelTable table;
  Aliases aliases(main);
  llvm::StringMap<unsigned> known;
  for (Operation &op : main.getBody().front()) {
    if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      continue;
    std::string key;
    llvm::raw_string_ostream os(key);
    llvm::DenseMap<Value, unsigned> numbers;
    describe(&op, numbers, os);
    auto [it, isNew] = known.try_emplace(key, table.kernels_.size());
    table.index_[&op] = it->second;
    if (!isNew)
      continue;
    const codegen::Routine *routine = codegen::routineFor(&op);
    if (!routine)
      return op.emitOpError("has no routine");
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
