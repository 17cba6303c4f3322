//===- PartGridTest.cpp - Parts of layers against whole ones --------------===//
//
// Wherever a part grid says that a back can begin, its tiles behind that place
// write the bits of the whole layer's own kernel there and nothing else. Before
// they run, all elements of operands outside of nn::neededPart become NaN.
//
//===----------------------------------------------------------------------===//

#include "CheckLayer.h"
#include "RandomLayer.h"

#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/routines/TilesBehind.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace nnv12;
using namespace nnv12::test;
using codegen::PartGrid;
using codegen::Target;
using llvm::ArrayRef;

namespace {

/// Calls `visit(position)` with each element of a shape that is not in the box.
template <typename Visit>
void forEachOutside(ArrayRef<int64_t> shape, const nn::Box &box, Visit visit) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  int64_t elements = llvm::product_of(shape);
  for (int64_t i = 0; i < elements; ++i) {
    bool isInside = !box.isEmpty();
    for (size_t d = 0; d < shape.size(); ++d)
      isInside &= box.lo[d] <= index[d] && index[d] < box.hi[d];
    if (!isInside)
      visit(i);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}

/// A layer, its own kernel, and operands.
class PartTrial {
public:
  using Range = std::pair<int64_t, int64_t>;
  /// `ranges`: of the integers of each operand; small ones where it is empty.
  PartTrial(std::string text, std::string target, std::string routine,
            ArrayRef<Range> integers = {})
      : text(std::move(text)), target(std::move(target)),
        routine(std::move(routine)), ranges(integers), random(1) {
    own = LayerKernel::compile(this->text, this->target, error, this->routine);
    if (!own)
      return;
    std::vector<Floats> floats = own->randomOperands();
    for (auto [i, operand] : llvm::enumerate(layer()->getOperands())) {
      mlir::RankedTensorType type = nn::typeOf(operand);
      if (type.getElementType().isF32()) {
        operands.push_back(toBytes(floats[i]));
        continue;
      }
      operands.emplace_back(type.getNumElements() * size(type));
      for (int64_t e = 0; e < type.getNumElements(); ++e)
        change(operands, i, e, /*toNaN=*/false);
    }
  }

  bool isReady() const { return own != nullptr; }
  mlir::Operation *layer() const { return own->layer(); }
  std::optional<PartGrid> grid(unsigned dim) const {
    return codegen::partGrid(layer(), own->routine(), dim,
                             *Target::byName(target));
  }
  /// Checks each start of the dimension; returns how many there are.
  size_t check(unsigned dim);

  std::string error;

private:
  static int64_t size(mlir::RankedTensorType type) {
    return nn::storageElementSize(type.getElementType());
  }
  /// Another number, or none if there is such.
  void change(std::vector<Bytes> &values, size_t operand, int64_t element,
              bool toNaN = true) {
    mlir::RankedTensorType type = nn::typeOf(layer()->getOperand(operand));
    char *to = &values[operand][element * size(type)];
    if (auto number = llvm::dyn_cast<mlir::FloatType>(type.getElementType())) {
      llvm::APFloat x = llvm::APFloat::getNaN(number.getFloatSemantics());
      bool inexact;
      if (!toNaN) {
        x = llvm::APFloat(random.real());
        x.convert(number.getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
      }
      uint64_t bits = x.bitcastToAPInt().getZExtValue();
      std::memcpy(to, &bits, size(type));
      return;
    }
    auto [lo, hi] = operand < ranges.size() ? ranges[operand] : Range(0, 63);
    if (type.getElementType().isInteger(1))
      lo = 0, hi = 1;
    int64_t x = random.from(lo, hi);
    std::memcpy(to, &x, size(type));
  }
  /// The operands with other numbers where the back does not need them. Weights
  /// in fewer bits stay.
  std::vector<Bytes> poisoned(const Cut &cut) {
    nn::Box back = nn::Box::whole(result().getShape());
    back.lo[cut.dim] = cut.at;
    std::vector<Bytes> values = operands;
    std::optional<WeightForm> form = own->weightForm();
    for (auto [i, operand] : llvm::enumerate(layer()->getOpOperands()))
      if (!form || !form->narrow || form->operand != i)
        forEachOutside(nn::typeOf(operand.get()).getShape(),
                       nn::neededPart(operand, back),
                       [&, i = i](int64_t e) { change(values, i, e); });
    return values;
  }
  mlir::RankedTensorType result() const {
    return nn::typeOf(layer()->getResult(0));
  }
  void checkBack(LayerKernel &parts, const Bytes &whole, Cut cut);

  const std::string text, target, routine;
  std::vector<Range> ranges;
  Random random;
  std::unique_ptr<LayerKernel> own;
  std::vector<Bytes> operands;
};

std::vector<int64_t> allTiles(const LayerKernel &kernel) {
  std::vector<int64_t> tiles(kernel.info().tiles);
  for (size_t i = 0; i < tiles.size(); ++i)
    tiles[i] = int64_t(i);
  return tiles;
}

void PartTrial::checkBack(LayerKernel &parts, const Bytes &whole, Cut cut) {
  const TileMap &map = parts.info().maps.front();
  auto ranges = tilesBehind(map, result(), cut);
  ASSERT_TRUE(ranges) << "no place to cut: " << cut.at;
  ASSERT_LE(ranges->size(), mostTileRanges);
  std::vector<int64_t> tiles;
  for (TileRange range : *ranges)
    for (int64_t tile = range.begin; tile < range.end; ++tile)
      tiles.push_back(tile);
  // Which elements the back is, element by element.
  nn::Layout layout = nn::Layout::of(result());
  std::vector<bool> isBack(layout.size());
  for (int64_t i = 0; i < layout.size(); ++i) {
    int64_t at = 0;
    for (const nn::Layout::Axis &axis : layout.axes())
      if (axis.dim == cut.dim)
        at += i / axis.stride % axis.extent * axis.step;
    isBack[i] = std::min(at, result().getDimSize(cut.dim) - 1) >= cut.at;
  }
  std::vector<Bytes> values = poisoned(cut);
  for (char canary : {char(0xff), char(0x5a)}) {
    Bytes expected(whole.size(), canary);
    for (int64_t i = 0; i < layout.size(); ++i)
      if (isBack[i])
        std::copy_n(whole.begin() + i * size(result()), size(result()),
                    expected.begin() + i * size(result()));
    EXPECT_TRUE(parts.runTiles(values, tiles, canary) == expected)
        << dimName(cut.dim).str() << " from " << cut.at << " on, "
        << tiles.size() << " of " << map.tiles() << " tiles";
  }
}

size_t PartTrial::check(unsigned dim) {
  std::optional<PartGrid> grid = this->grid(dim);
  if (!grid)
    return 0;
  EXPECT_TRUE(llvm::is_sorted(grid->starts));
  EXPECT_GT(grid->starts.front(), 0);
  EXPECT_LT(grid->starts.back(), result().getDimSize(dim));
  auto parts = LayerKernel::compile(text, target, error, routine, grid->cells);
  EXPECT_TRUE(parts) << error;
  if (!parts)
    return 0;
  if (!parts->canRun())
    return grid->starts.size();
  EXPECT_TRUE(own->run(operands) == parts->run(operands));
  if (llvm::StringRef(target).starts_with("aarch64"))
    return grid->starts.size();
  Bytes whole = own->runTiles(operands, allTiles(*own), 0);
  size_t count = grid->starts.size();
  // All of them take their time.
  size_t step = isTier("full") ? 1 : std::max<size_t>(1, count / 4);
  for (size_t i = 0; i < count; i += step) {
    checkBack(*parts, whole, {dim, grid->starts[count - 1 - i]});
    if (testing::Test::HasFailure())
      break;
  }
  return grid->starts.size();
}

/// Checks all dimensions on all targets. `least`: how many starts there are at
/// least, by dimension.
void checkParts(const std::string &text, const std::string &routine,
                std::array<size_t, numCutDims> least,
                const std::vector<std::string> &targets = testTargets()) {
  for (const std::string &target : targets) {
    SCOPED_TRACE(target + " " + routine + ": " + text);
    PartTrial trial(text, target, routine);
    ASSERT_TRUE(trial.isReady()) << trial.error;
    for (unsigned dim = 0; dim < numCutDims; ++dim) {
      size_t starts = trial.check(dim);
      EXPECT_GE(starts, least[dim]) << dimName(dim).str();
      if (testing::Test::HasFailure())
        return;
    }
  }
}

/// With a window of `k`, and padding that keeps the size.
ConvCase conv(int64_t c, int64_t o, int64_t h, int64_t w, int64_t k) {
  ConvCase x;
  x.c = c, x.o = o, x.h = h, x.w = w, x.kh = x.kw = k;
  x.top = x.left = x.bottom = x.right = k / 2;
  x.constant = true;
  return x;
}

/// With all that may follow the sums.
ConvCase withEnd(ConvCase x) {
  x.residual = true, x.activation = "relu";
  return x;
}

} // namespace

TEST(PartGrid, ConvGemm) {
  std::string gemm = "conv.gemm.nChw16c";
  checkParts(conv(40, 64, 7, 7, 1).text(), gemm, {0, 3, 1});
  checkParts(withEnd(conv(64, 40, 13, 9, 1)).text(), gemm, {0, 2, 5});
  checkParts(conv(17, 300, 20, 20, 1).text(), gemm, {0, 9, 8});
  checkParts(conv(3, 17, 1, 1, 1).text(), gemm, {0, 1, 0});
  ConvCase two = withEnd(conv(32, 40, 13, 9, 1));
  two.n = 2;
  checkParts(two.text(), gemm, {1, 2, 5});
  ConvCase groups = conv(64, 96, 9, 9, 1);
  groups.groups = 2, groups.n = 2;
  checkParts(groups.text(), gemm, {1, 5, 3});
  for (std::string variant : {".p1", ".p4", ".fine", ".f16", ".q8"})
    checkParts(conv(64, 80, 13, 9, 1).text(), gemm + variant, {0, 4, 5});
}

TEST(PartGrid, ConvDirect) {
  std::string direct = "conv.direct.nChw16c";
  checkParts(conv(40, 64, 7, 7, 3).text(), direct, {0, 3, 1});
  checkParts(withEnd(conv(17, 40, 13, 9, 3)).text(), direct, {0, 2, 5});
  checkParts(conv(16, 290, 18, 18, 3).text(), direct, {0, 9, 8});
  ConvCase strided = conv(32, 48, 25, 21, 5);
  strided.strideH = strided.strideW = 2, strided.n = 2;
  checkParts(strided.text(), direct, {1, 2, 5});
  ConvCase groups = conv(64, 64, 13, 9, 3);
  groups.groups = 2;
  checkParts(groups.text(), direct, {0, 3, 5});
  ConvCase holes = conv(16, 32, 20, 20, 3); // its taps in the padding are none
  holes.dilationH = holes.dilationW = 12;
  holes.top = holes.left = holes.bottom = holes.right = 12;
  checkParts(holes.text(), direct, {0, 0, 0});
  for (std::string variant : {".p1", ".p4", ".f16o", ".q8"})
    checkParts(conv(32, 80, 13, 9, 3).text(), direct + variant, {0, 4, 5});
}

TEST(PartGrid, ConvWinograd) {
  for (int64_t m : {2, 4, 6}) {
    std::string routine = "conv.winograd" + std::to_string(m) + ".nChw16c";
    checkParts(withEnd(conv(17, 64, 24, 24, 3)).text(), routine, {0, 3, 1});
    checkParts(conv(32, 40, 30, 17, 3).text(), routine, {0, 2, 1});
    ConvCase two = conv(16, 290, 12, 12, 3);
    two.n = 2;
    checkParts(two.text(), routine, {1, 9, 1});
  }
}

TEST(PartGrid, ConvFirst) {
  checkParts(conv(3, 64, 33, 31, 3).text(), "conv.first.nChw16c", {0, 3, 8});
  ConvCase x = conv(3, 40, 40, 40, 7);
  x.strideH = x.strideW = 2, x.n = 2, x.activation = "relu";
  checkParts(x.text(), "conv.first.nChw16c", {1, 2, 8});
}

TEST(PartGrid, ConvDepthwise) {
  for (auto [channels, h, w] : {std::array<int64_t, 3>{40, 7, 7},
                                {64, 13, 9},
                                {320, 14, 14},
                                {17, 1, 1}}) {
    ConvCase x = conv(channels, channels, h, w, 3);
    x.groups = channels;
    auto blocks = size_t(channels + 15) / 16;
    checkParts(x.text(), "conv.depthwise.nChw16c",
               {0, blocks - 1, size_t(h > 1)});
    x.n = 2, x.activation = "clip [0.0, 6.0]";
    checkParts(x.text(), "conv.depthwise.nChw16c",
               {1, blocks - 1, size_t(h > 1)});
  }
}

TEST(PartGrid, ConvIm2col) {
  checkParts(withEnd(conv(17, 64, 13, 9, 3)).text(), "conv.im2col.nChw16c",
             {0, 3, 5});
}

TEST(PartGrid, Pool) {
  for (bool isMax : {true, false})
    for (auto [channels, h, w] :
         {std::array<int64_t, 3>{40, 13, 9}, {290, 14, 14}, {17, 7, 7}}) {
      PoolCase x;
      x.c = channels, x.h = h, x.w = w, x.k = 3, x.stride = 2;
      x.low = x.high = 1, x.max = isMax;
      auto blocks = size_t(channels + 15) / 16;
      checkParts(x.text(), "pool.nChw16c", {0, blocks - 1, 1});
      x.n = 2;
      checkParts(x.text(), "pool.nChw16c", {1, blocks - 1, 1});
    }
}

TEST(PartGrid, MatMul) {
  MatMulCase x;
  x.m = 1, x.n = 1000, x.k = 512, x.constant = true;
  checkParts(x.text(), "matmul.panels", {0, 3, 0});
  x.m = 70, x.n = 90, x.activation = "relu";
  checkParts(x.text(), "matmul.panels", {3, 0, 0});
  x.lhsBatch = {3};
  checkParts(x.text(), "matmul.panels", {1, 0, 0});
}

namespace {

std::string quantizedConv(int64_t c, int64_t o, int64_t h, int64_t w,
                          int64_t k) {
  auto tensor = [](std::initializer_list<int64_t> shape, const char *element) {
    std::string text = "tensor<";
    for (int64_t d : shape)
      text += std::to_string(d) + "x";
    return text + element + ">";
  };
  std::string in = tensor({1, c, h, w}, "ui8"),
              weights = tensor({o, c, k, k}, "i8"),
              out = tensor({1, o, h, w}, "ui8"), byte = "tensor<ui8>",
              biases = tensor({o}, "i32"), scales = tensor({o}, "f32"),
              pad = "[" + std::to_string(k / 2) + ", " + std::to_string(k / 2) +
                    "]";
  return "func.func @main(%x: " + in + ", %p: " + byte + ", %b: " + biases +
         ", %s: " + scales + ", %z: " + byte + ") -> " + out +
         " {\n%w = nn.constant dense<3> : " + weights +
         "\n%y = nn.qconv %x, %w padding %p bias %b scale %s out_zero %z "
         "strides [1, 1] dilations [1, 1] pads " +
         pad + ", " + pad + " {groups = 1 : i64} : " + in + ", " + weights +
         " padding " + byte + " bias " + biases + " scale " + scales +
         " out_zero " + byte + " -> " + out + "\nreturn %y : " + out + "\n}";
}

/// A layer of two tensors of one shape, in blocks of 16 channels or not.
std::string elementLayer(std::vector<int64_t> shape, bool blocked,
                         const std::string &layer, int64_t outChannels) {
  auto tensor = [&](int64_t channels) {
    std::string text = "tensor<";
    for (size_t d = 0; d < shape.size(); ++d)
      text += std::to_string(d == 1 ? channels : shape[d]) + "x";
    return text + "f32" + (blocked ? ", #nn.layout<\"aBcd16b\">" : "") + ">";
  };
  std::string in = tensor(shape[1]), out = tensor(outChannels);
  bool isOne = layer.find("%y") == std::string::npos;
  return "func.func @main(%x: " + in + ", %y: " + in + ") -> " + out +
         " {\n%z = " + layer + " : " + in + (isOne ? "" : ", " + in) + " -> " +
         out + "\nreturn %z : " + out + "\n}";
}

} // namespace

TEST(PartGrid, QuantizedConv) {
  std::vector<std::string> targets = testTargets();
  targets.insert(targets.end(), {"x86-64-v4+vnni", "x86-64-v4+amx"});
  checkParts(quantizedConv(40, 64, 7, 7, 3), "qconv.direct.nChw16c", {0, 0, 1},
             targets);
  checkParts(quantizedConv(17, 40, 13, 9, 1), "qconv.gemm.nChw16c", {0, 0, 5},
             targets);
  checkParts(quantizedConv(3, 64, 33, 31, 3), "qconv.first.nChw16c", {0, 0, 8},
             targets);
}

TEST(PartGrid, Element) {
  for (bool blocked : {false, true})
    for (const std::vector<int64_t> &shape : {std::vector<int64_t>{1, 40, 7, 7},
                                              {2, 64, 13, 9},
                                              {1, 320, 14, 14},
                                              {2, 17, 1, 1}}) {
      size_t batch = shape[0] > 1, rows = shape[2] > 1;
      auto channels = size_t(shape[1] + 15) / 16 - 1;
      std::array<size_t, numCutDims> least = {
          batch, std::min<size_t>(channels, 10), rows};
      for (const char *layer :
           {"nn.binary add %x, %y", "nn.unary %x <sigmoid>"})
        checkParts(elementLayer(shape, blocked, layer, shape[1]), "element",
                   least);
    }
}

TEST(PartGrid, Concat) {
  for (bool blocked : {false, true})
    for (int64_t channels : {48, 40})
      checkParts(elementLayer({2, channels, 13, 9}, blocked,
                              "nn.concat %x, %y axis 1", 2 * channels),
                 "element", {1, 1, 1});
}

/// Two dimensions, and none where a result is too small to be cut.
TEST(PartGrid, NoPlaceToCut) {
  MatMulCase x;
  x.constant = true;
  PartTrial product(x.text(), testTargets()[0], "matmul.panels");
  ASSERT_TRUE(product.isReady());
  EXPECT_FALSE(product.grid(2));
  PartTrial one(conv(16, 16, 1, 1, 1).text(), testTargets()[0],
                "conv.gemm.nChw16c");
  ASSERT_TRUE(one.isReady());
  for (unsigned dim = 0; dim < numCutDims; ++dim)
    EXPECT_FALSE(one.grid(dim)) << dimName(dim).str();
}

namespace {

class PartGridOf : public testing::TestWithParam<std::string> {};

} // namespace

/// Layers of each kind, by each routine that computes them.
TEST_P(PartGridOf, RandomLayers) {
  Random random(llvm::xxh3_64bits(GetParam()));
  const int layers = isTier("quick") ? 2 : isTier("full") ? 20 : 6;
  for (int n = 0; n < layers; ++n) {
    RandomLayer layer = randomLayer(GetParam(), random);
    std::string error;
    auto preferred = LayerKernel::compile(layer.text, testTargets()[0], error);
    ASSERT_TRUE(preferred) << error;
    for (const Routine *routine :
         codegen::cpuRoutines().matching(preferred->layer())) {
      PartTrial trial(layer.text, testTargets()[0], routine->name().str(),
                      layer.ranges);
      SCOPED_TRACE(routine->name().str() + ": " + layer.text);
      if (!trial.isReady())
        continue; // it needs more instructions
      for (unsigned dim = 0; dim < numCutDims; ++dim)
        trial.check(dim);
      if (HasFailure())
        return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachKind, PartGridOf, testing::ValuesIn(layerKinds()),
                         [](const auto &info) { return info.param; });
