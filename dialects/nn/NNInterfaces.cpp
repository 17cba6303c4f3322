//===- NNInterfaces.cpp - Facts of layers that are yes or no --------------===//

#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12::nn;

#include "dialects/nn/NNInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// View
//===----------------------------------------------------------------------===//

// In its byte an element of 4 or 2 bits is below zeros or below copies of its
// sign, as its type has it.
bool BitCastOp::keepsBytes() { return getType().getElementTypeBitWidth() >= 8; }

//===----------------------------------------------------------------------===//
// KeepsBlocks
//===----------------------------------------------------------------------===//

bool SliceOp::keepsBlocks(int64_t block) {
  return getSteps()[1] == 1 && getStarts()[1] % block == 0;
}

bool ConcatOp::keepsBlocks(int64_t block) {
  // All but the last part must end where a block ends.
  return getAxis() != 1 || llvm::all_of(getInputs().drop_back(), [&](Value v) {
           return cast<RankedTensorType>(v.getType()).getDimSize(1) % block ==
                  0;
         });
}

bool PadOp::keepsBlocks(int64_t) {
  return getLow()[1] == 0 && getHigh()[1] == 0;
}

bool ReduceOp::keepsBlocks(int64_t) {
  return getKeepDims() && !llvm::is_contained(getAxes(), 1);
}

bool ResizeOp::keepsBlocks(int64_t) {
  return getInput().getType().getDimSize(1) == getType().getDimSize(1);
}

//===----------------------------------------------------------------------===//
// Weighted
//===----------------------------------------------------------------------===//

// Recurrent weights are a factor of the hidden state. The other products, the
// gates, are already summed up.
bool RecurrentOp::isFactor(unsigned operand) {
  return operand == getRecurrentWeightsMutable().getOperandNumber();
}

//===----------------------------------------------------------------------===//
// PartByPart
//===----------------------------------------------------------------------===//

bool SliceOp::takesPart(unsigned operand) { return operand == 0; }
bool GatherOp::takesPart(unsigned operand) { return operand == 0; }
bool GatherElementsOp::takesPart(unsigned operand) { return operand == 0; }
bool GatherNDOp::takesPart(unsigned operand) { return operand == 0; }
