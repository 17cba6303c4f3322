//===- ElementFunctions.cpp - The element functions of all layers ---------===//

#include "compiler/codegen/common/Element.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

const ElementFunction *codegen::elementFunction(Operation *op) {
  static const llvm::StringMap<const ElementFunction *> all = [] {
    llvm::StringMap<const ElementFunction *> map;
    for (auto table : {pointwiseFunctions(), movementFunctions(),
                       reductionFunctions(), resamplingFunctions()})
      for (const ElementFunction &f : table)
        map[f.layer] = &f;
    return map;
  }();
  return all.lookup(op->getName().getStringRef());
}
