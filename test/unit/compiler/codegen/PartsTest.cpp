//===- PartsTest.cpp - Parts of operands against kernels ------------------===//
//
// Tries nn::neededPart on random layers of every kind. Operands change
// outside of the part that a part of a result needs: it keeps its bits. They
// change in the outermost elements of that part: most results show it.
//
// Kernels are those that compute element by element where there is one. Others
// may round in another way when neighbours change, as Winograd's do.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "RandomLayer.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace nnv12;
using namespace nnv12::test;
using llvm::ArrayRef;
using nn::Box;

namespace {

using Elements = std::vector<Bytes>; // of each operand or result, row by row

bool contains(const Box &box, ArrayRef<int64_t> index) {
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < box.lo[d] || index[d] >= box.hi[d])
      return false;
  return !box.isEmpty();
}

/// Calls `visit(index, position)` with each element of a shape.
template <typename Visit> void forEach(ArrayRef<int64_t> shape, Visit visit) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  int64_t elements = llvm::product_of(shape);
  for (int64_t i = 0; i < elements; ++i) {
    visit(ArrayRef<int64_t>(index), i);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}

/// A layer, its kernel, and operands.
class Trial {
public:
  Trial(RandomLayer layer, Random &random)
      : description(std::move(layer)), random(random) {
    std::string error;
    for (const char *routine : {"element", ""})
      if (!kernel)
        kernel = LayerKernel::compile(description.text, "host", error, routine);
    EXPECT_TRUE(kernel) << error << description.text;
    if (!kernel)
      return;
    for (mlir::Value operand : op()->getOperands()) {
      operands.emplace_back();
      auto type = nn::typeOf(operand);
      operands.back().resize(type.getNumElements() * size(type));
      fill(operands.size() - 1, Box::whole(type.getShape()), nullptr, false);
    }
    results = kernel->run(operands);
  }

  bool isReady() const { return kernel != nullptr; }
  mlir::Operation *op() const { return kernel->layer(); }

  /// A box of result number `result`, seldom all of it.
  Box randomPart(unsigned result) {
    Box part = Box::whole(shape(op()->getResult(result)));
    for (size_t d = 0; d < part.lo.size(); ++d) {
      int64_t size = part.hi[d];
      if (size == 0)
        continue;
      if (random.oneOf(3))
        part.lo[d] = random.below(size);
      part.hi[d] =
          random.oneOf(3) ? part.lo[d] + 1 : random.from(part.lo[d] + 1, size);
    }
    return part;
  }

  /// Whether `part` of the result is as it was when each operand has changed
  /// where `inside` does not hold its elements.
  bool isKept(unsigned result, const Box &part, ArrayRef<Box> inside,
              ArrayRef<Box> outside, bool poison) {
    const Elements before = operands;
    for (size_t i = 0; i < operands.size(); ++i)
      fill(i, outside[i], &inside[i], poison);
    Elements now = kernel->run(operands);
    operands = before;
    auto type = nn::typeOf(op()->getResult(result));
    bool same = true;
    forEach(type.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      if (contains(part, index))
        same &= !std::memcmp(&now[result][i * size(type)],
                             &results[result][i * size(type)], size(type));
    });
    return same;
  }

  std::vector<Box> needed(unsigned result, const Box &part) {
    std::vector<Box> boxes;
    for (mlir::OpOperand &operand : op()->getOpOperands())
      boxes.push_back(nn::neededPart(operand, part, result));
    return boxes;
  }

  std::vector<Box> everything() {
    std::vector<Box> boxes;
    for (mlir::Value operand : op()->getOperands())
      boxes.push_back(Box::whole(shape(operand)));
    return boxes;
  }

  const RandomLayer description;

private:
  static ArrayRef<int64_t> shape(mlir::Value value) {
    return nn::typeOf(value).getShape();
  }
  static int64_t size(mlir::RankedTensorType type) {
    return nn::storageElementSize(type.getElementType());
  }

  /// Gives the elements of an operand in `box`, but for those in `except`,
  /// other values.
  void fill(size_t operand, const Box &box, const Box *except, bool poison) {
    auto type = nn::typeOf(op()->getOperand(operand));
    forEach(type.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      if (contains(box, index) && !(except && contains(*except, index)))
        write(operand, type.getElementType(), i, poison);
    });
  }

  void write(size_t operand, mlir::Type element, int64_t i, bool poison) {
    char *to = &operands[operand][i * nn::storageElementSize(element)];
    if (llvm::isa<mlir::FloatType>(element)) {
      float x = poison ? std::nanf("") : random.real();
      std::memcpy(to, &x, sizeof x);
      return;
    }
    auto [lo, hi] = description.ranges[operand];
    int64_t x = random.from(lo, hi);
    std::memcpy(to, &x, nn::storageElementSize(element));
  }

  Random &random;
  std::unique_ptr<LayerKernel> kernel;
  Elements operands, results;
};

class Parts : public testing::TestWithParam<std::string> {};

TEST_P(Parts, OfRandomLayers) {
  Random random(llvm::xxh3_64bits(GetParam()));
  const int layers = isTier("quick") ? 4 : isTier("full") ? 40 : 10;
  int seen = 0, tried = 0;
  for (int n = 0; n < layers; ++n) {
    Trial trial(randomLayer(GetParam(), random), random);
    ASSERT_TRUE(trial.isReady());
    SCOPED_TRACE(trial.description.text);
    for (int m = 0; m < 6; ++m) {
      unsigned result = random.below(trial.op()->getNumResults());
      Box part = trial.randomPart(result);
      std::vector<Box> needed = trial.needed(result, part);
      for (bool poison : {true, false})
        EXPECT_TRUE(
            trial.isKept(result, part, needed, trial.everything(), poison));
      // Without its outermost elements on one side the part is too small.
      unsigned operand = random.below(needed.size());
      std::vector<Box> smaller = needed;
      if (needed[operand].isEmpty() || needed[operand].lo.empty())
        continue;
      size_t dim = random.below(needed[operand].lo.size());
      if (random.oneOf(2))
        ++smaller[operand].lo[dim];
      else
        --smaller[operand].hi[dim];
      bool isSeen = !trial.isKept(result, part, smaller, needed, false);
      ++tried;
      seen += isSeen;
      EXPECT_TRUE(isSeen || !trial.description.isExact)
          << "operand " << operand << ", dimension " << dim;
    }
  }
  RecordProperty("tried", tried);
  RecordProperty("seen", seen);
  EXPECT_GT(seen, 0) << "of " << tried;
}

INSTANTIATE_TEST_SUITE_P(EachKind, Parts, testing::ValuesIn(layerKinds()),
                         [](const auto &info) { return info.param; });

} // namespace
