//===- SplitCandidatesTest.cpp - Where layers can be cut in two -----------===//
//
// Small nets are planned for a CPU and a GPU. The parts of layers that the
// search knows are compared with the layers, position by position.
//
//===----------------------------------------------------------------------===//

#include "compiler/plan/SplitCandidates.h"
#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/plan/ModelPlan.h"
#include "compiler/routines/Cut.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Pipelines.h"
#include "test/unit/compiler/verify/NetText.h"
#include "tools/nnv12c/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using search::Reach;

namespace {

class SplitCandidates : public testing::Test {
protected:
  SplitCandidates() : context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
  }

  void plan(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    PassManager passes(module.get()->getName());
    buildSimplifyPipeline(passes);
    buildLayoutPipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    auto main = module->lookupSymbol<func::FuncOp>("main");
    codegen::Target target = *codegen::Target::byName("x86-64-v4");
    auto profile = std::make_shared<device::DeviceProfile>(
        device::builtinProfile(target.architecture, target.name));
    profile->big.count = 4;
    profile->gpu = device::builtinGpuProfile();
    PlanOptions options;
    options.threads = 4;
    options.gpu = codegen::GpuTarget::everything().name;
    options.split = Split::Force;
    auto made = planModel(main, {target, profile, true}, options);
    ASSERT_TRUE(succeeded(made));
    planned.emplace(std::move(*made));
    ASSERT_TRUE(planned->overlay);
  }

  const search::Problem &problem() const { return planned->problem; }
  mlir::Operation *op(uint32_t layer) const {
    return planned->layers[layer].layer.op;
  }
  /// An adapt has the name of what it is for.
  uint32_t layer(StringRef name) const {
    for (uint32_t i = 0; i < planned->layers.size(); ++i)
      if (StringRef(planned->layers[i].layer.name).contains(name) &&
          !isa<nn::AdaptOp>(op(i)))
        return i;
    ADD_FAILURE() << "no layer " << name.str();
    return 0;
  }
  /// The part of operand number `operand` that the layer needs along `dim`.
  const Reach &reach(StringRef name, unsigned operand, unsigned dim) const {
    uint32_t reader = layer(name);
    for (const auto &[read, reach] : reaches())
      if (read.layer == reader && read.operand == operand && reach->dim == dim)
        return *reach;
    ADD_FAILURE() << "no reach of " << name.str();
    return problem().tensors[0].reaches[0];
  }
  static std::array<int64_t, 4> windowOf(const Reach &reach) {
    EXPECT_EQ(reach.kind, Reach::Kind::Window);
    return {reach.num, reach.den, reach.low, reach.high};
  }
  /// All of them, with their operands.
  std::vector<std::pair<TensorRead, const Reach *>> reaches() const {
    std::vector<std::pair<TensorRead, const Reach *>> all;
    std::vector<size_t> next(problem().tensors.size());
    for (const TensorRead &read : planned->overlay->candidates.reads) {
      const std::vector<Reach> &list = problem().tensors[read.tensor].reaches;
      for (size_t &i = next[read.tensor];
           i < list.size() && list[i].reader == read.layer; ++i) {
        bool isNext = i && list[i - 1].reader == read.layer &&
                      list[i].dim <= list[i - 1].dim && !all.empty() &&
                      all.back().first.operand == read.operand;
        if (isNext)
          break;
        all.push_back({read, &list[i]});
      }
    }
    return all;
  }
  /// Constants of which parts along `dim` need all, as they are read.
  double bytesOfAllParts(uint32_t layer, unsigned dim) const {
    const PlannedLayer &of = planned->layers[layer];
    double bytes = 0;
    for (unsigned i = 0; dim != 1 && i < op(layer)->getNumOperands(); ++i) {
      Value operand = op(layer)->getOperand(i);
      auto form = of.candidates[of.later].routine->weightForm(op(layer));
      if (operand.getDefiningOp<nn::ConstantOp>())
        bytes += form && of.layer.mainOperand == i ? form->bytes
                                                   : nn::storageSize(operand);
    }
    return bytes;
  }
  void checkReaches();
  void checkBacks();
  void checkFronts();
  void checkAll(const std::string &text) {
    plan(text);
    if (HasFatalFailure())
      return;
    checkReaches();
    checkBacks();
    checkFronts();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<ModelPlan> planned;
};

int64_t floorOf(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// The window has all positions that each position of a result needs.
void SplitCandidates::checkReaches() {
  for (const auto &[read, reach] : reaches()) {
    SCOPED_TRACE(planned->layers[read.layer].layer.name + " " +
                 dimName(reach->dim).str());
    OpOperand &operand = op(read.layer)->getOpOperand(read.operand);
    EXPECT_EQ(reach->extent, nn::typeOf(read.value).getDimSize(reach->dim));
    if (reach->kind == Reach::Kind::All)
      continue;
    ArrayRef<int64_t> shape =
        nn::typeOf(op(read.layer)->getResult(0)).getShape();
    for (int64_t i = 0; i < shape[reach->dim]; ++i) {
      nn::Box part = nn::Box::whole(shape);
      part.lo[reach->dim] = i;
      part.hi[reach->dim] = i + 1;
      nn::Box needed = nn::neededPart(operand, part);
      EXPECT_GE(needed.lo[reach->dim],
                floorOf(i * reach->num + reach->low, reach->den));
      EXPECT_LE(needed.hi[reach->dim],
                floorOf(i * reach->num + reach->high, reach->den) + 1);
    }
  }
}

/// A back takes all tiles behind its start, and all of the layer its time.
void SplitCandidates::checkBacks() {
  for (auto [i, layer] : llvm::enumerate(problem().layers))
    for (const search::Back &back : layer.backs) {
      const PlannedLayer &planned = this->planned->layers[i];
      SCOPED_TRACE(planned.layer.name + " " + dimName(back.dim).str());
      const Routine *routine = planned.candidates[planned.later].routine;
      auto grid =
          codegen::partGrid(planned.layer.op, codegen::CpuRoutine::of(*routine),
                            back.dim, *codegen::Target::byName("x86-64-v4"));
      ASSERT_TRUE(grid);
      EXPECT_EQ(back.extent,
                nn::typeOf(op(i)->getResult(0)).getDimSize(back.dim));
      EXPECT_EQ(back.whole, layer.candidates[1].execute);
      ASSERT_EQ(back.starts.size(), grid->starts.size());
      ASSERT_EQ(back.times.size(), grid->starts.size());
      device::LayerPart part;
      part.whole = back.whole;
      part.wholeTiles = double(grid->tiles);
      // No layer of the net has padded rows.
      double stored =
          back.dim == 1 ? llvm::alignTo(back.extent, 16) : back.extent;
      part.weightBytes = bytesOfAllParts(i, back.dim);
      for (size_t s = 0; s < back.starts.size(); ++s) {
        EXPECT_EQ(back.starts[s], grid->starts[s]);
        EXPECT_LT(back.starts[s], back.extent);
        part.share = 1 - back.starts[s] / stored;
        part.ranges.clear();
        for (TileRange range : grid->ranges[s])
          part.ranges.push_back(double(range.end - range.begin));
        EXPECT_DOUBLE_EQ(back.times[s],
                         device::partCost(*this->planned->device.profile,
                                          routine->name().str(), part, 4));
      }
    }
}

/// The last front is the whole layer, and takes its time.
void SplitCandidates::checkFronts() {
  for (auto [i, layer] : llvm::enumerate(problem().layers)) {
    const auto &ways = planned->overlay->candidates.layers[i];
    for (auto [way, costs] : llvm::zip(ways, layer.inStretch))
      for (const search::Front &front : costs.fronts) {
        SCOPED_TRACE(planned->layers[i].layer.name + " " +
                     dimName(front.dim).str() + " " + costs.routine);
        auto extent =
            uint32_t(nn::typeOf(op(i)->getResult(0)).getDimSize(front.dim));
        EXPECT_EQ(front.unit, way.routine->cutUnit(op(i), front.dim));
        ASSERT_EQ(front.ends.size(), front.times.size());
        EXPECT_EQ(front.ends.back(), extent);
        EXPECT_EQ(front.times.back(), costs.execute);
        EXPECT_LE(front.ends.size(), 32u);
        for (size_t e = 0; e + 1 < front.ends.size(); ++e) {
          EXPECT_LT(front.ends[e], front.ends[e + 1]);
          EXPECT_EQ(front.ends[e] % front.unit, 0u);
          EXPECT_GT(front.times[e], 0);
          EXPECT_LE(front.times[e], front.times.back());
        }
        EXPECT_TRUE(llvm::any_of(layer.backs, [&](const search::Back &back) {
          return back.dim == front.dim;
        })) << "a front without a back";
      }
  }
}

std::string windows(int64_t batch) {
  NetText net(batch, 32, 33);
  NetText::Picture a = net.conv("strided", net.input, 32, 5, /*stride=*/2);
  NetText::Picture b = net.conv("depth", a, 32, 3, 1, /*groups=*/32);
  NetText::Picture c = net.pool("pool", net.conv("flat", b, 64, 1));
  return net.text({net.conv("last", c, 64, 3)});
}

TEST_F(SplitCandidates, Windows) {
  checkAll(windows(2));
  ASSERT_FALSE(HasFatalFailure());
  using Window = std::array<int64_t, 4>;
  // Rows 2i - 2 to 2i + 2, as far as there are such.
  const Reach &strided = reach("strided", 0, 2);
  ASSERT_EQ(strided.kind, Reach::Kind::Window);
  for (int64_t i = 0; i < 17; ++i) {
    auto of = [&](int64_t add) {
      return std::clamp<int64_t>(floorOf(i * strided.num + add, strided.den), 0,
                                 32);
    };
    EXPECT_EQ(of(strided.low), std::max<int64_t>(2 * i - 2, 0));
    EXPECT_EQ(of(strided.high), std::min<int64_t>(2 * i + 2, 32));
  }
  EXPECT_EQ(windowOf(reach("strided", 0, 0)), (Window{1, 1, 0, 0}));
  EXPECT_EQ(reach("strided", 0, 1).kind, Reach::Kind::All) << "a sum over them";
  EXPECT_EQ(windowOf(reach("depth", 0, 2)), (Window{1, 1, -1, 1}));
  EXPECT_EQ(windowOf(reach("depth", 0, 1)), (Window{1, 1, 0, 0}));
  EXPECT_EQ(windowOf(reach("flat", 0, 2)), (Window{1, 1, 0, 0}));
  EXPECT_EQ(windowOf(reach("pool", 0, 2)), (Window{1, 1, -1, 1}));
  EXPECT_EQ(windowOf(reach("pool", 0, 1)), (Window{1, 1, 0, 0}));
  // GPUs compute the first channels of one picture.
  for (bool isOne : {false, true}) {
    if (isOne)
      checkAll(windows(1));
    ASSERT_FALSE(HasFatalFailure());
    for (StringRef name : {"strided", "depth", "flat", "pool", "last"}) {
      const search::Layer &l = problem().layers[layer(name)];
      std::set<unsigned> backs, fronts;
      for (const search::Back &back : l.backs)
        backs.insert(back.dim);
      for (const search::Front &front : l.inStretch[0].fronts)
        fronts.insert(front.dim);
      EXPECT_EQ(backs, isOne ? std::set<unsigned>({1, 2})
                             : std::set<unsigned>({0, 1, 2}))
          << name.str();
      EXPECT_EQ(fronts,
                isOne ? std::set<unsigned>({1, 2}) : std::set<unsigned>({0, 2}))
          << name.str();
    }
  }
}

TEST_F(SplitCandidates, Residuals) {
  NetText net(1, 32, 24);
  NetText::Picture a = net.conv("first", net.input, 32, 3);
  checkAll(net.text({net.add("sum", net.conv("second", a, 32, 3), a)}));
  ASSERT_FALSE(HasFatalFailure());
  // The sum is a part of the convolution, which reads one tensor twice.
  uint32_t second = layer("second");
  unsigned windows = 0, same = 0;
  for (const auto &[read, reach] : reaches())
    if (read.layer == second && reach->dim == 2) {
      windows += reach->low == -1 && reach->high == 1;
      same += reach->low == 0 && reach->high == 0;
    }
  EXPECT_EQ(windows, 1u);
  EXPECT_EQ(same, 1u);
}

TEST_F(SplitCandidates, Concatenations) {
  NetText net(1, 32, 24);
  NetText::Picture a = net.conv("left", net.input, 32, 3);
  NetText::Picture b = net.conv("right", net.input, 64, 3);
  checkAll(net.text({net.conv("reader", net.concat("join", a, b), 32, 3)}));
  ASSERT_FALSE(HasFatalFailure());
  uint32_t reader = layer("reader");
  unsigned windows = 0;
  for (const auto &[read, reach] : reaches()) {
    if (read.layer != reader)
      continue;
    EXPECT_TRUE(problem().tensors[read.tensor].isShared);
    EXPECT_EQ(nn::typeOf(read.value).getDimSize(1),
              read.value == op(layer("left"))->getResult(0) ? 32 : 64);
    if (reach->dim == 1) {
      EXPECT_EQ(reach->kind, Reach::Kind::All);
    } else if (reach->dim == 2) {
      EXPECT_EQ(windowOf(*reach), (std::array<int64_t, 4>{1, 1, -1, 1}));
    }
    windows += reach->dim == 2;
  }
  EXPECT_EQ(windows, 2u) << "of both tensors that it is made of";
  for (StringRef name : {"left", "right"})
    for (const search::Tensor &tensor : problem().tensors)
      EXPECT_EQ(tensor.producer == layer(name) && !tensor.isShared, false);
}

TEST_F(SplitCandidates, OtherShapesAreAll) {
  plan(R"(
    func.func @main(%x: tensor<4x32x8x8xf32>) -> tensor<4x64xf32> {
      %m = nn.constant dense<0.03> : tensor<2048x64xf32> -> tensor<2048x64xf32>
      %0 = nn.softmax %x axis 3 : tensor<4x32x8x8xf32> -> tensor<4x32x8x8xf32> loc("soft")
      %1 = nn.reshape %0 : tensor<4x32x8x8xf32> -> tensor<4x2048xf32>
      %2 = nn.matmul %1, %m : tensor<4x2048xf32>, tensor<2048x64xf32> -> tensor<4x64xf32> loc("product")
      return %2 : tensor<4x64xf32>
    })");
  ASSERT_FALSE(HasFatalFailure());
  checkReaches();
  unsigned found = 0;
  for (const auto &[read, reach] : reaches())
    if (read.layer == layer("product")) {
      EXPECT_EQ(reach->kind, Reach::Kind::All);
      EXPECT_LT(reach->dim, 2u);
      ++found;
    }
  EXPECT_EQ(found, 2u);
}

TEST_F(SplitCandidates, RowsThatNeedNothingAreAll) {
  // The lower half of the result needs nothing of the upper operand.
  plan(R"(
    func.func @main(%x: tensor<1x32x16x16xf32>, %y: tensor<1x32x16x16xf32>) -> tensor<1x32x32x16xf32> {
      %0 = nn.unary %x <exp> : tensor<1x32x16x16xf32> -> tensor<1x32x16x16xf32> loc("upper")
      %1 = nn.concat %x, %y axis 2 : tensor<1x32x16x16xf32>, tensor<1x32x16x16xf32> -> tensor<1x32x32x16xf32> loc("join")
      %2 = nn.unary %1 <exp> : tensor<1x32x32x16xf32> -> tensor<1x32x32x16xf32> loc("exp")
      return %2 : tensor<1x32x32x16xf32>
    })");
  ASSERT_FALSE(HasFatalFailure());
  checkReaches();
  unsigned all = 0;
  for (const auto &[read, reach] : reaches())
    all += reach->dim == 2 && reach->kind == Reach::Kind::All;
  EXPECT_EQ(all, 2u);
}

} // namespace
