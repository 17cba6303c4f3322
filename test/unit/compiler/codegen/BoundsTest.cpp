//===- BoundsTest.cpp - Checked kernels stop outside of their operands ----===//

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/CheckBounds.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tools/common/Report.h"

#include "artifact/Bundle.h"
#include "gtest/gtest.h"

#include <cstring>
#include <sys/mman.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

constexpr int64_t count = 40; ///< elements of each operand

/// Compiles a kernel of (out, in) with checks and runs its one tile.
void runChecked(
    llvm::function_ref<void(KernelBuilder &, ValueRange, Value)> body) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  auto target = Target::byName("host");
  ASSERT_TRUE(target);
  KernelBuilder k(context, *target);
  OwningOpRef<ModuleOp> module(k.module);
  Type f32 = k.b.getF32Type();
  k.kernel("sample", {f32, f32},
           [&](ValueRange operands, Value scratch, Value, Value) {
             body(k, operands, scratch);
           });
  describeBounds(*module, "sample", "kernel sample of layer 'l'",
                 {count * 4, count * 4}, 64);
  ASSERT_TRUE(succeeded(checkBounds(*module, *target)));
  auto blob = compileModule(*module, *target);
  ASSERT_TRUE(succeeded(blob));
  void *code = mmap(nullptr, blob->bytes.size(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(code, blob->bytes.data(), blob->bytes.size());
  mprotect(code, blob->bytes.size(), PROT_READ | PROT_EXEC);
  // Room around the operands: an access outside of them is no fault of the
  // machine's.
  alignas(64) static float memory[3][3 * 64];
  void *operands[] = {memory[0] + 64, memory[1] + 64};
  tools::setToolName("test");
  tools::reportBoundsFaults();
  auto kernel = reinterpret_cast<artifact::KernelFn>(
      static_cast<char *>(code) + blob->entries.at("sample"));
  kernel(operands, 0, 1, memory[2] + 64);
  munmap(code, blob->bytes.size());
}

#define EXPECT_FAULT(body, text)                                               \
  EXPECT_EXIT(                                                                 \
      {                                                                        \
        runChecked(body);                                                      \
        _exit(7);                                                              \
      },                                                                       \
      testing::ExitedWithCode(1), text)

TEST(CheckBounds, LetsGoodKernelsRun) {
  runChecked([](KernelBuilder &k, ValueRange m, Value scratch) {
    k.store(k.load(m[1], count - k.VL, k.VL), m[0], count - k.VL);
    k.store(k.load(m[1], 0), m[0], count - 1);
    k.store(k.load(m[1], 0), scratch, 15);
    k.storePart(k.loadPart(m[1], count - 3, k.VL, 3), m[0], count - 3, 3);
  });
}

TEST(CheckBounds, FindsAccessesOutside) {
  EXPECT_FAULT(
      [](KernelBuilder &k, ValueRange m, Value) { k.load(m[1], count); },
      "test: kernel sample of layer 'l': operand 1: found an access to 4 bytes "
      "at offset "
      "160, expected one within its 160 bytes");
  EXPECT_FAULT([](KernelBuilder &k, ValueRange m,
                  Value) { k.store(k.fconst(0, k.b.getF32Type()), m[0], -1); },
               "operand 0: found an access to 4 bytes at offset -4");
  EXPECT_FAULT(
      [](KernelBuilder &k, ValueRange m, Value) {
        k.store(k.load(m[1], count - k.VL + 1, k.VL), m[0], 0);
      },
      "operand 1: .* at offset 1");
  EXPECT_FAULT(
      [](KernelBuilder &k, ValueRange, Value scratch) {
        k.store(k.fconst(0, k.b.getF32Type()), scratch, 16);
      },
      "operand 2: found an access to 4 bytes at offset 64, .* its 64 bytes");
}

TEST(CheckBounds, LooksAtLanes) {
  // Three of the lanes fit; a fourth does not.
  EXPECT_FAULT(
      [](KernelBuilder &k, ValueRange m, Value) {
        k.storePart(k.load(m[1], 0, k.VL), m[0], count - 3, 4);
      },
      "operand 0");
  auto gather = [](int64_t at) {
    return [at](KernelBuilder &k, ValueRange m, Value) {
      SmallVector<Attribute> lanes(k.VL, k.b.getI32IntegerAttr(0));
      lanes[1] = k.b.getI32IntegerAttr(at);
      VectorType i32 = k.vec(k.VL, k.b.getI32Type());
      Value places =
          arith::ConstantOp::create(k.b, DenseElementsAttr::get(i32, lanes));
      Value all = k.iconst(1, k.vec(k.VL, k.b.getI1Type()));
      Value x = vector::GatherOp::create(k.b, k.vec(k.VL), m[1],
                                         ValueRange{k.constant(0)}, places, all,
                                         k.fconst(0, k.vec(k.VL)));
      k.store(x, m[0], 0);
    };
  };
  runChecked(gather(count - 1));
  EXPECT_FAULT(gather(count), "operand 1");
  EXPECT_FAULT(gather(-1), "operand 1");
}

TEST(CheckBounds, FollowsMemoryIntoMicroKernels) {
  auto through = [](int64_t at) {
    return [at](KernelBuilder &k, ValueRange m, Value) {
      // The micro-kernel's memory 0 is operand 1.
      k.callMicroKernel("micro", {m[1], m[0]}, {Index(at)}, [&](ValueRange a) {
        k.store(k.load(a[0], Index(a[2])), a[1], Index(a[2]));
      });
    };
  };
  runChecked(through(count - 1));
  EXPECT_FAULT(through(count),
               "operand 1: found an access to 4 bytes at offset 160");
}

} // namespace
