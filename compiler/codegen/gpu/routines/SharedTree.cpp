//===- SharedTree.cpp - Folds the values of a work group ------------------===//

#include "compiler/codegen/gpu/routines/SharedTree.h"

#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

/// How often pairs become one until a lane has one value left.
static unsigned levelsOf(int64_t invocations, int64_t lanes) {
  return llvm::Log2_64(invocations / lanes);
}

SharedTree::SharedTree(GpuBuilder &k, int64_t invocations, int64_t lanes,
                       ArrayRef<Type> types)
    : k(k), invocations(invocations), lanes(lanes) {
  assert(llvm::isPowerOf2_64(invocations) && llvm::isPowerOf2_64(lanes) &&
         lanes <= invocations && "halves are whole");
  for (Type type : types)
    memories.push_back(k.shared(invocations, type));
}

unsigned SharedTree::barriers(int64_t invocations) {
  return 1 + levelsOf(invocations, /*lanes=*/1);
}

Values SharedTree::fold(Value localId, const Values &own, Combine combine) {
  assert(own.size() == memories.size() && "a value for each type");
  auto load = [&](Index place) {
    Values values;
    for (Value memory : memories)
      values.push_back(k.load(memory, place));
    return values;
  };
  auto store = [&](const Values &values) {
    for (auto [x, memory] : llvm::zip(values, memories))
      k.store(x, memory, localId);
  };
  k.barrier(); // nobody reads an earlier fold any more
  store(own);
  // The levels are a loop: the code that combines is there once.
  k.loop(0, levelsOf(invocations, lanes), 1, [&](Value level) {
    Value half =
        arith::ShRUIOp::create(k.b, k.constant(invocations / 2), level);
    k.barrier();
    k.ifThen(k.lessUnsigned(localId, half), [&] {
      store(combine(load(localId), load(k.add(localId, half))));
    });
  });
  // Each invocation reads its own value.
  return load(localId);
}

Values SharedTree::toAll() {
  k.barrier();
  Values values;
  for (Value memory : memories)
    values.push_back(k.load(memory, 0));
  return values;
}
