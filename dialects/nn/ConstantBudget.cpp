//===- ConstantBudget.cpp - What made constants may take ------------------===//
#include "dialects/nn/ConstantBudget.h"

#include "mlir/IR/Dialect.h"

using namespace nnv12::nn;

static constexpr uint64_t kSmallBytes = 1024;
static constexpr uint64_t kMadeBytes = 512 << 20;
static constexpr uint64_t kMadePerGiven = 8;

ConstantBudget &ConstantBudget::of(mlir::MLIRContext *context) {
  return *context->getLoadedDialect("nn")
              ->getRegisteredInterface<ConstantBudget>();
}

bool ConstantBudget::take(uint64_t bytes) {
  if (bytes <= kSmallBytes)
    return true;
  uint64_t limit = kMadeBytes + kMadePerGiven * given;
  uint64_t before = made.fetch_add(bytes);
  if (bytes <= limit && before <= limit - bytes)
    return true;
  made -= bytes;
  return false;
}
