//===- StretchProofTest.cpp - Good stretches are proven, others refused ---===//
//
// A model is planned for a GPU, and must be proven. Each test then changes the
// GPU's part as a fault of the planner would. GpuMutantsTest.cpp does so at
// random.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/verify/PlannedModel.h"
#include "test/unit/compiler/verify/SmallModels.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using artifact::GpuSpace;
using artifact::Space;

namespace {

class StretchProof : public testing::Test {
protected:
  StretchProof() : context(MLIRContext::Threading::DISABLED) {}
  void SetUp() override { plan(/*isHalf=*/false); }

  void plan(bool isHalf, bool alternatives = false) {
    PlanOptions options;
    options.threads = 1;
    options.gpu = codegen::GpuTarget::everything().name;
    options.gpuForce = true;
    options.gpuHalf = isHalf;
    // Faults are looked for in a plan that every machine makes.
    model = std::make_unique<test::PlannedModel>(
        context, test::everyForm, options, alternatives, "x86-64-v4");
    ASSERT_EQ(model->error, "");
    program = model->program;
    ASSERT_EQ(prove(), "");
  }

  std::string prove() { return model->prove(program); }
  void expectFault(StringRef expected) {
    std::string found = prove();
    EXPECT_TRUE(StringRef(found).contains(expected))
        << "found '" << found << "', expected '" << expected.str() << "'";
    program = model->program;
  }

  artifact::ProgramGpu &gpu() { return *program.gpu; }
  artifact::Stretch &stretch() { return gpu().stretches[0]; }
  /// The first dispatch whose layer is called so, or one of those behind it.
  artifact::Dispatch &dispatch(StringRef layer, unsigned skip = 0) {
    for (artifact::Dispatch &d : stretch().dispatches)
      if (StringRef(program.operations[d.operation].layer).contains(layer) &&
          skip-- == 0)
        return d;
    llvm_unreachable("the plan has it");
  }
  artifact::GpuPreparation &uploads() {
    for (artifact::GpuPreparation &preparation : gpu().preparations)
      if (!preparation.uploads.empty())
        return preparation;
    llvm_unreachable("the plan has it");
  }

  MLIRContext context;
  std::unique_ptr<test::PlannedModel> model;
  artifact::Program program;
};

TEST_F(StretchProof, AlternativesAreProven) {
  plan(false, /*alternatives=*/true);
  EXPECT_EQ(gpu().stretches.size(), 4u);
  plan(true);
}

TEST_F(StretchProof, AProgramWithoutItsPart) {
  program.gpu.reset();
  expectFault("expected a part for a GPU and a claim about it");
}

// Dispatches.

TEST_F(StretchProof, SwappedOperands) {
  auto &operands = dispatch("join").operands;
  std::swap(operands[1], operands[2]);
  expectFault("of result 0 of");
}

TEST_F(StretchProof, AnOperandElsewhere) {
  dispatch("conv1").operands[1].offset += 256;
  expectFault("stretch 0: dispatch ");
}

TEST_F(StretchProof, AnOperandOfAnotherSize) {
  dispatch("conv1").operands[1].size -= 256;
  expectFault(" bytes, expected ");
}

TEST_F(StretchProof, AResultOnTopOfAnOperand) {
  auto &operands = dispatch("conv2").operands;
  operands[0] = operands[4]; // the residual
  expectFault("expected no bytes of operand 4");
}

TEST_F(StretchProof, AnotherLayersKernel) {
  std::swap(dispatch("conv1").pipeline, dispatch("join").pipeline);
  expectFault("of kernel 'gpu.conv");
}

TEST_F(StretchProof, OtherGroupsAndWords) {
  dispatch("conv1").groups.x += 1;
  expectFault("found other groups or push words");
  dispatch("conv1").push[0] -= 1;
  expectFault("found other groups or push words");
}

TEST_F(StretchProof, StepsInAnotherOrder) {
  std::swap(dispatch("conv1"), dispatch("conv1", 1));
  expectFault("found pipeline");
}

TEST_F(StretchProof, AMissingStep) {
  stretch().dispatches.pop_back();
  expectFault("found 0 dispatches, expected 1");
}

TEST_F(StretchProof, AStepTooMany) {
  stretch().dispatches.push_back(stretch().dispatches.back());
  expectFault("expected no more than 1 dispatches of its layer");
}

TEST_F(StretchProof, ATemporaryOfAnotherStep) {
  // conv0's sums are read where conv1's are expected.
  artifact::Dispatch &sums = dispatch("conv1");
  ASSERT_EQ(sums.operands[0].offset, dispatch("conv1", 1).operands[1].offset);
  gpu().arenaSize += sums.operands[0].size;
  sums.operands[0].offset = gpu().arenaSize - sums.operands[0].size;
  expectFault("behind step 0");
}

TEST_F(StretchProof, ATensorWhoseMemoryIsTakenTooEarly) {
  // conv0's result, behind its sums and a change of layout, is read by conv2.
  dispatch("conv1", 1).operands[0] = dispatch("conv0", 2).operands[0];
  expectFault("result 0 of");
}

// Halves.

TEST_F(StretchProof, AHalfIsNoFloat) {
  artifact::Program full = program;
  plan(true);
  // Its upload brings the weights as they are.
  auto brought = [](artifact::ProgramGpu &gpu) -> artifact::Upload & {
    for (artifact::GpuPreparation &preparation : gpu.preparations)
      for (artifact::Upload &upload : preparation.uploads)
        if (upload.size > 4096)
          return upload;
    llvm_unreachable("the plan has it");
  };
  artifact::Upload &upload = brought(gpu());
  upload.source.offset = brought(*full.gpu).source.offset;
  EXPECT_NE(prove(), "");
  program = model->program;
  // The kernel for floats reads halves.
  uint32_t &pipeline = dispatch("conv1").pipeline;
  pipeline = dispatch("conv2").pipeline;
  expectFault("f16");
}

// Uploads.

TEST_F(StretchProof, AnUploadOfOtherWeights) {
  uploads().uploads[0].source.offset += 256;
  expectFault("stretch 0: dispatch ");
}

TEST_F(StretchProof, AnUploadElsewhere) {
  uploads().uploads[0].offset += 256;
  expectFault("the GPU's prepared memory");
}

TEST_F(StretchProof, AnUploadInOtherPlanes) {
  uploads().uploads[0].planes = 4;
  expectFault("upload 0: found ");
}

TEST_F(StretchProof, AnUploadThatDecodesStoredWeights) {
  uploads().uploads[0].codec = artifact::Codec::Zstd;
  expectFault("upload 0: expected ");
}

TEST_F(StretchProof, AnUploadThatDecodes) {
  // The weights of conv1 lie in the file once more, compressed.
  Operation *conv1 = model->layers[dispatch("conv1").operation];
  plan::StoredForm form;
  form.codec = plan::Codec::zstd;
  WeightTable::Place place =
      model->builder.weights.add(conv1->getOperand(1), form);
  ASSERT_EQ(place.frames.size(), 1u);
  const artifact::GpuOperand &weights = dispatch("conv1").operands[2];
  artifact::Upload decoded = {model->builder.weights.operand(place),
                              weights.offset, weights.size,
                              artifact::Codec::Zstd, place.frames[0].planes};
  artifact::Program good = program;
  good.gpu->preparations.push_back(uploads());
  good.gpu->preparations.back().uploads = {decoded};
  program = good;
  EXPECT_EQ(prove(), "");
  artifact::Upload &upload = gpu().preparations.back().uploads[0];
  upload.planes = upload.planes == 4 ? 2 : 4;
  expectFault("expected a zstd frame of ");
  program = good;
  gpu().preparations.back().uploads[0].size -= 256;
  expectFault("expected a zstd frame of ");
  program = good;
  gpu().preparations.back().uploads[0].offset += 256;
  expectFault("the GPU's prepared memory");
}

TEST_F(StretchProof, AnUploadThatDoesNotWait) {
  bool found = false;
  for (artifact::GpuPreparation &preparation : gpu().preparations)
    for (artifact::Upload &upload : preparation.uploads)
      if (upload.source.space == Space::Prepared) {
        preparation.after.clear();
        found = true;
      }
  ASSERT_TRUE(found);
  expectFault("expected it to wait for preparation");
}

// Hand-overs.

TEST_F(StretchProof, BoundariesElsewhere) {
  ASSERT_EQ(gpu().boundaries.size(), 3u);
  for (artifact::Boundary &boundary : gpu().boundaries)
    boundary.host.offset += 256;
  EXPECT_NE(prove(), "");
  program = model->program;
  gpu().boundaries[stretch().out[0].boundary].device =
      gpu().boundaries[stretch().out[1].boundary].device;
  EXPECT_NE(prove(), "");
}

TEST_F(StretchProof, RowsThatAreMissing) {
  stretch().in[0].bytes -= 256;
  expectFault("found nothing written, expected bytes");
  stretch().in.clear();
  expectFault("found nothing written, expected bytes");
}

TEST_F(StretchProof, ResultsThatChangePlaces) {
  std::swap(gpu().boundaries[stretch().out[0].boundary].host.index,
            gpu().boundaries[stretch().out[1].boundary].host.index);
  expectFault("stretch 0: out ");
}

TEST_F(StretchProof, AStretchThatEndsTooEarly) {
  stretch().count -= 1;
  expectFault("expected one of the stretch");
}

TEST_F(StretchProof, BoundariesInTheCpusArena) {
  // In the middle of the model both ends of a stretch lie there. A device that
  // shares it sees a wrong host, one that copies a wrong place of its own.
  plan(false, /*alternatives=*/true);
  const artifact::Stretch &middle = model->program.gpu->stretches[3];
  ASSERT_EQ(middle.out.size(), 2u);
  uint32_t first = middle.out[0].boundary, second = middle.out[1].boundary;
  ASSERT_EQ(gpu().boundaries[first].host.space, Space::Arena);
  gpu().boundaries[first].host.offset += 256;
  EXPECT_NE(prove(), "");
  program = model->program;
  gpu().boundaries[first].device = gpu().boundaries[second].device;
  EXPECT_NE(prove(), "");
  program = model->program;
  // Another place that is free is as good.
  gpu().boundaries[first].device = gpu().arenaSize;
  gpu().arenaSize += gpu().boundaries[first].host.size;
  EXPECT_EQ(prove(), "");
}

} // namespace
