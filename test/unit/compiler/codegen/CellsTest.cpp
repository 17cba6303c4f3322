//===- CellsTest.cpp - Kernels in cells against those of rows -------------===//
//
// A kernel in cells writes the same bits as its routine's other kernel, in the
// boxes of the tiles that run and nowhere else.
//
//===----------------------------------------------------------------------===//

#include "CheckLayer.h"
#include "RandomLayer.h"

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/routines/Cells.h"
#include "dialects/nn/Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <map>

using namespace nnv12;
using namespace nnv12::test;

namespace {

/// The tiles' pixels are cells of the plane, each of some size at most, and the
/// box of a tile is those pixels of some channels.
void checkPixels(const LayerKernel &kernel, const Cells &most) {
  const TileMap &map = kernel.info().maps.front();
  auto result = nn::typeOf(kernel.layer()->getResult(0));
  std::optional<PlaneAxes> axes = planeAxes(map, result);
  ASSERT_TRUE(axes && axes->cols);
  llvm::ArrayRef<int64_t> shape = result.getShape();
  int64_t perImage = nn::Layout::of(result).size() / shape[0], elements = 0;
  for (int64_t tile = 0; tile < map.tiles(); ++tile) {
    PixelBox pixels = pixelsOf(map, *axes, result, tile);
    auto isIn = [](PixelBox::Range range, int64_t extent, int64_t most) {
      return 0 <= range.lo && range.lo < range.hi && range.hi <= extent &&
             range.hi - range.lo <= most;
    };
    ASSERT_TRUE(isIn(pixels.images, shape[0], 1));
    ASSERT_TRUE(isIn(pixels.rows, shape[2], most.rows));
    ASSERT_TRUE(isIn(pixels.cols, shape[3], most.cols));
    TileMap::Box box = map.boxOf(tile);
    int64_t lanes = nn::Layout::of(result).block(1),
            plane = shape[2] * shape[3] * lanes;
    map.forPieces(box, [&](int64_t at, int64_t count) {
      for (int64_t i = at; i < at + count; ++i, ++elements) {
        int64_t pixel = i % plane / lanes, row = pixel / shape[3],
                col = pixel % shape[3];
        EXPECT_EQ(i / perImage, pixels.images.lo);
        EXPECT_TRUE(pixels.rows.lo <= row && row < pixels.rows.hi &&
                    pixels.cols.lo <= col && col < pixels.cols.hi);
      }
      return !testing::Test::HasFailure();
    });
  }
  EXPECT_EQ(elements, perImage * shape[0]);
}

/// Some tiles write their boxes of `expected`, and nothing else.
void checkSome(LayerKernel &kernel, const std::vector<Bytes> &operands,
               const Bytes &expected, Random &random) {
  const TileMap &map = kernel.info().maps.front();
  int64_t size = nn::storageElementSize(
      nn::typeOf(kernel.layer()->getResult(0)).getElementType());
  std::vector<int64_t> tiles;
  int64_t oneOf = random.from(1, 4);
  for (int64_t tile = map.tiles(); tile-- > 0;)
    if (random.oneOf(oneOf))
      tiles.push_back(tile);
  for (char poison : {char(0xff), char(0)}) {
    Bytes wanted(expected.size(), poison);
    for (int64_t tile : tiles)
      map.forPieces(map.boxOf(tile), [&](int64_t at, int64_t count) {
        std::copy_n(expected.begin() + at * size, count * size,
                    wanted.begin() + at * size);
        return true;
      });
    EXPECT_TRUE(kernel.runTiles(operands, tiles, poison) == wanted)
        << tiles.size() << " of " << map.tiles() << " tiles";
  }
}

/// Small integers and scales.
std::vector<Bytes> integerOperands(const LayerKernel &kernel, Random &random) {
  std::vector<Bytes> operands;
  for (mlir::Value operand : kernel.layer()->getOperands()) {
    mlir::RankedTensorType type = nn::typeOf(operand);
    int64_t count = type.getNumElements();
    if (type.getElementType().isF32()) {
      std::vector<float> scales = randomFloats(count, operands.size() + 1);
      for (float &scale : scales)
        scale *= 0.001f;
      operands.push_back(toBytes(scales));
      continue;
    }
    Bytes bytes(count * nn::storageElementSize(type.getElementType()), 0);
    for (size_t i = 0; i < bytes.size(); i += bytes.size() / count)
      bytes[i] = char(random.from(-64, 63));
    operands.push_back(bytes);
  }
  return operands;
}

/// Some inputs are zero, of both signs: results may be such zeros, too.
std::vector<Bytes> operandsWithZeros(const LayerKernel &kernel,
                                     Random &random) {
  if (!nn::typeOf(kernel.layer()->getOperand(0)).getElementType().isF32())
    return integerOperands(kernel, random);
  std::vector<Bytes> operands;
  for (std::vector<float> &operand : kernel.randomOperands()) {
    if (operands.empty())
      for (float &x : operand)
        if (random.oneOf(8))
          x = random.oneOf(2) ? 0.0f : -0.0f;
    operands.push_back(toBytes(operand));
  }
  return operands;
}

/// Both write the same bits, all of them or those of some tiles.
void checkBits(LayerKernel &dense, LayerKernel &inCells, bool runsSome,
               Random &random) {
  std::vector<Bytes> operands = operandsWithZeros(dense, random);
  // Proves the map as well.
  EXPECT_TRUE(dense.run(operands) == inCells.run(operands));
  if (!runsSome)
    return;
  std::vector<int64_t> all(dense.info().tiles);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = int64_t(i);
  Bytes expected = dense.runTiles(operands, all, 0);
  for (int round = 0; round < 3; ++round)
    checkSome(inCells, operands, expected, random);
}

void checkInCells(const std::string &text, llvm::StringRef routine,
                  const Cells &cells, Random &random, int64_t unit = 1,
                  const std::vector<std::string> &targets = testTargets()) {
  for (const std::string &target : targets) {
    SCOPED_TRACE(target + " " + routine.str() + " " +
                 std::to_string(cells.rows) + "x" + std::to_string(cells.cols) +
                 ": " + text);
    std::string error;
    auto dense = LayerKernel::compile(text, target, error, routine);
    ASSERT_TRUE(dense) << error;
    auto inCells = LayerKernel::compile(text, target, error, routine, cells);
    ASSERT_TRUE(inCells) << error;
    auto most = [&](int64_t size) {
      return int64_t(llvm::alignTo(size, unit));
    };
    checkPixels(*inCells, {most(cells.rows), most(cells.cols)});
    if (!inCells->canRun())
      continue;
    checkBits(*dense, *inCells, !llvm::StringRef(target).starts_with("aarch64"),
              random);
  }
}

/// Layers that each routine is tried on.
int randomLayers() { return isTier("quick") ? 3 : 8; }

Cells randomCells(Random &random) {
  return {random.from(1, 9), random.from(1, 9)};
}

/// A convolution of `channels` to `outputs` with a window, stride, dilation and
/// padding at random.
ConvCase randomConv(Random &random, int64_t channels, int64_t outputs) {
  ConvCase x;
  x.n = random.from(1, 2), x.c = channels, x.o = outputs;
  x.kh = random.from(1, 4), x.kw = random.from(1, 4);
  x.strideH = random.from(1, 2), x.strideW = random.from(1, 2);
  x.dilationH = 1 + random.oneOf(4), x.dilationW = 1 + random.oneOf(4);
  int64_t spanH = (x.kh - 1) * x.dilationH + 1,
          spanW = (x.kw - 1) * x.dilationW + 1;
  x.h = random.from(spanH, 20), x.w = random.from(spanW, 20);
  x.top = random.below(spanH), x.bottom = random.below(spanH);
  x.left = random.below(spanW), x.right = random.below(spanW);
  x.bias = !random.oneOf(4);
  const char *activations[] = {"", "relu", "clip [-0.5, 1.0]", "sigmoid"};
  x.activation = activations[random.below(4)];
  x.residual = random.oneOf(3);
  return x;
}

/// Whether a routine computes the layer in cells.
bool hasCells(const std::string &text, llvm::StringRef routine) {
  std::string error;
  auto kernel = LayerKernel::compile(text, testTargets()[0], error, routine);
  return kernel && kernel->routine().cells(kernel->layer());
}

/// Layers at random, for each routine that has cells of them.
void checkRandom(llvm::ArrayRef<const char *> routines, uint64_t seed,
                 llvm::function_ref<std::string(Random &)> layer) {
  Random random(seed);
  for (const char *routine : routines)
    for (int i = 0; i < randomLayers();) {
      std::string text = layer(random);
      if (!hasCells(text, routine))
        continue;
      ++i;
      checkInCells(text, routine, randomCells(random), random);
      if (testing::Test::HasFailure())
        return;
    }
}

} // namespace

TEST(Cells, Sizes) {
  auto is = [](Cells cells, int64_t rows, int64_t cols) {
    return cells.rows == rows && cells.cols == cols;
  };
  EXPECT_TRUE(is(cellsOf(7, 7), 7, 7));
  EXPECT_TRUE(is(cellsOf(1, 1), 1, 1));
  EXPECT_TRUE(is(cellsOf(14, 14), 4, 7));
  EXPECT_TRUE(is(cellsOf(28, 28), 4, 7));
  EXPECT_TRUE(is(cellsOf(56, 56), 8, 8));
  EXPECT_TRUE(is(cellsOf(112, 112), 8, 8));
  EXPECT_TRUE(is(cellsOf(60, 80), 10, 8));
  EXPECT_TRUE(is(cellsOf(20, 20), 4, 10));
  EXPECT_TRUE(is(cellsOf(20, 20, 6, CellGrain::Fine), 2, 5));
  EXPECT_TRUE(is(cellsOf(80, 80, 10, CellGrain::Fine), 4, 10));
  EXPECT_TRUE(is(cellsOf(7, 7, 4, CellGrain::Fine), 7, 7));
  for (int64_t rows = 1; rows < 70; ++rows)
    for (int64_t cols = 1; cols < 70; ++cols) {
      Cells cells = cellsOf(rows, cols);
      ASSERT_TRUE(cells.rows >= std::min<int64_t>(rows, 2) &&
                  cells.rows <= std::min<int64_t>(rows, 12));
      ASSERT_TRUE(cells.cols >= std::min<int64_t>(cols, 4) &&
                  cells.cols <= std::min<int64_t>(cols, 12));
    }
}

/// Maps of other kernels: whole rows, runs of pixels, and runs of memory.
TEST(Cells, AxesOfOtherMaps) {
  auto compile = [](const ConvCase &x, llvm::StringRef routine) {
    std::string error;
    auto kernel = LayerKernel::compile(x.text(), "host", error, routine);
    EXPECT_TRUE(kernel) << error;
    return kernel;
  };
  ConvCase x;
  x.h = 24, x.w = 20, x.n = 2;
  auto axesOf = [](const LayerKernel &kernel) {
    return planeAxes(kernel.info().maps.front(),
                     nn::typeOf(kernel.layer()->getResult(0)));
  };
  EXPECT_FALSE(axesOf(*compile(x, "conv.gemm.nChw16c")));
  x.kh = x.kw = 3;
  auto direct = compile(x, "conv.direct.nChw16c");
  std::optional<PlaneAxes> axes = axesOf(*direct);
  ASSERT_TRUE(axes);
  EXPECT_FALSE(axes->cols);
  const TileMap &map = direct->info().maps[0];
  PixelBox last = pixelsOf(
      map, *axes, nn::typeOf(direct->layer()->getResult(0)), map.tiles() - 1);
  EXPECT_EQ(last.images.lo, 1);
  EXPECT_EQ(last.images.hi, 2);
  EXPECT_EQ(last.rows.hi, 22);
  EXPECT_EQ(last.cols.lo, 0);
  EXPECT_EQ(last.cols.hi, 18);

  const char *sum = "func.func @main(%x: tensor<2x40x30x50xf32>, %y: "
                    "tensor<2x40x30x50xf32>) -> tensor<2x40x30x50xf32> {\n"
                    "%z = nn.binary add %x, %y : tensor<2x40x30x50xf32>, "
                    "tensor<2x40x30x50xf32> -> tensor<2x40x30x50xf32>\n"
                    "return %z : tensor<2x40x30x50xf32>\n}";
  std::string error;
  auto element = LayerKernel::compile(sum, "host", error, "element");
  ASSERT_TRUE(element) << error;
  EXPECT_FALSE(axesOf(*element)); // its axes are one
}

TEST(Cells, ConvDirect) {
  checkRandom({"conv.direct.nChw16c", "conv.direct.nChw16c.p1",
               "conv.direct.nChw16c.p4", "conv.direct.nChw16c.f16",
               "conv.direct.nChw16c.f16o", "conv.direct.nChw16c.q8"},
              1, [](Random &random) {
                ConvCase x =
                    randomConv(random, random.from(1, 50), random.from(1, 80));
                if (random.oneOf(3))
                  x.groups = 2, x.c = 32, x.o = 64;
                x.constant = true;
                return x.text();
              });
}

TEST(Cells, ConvGemm) {
  checkRandom({"conv.gemm.nChw16c", "conv.gemm.nChw16c.p1",
               "conv.gemm.nChw16c.fine", "conv.gemm.nChw16c.q8"},
              2, [](Random &random) {
                ConvCase x =
                    randomConv(random, random.from(1, 80), random.from(1, 80));
                x.kh = x.kw = x.strideH = x.strideW = 1;
                x.top = x.left = x.bottom = x.right = 0;
                x.constant = true;
                return x.text();
              });
}

TEST(Cells, ConvIm2col) {
  checkRandom(
      {"conv.im2col.nChw16c", "conv.im2col.nChw16c.p4"}, 3, [](Random &random) {
        return randomConv(random, random.from(1, 50), random.from(1, 50))
            .text();
      });
}

TEST(Cells, ConvFirst) {
  checkRandom(
      {"conv.first.nChw16c", "conv.first.nChw16c.p1"}, 4, [](Random &random) {
        return randomConv(random, random.from(1, 4), random.from(1, 50)).text();
      });
}

TEST(Cells, ConvDepthwise) {
  checkRandom({"conv.depthwise.nChw16c", "conv.depthwise.nChw16c.f16o",
               "conv.depthwise.nChw16c.q8"},
              7, [](Random &random) {
                int64_t group = 1 << random.below(4);
                int64_t channels = group * random.from(2, 40 / group);
                ConvCase x = randomConv(random, channels, channels);
                x.groups = channels / group;
                x.constant = true;
                return x.text();
              });
}

TEST(Cells, Pool) {
  checkRandom({"pool.nChw16c", "pool.nChw16c"}, 8, [](Random &random) {
    PoolCase x;
    x.n = random.from(1, 2), x.c = random.from(1, 40);
    x.k = random.from(1, 4), x.stride = random.from(1, 3);
    x.dilation = 1 + random.oneOf(4);
    int64_t span = (x.k - 1) * x.dilation + 1;
    x.h = random.from(span, 30), x.w = random.from(span, 30);
    x.low = random.below(x.k), x.high = random.below(x.k);
    x.max = random.oneOf(2), x.countPad = !x.max && random.oneOf(2);
    return x.text();
  });
}

TEST(Cells, ConvWinograd) {
  Random random(9);
  for (int64_t m : {2, 4, 6}) {
    std::string routine = "conv.winograd" + std::to_string(m) + ".nChw16c";
    for (int i = 0; i < randomLayers();) {
      ConvCase x = randomConv(random, random.from(16, 50), random.from(16, 80));
      x.kh = x.kw = 3, x.strideH = x.strideW = x.dilationH = x.dilationW = 1;
      x.h = random.from(3, 30), x.w = random.from(3, 30);
      x.constant = true;
      if (!hasCells(x.text(), routine))
        continue;
      ++i;
      Cells cells = {random.from(1, 3 * m), random.from(1, 4 * m)};
      checkInCells(x.text(), routine, cells, random, m);
      if (HasFailure())
        return;
    }
  }
}

namespace {

/// A quantised convolution with the window of `x`. Its place in the plane
/// matters to some of its operands.
std::string quantizedConv(const ConvCase &x, Random &random) {
  auto extent = [](int64_t in, int64_t pads, int64_t kernel, int64_t dilation,
                   int64_t stride) {
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
  };
  int64_t h = extent(x.h, x.top + x.bottom, x.kh, x.dilationH, x.strideH),
          w = extent(x.w, x.left + x.right, x.kw, x.dilationW, x.strideW);
  auto tensor = [](std::vector<int64_t> shape, const char *element) {
    std::string text = "tensor<";
    for (int64_t d : shape)
      text += std::to_string(d) + "x";
    return text + element + ">";
  };
  auto pair = [](int64_t a, int64_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  std::string in = tensor({x.n, x.c, x.h, x.w}, "ui8"),
              weights = tensor({x.o, x.c / x.groups, x.kh, x.kw}, "i8"),
              out = tensor({x.n, x.o, h, w}, "ui8"), byte = "tensor<ui8>",
              biases = tensor({x.o}, "i32"), scales = tensor({x.o}, "f32"),
              terms = tensor({x.n, 1, h, w}, "i32");
  bool hasRows = random.oneOf(2);
  return "func.func @main(%x: " + in + ", %p: " + byte + ", %b: " + biases +
         ", %r: " + terms + ", %s: " + scales + ", %z: " + byte + ") -> " +
         out + " {\n%w = nn.constant dense<3> : " + weights +
         "\n%y = nn.qconv %x, %w padding %p bias %b" +
         (hasRows ? " rows %r" : "") + " scale %s out_zero %z strides " +
         pair(x.strideH, x.strideW) + " dilations " +
         pair(x.dilationH, x.dilationW) + " pads " + pair(x.top, x.left) +
         ", " + pair(x.bottom, x.right) +
         " {groups = " + std::to_string(x.groups) + " : i64} : " + in + ", " +
         weights + " padding " + byte + " bias " + biases +
         (hasRows ? " rows " + terms : "") + " scale " + scales + " out_zero " +
         byte + " -> " + out + "\nreturn %y : " + out + "\n}";
}

} // namespace

TEST(Cells, QuantizedConv) {
  Random random(10);
  std::vector<std::string> targets = testTargets();
  targets.insert(targets.end(), {"x86-64-v4+vnni", "x86-64-v4+amx"});
  if (isTier("full") && emulatesArm())
    targets.insert(targets.end(), {"aarch64+dotprod", "aarch64+i8mm"});
  for (llvm::StringRef routine :
       {"qconv.direct.nChw16c", "qconv.direct.nChw16c.p4", "qconv.gemm.nChw16c",
        "qconv.first.nChw16c"})
    for (int i = 0; i < randomLayers();) {
      int64_t most = routine.contains("first") ? 4 : 50;
      ConvCase x = randomConv(random, random.from(1, most), random.from(1, 80));
      if (routine.contains("gemm")) {
        x.kh = x.kw = x.strideH = x.strideW = 1;
        x.top = x.left = x.bottom = x.right = 0;
      }
      std::string text = quantizedConv(x, random);
      if (!hasCells(text, routine))
        continue;
      ++i;
      checkInCells(text, routine, randomCells(random), random, 1, targets);
      if (HasFailure())
        return;
    }
}

namespace {

/// A tensor's type in some layout, "" for the dense one.
std::string tensorType(llvm::ArrayRef<int64_t> shape,
                       const std::string &layout) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + "f32" +
         (layout.empty() ? "" : ", #nn.layout<\"" + layout + "\">") + ">";
}

/// A layer with two operands of type `in`.
std::string elementLayer(const std::string &in, const std::string &out,
                         const std::string &layer) {
  return "func.func @main(%x: " + in + ", %y: " + in + ") -> " + out +
         " {\n%z = " + layer + " -> " + out + "\nreturn %z : " + out + "\n}";
}

/// Layers of an image of `c` channels, which is even, with the dimensions of
/// their results that are the plane.
struct ElementCase {
  std::string text;
  unsigned rowDim = 2, colDim = 3;
};
std::vector<ElementCase> elementCases(int64_t n, int64_t c, int64_t h,
                                      int64_t w, const std::string &from,
                                      const std::string &to) {
  std::string in = tensorType({n, c, h, w}, from),
              out = tensorType({n, c, h, w}, to),
              same = tensorType({n, c, h, w}, from),
              whole = tensorType({n, 2 * c, h, w}, from),
              halves = tensorType({n, 2, c, h, w}, ""),
              shuffled = tensorType({n, c, 2, h, w}, ""),
              wide = tensorType({n, c, 2 * h, 2 * w}, from),
              sums = tensorType({n, 1, h, w}, ""),
              half = tensorType({n, c / 2, h, w}, to),
              last = tensorType({n, h, w, c}, "");
  auto scales = [](const char *mode) {
    return "nn.resize " + std::string(mode) +
           " %x scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest "
           "floor : ";
  };
  std::vector<ElementCase> cases = {
      {elementLayer(in, same, "nn.binary add %x, %y : " + in + ", " + in)},
      {elementLayer(in, same, "nn.unary %x <sigmoid> : " + in)},
      {elementLayer(in, whole, "nn.concat %x, %y axis 1 : " + in + ", " + in)},
      {elementLayer(in, wide, scales("nearest") + in)},
      {elementLayer(in, wide, scales("linear") + in)},
      {elementLayer(in, sums,
                    "nn.reduce mean %x axes [1] keep_dims true : " + in)},
      {elementLayer(in, half,
                    "nn.slice %x starts [0, " + std::to_string(c / 2) +
                        ", 0, 0] sizes [" + std::to_string(n) + ", " +
                        std::to_string(c / 2) + ", " + std::to_string(h) +
                        ", " + std::to_string(w) +
                        "] steps [1, 1, 1, 1] : " + in)},
      {elementLayer(in, last, "nn.transpose %x [0, 2, 3, 1] : " + in), 1, 2}};
  if (from != to)
    cases.push_back({elementLayer(in, out, "nn.adapt %x : " + in)});
  cases.push_back(
      {"func.func @main(%x: " + in + ", %y: " + in + ") -> " + shuffled +
           " {\n%z = nn.fuse (%a = %x, %b = %y) : (" + in + ", " + in +
           ") -> " + shuffled + " {\n%1 = nn.concat %a, %b axis 1 : " + in +
           ", " + in + " -> " + whole + "\n%2 = nn.reshape %1 : " + whole +
           " -> " + halves + "\n%3 = nn.transpose %2 [0, 2, 1, 3, 4] : " +
           halves + " -> " + shuffled + "\nnn.yield %3 : " + shuffled +
           "\n}\nreturn %z : " + shuffled + "\n}",
       3, 4});
  return cases;
}

} // namespace

/// A tile has whole vectors of a row, or of rows where these are one axis.
TEST(Cells, Element) {
  Random random(11);
  const char *layouts[] = {"", "aBcd16b"};
  for (int round = 0; round < randomLayers(); ++round)
    for (const char *from : layouts)
      for (const char *to : layouts) {
        int64_t h = random.from(16, 40), w = random.from(16, 40);
        for (const ElementCase &x : elementCases(
                 random.from(1, 2), 2 * random.from(1, 20), h, w, from, to))
          for (const std::string &target : testTargets()) {
            Cells cells = randomCells(random);
            cells.rowDim = x.rowDim, cells.colDim = x.colDim;
            SCOPED_TRACE(target + " " + std::to_string(cells.rows) + "x" +
                         std::to_string(cells.cols) + ": " + x.text);
            std::string error;
            auto dense = LayerKernel::compile(x.text, target, error, "element");
            ASSERT_TRUE(dense) << error;
            auto inCells =
                LayerKernel::compile(x.text, target, error, "element", cells);
            ASSERT_TRUE(inCells) << error;
            // A vector has 16 pixels at most.
            EXPECT_GE(inCells->info().tiles *
                          int64_t(llvm::alignTo(cells.rows, 16) *
                                  llvm::alignTo(cells.cols, 16)),
                      h * w);
            if (inCells->canRun())
              checkBits(*dense, *inCells,
                        !llvm::StringRef(target).starts_with("aarch64"),
                        random);
            if (HasFailure())
              return;
          }
      }
}

/// Few pixels, and channels in place of a plane.
TEST(Cells, NoneOfElements) {
  auto cellsOf = [](const std::string &text, unsigned rowDim, unsigned colDim) {
    std::string error;
    auto kernel =
        LayerKernel::compile(text, testTargets()[0], error, "element");
    EXPECT_TRUE(kernel) << error;
    return kernel->routine()
        .cellsAlong(kernel->layer(), rowDim, colDim)
        .has_value();
  };
  auto sum = [](int64_t h, int64_t w) {
    return elementCases(1, 32, h, w, "aBcd16b", "aBcd16b")[0].text;
  };
  EXPECT_FALSE(cellsOf(sum(15, 17), 2, 3));
  EXPECT_TRUE(cellsOf(sum(16, 16), 2, 3));
  EXPECT_FALSE(cellsOf(sum(40, 40), 1, 2));
}

/// Where columns lie side by side in memory a tile has long pieces of few rows.
TEST(Cells, SizesOfElements) {
  auto is = [](const char *layout, int64_t size, int64_t rows, int64_t cols) {
    std::string error;
    auto kernel = LayerKernel::compile(
        elementCases(1, 32, size, size, layout, layout)[0].text,
        testTargets()[0], error, "element");
    EXPECT_TRUE(kernel) << error;
    Cells cells = kernel->routine().cellsAlong(kernel->layer(), 2, 3).value();
    return cells.rows == rows && cells.cols == cols;
  };
  EXPECT_TRUE(is("", 20, 2, 20));
  EXPECT_TRUE(is("", 40, 2, 40));
  EXPECT_TRUE(is("", 80, 2, 40));
  EXPECT_TRUE(is("", 96, 2, 32));
  EXPECT_TRUE(is("aBcd16b", 40, 4, 8));
}

/// A cell that is much work is cut into chunks of panels.
TEST(Cells, ChunksOfPanels) {
  Random random(5);
  ConvCase x;
  x.c = 256, x.o = 200, x.h = 18, x.w = 19, x.kh = x.kw = 3;
  x.top = x.left = x.bottom = x.right = 1;
  std::string error;
  auto kernel = LayerKernel::compile(x.text(), testTargets()[0], error,
                                     "conv.direct.nChw16c", Cells{9, 10});
  ASSERT_TRUE(kernel) << error;
  EXPECT_GT(kernel->info().tiles, 4);
  checkInCells(x.text(), "conv.direct.nChw16c", {9, 10}, random);
}

/// The padding's products are left out by one kernel of these, so that it has
/// no cells.
TEST(Cells, NoneOfRegions) {
  ConvCase x;
  x.c = x.o = 32, x.h = x.w = 20, x.kh = x.kw = 3;
  x.dilationH = x.dilationW = 12;
  x.top = x.left = x.bottom = x.right = 12;
  EXPECT_FALSE(hasCells(x.text(), "conv.direct.nChw16c"));
  ASSERT_TRUE(hasCells(x.text(), "conv.im2col.nChw16c"));
  Random random(6);
  checkInCells(x.text(), "conv.im2col.nChw16c", {4, 8}, random);
}

namespace {

/// The kernel, in cells of that size where there is one, before it is lowered.
mlir::OwningOpRef<mlir::ModuleOp>
emitModule(const LayerKernel &kernel, llvm::StringRef target,
           const std::optional<Cells> &cells) {
  mlir::Operation *layer = kernel.layer();
  codegen::KernelBuilder builder(*layer->getContext(),
                                 *codegen::Target::byName(target));
  builder.use(kernel.routine().extension(layer));
  if (cells)
    kernel.routine().emitCells(builder, layer, "kernel", *cells);
  else
    kernel.routine().emit(builder, layer, "kernel");
  return builder.module;
}

/// The text of each micro-kernel that a layer in cells has, by name.
std::map<std::string, std::string> microKernels(const std::string &text,
                                                llvm::StringRef routine,
                                                llvm::StringRef target,
                                                const Cells &cells) {
  std::string error;
  auto kernel = LayerKernel::compile(text, target, error, routine, cells);
  EXPECT_TRUE(kernel) << error;
  mlir::OwningOpRef<mlir::ModuleOp> module = emitModule(*kernel, target, cells);
  std::map<std::string, std::string> result;
  for (auto function : module->getOps<mlir::func::FuncOp>())
    if (!function.getName().ends_with(codegen::kernelBodySuffix))
      llvm::raw_string_ostream(result[function.getName().str()]) << function;
  return result;
}

} // namespace

/// Layers of other planes and other numbers of channels take no more code.
TEST(Cells, LayersShareMicroKernels) {
  struct Case {
    const char *routine;
    int64_t window, groups, channels, otherChannels;
  };
  for (const char *target : {"x86-64-v4", "x86-64-v3", "aarch64"})
    for (Case c : {Case{"conv.gemm.nChw16c", 1, 1, 64, 88},
                   Case{"conv.direct.nChw16c", 3, 1, 64, 120},
                   Case{"conv.depthwise.nChw16c", 3, 32, 32, 32}}) {
      SCOPED_TRACE(std::string(target) + " " + c.routine);
      auto of = [&](int64_t channels, int64_t plane) {
        ConvCase x;
        x.c = channels, x.o = c.groups > 1 ? channels : 64, x.groups = c.groups;
        x.h = x.w = plane, x.kh = x.kw = c.window;
        x.top = x.left = x.bottom = x.right = c.window / 2;
        x.constant = true;
        return microKernels(x.text(), c.routine, target, {8, 8});
      };
      EXPECT_TRUE(of(c.channels, 40) == of(c.otherChannels, 80));
    }
}

/// A cell fetches the old results that it writes over; other kernels, whose
/// results follow each other in memory, do not.
TEST(Cells, FetchOldResults) {
  ConvCase x;
  x.c = x.o = 32, x.h = x.w = 20, x.kh = x.kw = 3;
  x.top = x.left = x.bottom = x.right = 1;
  ConvCase gemm = x, depthwise = x;
  gemm.kh = gemm.kw = 1;
  gemm.top = gemm.left = gemm.bottom = gemm.right = 0;
  depthwise.groups = 32;
  PoolCase pool;
  pool.c = 32, pool.h = pool.w = 20, pool.k = 3, pool.stride = 1;
  std::pair<const char *, std::string> layers[] = {
      {"conv.direct.nChw16c", x.text()},
      {"conv.gemm.nChw16c", gemm.text()},
      {"conv.depthwise.nChw16c", depthwise.text()},
      {"pool.nChw16c", pool.text()},
      {"element", elementCases(1, 32, 20, 20, "aBcd16b", "aBcd16b")[0].text}};
  for (const std::string &target : testTargets())
    for (const auto &[routine, text] : layers) {
      SCOPED_TRACE(target + " " + routine);
      std::string error;
      auto kernel = LayerKernel::compile(text, target, error, routine);
      ASSERT_TRUE(kernel) << error;
      auto fetches = [&](const std::optional<Cells> &cells) {
        int64_t count = 0;
        emitModule(*kernel, target, cells)
            ->walk(
                [&](mlir::memref::PrefetchOp op) { count += op.getIsWrite(); });
        return count;
      };
      EXPECT_GT(fetches(Cells{4, 8}), 0);
      EXPECT_EQ(fetches(std::nullopt), 0);
    }
}

/// They compute channels of a partial panel in micro-kernels of their own,
/// whose names are compared with those of earlier layers.
TEST(Cells, PartialPanelsOfBytes) {
  for (int64_t outputs : {20, 24}) {
    ConvCase x;
    x.c = 32, x.o = outputs, x.h = 8, x.w = 16, x.kh = x.kw = 1;
    Random same(11);
    checkInCells(quantizedConv(x, same), "qconv.gemm.nChw16c", {4, 7}, same);
  }
}
