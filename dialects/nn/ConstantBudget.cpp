//===- ConstantBudget.cpp - Bytes that made constants may take ------------===//
#include "dialects/nn/ConstantBudget.h"

#include "mlir/IR/Dialect.h"

using namespace nnv12::nn;

static constexpr uint64_t smallBytes = 1024;
static constexpr uint64_t madeBytes = 512 << 20;
static constexpr uint64_t madePerGiven = 8;

ConstantBudget &ConstantBudget::of(mlir::MLIRContext *context) {
  return *context->getLoadedDialect("nn")
              ->getRegisteredInterface<ConstantBudget>();
}

bool ConstantBudget::take(uint64_t bytes) {
  if (bytes <= smallBytes)
    return true;
  uint64_t limit = madeBytes + madePerGiven * given;
  uint64_t before = made.fetch_add(bytes);
  if (bytes <= limit && before <= limit - bytes)
    return true;
  made -= bytes;
  return false;
}
