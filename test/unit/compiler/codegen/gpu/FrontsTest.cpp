//===- FrontsTest.cpp - Steps that compute the front of a layer -----------===//
//
// By all routines, at every place where they can be cut: a front has the same
// bits as the whole layer, writes nothing behind, and reads nothing that its
// operands do not name as touched. ShaderRunner::run() checks the boxes of
// their groups.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/CheckLayer.h"

#include "compiler/codegen/gpu/GpuKernelTable.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"

#include <algorithm>
#include <map>
#include <set>

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::codegen;

namespace {

/// Calls body(index) for each index in the box.
void forBox(const nn::Box &box,
            llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body) {
  if (box.isEmpty())
    return;
  llvm::SmallVector<int64_t> index(box.lo);
  for (;;) {
    body(index);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == box.hi[d - 1]) {
      --d;
      index[d] = box.lo[d];
    }
    if (d == 0)
      return;
  }
}

nn::Box frontBox(mlir::Operation *layer, Cut cut) {
  nn::Box box = nn::Box::whole(nn::typeOf(layer->getResult(0)).getShape());
  box.hi[cut.dim] = cut.at;
  return box;
}

/// Where a routine has been cut, by dimension.
using Places = std::map<unsigned, std::vector<int64_t>>;

class Fronts : public testing::Test {
protected:
  static constexpr unsigned batch = 0, channels = 1, rows = 2;

  void SetUp() override {
    if (!ShaderRunner::instance().isAvailable())
      GTEST_SKIP() << "SKIPPED: " << ShaderRunner::instance().reason();
    if (isTier("quick"))
      GTEST_SKIP() << "SKIPPED: software that acts as a GPU takes its time";
  }

  /// Checks all fronts of the layer by its routines whose names begin so; the
  /// first and last ones along each dimension with tensors in f16, too. Returns
  /// where each routine was cut.
  static std::map<std::string, Places> check(const std::string &text,
                                             llvm::StringRef prefix = "") {
    std::map<std::string, Places> result;
    for (const std::string &routine : gpuRoutinesOf(text)) {
      if (!llvm::StringRef(routine).starts_with(prefix))
        continue;
      SCOPED_TRACE(routine + ": " + text);
      std::string error;
      auto plain = LayerShader::compile(text, error, routine);
      EXPECT_TRUE(plain) << error;
      if (!plain)
        continue;
      result[routine] = checkAll(*plain, /*isHalf=*/false);
      mlir::Operation *layer = plain->layer();
      HalfTensors half;
      auto form = plain->routine().weightForm(layer);
      auto isHalf = [](mlir::Value v) {
        return nn::typeOf(v).getElementType().isF32();
      };
      if (isHalf(layer->getResult(0)))
        half.add(HalfTensors::result(0));
      for (unsigned i = 0; i < layer->getNumOperands(); ++i)
        if (isHalf(layer->getOperand(i)) && !(form && form->operand == i))
          half.add(HalfTensors::operand(layer, i));
      SCOPED_TRACE("in f16");
      auto halves =
          LayerShader::compile(text, error, routine, "vulkan1.1+all", half);
      EXPECT_TRUE(halves) << error;
      if (halves)
        checkAll(*halves, /*isHalf=*/true);
    }
    return result;
  }

private:
  /// By memory of the results and operands, which bytes the steps touch.
  static std::vector<std::vector<bool>>
  touchedBy(const GpuSteps &steps, const LayerShader &shader,
            const std::vector<Bytes> &memories) {
    mlir::Operation *layer = shader.layer();
    size_t tensors = layer->getNumResults() + layer->getNumOperands();
    std::vector<std::vector<bool>> touched;
    std::vector<int64_t> shrink;
    for (size_t i = 0; i < tensors; ++i) {
      touched.push_back(std::vector<bool>(memories[i].size()));
      mlir::Value v = i < layer->getNumResults()
                          ? mlir::Value(layer->getResult(i))
                          : layer->getOperand(i - layer->getNumResults());
      bool isHalf = nn::typeOf(v).getElementType().isF32() &&
                    int64_t(memories[i].size()) == nn::storageSize(v) / 2;
      shrink.push_back(isHalf ? 2 : 1);
    }
    for (const GpuStep &step : steps.steps)
      for (const GpuStepOperand &operand : step.operands) {
        size_t i = shader.memoryOf(operand);
        if (i >= tensors)
          continue;
        if (operand.size == 0) {
          touched[i].assign(touched[i].size(), true);
          continue;
        }
        for (int64_t piece = 0; piece < operand.pieces; ++piece) {
          int64_t first = operand.offset + piece * operand.distance;
          int64_t begin = first / shrink[i],
                  end = (first + operand.size) / shrink[i];
          EXPECT_LE(end, int64_t(touched[i].size()));
          std::fill(touched[i].begin() + begin, touched[i].begin() + end, true);
        }
      }
    return touched;
  }

  static Places checkAll(const LayerShader &shader, bool isHalf) {
    mlir::Operation *layer = shader.layer();
    const GpuRoutine &routine = shader.routine();
    std::vector<Bytes> operands;
    for (const Floats &operand : randomOperands(layer))
      operands.push_back(toBytes(operand));
    std::vector<Bytes> before = shader.memories(operands), whole = before;
    std::string error = shader.run(shader.steps(), whole);
    EXPECT_EQ(error, "");
    Places places;
    auto shape = nn::typeOf(layer->getResult(0)).getShape();
    for (unsigned dim = 0; dim < std::min<size_t>(shape.size(), numCutDims);
         ++dim) {
      checkWhole(layer, routine, dim);
      int64_t unit = routine.cutUnit(layer, dim);
      for (int64_t at = unit; unit && at < shape[dim]; at += unit) {
        SCOPED_TRACE(dimName(dim).str() + " " + std::to_string(at));
        if (isHalf && at != unit && at + unit < shape[dim])
          continue;
        checkFront(shader, {dim, at}, before, whole);
        if (!isHalf)
          checkWork(shader, {dim, at});
        places[dim].push_back(at);
        if (HasFailure())
          return places;
      }
    }
    return places;
  }

  static void checkFront(const LayerShader &shader, Cut cut,
                         const std::vector<Bytes> &before,
                         const std::vector<Bytes> &whole) {
    GpuSteps steps = shader.front(cut);
    auto touched = touchedBy(steps, shader, before);
    checkTouched(shader, cut, touched);
    std::vector<Bytes> memories = before;
    for (size_t i = 0; i < touched.size(); ++i)
      for (size_t b = 0; b < touched[i].size(); ++b)
        if (!touched[i][b])
          memories[i][b] = char(0xff);
    std::string error = shader.run(steps, memories);
    EXPECT_EQ(error, "");
    size_t wrong = 0, written = 0;
    for (size_t b = 0; b < touched[0].size(); ++b) {
      wrong += touched[0][b] && memories[0][b] != whole[0][b];
      written += !touched[0][b] && memories[0][b] != char(0xff);
    }
    EXPECT_EQ(wrong, 0u) << "bytes of the front that differ";
    EXPECT_EQ(written, 0u) << "bytes behind the front that were written";
  }

  /// A front is less work than the whole layer.
  static void checkWork(const LayerShader &shader, Cut cut) {
    GpuSteps steps = shader.front(cut);
    EXPECT_LT(shareOfFront(shader.layer(), cut), 1);
    double adds = 0, wholeAdds = 0, bytes = 0, wholeBytes = 0;
    for (const GpuStep &step : steps.steps)
      adds += step.grid.multiplyAdds, bytes += step.grid.bytes;
    for (const GpuStep &step : shader.steps().steps)
      wholeAdds += step.grid.multiplyAdds, wholeBytes += step.grid.bytes;
    EXPECT_LE(adds, wholeAdds);
    EXPECT_LE(bytes, wholeBytes);
    EXPECT_GT(bytes, 0);
  }

  /// The result's part is the front's box, those of operands hold neededPart().
  static void checkTouched(const LayerShader &shader, Cut cut,
                           const std::vector<std::vector<bool>> &touched) {
    mlir::Operation *layer = shader.layer();
    auto memoryOf = [&](mlir::Value v, size_t i) {
      nn::Layout layout = nn::Layout::of(nn::typeOf(v));
      int64_t bytes = int64_t(touched[i].size()) / layout.size();
      return [&touched, i, layout, bytes](llvm::ArrayRef<int64_t> index) {
        return bool(touched[i][layout.offset(index) * bytes]);
      };
    };
    nn::Box box = frontBox(layer, cut);
    size_t wrong = 0;
    auto isTouched = memoryOf(layer->getResult(0), 0);
    forBox(nn::Box::whole(box.hi),
           [&](auto index) { wrong += !isTouched(index); });
    nn::Box behind = nn::Box::whole(nn::typeOf(layer->getResult(0)).getShape());
    behind.lo[cut.dim] = cut.at;
    forBox(behind, [&](auto index) { wrong += isTouched(index); });
    EXPECT_EQ(wrong, 0u) << "elements of the result";
    auto form = shader.routine().weightForm(layer);
    for (mlir::OpOperand &operand : layer->getOpOperands()) {
      unsigned i = operand.getOperandNumber();
      if (form && form->operand == i)
        continue;
      size_t missing = 0;
      auto isTouched = memoryOf(operand.get(), layer->getNumResults() + i);
      forBox(nn::neededPart(operand, box),
             [&](auto index) { missing += !isTouched(index); });
      EXPECT_EQ(missing, 0u) << "elements of operand " << i;
      EXPECT_EQ(touchedBehind(operand, box, cut.dim, isTouched), 0u)
          << "elements of operand " << i << " that need not be there";
    }
  }

  /// How many elements of the operand are touched though they lie behind all
  /// that is needed along the dimension, and are not stored together with it.
  static size_t
  touchedBehind(mlir::OpOperand &operand, const nn::Box &box, unsigned dim,
                llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> isTouched) {
    mlir::RankedTensorType type = nn::typeOf(operand.get());
    nn::Box needed = nn::Box::none(type.getRank()),
            behind = nn::Box::whole(type.getShape());
    for (mlir::OpOperand &other : operand.getOwner()->getOpOperands())
      if (other.get() == operand.get())
        needed.include(nn::neededPart(other, box));
    if (needed.isEmpty() || dim >= type.getRank())
      return 0;
    behind.lo[dim] =
        llvm::alignTo(needed.hi[dim], positionsTogether(type, dim));
    size_t count = 0;
    forBox(behind, [&](auto index) { count += isTouched(index); });
    return count;
  }

  /// A front that is the whole result has the steps of the layer.
  static void checkWhole(mlir::Operation *layer, const GpuRoutine &routine,
                         unsigned dim) {
    GpuSteps steps = routine.steps(layer),
             front = routine.front(layer, {dim, cutExtent(layer, dim)});
    EXPECT_EQ(front.kernels, steps.kernels);
    EXPECT_EQ(front.temporaries, steps.temporaries);
    ASSERT_EQ(front.steps.size(), steps.steps.size());
    for (auto [a, b] : llvm::zip(front.steps, steps.steps)) {
      EXPECT_EQ(a.push, b.push);
      EXPECT_EQ(a.groups, b.groups);
      EXPECT_EQ(a.operands.size(), b.operands.size());
      for (auto [x, y] : llvm::zip(a.operands, b.operands))
        EXPECT_TRUE(x.size == y.size && x.offset == y.offset && x.pieces == 1 &&
                    y.pieces == 1);
    }
  }
};

std::vector<int64_t> upTo(int64_t end, int64_t unit = 1) {
  std::vector<int64_t> result;
  for (int64_t at = unit; at < end; at += unit)
    result.push_back(at);
  return result;
}

} // namespace

TEST_F(Fronts, Convolutions) {
  ConvCase x;
  x.c = 17, x.o = 40, x.h = 7, x.w = 7, x.constant = true;
  x.residual = true, x.activation = "relu";
  auto places = check(x.text()); // gemm, direct, shared
  for (const char *routine :
       {"gpu.conv.gemm.16x4", "gpu.conv.direct.16x4", "gpu.conv.shared.32x32",
        "gpu.conv.shared.64x64"}) {
    EXPECT_EQ(places[routine][rows], upTo(7)) << routine;
    EXPECT_EQ(places[routine][channels], upTo(40, 16)) << routine;
    EXPECT_TRUE(places[routine][batch].empty()) << routine;
  }
  x.n = 2, x.h = 13, x.w = 9, x.residual = false;
  places = check(x.text());
  EXPECT_EQ(places["gpu.conv.gemm.16x4"][batch], upTo(2));
  // Images would have channels at a distance.
  EXPECT_TRUE(places["gpu.conv.gemm.16x4"][channels].empty());
  x = ConvCase();
  x.c = 16, x.o = 64, x.h = x.w = 1, x.bias = false;
  check(x.text());
}

TEST_F(Fronts, Windows) {
  ConvCase x;
  x.c = 20, x.o = 33, x.h = 13, x.w = 9, x.kh = x.kw = 3, x.constant = true;
  x.top = x.left = x.bottom = x.right = 1;
  check(x.text());
  x.strideH = 2, x.strideW = 3, x.bottom = 0, x.top = 2;
  x.dilationH = 2;
  check(x.text());
  x = ConvCase();
  x.c = x.o = 64, x.groups = 2, x.h = x.w = 5, x.kh = 3, x.constant = true;
  auto places = check(x.text());
  EXPECT_EQ(places["gpu.conv.direct.16x4"][channels], upTo(64, 16));
  // First rows that are all of padding.
  x = ConvCase();
  x.c = 16, x.o = 16, x.h = 4, x.w = 4, x.kh = x.kw = 2, x.top = 4;
  check(x.text());
}

TEST_F(Fronts, FewChannels) {
  ConvCase x;
  x.c = 3, x.o = 17, x.h = 13, x.w = 9, x.kh = x.kw = 3, x.constant = true;
  x.strideH = x.strideW = 2, x.top = x.left = 1;
  EXPECT_EQ(check(x.text())["gpu.conv.first"][rows], upTo(6));
  x.n = 2, x.c = 40, x.o = 3, x.residual = true;
  auto places = check(x.text());
  EXPECT_EQ(places["gpu.conv.few"][rows], upTo(6));
  EXPECT_EQ(places["gpu.conv.few"][batch], upTo(2));
}

TEST_F(Fronts, Depthwise) {
  ConvCase x;
  x.c = x.o = x.groups = 40, x.h = 7, x.w = 9, x.kh = x.kw = 3;
  x.constant = true, x.top = x.left = x.bottom = x.right = 1;
  x.activation = "clip [0.0, 6.0]";
  auto places = check(x.text());
  EXPECT_EQ(places["gpu.conv.depthwise"][channels], upTo(40, 16));
  EXPECT_EQ(places["gpu.conv.depthwise"][rows], upTo(7));
}

TEST_F(Fronts, SumsInParts) {
  for (int64_t n : {1, 2}) {
    ConvCase x;
    x.n = n, x.c = 144, x.o = 40, x.h = 5, x.w = 7, x.residual = true;
    x.constant = true, x.residualActivation = "relu";
    auto places = check(x.text(), "gpu.conv.split");
    for (const char *routine : {"gpu.conv.split.32x32", "gpu.conv.split.64x64"})
      EXPECT_EQ(places[routine][rows], upTo(5)) << routine;
    x.kh = x.kw = 3, x.top = x.left = 1;
    check(x.text(), "gpu.conv.split");
  }
}

TEST_F(Fronts, Winograd) {
  for (int64_t n : {1, 2}) {
    ConvCase x;
    x.n = n, x.c = 32, x.o = 40, x.h = 13, x.w = 9, x.kh = x.kw = 3;
    x.top = x.left = x.bottom = x.right = 1, x.constant = true;
    x.residual = n == 1, x.activation = "relu";
    auto places = check(x.text(), "gpu.conv.winograd4");
    EXPECT_EQ(places["gpu.conv.winograd4.32x32"][rows], upTo(13, 4));
    if (n == 1)
      EXPECT_EQ(places["gpu.conv.winograd4.32x32"][channels], upTo(40, 16));
    else
      EXPECT_EQ(places["gpu.conv.winograd4.32x32"][batch], upTo(2));
  }
  ConvCase x;
  x.c = 32, x.o = 33, x.h = 30, x.w = 30, x.kh = x.kw = 3, x.constant = true;
  EXPECT_EQ(
      check(x.text(), "gpu.conv.winograd4")["gpu.conv.winograd4.64x64"][rows],
      upTo(28, 4));
}

TEST_F(Fronts, TransposedConvolutions) {
  ConvCase x;
  x.transpose = x.constant = true, x.c = 20, x.o = 33, x.h = 5, x.w = 3;
  x.kh = x.kw = 3, x.strideH = x.strideW = 2, x.top = 1, x.residual = true;
  auto places = check(x.text());
  EXPECT_EQ(places["gpu.conv_transpose.16x4"][rows], upTo(10));
  x.n = 2, x.o = 3;
  places = check(x.text());
  EXPECT_EQ(places["gpu.conv_transpose.few"][rows], upTo(10));
  x.strideH = x.strideW = 1;
  check(x.text());
}

TEST_F(Fronts, Pools) {
  for (bool isMax : {true, false})
    for (int64_t n : {1, 2}) {
      PoolCase x;
      x.n = n, x.c = 40, x.h = 13, x.w = 9, x.k = 3, x.low = x.high = 1;
      x.max = isMax, x.countPad = n == 1;
      EXPECT_EQ(check(x.text())["gpu.pool"][rows], upTo(7));
    }
}

TEST_F(Fronts, Products) {
  MatMulCase x;
  x.m = 3, x.n = 50, x.k = 37, x.constant = true, x.activation = "relu";
  auto places = check(x.text());
  for (const char *routine :
       {"gpu.matmul.panels.1x16", "gpu.matmul.panels.64x64",
        "gpu.matmul.dense.1x16", "gpu.matmul.dense.64x64"}) {
    EXPECT_EQ(places[routine][0], upTo(3)) << routine;
    EXPECT_EQ(places[routine][1], upTo(50, 16)) << routine;
  }
  x.constant = false, x.transposeLhs = true, x.residual = true;
  check(x.text());
  x.transposeLhs = false, x.transposeRhs = true, x.m = 20;
  check(x.text());
  // Matrices of a batch, with and without a right one of its own.
  x = MatMulCase();
  x.m = 5, x.n = 20, x.k = 9, x.lhsBatch = {3}, x.rhsBatch = {3};
  places = check(x.text());
  EXPECT_EQ(places["gpu.matmul.dense.1x16"][0], upTo(3));
  EXPECT_TRUE(places["gpu.matmul.dense.1x16"][1].empty());
  EXPECT_EQ(places["gpu.matmul.dense.1x16"][2], upTo(20, 16));
  x.rhsBatch = {};
  check(x.text());
  x.lhsBatch = {1, 4}, x.rhsBatch = {1, 4};
  places = check(x.text());
  EXPECT_EQ(places["gpu.matmul.dense.1x16"][1], upTo(4));
}

TEST_F(Fronts, Elements) {
  std::string flat = "tensor<5x36xf32>";
  auto places = check(layerText("nn.unary %0 <sigmoid>", {flat}, flat));
  EXPECT_EQ(places["gpu.map"][0], upTo(5));
  EXPECT_EQ(places["gpu.element"][0], upTo(5));
  for (auto [type, units, elements] :
       {std::tuple("tensor<1x3x6x10xf32>", 2, 0),
        std::tuple("tensor<1x48x5x3xf32, #nn.layout<\"aBcd16b\">>", 1, 0),
        std::tuple("tensor<1x16x5x3xf32, #nn.layout<\"aBcd16b\">>", 1, 1)}) {
    std::string t = type;
    places = check(layerText("nn.binary add %0, %1", {t, t}, t));
    EXPECT_EQ(places["gpu.map"][rows],
              upTo(t.find("x6x") == t.npos ? 5 : 6, units));
    EXPECT_EQ(places["gpu.element"][rows].empty(), elements == 0) << t;
  }
  // Each image has channels of its own.
  std::string two = "tensor<2x32x3x5xf32, #nn.layout<\"aBcd16b\">>";
  places = check(layerText("nn.unary %0 <relu>", {two}, two));
  EXPECT_EQ(places["gpu.map"][channels], upTo(32, 16));
  check(layerText("nn.transpose %0 [1, 0]", {flat}, "tensor<36x5xf32>"));
}

TEST_F(Fronts, Concatenations) {
  auto type = [](int64_t n, int64_t c, int64_t h) {
    return "tensor<" + std::to_string(n) + "x" + std::to_string(c) + "x" +
           std::to_string(h) + "x5xf32, #nn.layout<\"aBcd16b\">>";
  };
  auto places =
      check(layerText("nn.concat %0, %1 axis 1",
                      {type(1, 32, 3), type(1, 17, 3)}, type(1, 49, 3)));
  EXPECT_EQ(places["gpu.concat"][channels], upTo(49, 16));
  EXPECT_EQ(places["gpu.concat"][rows], upTo(3));
  places = check(layerText("nn.concat %0, %1 axis 1",
                           {type(3, 16, 3), type(3, 32, 3)}, type(3, 48, 3)));
  EXPECT_EQ(places["gpu.concat"][batch], upTo(3));
  EXPECT_TRUE(places["gpu.concat"][rows].empty());
  places = check(layerText("nn.concat %0, %1 axis 0",
                           {type(3, 32, 3), type(2, 32, 3)}, type(5, 32, 3)));
  EXPECT_EQ(places["gpu.concat"][batch], upTo(5));
  EXPECT_EQ(places["gpu.concat"][channels], upTo(32, 16));
  EXPECT_EQ(places["gpu.concat"][rows], upTo(3));
  places = check(layerText("nn.concat %0, %1 axis 2",
                           {type(1, 32, 3), type(1, 32, 4)}, type(1, 32, 7)));
  EXPECT_EQ(places["gpu.concat"][channels], upTo(32, 16));
  EXPECT_TRUE(places["gpu.concat"][rows].empty());
  std::string a = "tensor<1x3x4x5xf32>", b = "tensor<1x2x4x5xf32>",
              r = "tensor<1x5x4x5xf32>";
  places = check(layerText("nn.concat %0, %1 axis 1", {a, b}, r));
  EXPECT_EQ(places["gpu.concat"][rows], std::vector<int64_t>());
}

// A kernel reads a tensor by the last operand that is it, of which it would
// need less.
TEST_F(Fronts, OperandsThatAreOneTensor) {
  std::string a = "tensor<1x31x3x5xf32, #nn.layout<\"aBcd16b\">>";
  auto places = check(
      layerText("nn.concat %0, %0 axis 1", {a, a}, "tensor<1x62x3x5xf32>"));
  EXPECT_EQ(places["gpu.element"][channels], upTo(62));
}

// Along the other dimension less of the operand would be needed, but there is
// nothing behind the front of it.
TEST_F(Fronts, Slices) {
  auto places = check(layerText(
      "nn.slice %0 starts [0, 0, 0] sizes [1, 16, 16] steps [1, 1, 1]",
      {"tensor<1x16x48xf32>"}, "tensor<1x16x16xf32>"));
  EXPECT_EQ(places["gpu.element"][channels], upTo(16));
}

TEST_F(Fronts, Rows) {
  std::string type = "tensor<5x36xf32>", three = "tensor<3x20x9xf32>";
  for (const char *layer :
       {"nn.softmax %0 axis 1", "nn.normalize %0 axis 1 epsilon 1.0e-5"})
    EXPECT_EQ(check(layerText(layer, {type}, type))["gpu.row"][0], upTo(5));
  auto places = check(layerText("nn.softmax %0 axis 1", {three}, three));
  EXPECT_EQ(places["gpu.row"][0], upTo(3));
  std::string blocks = "tensor<1x48x3x3xf32, #nn.layout<\"aBcd16b\">>";
  places = check(layerText("nn.reduce mean %0 axes [2, 3] keep_dims false",
                           {blocks}, "tensor<1x48xf32>"));
  EXPECT_EQ(places["gpu.row"][channels], upTo(48, 16));
  places = check(layerText("nn.arg_reduce max %0 axis 1 keep_dims false "
                           "select_last false",
                           {three}, "tensor<3x9xi64>"));
  EXPECT_EQ(places["gpu.arg_reduce"][0], upTo(3));
}
