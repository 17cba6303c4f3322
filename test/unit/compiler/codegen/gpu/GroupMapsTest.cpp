//===- GroupMapsTest.cpp - The boxes that groups of dispatches compute ----===//
//
// Grids against brute force, the check of groups on kernels that keep to their
// boxes and such that do not, and which steps of routines have maps. That each
// map is true, all tests of layers on a GPU check by ShaderRunner::run().
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/GroupCheck.h"
#include "test/unit/compiler/codegen/LayerShader.h"
#include "test/unit/compiler/codegen/Reference.h"

#include "compiler/codegen/gpu/routines/FlatGrid.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::codegen;
using Axes = std::vector<TileMap::Axis>;

namespace {

/// By element, the group whose box it is in; -1 for none, -2 for several.
std::vector<int64_t> ownersOf(const TileMap &map) {
  std::vector<int64_t> owners(map.whole().elements(), -1);
  for (int64_t g = 0; g < map.tiles(); ++g)
    map.forPieces(map.boxOf(g), [&](int64_t first, int64_t count) {
      for (int64_t i = first; i < first + count; ++i)
        owners[i] = owners[i] == -1 ? g : -2;
      return true;
    });
  return owners;
}

} // namespace

TEST(GroupMaps, GroupsCountAlongXThenYThenZ) {
  for (int64_t z : {1, 3})
    for (int64_t y : {1, 4, 5})
      for (int64_t x : {1, 7, 64, 65})
        for (int64_t takenY : {1, 2, 16})
          for (int64_t takenX : {1, 4, 64}) {
            constexpr int64_t inner = 2;
            GpuDispatch dispatch =
                GpuDispatch::over(TileMap::grid({{z, y * x * inner},
                                                 {y, x * inner},
                                                 {x, inner},
                                                 {inner, 1}}),
                                  {takenX, takenY, 1});
            auto [groupsX, groupsY, groupsZ] = dispatch.groups;
            ASSERT_EQ(int64_t(groupsX), (x + takenX - 1) / takenX);
            ASSERT_EQ(int64_t(groupsY), (y + takenY - 1) / takenY);
            ASSERT_EQ(int64_t(groupsZ), z);
            ASSERT_EQ(dispatch.maps.size(), 1u);
            std::vector<int64_t> expected;
            for (int64_t i = 0; i < z; ++i)
              for (int64_t j = 0; j < y; ++j)
                for (int64_t p = 0; p < x; ++p)
                  expected.insert(expected.end(), inner,
                                  (i * groupsY + j / takenY) * groupsX +
                                      p / takenX);
            EXPECT_EQ(ownersOf(dispatch.maps[0]), expected);
          }
}

TEST(GroupMaps, FlatGridsAreRowsOfElements) {
  for (int64_t elements : {1, 63, 64, 65, 1000})
    for (int64_t taken : {1, 64, 256}) {
      GpuDispatch dispatch = FlatGrid::over(elements, taken);
      ASSERT_EQ(dispatch.maps.size(), 1u);
      std::vector<int64_t> owners = ownersOf(dispatch.maps[0]);
      ASSERT_EQ(int64_t(owners.size()), elements);
      for (int64_t i = 0; i < elements; ++i)
        EXPECT_EQ(owners[i], i / taken);
    }
  EXPECT_TRUE(FlatGrid::over(0).maps.empty());
}

// A grid that is folded has a map if all of its groups have something to do.
TEST(GroupMaps, FoldedGrids) {
  constexpr int64_t row = GpuTarget::maxGroups;
  GpuDispatch full = FlatGrid::over(2 * row, 1);
  EXPECT_EQ(full.groups, (std::array<uint32_t, 3>{row, 2, 1}));
  ASSERT_EQ(full.maps.size(), 1u);
  EXPECT_EQ(full.maps[0].boxOf(row).lo[0], row);
  GpuDispatch partial = FlatGrid::over(row + 1, 1);
  EXPECT_EQ(partial.groups, full.groups);
  EXPECT_TRUE(partial.maps.empty());
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t groups = 4, perGroup = 8, elements = groups * perGroup;

/// Runs a kernel that gives elements of 16 bits, of which group g has
/// [8 g, 8 g + 8), with the map.
std::string checkSample(
    const TileMap &map,
    llvm::function_ref<void(llvm::MutableArrayRef<int16_t>, int64_t)> kernel) {
  GpuDispatch dispatch;
  dispatch.groups = {2, 2, 1};
  dispatch.maps = {map};
  std::vector<char> memory(elements * 2);
  llvm::MutableArrayRef<int16_t> out(reinterpret_cast<int16_t *>(memory.data()),
                                     elements);
  return checkGroups(dispatch, {memory}, [&](int64_t first, int64_t end) {
    for (int64_t g = first; g < end; ++g)
      kernel(out, g);
    return std::string();
  });
}
std::string checkSample(
    llvm::function_ref<void(llvm::MutableArrayRef<int16_t>, int64_t)> kernel) {
  return checkSample(TileMap::grid({{elements, 1}}, {{0, groups, perGroup}}),
                     kernel);
}
void fill(llvm::MutableArrayRef<int16_t> out, int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i)
    out[i] = int16_t(3 * i);
}
void good(llvm::MutableArrayRef<int16_t> out, int64_t g) {
  fill(out, g * perGroup, (g + 1) * perGroup);
}

} // namespace

TEST(GroupCheck, AcceptsGroupsThatKeepToTheirBoxes) {
  EXPECT_EQ(checkSample(good), "");
}

TEST(GroupCheck, FindsWrongMaps) {
  // Another number of groups, or of elements.
  EXPECT_EQ(checkSample(TileMap::grid({{elements, 1}}, {{0, 2, 16}}), good),
            "found a map of 2 groups, expected 4");
  EXPECT_EQ(checkSample(TileMap::grid({{33, 1}}, {{0, 4, 9}}), good),
            "found a map of 33 elements, expected 64 bytes");
  // Rows for columns.
  EXPECT_NE(
      checkSample(TileMap::grid({{perGroup, groups}, {groups, 1}}, {{1, 4, 1}}),
                  good),
      "");
  // A box for another's.
  TileMap turned =
      TileMap::grid({{2, 16}, {2, 8}, {8, 1}}, {{1, 2, 1}, {0, 2, 1}});
  EXPECT_NE(checkSample(turned, good), "");
  // Boxes that share elements, or leave some out.
  TileMap map = TileMap::grid({{elements, 1}}, {{0, groups, perGroup}});
  map.parts[0].box.hi[0] -= 1;
  EXPECT_EQ(checkSample(map, good), "byte 62: found in 0 boxes, expected 1");
  map = TileMap::grid({{2, 0}, {16, 1}}, {{0, 2, 1}, {1, 2, 8}});
  EXPECT_NE(checkSample(map, good).find("is in another box"),
            std::string::npos);
}

TEST(GroupCheck, FindsWritesBesideTheBox) {
  // The right number in the next box; a number in no box.
  EXPECT_NE(checkSample([](llvm::MutableArrayRef<int16_t> out, int64_t g) {
              fill(out, g * perGroup,
                   std::min((g + 1) * perGroup + 1, elements));
            }).find("was written by another group"),
            std::string::npos);
  TileMap front = TileMap::grid({{elements, 1}});
  front.parts[0].box.hi[0] = 16;
  front.shareOut({0}, 4);
  EXPECT_EQ(
      checkSample(front, [](llvm::MutableArrayRef<int16_t> out,
                            int64_t g) { fill(out, g * 4, (g + 1) * 4); }),
      "");
  EXPECT_EQ(checkSample(front,
                        [](llvm::MutableArrayRef<int16_t> out, int64_t g) {
                          fill(out, g * 4, (g + 1) * 4);
                          fill(out, 20, 21);
                        }),
            "byte 40: found in 0 boxes, expected 1");
}

TEST(GroupCheck, FindsHoles) {
  EXPECT_EQ(checkSample([](llvm::MutableArrayRef<int16_t> out, int64_t g) {
              fill(out, g * perGroup, (g + 1) * perGroup - (g == 2));
            }),
            "byte 46: found in 1 boxes, expected 0");
}

TEST(GroupCheck, FindsGroupsThatReadOthers) {
  EXPECT_NE(checkSample([](llvm::MutableArrayRef<int16_t> out, int64_t g) {
              good(out, g);
              if (g && out[0] == 0)
                out[g * perGroup] = 7;
            }),
            "");
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

namespace {

/// By step of the layer's routine, whether it has maps.
std::string mapped(const std::string &text, llvm::StringRef name) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  const Routine *named = gpuRoutines().named(name);
  if (!module || !named)
    return "no layer or no routine";
  mlir::Operation *layer = findLayer(*module);
  const GpuRoutine &routine = GpuRoutine::of(*named);
  if (std::string reason = routine.refusal(layer, GpuTarget::everything());
      !reason.empty())
    return reason;
  setLayouts(routine, layer);
  std::string result;
  for (const GpuStep &step : routine.steps(layer).steps)
    result += step.maps.empty() ? '0' : '1';
  return result;
}

} // namespace

TEST(GroupMaps, Convolutions) {
  ConvCase x;
  x.n = 2, x.c = 40, x.o = 33, x.h = 9, x.w = 13;
  for (const char *flat : {"gpu.conv.gemm.16x4", "gpu.conv.direct.16x4",
                           "gpu.conv.shared.32x32", "gpu.conv.shared.64x64"})
    EXPECT_EQ(mapped(x.text(), flat), "1") << flat;
  ConvCase window = x;
  window.kh = window.kw = 3, window.top = window.left = 1;
  window.c = 48, window.constant = true;
  EXPECT_EQ(mapped(window.text(), "gpu.conv.direct.16x4"), "1");
  EXPECT_EQ(mapped(window.text(), "gpu.conv.winograd4.32x32"), "111");
  ConvCase first = window;
  first.c = 3;
  EXPECT_EQ(mapped(first.text(), "gpu.conv.first"), "1");
  ConvCase depthwise = window;
  depthwise.groups = depthwise.c = depthwise.o = 40;
  EXPECT_EQ(mapped(depthwise.text(), "gpu.conv.depthwise"), "1");
  ConvCase few = window;
  few.o = 3;
  EXPECT_EQ(mapped(few.text(), "gpu.conv.few"), "1");
  ConvCase split;
  split.c = 144, split.o = 40, split.h = split.w = 5;
  EXPECT_EQ(mapped(split.text(), "gpu.conv.split.32x32"), "11");
  EXPECT_EQ(mapped(PoolCase().text(), "gpu.pool"), "1");
}

// The pixels of a phase of strides are no box.
TEST(GroupMaps, TransposedConvolutions) {
  ConvCase x;
  x.transpose = true, x.c = 20, x.o = 33, x.kh = x.kw = 3;
  EXPECT_EQ(mapped(x.text(), "gpu.conv_transpose.16x4"), "1");
  x.strideH = x.strideW = 2;
  EXPECT_EQ(mapped(x.text(), "gpu.conv_transpose.16x4"), "0");
  x.o = 2;
  EXPECT_EQ(mapped(x.text(), "gpu.conv_transpose.few"), "0");
  x.strideH = x.strideW = 1;
  EXPECT_EQ(mapped(x.text(), "gpu.conv_transpose.few"), "1");
}

TEST(GroupMaps, Products) {
  MatMulCase x;
  x.m = 3, x.n = 50, x.constant = true;
  for (const char *routine :
       {"gpu.matmul.panels.1x16", "gpu.matmul.panels.64x64",
        "gpu.matmul.dense.1x16", "gpu.matmul.dense.64x64"})
    EXPECT_EQ(mapped(x.text(), routine), "1") << routine;
  // Panels that are bound in parts.
  x.m = 2, x.k = 2047, x.n = 16500;
  EXPECT_EQ(mapped(x.text(), "gpu.matmul.panels.1x16"), "11");
}

TEST(GroupMaps, ElementsAndConcatenations) {
  std::string type = "tensor<3x100xf32>";
  std::string relu = layerText("nn.unary %0 <relu>", {type}, type);
  EXPECT_EQ(mapped(relu, "gpu.element"), "1");
  EXPECT_EQ(mapped(relu, "gpu.map"), "1");
  // Behind each other; whole runs a group; runs that groups cut; groups that
  // end in the middle of a run.
  auto concat = [](const std::string &outer, int64_t a, int64_t b) {
    auto tensor = [&](int64_t size) {
      return "tensor<" + outer + "x" + std::to_string(size) + "xf32>";
    };
    return mapped(layerText("nn.concat %0, %1 axis 1", {tensor(a), tensor(b)},
                            tensor(a + b)),
                  "gpu.concat");
  };
  EXPECT_EQ(concat("1", 100, 300), "11");
  EXPECT_EQ(concat("7", 64, 512), "11");
  EXPECT_EQ(concat("7", 100, 300), "00");
}

TEST(GroupMaps, Rows) {
  auto unary = [](const std::string &layer, const std::string &in,
                  const std::string &out, const char *routine) {
    return mapped(layerText(layer, {in}, out), routine);
  };
  std::string type = "tensor<3x70x9xf32>";
  EXPECT_EQ(unary("nn.softmax %0 axis 2", type, type, "gpu.row"), "1");
  EXPECT_EQ(unary("nn.softmax %0 axis 0", type, type, "gpu.row"), "1");
  // Groups of 64 rows, of which 9 lie side by side.
  std::string many = "tensor<8x70x9xf32>";
  EXPECT_EQ(unary("nn.softmax %0 axis 1", many, many, "gpu.row"), "0");
  // A part of neighbours, several times all of them, all rows.
  for (const std::string &fits : {std::string("tensor<3x5x128xf32>"),
                                  std::string("tensor<5x3x32xf32>"), type})
    EXPECT_EQ(unary("nn.softmax %0 axis 1", fits, fits, "gpu.row"), "1");
  for (std::string axis : {"0", "1", "2"}) {
    std::string out = axis == "0"   ? "tensor<70x9x"
                      : axis == "1" ? "tensor<3x9x"
                                    : "tensor<3x70x";
    EXPECT_EQ(unary("nn.reduce mean %0 axes [" + axis + "] keep_dims false",
                    type, out + "f32>", "gpu.row"),
              "1");
    EXPECT_EQ(unary("nn.arg_reduce max %0 axis " + axis +
                        " keep_dims false select_last false",
                    type, out + "i64>", "gpu.arg_reduce"),
              "1");
  }
}
