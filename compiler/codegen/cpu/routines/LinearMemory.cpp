//===- LinearMemory.cpp - The operands of sums of products ----------------===//

#include "compiler/codegen/cpu/routines/LinearMemory.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

LinearMemory LinearMemory::of(ValueRange operands, const Epilogue &epilogue) {
  assert(operands.size() == 3u + epilogue.bias + epilogue.residual &&
         "each operand is one of these");
  Values args = {operands[1], operands[2], operands[0]};
  llvm::append_range(args, operands.drop_front(3));
  ValueRange range(args);
  return take(range, epilogue);
}

LinearMemory LinearMemory::take(ValueRange &args, const Epilogue &epilogue,
                                bool hasScale) {
  auto next = [&](bool isThere) { return takeIf(args, isThere); };
  LinearMemory memory;
  memory.in = next(true);
  memory.weights = next(true);
  memory.out = next(true);
  memory.bias = next(epilogue.bias);
  memory.residual = next(epilogue.residual);
  memory.scale = next(hasScale);
  return memory;
}

Values LinearMemory::arguments() const {
  Values all = {in,        weights, out,           bias,         residual,
                rows,      scale,   shift,         outScale,     outZero,
                step,      offset,  residualScale, residualZero, finalScale,
                finalZero, prepared};
  llvm::erase(all, Value());
  return all;
}
