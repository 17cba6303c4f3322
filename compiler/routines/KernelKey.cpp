//===- KernelKey.cpp - The names of kernels -------------------------------===//

#include "compiler/routines/KernelKey.h"

#include "artifact/Digest.h"
#include "compiler/routines/Cut.h"
#include "compiler/routines/LayerIn.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Builders.h"
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
  os << ')';
  for (NamedAttribute attribute : op->getAttrs())
    os << attribute.getName() << '=' << attribute.getValue() << ',';
  os << "->" << op->getResultTypes();
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

std::string nnv12::kernelText(Operation *layer, const Routine &routine) {
  std::string key = routine.name().str() + ":";
  llvm::raw_string_ostream os(key);
  llvm::DenseMap<Value, unsigned> numbers;
  describe(layer, numbers, os);
  return key;
}

static std::string digits(const std::string &text) {
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return llvm::toHex(llvm::ArrayRef(digest.bytes, 16), /*LowerCase=*/true);
}

std::string nnv12::kernelKey(Operation *layer, const Routine &routine,
                             llvm::StringRef target) {
  return digits(target.str() + "\n" + kernelText(layer, routine));
}

std::string nnv12::transformKey(Operation *layer, const Routine &routine,
                                llvm::StringRef target) {
  return digits("transform\n" + target.str() + "\n" +
                kernelText(layer, routine));
}

std::string nnv12::cellsKey(Operation *layer, const Routine &routine,
                            llvm::StringRef target) {
  return digits("cells\n" + target.str() + "\n" + kernelText(layer, routine));
}

std::string nnv12::partKey(Operation *layer, const Routine &routine,
                           unsigned dim, llvm::StringRef target) {
  return digits(("part " + dimName(dim) + "\n" + target + "\n").str() +
                kernelText(layer, routine));
}

std::string nnv12::widenKey(RankedTensorType packed, llvm::StringRef text,
                            llvm::StringRef target) {
  std::string key = "widen\n" + target.str() + "\n" + text.str() + ":";
  llvm::raw_string_ostream(key) << packed;
  return digits(key);
}

KernelFacts nnv12::kernelFacts(Operation *layer, const Routine &routine,
                               llvm::StringRef target) {
  return {routine.work(layer), routine.name().str(),
          kernelKey(layer, routine, target)};
}

KernelFacts nnv12::transformFacts(Operation *layer, const Routine &routine,
                                  llvm::StringRef target) {
  return {routine.transformWork(layer),
          transformName(routine.weightForm(layer)->name),
          transformKey(layer, routine, target)};
}

KernelFacts nnv12::packFacts(RankedTensorType packed,
                             const RoutineSet &routines,
                             llvm::StringRef target) {
  PackLayer pack(packed);
  const Routine &routine = *routines.preferred(pack.layer());
  return {routine.work(pack.layer()), "pack",
          kernelKey(pack.layer(), routine, target)};
}
