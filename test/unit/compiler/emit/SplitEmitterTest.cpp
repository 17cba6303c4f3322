//===- SplitEmitterTest.cpp - A program whose stretches are split ---------===//
//
// SplitProofTest.cpp shows that CPU and GPU compute the layers. Here are the
// ranges of tiles, bytes, places and waits by which bundles say so.
//
//===----------------------------------------------------------------------===//

#include "artifact/Limits.h"
#include "compiler/routines/Cut.h"
#include "dialects/nn/Layout.h"
#include "test/unit/compiler/verify/NetText.h"
#include "test/unit/compiler/verify/PlannedModel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using artifact::Operand;
using artifact::Space;
using Picture = NetText::Picture;

namespace {

bool overlap(const Operand &a, const Operand &b) {
  return a.space == b.space && a.index == b.index &&
         a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

class SplitEmitter : public testing::Test {
protected:
  SplitEmitter() : context(MLIRContext::Threading::DISABLED) {
    options.threads = 1;
    options.gpu = codegen::GpuTarget::everything().name;
    options.split = Split::Force;
  }

  void plan(const std::string &text, std::optional<unsigned> dim,
            double percent = 50) {
    options.splitDim = dim;
    options.splitPercent = percent;
    model = std::make_unique<PlannedModel>(context, text, options,
                                           /*alternatives=*/false, "x86-64-v4");
    ASSERT_EQ(model->error, "");
  }

  const artifact::Program &program() const { return model->program; }
  const artifact::ProgramGpu &gpu() const { return *program().gpu; }
  plan::GpuOp planned() const {
    plan::GpuOp found;
    model->main->getParentOfType<ModuleOp>()->walk(
        [&](plan::GpuOp op) { found = op; });
    return found;
  }
  RankedTensorType resultOf(const artifact::Dispatch &dispatch) const {
    return nn::typeOf(model->layers[dispatch.operation]->getResult(0));
  }
  uint64_t uploadedBytes(const artifact::ProgramGpu &gpu) const {
    uint64_t bytes = 0;
    for (const artifact::GpuPreparation &preparation : gpu.preparations)
      for (const artifact::Upload &upload : preparation.uploads)
        bytes += upload.size;
    return bytes;
  }

  MLIRContext context;
  PlanOptions options;
  std::unique_ptr<PlannedModel> model;
};

/// Adapts at both ends stay out of splits by rows.
std::string convolutions(int64_t batch) {
  NetText net(batch, 32, 24);
  Picture a = net.conv("first", net.input, 64, 3);
  Picture b = net.conv("second", a, 64, 3);
  return net.text({net.add("sum", net.conv("third", b, 64, 1), a)});
}

TEST_F(SplitEmitter, DispatchesTouchTheFrontOfEachPlane) {
  plan(convolutions(2), /*dim=*/2);
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(gpu().stretches.size(), 1u);
  std::map<uint64_t, uint64_t> frontOf;
  for (auto op : planned().stretches()[0].getBody().getOps<plan::DispatchOp>())
    frontOf[op.getLayer()] = *op.getFront();
  EXPECT_EQ(frontOf.size(), 3u);
  unsigned results = 0;
  for (const artifact::Dispatch &dispatch : gpu().stretches[0].dispatches) {
    // By layer: there is an execute of each.
    uint64_t front = frontOf[dispatch.operation];
    RankedTensorType type = resultOf(dispatch);
    uint64_t row = 24 * 16 * sizeof(float), plane = 24 * row,
             planes = type.getNumElements() * sizeof(float) / plane;
    for (const artifact::Touched &touched : dispatch.touched) {
      const artifact::GpuOperand &operand = dispatch.operands[touched.operand];
      EXPECT_EQ(operand.size,
                touched.stride * (touched.count - 1) + touched.bytes);
      EXPECT_LT(touched.bytes, touched.stride);
      if (touched.stride != plane || touched.count != planes)
        continue;
      EXPECT_EQ(touched.bytes % row, 0u);
      results += touched.bytes == front * row;
    }
  }
  EXPECT_GE(results, 3u);
  // Others touch all of their operands.
  plan(convolutions(1), /*dim=*/1);
  for (const artifact::Stretch &stretch : gpu().stretches)
    for (const artifact::Dispatch &dispatch : stretch.dispatches)
      EXPECT_TRUE(dispatch.touched.empty());
}

TEST_F(SplitEmitter, PartsAreTilesOfLaterKernels) {
  for (unsigned dim : {0, 1, 2}) {
    SCOPED_TRACE(dimName(dim).str());
    plan(convolutions(dim ? 1 : 4), dim);
    ASSERT_FALSE(HasFatalFailure());
    for (auto [number, stretch] : llvm::enumerate(gpu().stretches)) {
      EXPECT_EQ(stretch.kind, artifact::StretchKind::Split);
      EXPECT_FALSE(stretch.cold);
      EXPECT_EQ(stretch.dim, dim);
      EXPECT_GT(stretch.at, 0u);
      plan::StretchOp op = planned().stretches()[number];
      EXPECT_EQ(*op.getAt(), stretch.at);
      // Parts are in the order of executes.
      uint32_t execute = stretch.first;
      for (const artifact::Operation &part : stretch.parts) {
        auto isOf = [&](const artifact::Operation &own) {
          return own.layer == part.layer &&
                 own.operands[0].space == part.operands[0].space &&
                 own.operands[0].offset == part.operands[0].offset;
        };
        while (execute < stretch.first + stretch.count &&
               !isOf(program().operations[execute]))
          ++execute;
        ASSERT_LT(execute, stretch.first + stretch.count) << part.layer;
        std::string routine =
            model->table()[program().operations[execute].kernel].name;
        const KernelTable::Kernel &kernel = model->table()[part.kernel];
        EXPECT_TRUE(kernel.name == routine ||
                    kernel.name == routine + "." + dimName(dim).str())
            << kernel.name;
        EXPECT_EQ(part.kind, artifact::OperationKind::Execute);
        EXPECT_TRUE(part.after.empty());
        EXPECT_EQ(part.predictedEnd, 0u);
        EXPECT_GT(part.tiles, 0u);
        EXPECT_LE(part.tileBegin + part.tiles, kernel.info.tiles);
      }
      EXPECT_EQ(execute + 1, stretch.first + stretch.count);
    }
  }
}

TEST_F(SplitEmitter, PartsWaitForTheirWeights) {
  options.mode = Mode::Continuous;
  options.memory = Memory::Most;
  plan(convolutions(1), /*dim=*/2);
  ASSERT_FALSE(HasFatalFailure());
  unsigned found = 0;
  for (const artifact::Stretch &stretch : gpu().stretches)
    for (const artifact::Operation &part : stretch.parts)
      for (const Operand &operand : part.operands)
        for (auto [i, preparation] : llvm::enumerate(program().preparations)) {
          if (operand.space != Space::Prepared ||
              !overlap(operand, preparation.operands[0]))
            continue;
          ++found;
          EXPECT_TRUE(llvm::any_of(stretch.after,
                                   [&](artifact::OperationId id) {
                                     return id.kind ==
                                                artifact::LaneKind::Prepare &&
                                            id.index == i;
                                   }))
              << "preparation " << i << " of " << part.layer;
        }
  EXPECT_GT(found, 0u);
}

TEST_F(SplitEmitter, AChannelSplitUploadsAPrefixOfTheWeights) {
  NetText net(1, 64, 16);
  std::string text = net.text({net.conv("conv", net.input, 128, 3)});
  plan(text, /*dim=*/1, /*percent=*/25);
  ASSERT_FALSE(HasFatalFailure());
  // The adapt before it is apart, and the one behind it with it.
  const artifact::Stretch &last = gpu().stretches.back();
  EXPECT_EQ(last.at, 32u);
  EXPECT_EQ(last.count, 2u);
  artifact::ProgramGpu quarter = gpu();
  plan(text, /*dim=*/2);
  ASSERT_FALSE(HasFatalFailure());
  uint64_t all = uploadedBytes(gpu());
  EXPECT_GT(all, 0u);
  EXPECT_EQ(uploadedBytes(quarter) * 4, all);
  EXPECT_EQ(quarter.preparedSize * 4, gpu().preparedSize);

  // Where another stretch computes all of the layer it needs all.
  plan(text, /*dim=*/1, /*percent=*/25);
  OwningOpRef<ModuleOp> copy = model->main->getParentOfType<ModuleOp>().clone();
  copy->walk([&](plan::GpuOp op) {
    uint64_t number = op.stretches().size() - 1;
    plan::StretchOp split = op.stretches()[number];
    plan::RecordOp record;
    for (auto one : op.getBody().getOps<plan::RecordOp>())
      if (one.getStretch() == number)
        record = one;
    OpBuilder b(record);
    b.setInsertionPointAfter(record);
    auto otherRecord = cast<plan::RecordOp>(b.clone(*record));
    otherRecord.setStretch(number + 1);
    b.setInsertionPointAfter(split);
    auto whole = cast<plan::StretchOp>(b.clone(*split));
    whole->replaceUsesOfWith(record.getDone(), otherRecord.getDone());
    whole.setWarm(false);
    whole.removeDimAttr();
    whole.removeAtAttr();
    for (auto part :
         llvm::make_early_inc_range(whole.getBody().getOps<plan::PartOp>()))
      part.erase();
    for (auto dispatch : whole.getBody().getOps<plan::DispatchOp>())
      dispatch.removeFrontAttr();
    for (auto lane : op.getBody().getOps<plan::GpuLaneOp>())
      if (llvm::is_contained(lane.getQueue(), record.getDone()))
        lane.getQueueMutable().append(otherRecord.getDone());
  });
  std::string both;
  llvm::raw_string_ostream os(both);
  copy->print(os);
  plan(both, 1);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(gpu().stretches.size(), quarter.stretches.size() + 1);
  EXPECT_EQ(uploadedBytes(gpu()), all);
  EXPECT_EQ(model->prove(program()), "");
}

TEST_F(SplitEmitter, WhatTheGpuWritesIsNobodyElses) {
  for (double percent : {25, 50, 75}) {
    // A layer behind the first split reads `second`.
    NetText net(1, 32, 32);
    Picture a = net.conv("first", net.input, 32, 3);
    Picture b = net.conv("second", a, 32, 3);
    Picture c = net.exp("exp", net.add("sum", b, a));
    Picture d = net.softmax("soft", c);
    plan(net.text({net.conv("last", net.add("join", d, b), 32, 3)}), /*dim=*/2,
         percent);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(model->prove(program()), "");
    unsigned checked = 0;
    for (const artifact::Stretch &stretch : gpu().stretches)
      for (const artifact::Rows &rows : stretch.out) {
        Operand host = gpu().boundaries[rows.boundary].host, written = host;
        written.offset += rows.offset;
        written.size = rows.bytes;
        auto check = [&](const artifact::Operation &operation) {
          for (auto [k, operand] : llvm::enumerate(operation.operands)) {
            if (!overlap(operand, written))
              continue;
            EXPECT_EQ(k, 0u) << operation.layer;
            EXPECT_EQ(operand.offset, host.offset) << operation.layer;
            EXPECT_EQ(operand.size, host.size) << operation.layer;
            ++checked;
          }
        };
        for (const artifact::Operation &part : stretch.parts)
          check(part);
        for (uint32_t i = 0; i < stretch.count; ++i)
          check(program().operations[stretch.first + i]);
      }
    EXPECT_GE(checked, 4u);
  }
}

TEST_F(SplitEmitter, ProgramsWithoutSplitsAreAsEver) {
  // No profile knows what both lose beside each other.
  options.gpuForce = true;
  std::string paths[2];
  for (Split split : {Split::Auto, Split::Off}) {
    options.split = split;
    plan(convolutions(1), std::nullopt);
    ASSERT_FALSE(HasFatalFailure());
    for (const artifact::Stretch &stretch : gpu().stretches) {
      EXPECT_EQ(stretch.kind, artifact::StretchKind::Whole);
      EXPECT_TRUE(stretch.parts.empty());
    }
    std::string &path = paths[split == Split::Off];
    path = testing::TempDir() + "split-emitter-" +
           std::to_string(split == Split::Off) + ".nnv";
    ASSERT_EQ(model->write(program(), path), "");
  }
  auto bytesOf = [](const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    EXPECT_TRUE(bool(file));
    std::string bytes = file ? (*file)->getBuffer().str() : "";
    llvm::sys::fs::remove(path);
    return bytes;
  };
  EXPECT_TRUE(bytesOf(paths[0]) == bytesOf(paths[1]));
}

} // namespace
