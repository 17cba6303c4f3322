//===- CostTableTest.cpp - Layers, candidates and their costs -------------===//

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/emit/Codec.h"
#include "compiler/plan/ProgramWriter.h"
#include "tools/nnv12c/Compiler.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mlir;
using namespace nnv12;

namespace {

/// A convolution with a bias and one that shares its weights, a matrix product
/// with dense weights behind a view.
const char *model = R"(
  #b = #nn.layout<"aBcd16b">
  #w = #nn.layout<"ABcd16b16a">
  func.func @main(%x: tensor<1x32x8x8xf32, #b>) -> tensor<1x32x8x8xf32, #b> {
    %w0 = nn.constant dense<1.0> : tensor<32x32x3x3xf32> -> tensor<32x32x3x3xf32, #w>
    %w1 = nn.constant dense<2.0> : tensor<32x32x3x3xf32> -> tensor<32x32x3x3xf32, #w>
    %b = nn.constant dense<2.0> : tensor<32xf32> -> tensor<32xf32, #nn.layout<"A16a">>
    %c = nn.constant dense<2.0> : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32, #b>
    %0 = nn.conv %x, %w0 bias %b strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x32x8x8xf32, #b>, tensor<32x32x3x3xf32, #w> bias tensor<32xf32, #nn.layout<"A16a">> -> tensor<1x32x8x8xf32, #b>
    %1 = nn.conv %0, %w1 bias %b strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x32x8x8xf32, #b>, tensor<32x32x3x3xf32, #w> bias tensor<32xf32, #nn.layout<"A16a">> -> tensor<1x32x8x8xf32, #b>
    %2 = nn.conv %1, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
        : tensor<1x32x8x8xf32, #b>, tensor<32x32x3x3xf32, #w> -> tensor<1x32x8x8xf32, #b>
    %3 = nn.binary add %2, %c : tensor<1x32x8x8xf32, #b>, tensor<1x32x8x8xf32, #b> -> tensor<1x32x8x8xf32, #b>
    return %3 : tensor<1x32x8x8xf32, #b>
  }
)";
constexpr double weightBytes = 32 * 32 * 9 * 4, mapBytes = 32 * 8 * 8 * 4;

class CostTableTest : public testing::Test {
protected:
  CostTableTest()
      : context(MLIRContext::Threading::DISABLED),
        target(*codegen::Target::byName("x86-64-v3")),
        profile(device::builtinProfile(target.architecture, target.name)) {
    profile.zstdMBps = 800; // the built-in one does not rely on libzstd
    loadDialects(context);
    module = parseSourceString<ModuleOp>(model, &context);
    main = module->lookupSymbol<func::FuncOp>("main");
    layers = executedLayers(ExecutionOrder(main));
  }

  /// The costs of the first layer's candidate with these names.
  search::Candidate costOf(CostTable &costs, StringRef routine,
                           StringRef storage) {
    return costs
        .cost(layers[0], {codegen::cpuRoutines().named(routine),
                          *plan::StoredForm::parse(storage)})
        .costs;
  }

  std::set<std::string> storages(const ExecutedLayer &layer, bool storedForms,
                                 bool withForm) {
    CostTable costs(profile, target, 2);
    std::set<std::string> result;
    for (const CostedCandidate &candidate :
         costs.candidates(layer, storedForms))
      if (candidate.costs.form.empty() != withForm)
        result.insert(candidate.storage.text());
    return result;
  }

  MLIRContext context;
  codegen::Target target;
  device::DeviceProfile profile;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  std::vector<ExecutedLayer> layers;
};

using Names = std::set<std::string>;

} // namespace

TEST_F(CostTableTest, LayersOwnWhatNoEarlierOneReads) {
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_EQ(layers[0].mainOperand, 1u);
  EXPECT_EQ(layers[0].otherBytes, 32 * 4) << "the bias";
  EXPECT_FALSE(layers[0].isShared);
  EXPECT_EQ(layers[1].otherBytes, 0) << "the bias is layer 0's";
  EXPECT_TRUE(layers[1].isShared);
  EXPECT_FALSE(layers[2].mainOperand);
  EXPECT_EQ(layers[3].mainOperand, 1u);
}

TEST_F(CostTableTest, MemoryIsFreshOnce) {
  // All of it is less than a huge page.
  EXPECT_EQ(layers[0].freshSmallBytes, mapBytes);
  EXPECT_EQ(layers[1].freshSmallBytes, mapBytes) << "lives beside its operand";
  EXPECT_EQ(layers[2].freshSmallBytes, 0) << "where layer 0's result was";
  EXPECT_EQ(layers[3].freshSmallBytes, mapBytes) << "the caller's";
}

/// The time of the first use of a layer's memory on a device: for the layer,
/// and at the start of a plan without lanes.
static std::pair<double, double> firstTouch(const CostTable &costs,
                                            const ExecutedLayer &layer,
                                            const search::Device &device) {
  search::Problem problem;
  problem.device = device;
  costs.add(problem, layer, {});
  return {problem.layers[0].firstTouch, problem.device.aloneStart};
}

TEST_F(CostTableTest, FreshMemoryCostsWhoeverIsAlone) {
  profile.big.memoryGBps = 0; // caches are another matter
  CostTable costs(profile, target, 1);
  search::Device device = costs.device({});
  auto touch = [&] { return firstTouch(costs, layers[0], device); };
  device.cpus = 2;
  auto [withLane, withoutLane] = touch();
  EXPECT_EQ(withLane, 0) << "a lane touches it";
  device.preparationLanes.clear();
  auto [alone, start] = touch();
  EXPECT_GT(alone, 0);
  EXPECT_EQ(withoutLane, alone);
  EXPECT_EQ(start, 0) << "it is the layer's already";
  device.executeThreads = 2;
  EXPECT_EQ(touch().first, alone) << "all compute";
  device.cpus = 3;
  EXPECT_EQ(touch(), std::pair(0.0, 0.0)) << "a worker touches it";
  layers[0].freshBytes = layers[0].freshAtOnceBytes = 2e6;
  EXPECT_GT(touch().first, 0) << "not so soon";
  layers[0].freshAtOnceBytes = 0;
  EXPECT_EQ(touch().first, 0);
  device.cpus = 1;
  EXPECT_GT(touch().first, 0);
}

TEST_F(CostTableTest, NewMemoryIsInNoCache) {
  EXPECT_EQ(layers[0].uncachedBytes, layers[0].freshSmallBytes + mapBytes);
  EXPECT_EQ(layers[2].uncachedBytes, 0);
  CostTable costs(profile, target, 1);
  search::Device device = costs.device({});
  device.cpus = 2;
  EXPECT_DOUBLE_EQ(firstTouch(costs, layers[0], device).first,
                   layers[0].uncachedBytes / (profile.big.memoryGBps * 1e6));
}

TEST_F(CostTableTest, NothingIsCompressedForADeviceThatCannotDecode) {
  profile.zstdMBps = 1;
  for (const std::string &form : storages(layers[0], true, true))
    EXPECT_EQ(form.find("zstd"), std::string::npos) << form;
}

TEST_F(CostTableTest, EveryFormIsACandidate) {
  // Weights as they are usually: nothing narrow.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(32 * 32 * 9);
  for (float &value : values)
    value = normal(random);
  auto weights = layers[0].weights().getDefiningOp<nn::ConstantOp>();
  weights.setValueAttr(DenseElementsAttr::get(
      RankedTensorType::get({32, 32, 3, 3}, Float32Type::get(&context)),
      llvm::ArrayRef<float>(values)));
  EXPECT_EQ(storages(layers[0], true, false),
            (Names{"raw", "packed", "raw+zstd", "packed+zstd"}));
  EXPECT_EQ(storages(layers[0], true, true),
            (Names{"raw", "packed", "transformed", "raw+zstd", "packed+zstd",
                   "transformed+zstd"}));
  EXPECT_EQ(storages(layers[0], false, false), Names{"raw"});
  EXPECT_EQ(storages(layers[0], false, true), Names{"raw"});
  EXPECT_EQ(storages(layers[2], true, false), Names{"packed"})
      << "reads nothing";
}

TEST_F(CostTableTest, SharedWeightsHaveNoFormOfOneLayer) {
  EXPECT_TRUE(storages(layers[1], true, true).empty());
  EXPECT_TRUE(storages(layers[2], true, true).empty());
  EXPECT_FALSE(storages(layers[1], true, false).empty());
}

TEST_F(CostTableTest, StagesCostWhatTheyDo) {
  CostTable costs(profile, target, 2);
  const Routine *direct = codegen::cpuRoutines().named("conv.direct.nChw16c");
  auto cost = [&](StringRef storage) {
    return costs.cost(layers[0], {direct, *plan::StoredForm::parse(storage)})
        .costs;
  };
  search::Candidate raw = cost("raw"), packed = cost("packed"),
                    zstd = cost("packed+zstd");
  EXPECT_EQ(raw.bytes, weightBytes + 128);
  EXPECT_EQ(packed.bytes, weightBytes + 128)
      << "whole blocks: nothing is padded";
  EXPECT_LT(zstd.bytes, packed.bytes / 10) << "all elements are equal";
  EXPECT_GT(raw.transform.big, 0);
  EXPECT_EQ(packed.transform.big, 0);
  EXPECT_EQ(raw.decode.big, 0);
  EXPECT_GE(zstd.decode.big, weightBytes / 1e3 / profile.zstdMBps);
  EXPECT_EQ(raw.execute, packed.execute);
}

TEST_F(CostTableTest, NarrowWeightsAreFewerBytesAndATransform) {
  CostTable costs(profile, target, 2);
  auto cost = [&](StringRef routine, StringRef storage) {
    return costOf(costs, routine, storage);
  };
  StringRef direct = "conv.direct.nChw16c", winograd = "conv.winograd4.nChw16c";
  search::Candidate packed = cost(direct, "packed"),
                    ints = cost(direct, "packed+q8"),
                    halves = cost(direct, "packed+f16");
  double bias = 128, scales = 32 * 4;
  EXPECT_EQ(ints.bytes, weightBytes / 4 + scales + bias);
  EXPECT_EQ(halves.bytes, weightBytes / 2 + bias);
  // They are made into memory that nothing has touched.
  double touched = weightBytes / 1e6 * profile.firstTouchUsPerMB / 1e3;
  for (const search::Candidate &narrow : {ints, halves}) {
    EXPECT_GT(narrow.transform.big, touched);
    EXPECT_EQ(narrow.decode.big, 0);
    EXPECT_EQ(narrow.memory, 0) << "packed ones would be in memory as well";
    EXPECT_EQ(narrow.execute, packed.execute);
  }
  EXPECT_LT(ints.transform.big, halves.transform.big) << "it reads less";
  search::Candidate form = cost(winograd, "packed"),
                    narrowForm = cost(winograd, "packed+q8");
  EXPECT_DOUBLE_EQ(narrowForm.transform.big,
                   form.transform.big + ints.transform.big)
      << "the form is made of the packed ones";
  search::Candidate compressed = cost(direct, "packed+q8+zstd");
  EXPECT_LT(compressed.bytes, ints.bytes);
  EXPECT_GT(compressed.decode.big, 0);
  EXPECT_LT(compressed.decode.big, cost(direct, "packed+zstd").decode.big);
  EXPECT_EQ(compressed.transform.big, ints.transform.big);
}

TEST_F(CostTableTest, NarrowWeightsReplaceWhatIsReadySooner) {
  profile.firstTouchUsPerMB = 60;
  for (bool withForm : {false, true}) {
    Names names = storages(layers[0], true, withForm);
    EXPECT_TRUE(names.count("packed+q8"));
    EXPECT_FALSE(names.count("packed"));
    EXPECT_FALSE(names.count("raw"));
    EXPECT_TRUE(names.count("packed+zstd")) << "fewer bytes";
    EXPECT_EQ(names.count("transformed"), size_t(withForm));
  }
}

TEST_F(CostTableTest, HalvesAreNeverStoredWider) {
  // No multiples of one number.
  auto type = RankedTensorType::get({32, 32, 3, 3}, Float32Type::get(&context));
  std::mt19937 random(3);
  std::vector<float> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(std::ldexp(float(random() % 2048), -int(random() % 12)));
  auto weights = *main.getOps<nn::ConstantOp>().begin();
  weights.setValueAttr(
      DenseElementsAttr::get(type, llvm::ArrayRef<float>(values)));
  profile.firstTouchUsPerMB = 60000; // a preparation costs more than reading
  for (bool withForm : {false, true})
    EXPECT_EQ(storages(layers[0], true, withForm),
              (Names{"packed+f16", "packed+f16+zstd"}));
  CostTable costs(profile, target, 2);
  bool areMapped = false;
  for (const CostedCandidate &candidate :
       costs.candidates(layers[0], true, /*mappedWeights=*/true)) {
    EXPECT_TRUE(candidate.storage.narrow) << "some routine reads them mapped";
    areMapped |= candidate.costs.prepared == 0;
  }
  EXPECT_TRUE(areMapped);
  for (const CostedCandidate &candidate : costs.candidates(layers[0], true)) {
    bool isPlain = candidate.routine->name() == "conv.direct.nChw16c";
    EXPECT_TRUE(!isPlain || candidate.costs.onlyLater);
    EXPECT_FALSE(candidate.costs.readsNarrow && candidate.costs.onlyLater);
  }
  ExecutedLayer shared = layers[0];
  shared.isShared = true;
  Names mapped;
  for (const CostedCandidate &candidate :
       costs.candidates(shared, true, /*mappedWeights=*/true))
    mapped.insert(candidate.storage.text());
  EXPECT_TRUE(mapped.count("packed")) << "used where the file is mapped";
}

TEST_F(CostTableTest, RoundedWeightsAreNeverStoredWider) {
  profile.firstTouchUsPerMB = 60000; // a preparation costs more than reading
  CostTable costs(profile, target, 2);
  unsigned read = 0, prepared = 0;
  for (bool mappedWeights : {false, true})
    for (const CostedCandidate &candidate :
         costs.candidates(layers[0], true, mappedWeights, /*readNarrow=*/true,
                          /*keepsNarrow=*/true)) {
      EXPECT_EQ(candidate.storage.narrow, plan::Narrowing::q8);
      ++(candidate.costs.readsNarrow ? read : prepared);
    }
  EXPECT_GT(read, 0u);
  EXPECT_GT(prepared, 0u);
}

TEST_F(CostTableTest, HalvesThatARoutineReadsAreNotPrepared) {
  CostTable costs(profile, target, 2);
  auto cost = [&](StringRef routine, StringRef storage) {
    return costOf(costs, routine, storage);
  };
  search::Candidate plain = cost("conv.direct.nChw16c", "packed+f16"),
                    halves = cost("conv.direct.nChw16c.f16", "packed+f16"),
                    zstd = cost("conv.direct.nChw16c.f16", "packed+f16+zstd");
  EXPECT_TRUE(halves.readsNarrow);
  EXPECT_FALSE(plain.readsNarrow);
  EXPECT_EQ(halves.bytes, plain.bytes);
  EXPECT_EQ(halves.transform.big, 0);
  EXPECT_EQ(halves.prepared, 0);
  EXPECT_EQ(zstd.transform.big, 0);
  EXPECT_EQ(zstd.prepared, weightBytes / 2) << "decoded";
  // Either can take over from the other; not from floats in the file.
  EXPECT_TRUE(search::derivable(halves, plain));
  EXPECT_TRUE(search::derivable(plain, halves));
  EXPECT_FALSE(
      search::derivable(cost("conv.direct.nChw16c", "packed"), halves));
  const Routine &direct = *codegen::cpuRoutines().named("conv.direct.nChw16c");
  Candidate first{codegen::cpuRoutines().named("conv.direct.nChw16c.f16"),
                  *plan::StoredForm::parse("packed+f16")};
  EXPECT_GT(costs.laterTransform(layers[0], first, direct), 0) << "widened";
  for (bool readNarrow : {false, true}) {
    bool isRead = false;
    for (const CostedCandidate &candidate :
         costs.candidates(layers[0], true, /*mappedWeights=*/false, readNarrow))
      isRead |= candidate.costs.readsNarrow;
    EXPECT_FALSE(isRead) << "its own are no halves, or a GPU wants floats";
  }
}

TEST_F(CostTableTest, CodecsSeeWeightsAsTheyAreStored) {
  // Quantized channel by channel: few numbers in each, which blocks of channels
  // mix.
  auto type =
      RankedTensorType::get({256, 128, 3, 3}, Float32Type::get(&context));
  int64_t channel = 128 * 9, size = 256 * channel;
  std::mt19937 random(7);
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i)
    values.push_back((0.01f + 0.0001f * (i / channel)) *
                     (int(random() % 33) - 16));
  auto large = parseSourceString<ModuleOp>(R"(
    #w = #nn.layout<"ABcd16b16a">
    func.func @main(%x: tensor<1x128x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x256x6x6xf32, #nn.layout<"aBcd16b">> {
      %w = nn.constant dense<1.0> : tensor<256x128x3x3xf32> -> tensor<256x128x3x3xf32, #w>
      %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
          : tensor<1x128x8x8xf32, #nn.layout<"aBcd16b">>, tensor<256x128x3x3xf32, #w> -> tensor<1x256x6x6xf32, #nn.layout<"aBcd16b">>
      return %0 : tensor<1x256x6x6xf32, #nn.layout<"aBcd16b">>
    })",
                                           &context);
  auto main = large->lookupSymbol<func::FuncOp>("main");
  auto weights = *main.getOps<nn::ConstantOp>().begin();
  weights.setValueAttr(
      DenseElementsAttr::get(type, llvm::ArrayRef<float>(values)));
  std::vector<float> packed(size);
  nn::pack(cast<RankedTensorType>(weights.getType()),
           reinterpret_cast<const char *>(values.data()),
           reinterpret_cast<char *>(packed.data()));
  double stored = encode(packed.data(), size * 4, 4).bytes.size();
  ASSERT_LT(encode(values.data(), size * 4, 4).bytes.size(), stored * 0.9);

  CostTable costs(profile, target, 2);
  auto layer = executedLayers(ExecutionOrder(main))[0];
  Candidate candidate{codegen::cpuRoutines().named("conv.direct.nChw16c"),
                      *plan::StoredForm::parse("packed+zstd")};
  EXPECT_NEAR(costs.cost(layer, candidate).costs.bytes, stored, 0.06 * stored);
}

TEST_F(CostTableTest, MeasuredTimesComeFirst) {
  const Routine *direct = codegen::cpuRoutines().named("conv.direct.nChw16c");
  Candidate candidate{direct, {}};
  CostTable predicted(profile, target, 2);
  EXPECT_FALSE(predicted.cost(layers[0], candidate).measured);
  ASSERT_EQ(predicted.kernels().size(), 1u);
  profile.kernels[predicted.kernels()[0].key] = {{5.0, 3.0}, 0};
  CostTable measured(profile, target, 2);
  EXPECT_TRUE(measured.cost(layers[0], candidate).measured);
  EXPECT_EQ(measured.cost(layers[0], candidate).costs.execute, 3.0);
}

/// A program says all that its plan decides, with all options.
TEST_F(CostTableTest, ProgramsSayWhatPlansDecide) {
  for (Mode mode : {Mode::Cold, Mode::Continuous})
    for (Parts parts : {Parts::None, Parts::K, Parts::KC, Parts::KCP}) {
      PlanOptions options;
      options.threads = 2;
      options.mode = mode;
      options.parts = parts;
      auto plan = planModel(
          main, {target, std::make_shared<device::DeviceProfile>(profile)},
          options);
      ASSERT_TRUE(succeeded(plan));
      auto program = writeProgram(*plan, *module);
      ASSERT_TRUE(succeeded(program));
      ASSERT_EQ(plan->layers.size(), layers.size());
      std::vector<unsigned> executes(layers.size()), reads(layers.size());
      for (auto execute : program->getBody().getOps<plan::ExecuteOp>()) {
        ++executes[execute.getLayer()];
        EXPECT_EQ(execute.getRoutine(),
                  plan->layers[execute.getLayer()].first().routine->name());
      }
      for (auto read : program->getBody().getOps<plan::ReadOp>()) {
        ++reads[read.getLayer()];
        const PlannedLayer &layer = plan->layers[read.getLayer()];
        EXPECT_EQ(read.getOperand(), *layer.layer.mainOperand);
        EXPECT_EQ(layer.first().storage.text(), read.form().text());
      }
      for (auto change : program->getBody().getOps<plan::SwitchOp>())
        EXPECT_EQ(change.getRoutine(),
                  plan->layers[change.getLayer()].laterRoutine()->name());
      if (parts != Parts::KCP) {
        EXPECT_EQ(program->lanes().size(), 1u);
      }
      for (auto [i, layer] : llvm::enumerate(plan->layers)) {
        EXPECT_EQ(executes[i], 1u);
        EXPECT_EQ(reads[i], unsigned(layer.layer.mainOperand.has_value()));
        if (mode == Mode::Cold) {
          EXPECT_EQ(layer.laterRoutine(), nullptr);
        } else {
          EXPECT_TRUE(search::derivable(layer.first().costs,
                                        layer.candidates[layer.later].costs));
        }
      }
      program->erase();
    }
}
