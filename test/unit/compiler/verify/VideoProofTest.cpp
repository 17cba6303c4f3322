//===- VideoProofTest.cpp - Good reuse is proven, faults are found --------===//
//
// Models get a part for video, which must be proven. Then it is changed as a
// fault of the emitter would change it, one fault at a time.
//
//===----------------------------------------------------------------------===//

#include "compiler/verify/VideoProof.h"

#include "compiler/layers/LayerName.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "test/unit/compiler/verify/PlannedModel.h"
#include "test/unit/compiler/verify/SmallModels.h"
#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using artifact::VideoCheck;
using artifact::VideoExecute;
using artifact::VideoInput;
using artifact::VideoPart;
using artifact::VideoRead;
using artifact::VideoReuse;
using artifact::VideoSet;
using artifact::VideoTiles;

namespace {

#define BLOCKED "tensor<1x16x20x24xf32, #nn.layout<\"aBcd16b\">>"
#define HALVED "tensor<1x16x10x12xf32, #nn.layout<\"aBcd16b\">>"
#define WEIGHTS "tensor<16x16x3x3xf32, #nn.layout<\"ABcd16b16a\">>"
#define POINT "tensor<16x16x1x1xf32, #nn.layout<\"ABcd16b16a\">>"
#define DENSE "tensor<1x16x20x24xf32>"

/// Inputs with channels first and last, and one without rows and columns.
/// Winograd takes over a convolution later. Slices and a concatenation have no
/// execute.
const char *layers = R"(
  func.func @main(%x: )" DENSE
                     R"(, %y: tensor<1x20x24x16xf32>, %s: tensor<1x16x1x1xf32>)
      -> (tensor<1x20x24x16xf32>, )" DENSE R"(, tensor<1x16x1x1xf32>) {
    %w0 = nn.constant dense<1.0> : tensor<16x16x3x3xf32> -> )" WEIGHTS R"(
    %w1 = nn.constant dense<2.0> : tensor<16x16x3x3xf32> -> )" WEIGHTS R"(
    %w2 = nn.constant dense<3.0> : tensor<16x16x1x1xf32> -> )" POINT R"(
    %in = nn.adapt %x : )" DENSE " -> " BLOCKED R"( loc("in")
    %0 = nn.conv %in, %w0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : )" BLOCKED ", " WEIGHTS " -> " BLOCKED R"( loc("conv")
    %1 = nn.conv %0, %w1 strides [2, 2] dilations [1, 2] pads [1, 2], [1, 2]
        : )" BLOCKED ", " WEIGHTS " -> " HALVED R"( loc("halve")
    %2 = nn.resize nearest %1 scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest round_prefer_floor
        : )" HALVED " -> " BLOCKED R"( loc("double")
    %3 = nn.conv %0, %w2 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
        : )" BLOCKED ", " POINT " -> " BLOCKED R"( loc("point")
    %4 = nn.binary add %2, %3 : )" BLOCKED ", " BLOCKED " -> " BLOCKED
                     R"( loc("sum")
    %out = nn.adapt %4 : )" BLOCKED " -> " DENSE R"( loc("out")
    %gate = nn.unary %s <sigmoid> : tensor<1x16x1x1xf32> -> tensor<1x16x1x1xf32> loc("gate")
    %5 = nn.binary mul %out, %gate : )" DENSE ", tensor<1x16x1x1xf32> -> " DENSE
                     R"( loc("scale")
    %part = nn.slice %5 starts [0, 4, 0, 0] sizes [1, 8, 20, 24] steps [1, 1, 1, 1]
        : )" DENSE R"( -> tensor<1x8x20x24xf32> loc("part")
    %left = nn.unary %part <exp> : tensor<1x8x20x24xf32> -> tensor<1x8x20x24xf32> loc("left")
    %half = nn.slice %x starts [0, 0, 0, 0] sizes [1, 8, 20, 24] steps [1, 1, 1, 1]
        : )" DENSE R"( -> tensor<1x8x20x24xf32> loc("half")
    %right = nn.unary %half <tanh> : tensor<1x8x20x24xf32> -> tensor<1x8x20x24xf32> loc("right")
    %joined = nn.concat %left, %right axis 1
        : tensor<1x8x20x24xf32>, tensor<1x8x20x24xf32> -> )" DENSE
                     R"( loc("joined")
    %6 = nn.softmax %joined axis 1 : )" DENSE " -> " DENSE R"( loc("soft")
    %last = nn.transpose %6 [0, 2, 3, 1] : )" DENSE
                     R"( -> tensor<1x20x24x16xf32> loc("last")
    %7 = nn.transpose %y [0, 3, 1, 2] : tensor<1x20x24x16xf32> -> )" DENSE
                     R"( loc("first")
    %pool = nn.pool max %7 kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : )" DENSE " -> " DENSE R"( loc("pool")
    %8 = nn.binary add %pool, %5 : )" DENSE ", " DENSE " -> " DENSE
                     R"( loc("both")
    %mean = nn.reduce mean %8 axes [2, 3] keep_dims true : )" DENSE
                     R"( -> tensor<1x16x1x1xf32> loc("mean")
    return %last, %8, %mean : tensor<1x20x24x16xf32>, )" DENSE
                     R"(, tensor<1x16x1x1xf32>
  }
  plan.program "x86-64-v3" threads(1) {
    %r1 = plan.read 1 operand(1) storage(packed)
    %r2 = plan.read 2 operand(1) storage(packed)
    %r4 = plan.read 4 operand(1) storage(packed)
    %t1 = plan.transform 1 form("winograd4") routine("conv.winograd4.nChw16c") after(%r1)
    %e0 = plan.execute 0 routine("element")
    %e1 = plan.execute 1 routine("conv.direct.nChw16c") after(%r1)
    plan.switch 1 routine("conv.winograd4.nChw16c") after(%t1)
    %e2 = plan.execute 2 routine("conv.direct.nChw16c") after(%r2)
    %e3 = plan.execute 3 routine("element")
    %e4 = plan.execute 4 routine("conv.gemm.nChw16c") after(%r4)
    %e5 = plan.execute 5 routine("element")
    %e6 = plan.execute 6 routine("element")
    %e7 = plan.execute 7 routine("element")
    %e8 = plan.execute 8 routine("element")
    %e9 = plan.execute 9 routine("element")
    %e10 = plan.execute 10 routine("element")
    %e11 = plan.execute 11 routine("softmax")
    %e12 = plan.execute 12 routine("element")
    %e13 = plan.execute 13 routine("element")
    %e14 = plan.execute 14 routine("element")
    %e15 = plan.execute 15 routine("element")
    %e16 = plan.execute 16 routine("element")
    plan.lane execute on any queue(%r1, %r2, %r4, %e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7, %e8, %e9, %e10, %e11, %e12, %e13, %e14, %e15, %e16)
    plan.lane prepare on any queue() background(%t1)
  }
)";

class VideoProof : public testing::Test {
public:
  VideoProof() : context(MLIRContext::Threading::DISABLED) {}

  void plan(const std::string &text) {
    PlanOptions options;
    options.threads = 1;
    options.mode = Mode::Continuous;
    // Faults are looked for in a plan that every machine makes.
    model = std::make_unique<PlannedModel>(context, text, options,
                                           /*alternatives=*/false, "x86-64-v3");
    ASSERT_EQ(model->error, "");
    add(VideoReuse::Bounded);
    add(VideoReuse::Exact);
  }

  void add(VideoReuse reuse, size_t tail = ~size_t(0)) {
    ASSERT_EQ(model->addVideo(reuse, tail), "");
    program = model->program;
    if (reuse == VideoReuse::Bounded) {
      video().tolerance = 1;
      video().inputTolerance = 0.05F;
      video().refresh = ~0U;
    }
    EXPECT_EQ(model->prove(program), "");
  }

  artifact::ProgramVideo &video() { return *program.video; }

  /// The number of the set of an input or a layer, which is called so.
  uint32_t setOf(StringRef name) {
    unsigned input = 0;
    if (name.consume_front("input ") && !name.getAsInteger(10, input))
      return input;
    uint32_t number = model->main.getNumArguments();
    for (Operation &op : model->main.getBody().front()) {
      if (!op.getNumResults() || isa<nn::ConstantOp>(op))
        continue;
      if (firstName(op.getLoc()) == name)
        return number;
      ++number;
    }
    ADD_FAILURE() << "no layer " << name.str();
    return 0;
  }
  VideoSet &set(StringRef name) { return video().sets[setOf(name)]; }
  VideoRead &read(StringRef name, StringRef of) {
    for (VideoRead &read : set(name).reads)
      if (read.set == setOf(of))
        return read;
    ADD_FAILURE() << name.str() << " does not read " << of.str();
    return set(name).reads[0];
  }
  size_t numberOf(StringRef name) {
    for (auto [i, layer] : llvm::enumerate(model->layers))
      if (firstName(layer->getLoc()) == name)
        return i;
    ADD_FAILURE() << "no execute of " << name.str();
    return 0;
  }
  VideoExecute &execute(StringRef name) {
    return video().executes[numberOf(name)];
  }
  VideoCheck &check(StringRef name) { return *execute(name).check; }
  VideoCheck &onlyCheck() {
    VideoCheck *found = nullptr;
    for (VideoExecute &execute : video().executes)
      if (execute.check) {
        EXPECT_EQ(found, nullptr);
        found = &*execute.check;
      }
    return *found;
  }
  /// The execute whose layer has such results.
  VideoExecute &executeWhere(llvm::function_ref<bool(ValueRange)> isIt) {
    for (auto [layer, execute] : llvm::zip(model->layers, video().executes))
      if (isIt(layer->getResults()))
        return execute;
    ADD_FAILURE() << "no such layer";
    return video().executes[0];
  }
  /// Results come first.
  uint64_t &place(StringRef name, unsigned operand) {
    return execute(name).places[operand];
  }

  MLIRContext context;
  std::unique_ptr<PlannedModel> model;
  artifact::Program program;
};

//===----------------------------------------------------------------------===//
// Good models
//===----------------------------------------------------------------------===//

TEST_F(VideoProof, EveryForm) { plan(everyForm); }

TEST_F(VideoProof, SwitchSlicesAndConcatenation) {
  plan(layers);
  // The faults below change these.
  EXPECT_EQ(program.switches.size(), 1u);
  EXPECT_EQ(execute("conv").part.tiles, VideoTiles::Rows);
  EXPECT_EQ(execute("point").part.tiles, VideoTiles::Cells);
  EXPECT_EQ(video().switches[0].tiles, VideoTiles::Cells);
  EXPECT_EQ(read("conv", "in").rows.low, -4) << "windows of Winograd";
  EXPECT_EQ(read("halve", "conv").rows.num, 2u);
  EXPECT_EQ(read("double", "halve").rows.den, 2u);
  EXPECT_TRUE(read("scale", "gate").all);
  EXPECT_EQ(place("left", 1), place("scale", 0) + 4 * 480 * 4) << "a slice";
  EXPECT_EQ(place("right", 0), place("left", 0) + 8 * 480 * 4) << "in place";
}

TEST_F(VideoProof, ChannelShuffleAndSqueeze) {
  plan(R"(
  func.func @main(%x: tensor<1x20x24x8xf32>) -> (tensor<1x40x48x8xf32>, tensor<1x480xf32>) {
    %w = nn.constant dense<0.5> : tensor<8x8x3x3xf32> -> tensor<8x8x3x3xf32>
    %v = nn.constant dense<0.25> : tensor<8x8x1x1xf32> -> tensor<8x8x1x1xf32>
    %0 = nn.transpose %x [0, 3, 1, 2] : tensor<1x20x24x8xf32> -> tensor<1x8x20x24xf32>
    %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x8x20x24xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x20x24xf32>
    %2 = nn.reshape %1 : tensor<1x8x20x24xf32> -> tensor<1x2x4x20x24xf32>
    %3 = nn.transpose %2 [0, 2, 1, 3, 4] : tensor<1x2x4x20x24xf32> -> tensor<1x4x2x20x24xf32>
    %4 = nn.reshape %3 : tensor<1x4x2x20x24xf32> -> tensor<1x8x20x24xf32>
    %5 = nn.reduce mean %4 axes [2, 3] keep_dims true : tensor<1x8x20x24xf32> -> tensor<1x8x1x1xf32>
    %6 = nn.conv %5, %v strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
        : tensor<1x8x1x1xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x1x1xf32>
    %7 = nn.unary %6 <sigmoid> : tensor<1x8x1x1xf32> -> tensor<1x8x1x1xf32>
    %8 = nn.binary mul %4, %7 : tensor<1x8x20x24xf32>, tensor<1x8x1x1xf32> -> tensor<1x8x20x24xf32>
    %9 = nn.resize linear %8 scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest floor
        : tensor<1x8x20x24xf32> -> tensor<1x8x40x48xf32>
    %10 = nn.transpose %9 [0, 2, 3, 1] : tensor<1x8x40x48xf32> -> tensor<1x40x48x8xf32>
    %11 = nn.reduce max %8 axes [1] keep_dims false : tensor<1x8x20x24xf32> -> tensor<1x20x24xf32>
    %12 = nn.reshape %11 : tensor<1x20x24xf32> -> tensor<1x480xf32>
    return %10, %12 : tensor<1x40x48x8xf32>, tensor<1x480xf32>
  })");
}

TEST_F(VideoProof, SeveralImages) {
  plan(R"(
  func.func @main(%x: tensor<2x4x15x17xf32>, %y: tensor<2x4x7x8xf32>) -> (tensor<2x4x7x8xf32>, tensor<2x4x7x8xf32>) {
    %0 = nn.pool max %x kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0]
        : tensor<2x4x15x17xf32> -> tensor<2x4x7x8xf32>
    %1 = nn.binary add %0, %y : tensor<2x4x7x8xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x7x8xf32>
    %2 = nn.binary mul %1, %1 : tensor<2x4x7x8xf32>, tensor<2x4x7x8xf32> -> tensor<2x4x7x8xf32>
    return %1, %2 : tensor<2x4x7x8xf32>, tensor<2x4x7x8xf32>
  })");
}

/// Outputs that no layer computes, or that are parts of others.
TEST_F(VideoProof, OutputsOfAllKinds) {
  plan(R"(
  func.func @main(%x: tensor<1x4x15x17xf32>) -> (tensor<1x4x7x8xf32>, tensor<1x4x15x17xf32>,
      tensor<2x2xf32>, tensor<4x255xf32>, tensor<1x2x7x8xf32>, tensor<1x4x56xf32>) {
    %c = nn.constant dense<0.5> : tensor<2x2xf32> -> tensor<2x2xf32>
    %0 = nn.pool max %x kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0]
        : tensor<1x4x15x17xf32> -> tensor<1x4x7x8xf32>
    %1 = nn.reshape %x : tensor<1x4x15x17xf32> -> tensor<4x255xf32>
    %2 = nn.slice %0 starts [0, 1, 0, 0] sizes [1, 2, 7, 8] steps [1, 1, 1, 1]
        : tensor<1x4x7x8xf32> -> tensor<1x2x7x8xf32>
    %3 = nn.reshape %0 : tensor<1x4x7x8xf32> -> tensor<1x4x56xf32>
    return %0, %x, %c, %1, %2, %3 : tensor<1x4x7x8xf32>, tensor<1x4x15x17xf32>,
        tensor<2x2xf32>, tensor<4x255xf32>, tensor<1x2x7x8xf32>, tensor<1x4x56xf32>
  })");
}

/// Images and rows are the pixels' elements, at no equal distances.
TEST_F(VideoProof, PixelsFarApart) {
  plan(R"(
  func.func @main(%x: tensor<2x3x20x31xf32>) -> tensor<2x20x31x3xf32> {
    %0 = nn.transpose %x [0, 2, 3, 1] : tensor<2x3x20x31xf32> -> tensor<2x20x31x3xf32>
    %1 = nn.pool max %0 kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<2x20x31x3xf32> -> tensor<2x20x31x3xf32>
    return %1 : tensor<2x20x31x3xf32>
  })");
  EXPECT_EQ(video().sets[0].rows, 1u);
  EXPECT_EQ(video().inputs[0].pixels.piece, 2u * 3 * 20 * 31 * 4);
}

/// Results that share a set of one pixel, whatever their planes are.
const char *severalResults = R"(
  func.func @main(%x: tensor<1x8x20x24xf32>) -> (tensor<1x3x20x24xf32>, tensor<1x3x20x24xi64>) {
    %0 = nn.pool max %x kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x8x20x24xf32> -> tensor<1x8x20x24xf32>
    %1, %2 = nn.topk %0 k 3 axis 1 largest true
        : tensor<1x8x20x24xf32> -> tensor<1x3x20x24xf32>, tensor<1x3x20x24xi64>
    %3 = nn.unary %1 <exp> : tensor<1x3x20x24xf32> -> tensor<1x3x20x24xf32>
    return %3, %2 : tensor<1x3x20x24xf32>, tensor<1x3x20x24xi64>
  })";

TEST_F(VideoProof, SeveralResults) { plan(severalResults); }

/// The tail may begin anywhere.
TEST_F(VideoProof, Tails) {
  for (const char *text : {layers, everyForm, severalResults}) {
    plan(text);
    size_t count = video().executes.size();
    for (size_t tail = 0; tail <= count; ++tail)
      for (VideoReuse reuse : {VideoReuse::Exact, VideoReuse::Bounded}) {
        SCOPED_TRACE(tail);
        add(reuse, tail);
        EXPECT_EQ(video().executes.size(), count);
      }
  }
}

/// Several check points share a place, of any size that has room.
TEST_F(VideoProof, PlacesOfCheckPoints) {
  plan(layers);
  add(VideoReuse::Bounded);
  uint64_t place = check("conv").place;
  EXPECT_EQ(check("halve").place, place);
  EXPECT_EQ(check("point").place, place);
  EXPECT_EQ(video().arenaSize, place + 30720);
  // Others have places of their own, at any distance.
  check("halve").place += 1024;
  check("point").place += 30720;
  video().arenaSize += 30720;
  EXPECT_EQ(model->prove(program), "");
  // Check points may be left out.
  execute("conv").check.reset();
  EXPECT_EQ(model->prove(program), "");
}

/// Channels in several blocks, and some that fill up the last one.
const char *blocks = R"(
  func.func @main(%x: tensor<1x24x20x24xf32>) -> tensor<1x40x20x24xi32> {
    %w = nn.constant dense<0.5> : tensor<40x24x3x3xf32> -> tensor<40x24x3x3xf32>
    %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x24x20x24xf32>, tensor<40x24x3x3xf32> -> tensor<1x40x20x24xf32> loc("conv")
    %1 = nn.unary %0 <exp> : tensor<1x40x20x24xf32> -> tensor<1x40x20x24xf32>
    %2 = nn.cast %1 : tensor<1x40x20x24xf32> -> tensor<1x40x20x24xi32>
    return %2 : tensor<1x40x20x24xi32>
  })";

TEST_F(VideoProof, Blocks) {
  plan(blocks);
  add(VideoReuse::Bounded);
  EXPECT_EQ(onlyCheck().pixels.piece, 64u);
  EXPECT_EQ(onlyCheck().pixels.pieces, 3u);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// A fault, and a part of the message about it.
struct Fault {
  const char *name;
  void (*plant)(VideoProof &t);
  const char *expected;
};

const Fault faultsOfSets[] = {
    {"a window that begins a row too late",
     [](auto &t) { ++t.read("halve", "conv").rows.low; },
     "row 1: found rows 2 to 3, expected 1 to 3"},
    {"a window that ends a row too early",
     [](auto &t) { --t.read("halve", "conv").rows.high; },
     "row 0: found rows -1 to 0, expected 0 to 1"},
    {"a window that begins a column too late",
     [](auto &t) { ++t.read("halve", "conv").columns.low; },
     "column 1: found columns 1 to 4, expected 0 to 4"},
    {"a window that ends a column too early",
     [](auto &t) { --t.read("halve", "conv").columns.high; },
     "column 0: found columns -2 to 1, expected 0 to 2"},
    {"the window of rows for columns",
     [](auto &t) {
       VideoRead &read = t.read("halve", "conv");
       std::swap(read.rows, read.columns);
     },
     "column 0: found columns -1 to 1, expected 0 to 2"},
    {"a stride forgotten",
     [](auto &t) { t.read("halve", "conv").rows.num = 1; }, "expected 1 to 3"},
    {"a scale forgotten",
     [](auto &t) { t.read("double", "halve").columns.den = 1; },
     "column 1: found columns 1 to 1, expected 0 to 0"},
    {"a divisor of 0", [](auto &t) { t.read("double", "halve").rows.den = 0; },
     "found a divisor of 0"},
    {"windows of pixels that Winograd computes together",
     [](auto &t) { t.read("conv", "in").rows = {1, 1, -1, 1}; },
     "row 0: found rows -1 to 1, expected 0 to 4"},
    {"windows of columns that Winograd computes together",
     [](auto &t) { t.read("conv", "in").columns = {1, 1, -1, 1}; },
     "column 0: found columns -1 to 1, expected 0 to 4"},
    {"the windows of one operand for two",
     [](auto &t) { t.read("double", "halve").set = t.setOf("conv"); },
     "found no read of it"},
    {"a read missing", [](auto &t) { t.set("sum").reads.pop_back(); },
     "operand 1, of set 7: found no read of it, expected one"},
    {"a read of another value of the same size",
     [](auto &t) { t.read("sum", "point").set = t.setOf("conv"); },
     "operand 1, of set 7: found no read of it, expected one"},
    {"windows where any pixel changes all",
     [](auto &t) { t.read("mean", "both").all = false; },
     "found windows, expected all pixels"},
    {"a slice that never changes", [](auto &t) { t.set("part").reads.clear(); },
     "operand 0, of set 11: found no read of it"},
    {"a concatenation that never changes by its second part",
     [](auto &t) { t.set("joined").reads.pop_back(); },
     "operand 1, of set 15: found no read of it"},
    {"a concatenation that reads behind a slice, not it",
     [](auto &t) { t.read("left", "part").set = t.setOf("input 0"); },
     "operand 0, of set 12: found no read of it"},
    {"a read of a set that is not there yet",
     [](auto &t) { t.set("sum").reads.push_back({t.setOf("out"), true}); },
     "found a read of set 9, expected an earlier one"},
    {"a set with the rows of its operand",
     [](auto &t) { t.set("halve").rows = 20; },
     "found 20 rows of 12, expected 10 of 12"},
    {"a transposed plane",
     [](auto &t) { std::swap(t.set("last").rows, t.set("last").columns); },
     "found 24 rows of 20, expected 20 of 24"},
    {"one pixel for a plane",
     [](auto &t) { t.set("out").rows = t.set("out").columns = 1; },
     "operand 0, of set 8: found windows, expected all pixels"},
    {"an input's rows", [](auto &t) { ++t.set("input 1").rows; },
     "set 1: found 21 rows of 24, expected 20 of 24"},
    {"a set too many", [](auto &t) { t.video().sets.push_back({1, 1}); },
     "sets: found 24, expected 23"},
    {"the set of the layer before", [](auto &t) { --t.execute("sum").set; },
     "execute 5: found set 7"},
    {"the set of another input", [](auto &t) { t.video().inputs[0].set = 1; },
     "input 0: found set 1, expected 0"},
    {"an input whose set reads another",
     [](auto &t) { t.set("input 1").reads.push_back({0, true}); },
     "input 1: found a set that reads others"},
};

const Fault faultsOfMemory[] = {
    {"two values at one place",
     [](auto &t) { t.place("point", 0) = t.place("double", 0); },
     "execute 4: result 0: byte"},
    {"a result on top of its operand",
     [](auto &t) { t.place("gate", 0) = t.video().inputs[2].place; },
     "bytes 0 to 64 of input 2, which stay for the next frame"},
    {"a result off by 64 bytes", [](auto &t) { t.place("halve", 0) += 64; },
     "byte 122944: found nothing written, expected bytes 0 to 64 of result 0 "
     "of 'halve'"},
    {"a result off by 64 bytes, to both sides free",
     [](auto &t) {
       t.video().arenaSize += 8192;
       t.place("mean", 0) = t.video().arenaSize - 4096;
     },
     "output 2: byte"},
    {"an operand off by 64 bytes", [](auto &t) { t.place("sum", 1) += 64; },
     "found bytes 64 to 30720 of result 0 of 'double' (nn.resize), expected "
     "bytes 0 to"},
    {"an operand's place of another value of the same size",
     [](auto &t) { t.place("sum", 1) = t.place("sum", 2); },
     "expected bytes 0 to 30720 of result 0 of 'double'"},
    {"operands of the same size swapped",
     [](auto &t) { std::swap(t.place("sum", 1), t.place("sum", 2)); },
     "found bytes 0 to 30720 of result 0 of 'point'"},
    {"a slice that begins elsewhere",
     [](auto &t) { t.place("left", 1) += 480 * 4; }, "expected bytes 7680 to"},
    {"the halves of a concatenation swapped",
     [](auto &t) { std::swap(t.place("left", 0), t.place("right", 0)); },
     "found bytes 0 to 15360 of result 0 of 'right'"},
    {"a value that a later execute writes",
     [](auto &t) { t.place("out", 1) = t.place("scale", 0); },
     "found nothing written"},
    {"a place outside",
     [](auto &t) { t.place("both", 0) = t.video().arenaSize; },
     "expected them within"},
    {"an arena too small", [](auto &t) { t.video().arenaSize -= 64; },
     "expected them within"},
    {"an operand where the program has it",
     [](auto &t) { t.place("sum", 1) = VideoExecute::asInProgram; },
     "execute 5: operand 1: found it where the program has it"},
    {"a result where the program has it",
     [](auto &t) { t.place("sum", 0) = VideoExecute::asInProgram; },
     "execute 5: result 0: found it where the program has it"},
    {"weights in the arena", [](auto &t) { t.place("conv", 2) = 0; },
     "expected bytes 0 to 9216 of weights"},
    {"a place missing", [](auto &t) { t.execute("sum").places.pop_back(); },
     "execute 5: found 2 places, expected 3"},
    {"an execute missing", [](auto &t) { t.video().executes.pop_back(); },
     "executes: found 16, expected 17"},
    {"a switch missing", [](auto &t) { t.video().switches.clear(); },
     "switches: found 0, expected 1"},
    {"an input on top of another",
     [](auto &t) { t.video().inputs[1].place = t.video().inputs[0].place; },
     "input 1: byte"},
    {"the places of two inputs swapped",
     [](auto &t) {
       auto &inputs = t.video().inputs;
       std::swap(inputs[0].place, inputs[1].place);
     },
     "found bytes 0 to 30720 of input 1"},
    {"an input missing", [](auto &t) { t.video().inputs.pop_back(); },
     "inputs: found 2, expected 3"},
    {"an output of another value of the same size",
     [](auto &t) { t.video().outputs[1] = t.place("scale", 0); },
     "output 1: byte"},
    {"an output missing", [](auto &t) { t.video().outputs.pop_back(); },
     "outputs: found 2, expected 3"},
};

const Fault faultsOfPixels[] = {
    {"tiles along another axis",
     [](auto &t) { t.execute("conv").part.rowAxis = 1; },
     "rows: found an axis of"},
    {"an axis that is not there",
     [](auto &t) { t.execute("conv").part.rowAxis = 99; },
     "rows: found axis 99"},
    {"runs of pixels where tiles are rows",
     [](auto &t) { t.execute("conv").part.tiles = VideoTiles::Runs; },
     "pixels: found an axis of 20"},
    {"rows where tiles are runs of pixels",
     [](auto &t) { t.execute("point").part = {VideoTiles::Rows, 2}; },
     "rows: found an axis of 480"},
    {"cells without columns",
     [](auto &t) {
       VideoPart &part = t.execute("conv").part;
       part = {VideoTiles::Cells, part.rowAxis, part.rowAxis};
     },
     "columns: found an axis of 20"},
    {"rows of a result without",
     [](auto &t) { t.execute("mean").part = {VideoTiles::Rows}; },
     "execute 16: found parts of a result without rows and columns"},
    {"a switch with the tiles of its execute",
     [](auto &t) { t.video().switches[0] = t.execute("conv").part; },
     "switch 0: found parts of a result whose tiles are no boxes"},
    {"another kernel", [](auto &t) { t.execute("conv").part.kernel = 0; },
     "execute 1: found kernel 0 (element.cells) for parts, expected one of "
     "the same layer by "},
    {"a kernel that is not there",
     [](auto &t) { t.execute("conv").part.kernel = 99; },
     "execute 1: found kernel 99 for parts, expected one of "},
    {"a distance of rows", [](auto &t) { t.video().inputs[0].pixels.row += 4; },
     "input 0: found rows at a distance of 100 bytes, expected 96"},
    {"a distance of columns",
     [](auto &t) { t.video().inputs[1].pixels.column = 4; },
     "input 1: found columns at a distance of 4 bytes, expected 64"},
    {"rows for columns",
     [](auto &t) {
       auto &pixels = t.video().inputs[1].pixels;
       std::swap(pixels.row, pixels.column);
     },
     "input 1: found rows at a distance of 64 bytes, expected 1536"},
    {"a channel missing", [](auto &t) { --t.video().inputs[0].pixels.pieces; },
     "input 0: found a pixel of 15 pieces"},
    {"a distance of channels",
     [](auto &t) { t.video().inputs[0].pixels.distance -= 4; },
     "input 0: found a pixel of 16 pieces"},
    {"channels behind one another",
     [](auto &t) { t.video().inputs[0].pixels.distance = 0; },
     "input 0: found pieces of 4 bytes at a distance of 0"},
    {"a part of a pixel",
     [](auto &t) { t.video().inputs[1].pixels.piece = 32; },
     "found a pixel of 1 pieces, the first one [0, 32), expected 1 pieces, the "
     "first one [0, 64)"},
    {"channels first where they are last",
     [](auto &t) { t.video().inputs[1].pixels = t.video().inputs[0].pixels; },
     "input 1: found rows at a distance of 96 bytes, expected 1536"},
    {"a part of an input without pixels",
     [](auto &t) { t.video().inputs[2].pixels.piece = 60; },
     "input 2: found a pixel of 1 pieces, the first one [0, 60)"},
};

const Fault faultsOfChecks[] = {
    {"a check point at the result's own place",
     [](auto &t) { t.check("conv").place = t.place("conv", 0); },
     "execute 1: check point: byte 92224: found bytes 0 to 30720 of result 0 "
     "of 'conv'"},
    {"a check point half across its result",
     [](auto &t) { t.check("conv").place = t.place("conv", 0) + 15360; },
     "found bytes 15360 to 30720 of result 0 of 'conv'"},
    {"a check point on top of an operand",
     [](auto &t) { t.check("conv").place = t.place("conv", 1); },
     "found bytes 0 to 30720 of result 0 of 'in'"},
    {"a check point on top of an input",
     [](auto &t) { t.check("point").place = t.video().inputs[1].place; },
     "execute 4: check point: byte 30720: found bytes 0 to 30720 of input 1"},
    {"a check point on top of a value that is computed before",
     [](auto &t) { t.check("point").place = t.place("halve", 0) - 64; },
     "found bytes 30656 to 30720 of result 0 of 'conv'"},
    {"a check point on top of a value that is computed later",
     [](auto &t) { t.check("halve").place = t.place("soft", 0); },
     "execute 2: check point: byte"},
    {"a check point on top of the last bytes that stay",
     [](auto &t) { t.check("halve").place -= 64; },
     "of result 0 of 'mean' (nn.reduce), which stay for the next frame, "
     "expected nothing"},
    {"a check point in front of a value",
     [](auto &t) {
       uint64_t &size = t.video().arenaSize;
       size += 4096;
       t.place("mean", 0) = t.video().outputs[2] = size - 4096;
       t.check("point").place = size - 4096 - 30720 + 4;
     },
     "execute 4: check point: byte"},
    {"a check point that ends outside",
     [](auto &t) { t.check("conv").place += 4; },
     "execute 1: check point: found 30720 bytes at "},
    {"a check point near 2^64",
     [](auto &t) { t.check("halve").place = ~uint64_t(63); },
     "found 7680 bytes at 18446744073709551552, expected them within"},
    {"no place for check points", [](auto &t) { t.video().arenaSize -= 30720; },
     "execute 1: check point: found 30720 bytes at "},
    {"a distance of rows", [](auto &t) { t.check("conv").pixels.row -= 64; },
     "check point: found rows at a distance of 1472 bytes, expected 1536"},
    {"a distance of columns",
     [](auto &t) { t.check("conv").pixels.column = 4; },
     "check point: found columns at a distance of 4 bytes, expected 64"},
    {"rows for columns",
     [](auto &t) {
       auto &pixels = t.check("conv").pixels;
       std::swap(pixels.row, pixels.column);
     },
     "found rows at a distance of 64 bytes, expected 1536"},
    {"the pixels of another result",
     [](auto &t) { t.check("halve").pixels = t.check("conv").pixels; },
     "execute 2: check point: found rows at a distance of 1536 bytes, expected "
     "768"},
    {"a part of a pixel", [](auto &t) { t.check("conv").pixels.piece -= 4; },
     "check point: found a pixel of 1 pieces, the first one [0, 60), expected "
     "1 pieces, the first one [0, 64)"},
    {"a pixel that goes on in the next one",
     [](auto &t) { t.check("conv").pixels.piece += 4; },
     "the first one [0, 68), expected"},
    {"no pixel", [](auto &t) { t.check("point").pixels.pieces = 0; },
     "execute 4: check point: found a pixel of none"},
    {"a result without rows and columns",
     [](auto &t) {
       t.execute("mean").check = {t.check("conv").place, {0, 0, 1, 0, 64}};
     },
     "execute 16: check point: found a result without rows and columns"},
    {"check points of exact reuse",
     [](auto &t) {
       t.video().reuse = VideoReuse::Exact;
       t.video().tolerance = t.video().inputTolerance = 0;
       t.video().refresh = 0;
     },
     "execute 1: check point: found one, expected none, as reuse is exact"},
    {"a tolerance of exact reuse",
     [](auto &t) { t.video().reuse = VideoReuse::Exact; },
     "tolerance: found 1.000000e+00, expected 0, as reuse is exact"},
    {"a refresh of exact reuse",
     [](auto &t) {
       t.video().reuse = VideoReuse::Exact;
       t.video().tolerance = t.video().inputTolerance = 0;
     },
     "refresh: found 4294967295, expected 0, as reuse is exact"},
    {"a tolerance that is no number",
     [](auto &t) { t.video().tolerance = NAN; },
     "tolerance: found nan, expected a number from 0 to 1"},
    {"a tolerance below 0", [](auto &t) { t.video().tolerance = -0.01F; },
     "tolerance: found -1.000000e-02, expected a number from 0 to 1"},
    {"a tolerance above 1",
     [](auto &t) { t.video().tolerance = std::nextafter(1.0F, 2.0F); },
     "tolerance: found 1.000000e+00, expected a number from 0 to 1"},
    {"an input tolerance without end",
     [](auto &t) { t.video().inputTolerance = INFINITY; },
     "input tolerance: found INF, expected a number from 0 to 1"},
};

const Fault faultsOfBlocks[] = {
    {"a block missing", [](auto &t) { --t.onlyCheck().pixels.pieces; },
     "check point: found a pixel of 2 pieces, the first one [0, 64), expected "
     "3 pieces, the first one [0, 64)"},
    {"a block too many", [](auto &t) { ++t.onlyCheck().pixels.pieces; },
     "check point: found a pixel of 4 pieces"},
    {"a distance of blocks",
     [](auto &t) { t.onlyCheck().pixels.distance -= 64; },
     "check point: found a pixel of 3 pieces"},
    {"blocks behind one another",
     [](auto &t) { t.onlyCheck().pixels.distance = 64; },
     "check point: found a pixel of 1 pieces, the first one [0, 192)"},
    {"a result of whole numbers",
     [](auto &t) {
       VideoCheck check = t.onlyCheck();
       t.executeWhere([](ValueRange results) {
          return nn::typeOf(results[0]).getElementType().isInteger(32);
        }).check = check;
     },
     "check point: found a result of 'i32', expected f32"},
};

const Fault faultsOfResults[] = {
    {"a layer of two results",
     [](auto &t) {
       uint64_t place = t.video().arenaSize;
       t.video().arenaSize += 1 << 20;
       t.executeWhere([](ValueRange results) {
          return results.size() == 2;
        }).check = {place, {96, 4, 3, 1920, 4}};
     },
     "check point: found 2 results, expected one"},
};

/// The tail begins with the execute of "scale".
const Fault faultsOfTails[] = {
    {"rows and columns of a set that layers share",
     [](auto &t) {
       t.video().sets.back().rows = 20;
       t.video().sets.back().columns = 24;
     },
     "set 11: found 20 rows of 24 that layers share, expected one pixel"},
    {"a read missing", [](auto &t) { t.video().sets.back().reads.pop_back(); },
     "found no read of it, expected one"},
    {"no reads", [](auto &t) { t.video().sets.back().reads.clear(); },
     "operand 0, of set 9: found no read of it, expected one"},
    {"a read of some pixels",
     [](auto &t) { t.video().sets.back().reads[0].all = false; },
     "found windows, expected all pixels"},
    {"a set for one more layer", [](auto &t) { t.video().sets.pop_back(); },
     "set 10: operand 0, of set 9: found no read of it"},
    {"a layer that runs with another set",
     [](auto &t) { --t.execute("soft").set; },
     "execute 11: found set 10, expected 11"},
    {"a layer that runs with the tail, in front of it",
     [](auto &t) { t.execute("gate").set = 11; },
     "execute 7: found set 11, expected 10"},
    {"a result in the program's memory, in front of the tail",
     [](auto &t) { t.place("out", 0) = VideoExecute::asInProgram; },
     "execute 6: result 0: found it where the program has it"},
    {"an operand in the program's memory that is not written there",
     [](auto &t) { t.place("scale", 1) = VideoExecute::asInProgram; },
     "execute 8: operand 1: byte"},
    {"a result that stays and is not read there",
     [](auto &t) {
       t.place("scale", 0) = t.video().arenaSize;
       t.video().arenaSize += 30720;
     },
     "found nothing written, expected"},
    {"an operand in the arena that is not there",
     [](auto &t) { t.place("soft", 1) = 0; }, "execute 11: operand 1: byte"},
    {"a result of the tail on top of a value that stays",
     [](auto &t) { t.place("pool", 0) = t.place("conv", 0); },
     "which stay for the next frame"},
    {"an output in the program's memory",
     [](auto &t) { t.place("last", 0) = VideoExecute::asInProgram; },
     "execute 12: result 0: found it where the program has it"},
    {"an input in the program's memory",
     [](auto &t) { t.place("first", 1) = VideoExecute::asInProgram; },
     "execute 13: operand 1: found it where the program has it"},
    {"a check point",
     [](auto &t) {
       t.execute("pool").check = {t.check("conv").place,
                                  t.video().inputs[0].pixels};
     },
     "execute 14: check point: found a result without rows and columns"},
    {"a part of a layer",
     [](auto &t) { t.execute("soft").part = {VideoTiles::Rows}; },
     "execute 11: found parts of a result without rows and columns"},
};

/// All layers are in the tail.
const Fault faultsOfLongTails[] = {
    {"a later routine that reads elsewhere",
     [](auto &t) {
       t.program.switches[0].replacement.operands[1].offset += 64;
     },
     "switch 0: operand 1: arena [64, 30784): byte 64: found"},
    {"a later routine that writes elsewhere",
     [](auto &t) {
       t.program.switches[0].replacement.operands[0].offset += 64;
     },
     "switch 0: result 0: expected it where operation 1 has it"},
    {"a later routine with an operand of another space",
     [](auto &t) {
       t.program.switches[0].replacement.operands[1].space =
           artifact::Space::Input;
     },
     "switch 0: operand 1: input 0 [0, 30720): byte 0: found"},
    {"tiles of a later routine",
     [](auto &t) { t.video().switches[0].tiles = VideoTiles::Rows; },
     "switch 0: found parts of a result without rows and columns"},
};

class VideoFaults : public VideoProof {
public:
  /// Each of them is found.
  void find(ArrayRef<Fault> faults) {
    const artifact::Program good = program;
    for (const Fault &fault : faults) {
      SCOPED_TRACE(fault.name);
      program = good;
      fault.plant(*this);
      std::string found = model->prove(program);
      EXPECT_TRUE(StringRef(found).contains(fault.expected))
          << "found '" << found << "', expected '" << fault.expected << "'";
    }
    program = good;
  }
};

TEST_F(VideoFaults, AreFound) {
  plan(layers);
  find(faultsOfSets);
  find(faultsOfMemory);
  find(faultsOfPixels);
  add(VideoReuse::Bounded);
  find(faultsOfChecks);
}

TEST_F(VideoFaults, OfTailsAreFound) {
  plan(layers);
  add(VideoReuse::Bounded, numberOf("scale"));
  find(faultsOfTails);
  add(VideoReuse::Exact, numberOf("in"));
  find(faultsOfLongTails);
}

TEST_F(VideoFaults, OfBlocksAreFound) {
  plan(blocks);
  add(VideoReuse::Bounded);
  find(faultsOfBlocks);
}

TEST_F(VideoFaults, OfSeveralResultsAreFound) {
  plan(severalResults);
  add(VideoReuse::Bounded);
  find(faultsOfResults);
}

} // namespace
