//===- PanelKernelTest.cpp - Tiles that registers hold --------------------===//

#include "KernelTest.h"
#include "Reference.h"

#include "compiler/codegen/cpu/routines/PanelKernel.h"
#include "gtest/gtest.h"

#include <map>
#include <sstream>

using namespace nnv12;
using namespace nnv12::test;
using codegen::Target;
using codegen::TileCosts;

/// A square convolution as the routine compiles it for the target.
static std::string assembly(const Target &target, llvm::StringRef routine,
                            int64_t inputs, int64_t outputs, int64_t height,
                            int64_t width, int64_t kernel = 1) {
  ConvCase x;
  x.c = inputs, x.o = outputs, x.h = height, x.w = width;
  x.kh = x.kw = kernel;
  x.top = x.left = x.bottom = x.right = kernel / 2;
  x.constant = true;
  return LayerKernel::assembly(x.text(), target, routine);
}

/// Accesses to the stack between a label of a micro-kernel and a branch back.
static int stackAccesses(const std::string &assembly) {
  std::istringstream lines(assembly);
  std::map<std::string, int> before; // label -> accesses before it
  bool isPanel = false;
  int accesses = 0, result = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty())
      continue;
    std::string label = line.substr(0, line.find(':'));
    if (line[0] != '\t') {
      if (line[0] != '.')
        isPanel = label.rfind("panel_", 0) == 0;
      before[label] = accesses;
    }
    accesses += isPanel && line.find("[sp") != line.npos;
    if (isPanel && line.rfind("\tb.", 0) == 0)
      if (auto start = before.find(line.substr(line.rfind('\t') + 1));
          start != before.end())
        result += accesses - start->second;
  }
  return result;
}

/// The target with this tile alone, and smaller ones at edges.
static Target with(const TileCosts &only) {
  Target target = *Target::byName("aarch64");
  target.tileCosts = &only;
  return target;
}

TEST(PanelKernel, NoTileOfTheTableTouchesTheStackInALoop) {
  Target target = *Target::byName("aarch64");
  for (int64_t panels = 1; panels <= TileCosts::mostPanels; ++panels) {
    EXPECT_GE(target.tileCosts->maxPositions(panels), 1); // matmul.panels64
    for (int64_t positions = 1;
         positions <= target.tileCosts->maxPositions(panels); ++positions) {
      TileCosts only = {};
      for (auto &row : only.costs)
        std::fill_n(row, positions, 1e9);
      only.costs[panels - 1][positions - 1] = 1;
      std::string tile =
          std::to_string(positions) + "x" + std::to_string(panels);
      // Panels that are near, and far from each other.
      for (int64_t channels : {32, 1024}) {
        std::string text = assembly(with(only), "conv.gemm.nChw16c", channels,
                                    32 * panels, positions, 4);
        EXPECT_NE(text.find("panel_" + std::to_string(positions) + "x1x" +
                            std::to_string(panels)),
                  text.npos)
            << tile;
        EXPECT_EQ(stackAccesses(text), 0) << tile << ", " << channels;
      }
      EXPECT_EQ(stackAccesses(assembly(with(only), "conv.direct.nChw16c", 64,
                                       32 * panels, 2, 2 * positions, 3)),
                0)
          << tile << " of a window";
    }
  }
}

/// Where the table has none, no tile is taken.
TEST(PanelKernel, TilesFollowTheTable) {
  Target target = *Target::byName("aarch64");
  ASSERT_NE(target.tileCosts, nullptr);
  EXPECT_EQ(codegen::maxPositions(target, 1), 6);
  EXPECT_EQ(codegen::maxPositions(target, TileCosts::mostPanels + 1), 0);
  EXPECT_EQ(codegen::tileCost(target, 2, 1), target.tileCosts->costs[0][1]);
  auto tiles = [&](llvm::StringRef routine) {
    std::string text = assembly(target, routine, 64, 256, 7, 7), found;
    for (size_t at = text.find("\npanel_"); at != text.npos;
         at = text.find("\npanel_", at + 1))
      found += text.substr(at + 7, text.find("_k1x1", at) - at - 7) + " ";
    return found;
  };
  EXPECT_EQ(tiles("conv.gemm.nChw16c"), "5x1x1 4x1x1 ");
  EXPECT_EQ(tiles("conv.gemm.nChw16c.p1"), "5x1x1 4x1x1 ");
  EXPECT_EQ(tiles("conv.gemm.nChw16c.p4"), "3x1x2 1x1x2 ");
}

/// A formula says how registers of x86-64 are shared: four panels are four.
TEST(PanelKernel, X86HasAFormula) {
  Target target = *Target::byName("x86-64-v4");
  EXPECT_EQ(target.tileCosts, nullptr);
  EXPECT_EQ(codegen::maxPositions(target, 1), 29);
  EXPECT_EQ(codegen::maxPositions(target, 4), 6);
  EXPECT_NE(assembly(target, "conv.gemm.nChw16c.p4", 64, 256, 12, 1)
                .find("panel_6x1x4_"),
            std::string::npos);
}
