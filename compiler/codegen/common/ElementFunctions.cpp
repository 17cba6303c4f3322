//===- ElementFunctions.cpp - The element functions of all layers ---------===//

#include "compiler/codegen/common/Element.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

const ElementFunction *codegen::elementFunction(Operation *op) {
  for (auto table : {pointwiseFunctions(), movementFunctions(),
                     reductionFunctions(), resamplingFunctions()})
    for (const ElementFunction &f : table)
      if (f.layer == op->getName().getStringRef())
        return &f;
  return nullptr;
}
