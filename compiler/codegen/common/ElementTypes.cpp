//===- ElementTypes.cpp - In which types elements are computed ------------===//

#include "compiler/codegen/common/ElementTypes.h"
#include "compiler/codegen/common/Math.h"

#include "dialects/nn/SmallTypes.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

Type ElementTypes::typeOf(Value tensor) {
  return computeType(ElementEmitter::elementType(tensor));
}

ElementTypes::ElementTypes(const ElementProgram &program) {
  leaves.insert(program.leaves.begin(), program.leaves.end());
  for (Value leaf : program.leaves)
    memory.insert(storageType(ElementEmitter::elementType(leaf)));
  Type element = ElementEmitter::elementType(program.root);
  memory.insert(storageType(element));
  if (program.output.elements() == 0)
    return;
  read(program.root);
  if (program.output.isPadded())
    computeIn(program.root);
  storeTypes(*this, element);
  // A constant is made as integers of the storage type, not converted to them.
  if (element.isBF16() && !readsLeaf)
    compute(storageType(element));
}

void ElementTypes::read(Value tensor) {
  if (!seen.insert(tensor).second)
    return;
  if (isLeaf(tensor)) {
    readsLeaf = true;
    loadTypes(*this, ElementEmitter::elementType(tensor));
  } else {
    Operation *op = tensor.getDefiningOp();
    assert(op && elementFunction(op) && "hasElementKernel() has looked");
    elementFunction(op)->types(*this, op);
  }
}

void ElementTypes::readIndices(Value tensor, int64_t size) {
  if (size <= 1)
    return; // there is one place, wherever they point
  read(tensor);
  Type type = ElementEmitter::elementType(tensor);
  if (!type.isSignlessInteger(32))
    compute(IntegerType::get(type.getContext(), 64));
}

void ElementTypes::addTable(Type element) {
  ++tables;
  memory.insert(element);
  move(element);
}

Operation *ElementTypes::originOf(Value tensor) const {
  while (!isLeaf(tensor)) {
    Operation *op = tensor.getDefiningOp();
    if (elementFunction(op)->types != ElementTypes::moved)
      return op;
    tensor = op->getOperand(0);
  }
  return nullptr;
}

Type ElementTypes::castFrom(Value tensor) const {
  nn::CastOp cast = castBehind(tensor);
  if (!cast)
    return {};
  Type from = ElementEmitter::elementType(cast.getInput()),
       to = ElementEmitter::elementType(cast.getOutput());
  bool isRounded = to.isF16() || to.isBF16() || nn::isSmall(to);
  if (!isa<IntegerType>(from) || nn::isSmall(from) || isRounded)
    return {};
  return computeType(from);
}
