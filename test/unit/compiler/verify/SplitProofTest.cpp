//===- SplitProofTest.cpp - Good splits are proven, others refused --------===//
//
// In plans of models CPU and GPU share all layers that they can, and the proof
// must accept that. Then the program, or the plan that it is emitted from, is
// changed as a fault of the planner would. GpuMutantsTest.cpp does so at
// random.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/Cut.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "test/unit/compiler/verify/NetText.h"
#include "test/unit/compiler/verify/PlannedModel.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;

namespace {

using Picture = NetText::Picture;

/// Windows of several sizes and strides, one after another.
std::string chain(int64_t batch) {
  NetText net(batch, 16, 48);
  Picture a = net.conv("wide", net.input, 32, 5);
  Picture b = net.conv("half", a, 32, 3, /*stride=*/2);
  Picture c = net.conv("flat", b, 64, 1);
  return net.text({net.conv("last", c, 32, 3)});
}

/// A residual that is added in place.
std::string residual(int64_t batch) {
  NetText net(batch, 32, 32);
  Picture a = net.conv("first", net.input, 32, 3);
  Picture b = net.conv("left", a, 32, 3);
  Picture c = net.add("sum", net.conv("right", b, 32, 3), a);
  return net.text({net.conv("last", net.exp("exp", c), 48, 3)});
}

/// Two sums one after another that take the same memory, by one kernel.
std::string sums(int64_t batch) {
  NetText net(batch, 32, 32);
  Picture a = net.conv("first", net.input, 32, 3);
  Picture b = net.conv("second", a, 32, 3);
  Picture c = net.conv("third", b, 32, 3);
  Picture d = net.add("sum", net.conv("left", a, 32, 1), c);
  Picture e = net.add("sum again", net.conv("right", b, 32, 1), d);
  return net.text({net.conv("last", e, 32, 3)});
}

/// The same channels from the second layer on.
std::string depthwise(int64_t batch) {
  NetText net(batch, 32, 32);
  Picture a = net.conv("expand", net.input, 64, 1);
  Picture b = net.conv("depth", a, 64, 3, /*stride=*/2, /*groups=*/64);
  Picture c = net.pool("pool", b);
  return net.text({net.exp("exp", net.conv("depth again", c, 64, 3, 1, 64))});
}

/// Branches that a concatenation joins, and one of them is read once more.
std::string branches(int64_t batch) {
  NetText net(batch, 32, 32);
  Picture a = net.conv("left", net.input, 32, 3);
  Picture b = net.conv("right", net.conv("reduce", net.input, 16, 1), 48, 5);
  Picture c = net.conv("joined", net.concat("join", a, b), 32, 3);
  return net.text({net.conv("last", c, 32, 3), b});
}

/// No processor shares the layer between two convolutions.
std::string apart(int64_t batch) {
  NetText net(batch, 32, 32);
  Picture a = net.conv("second", net.conv("first", net.input, 32, 3), 32, 3);
  Picture b = net.softmax("alone", a);
  return net.text({net.conv("fourth", net.conv("third", b, 32, 3), 32, 3)});
}

enum Dim : unsigned { Batch, Channels, Rows };

class SplitProof : public testing::Test {
protected:
  SplitProof() : context(MLIRContext::Threading::DISABLED) {
    options.threads = 1;
    options.gpu = codegen::GpuTarget::everything().name;
    options.split = Split::Force;
  }

  /// Plans a model. Faults are looked for in a plan that every machine makes.
  void plan(const std::string &text, std::optional<unsigned> dim,
            double percent = 50) {
    options.splitDim = dim;
    options.splitPercent = percent;
    model = std::make_unique<PlannedModel>(context, text, options,
                                           /*alternatives=*/false, "x86-64-v4");
    ASSERT_EQ(model->error, "");
    program = model->program;
    ASSERT_EQ(prove(), "");
    ASSERT_FALSE(program.gpu->stretches.empty());
  }

  /// Plans the residual; another routine takes over `left`.
  void planSwitch() {
    options.parts = Parts::K; // the program makes all forms of weights
    plan(residual(1), Rows);
    if (!HasFatalFailure())
      plan(textOf([&](plan::ProgramOp program) { addSwitch(program); }), Rows);
  }
  void addSwitch(plan::ProgramOp program) {
    StringRef form = "winograd4", name = "conv.winograd4.nChw16c";
    uint64_t number = executeOf("left");
    plan::ExecuteOp first;
    Value packed, made;
    program.walk([&](Operation *op) {
      if (auto execute = dyn_cast<plan::ExecuteOp>(op);
          execute && execute.getLayer() == number)
        first = execute;
      if (auto transform = dyn_cast<plan::TransformOp>(op);
          transform && transform.getLayer() == number)
        (transform.getForm() == "packed" ? packed : made) = transform.getDone();
      if (auto part = dyn_cast<plan::PartOp>(op);
          part && part.getLayer() == number) {
        part.setRoutine(name);
        part.setBack(nearestStart(number, name, part.getBack()));
      }
    });
    ASSERT_TRUE(first && packed);
    first.setRoutine("conv.direct.nChw16c");
    first.getAfterMutable().assign(packed);
    OpBuilder b(first);
    b.setInsertionPointAfter(first);
    Location at = first.getLoc();
    if (made) {
      for (plan::LaneOp lane : program.lanes()) {
        SmallVector<Value> queue(lane.getQueue());
        llvm::erase(queue, made);
        lane.getQueueMutable().assign(queue);
      }
      program.walk([&](plan::UploadOp upload) {
        upload->replaceUsesOfWith(made, packed);
      });
    } else {
      made = plan::TransformOp::create(b, at, packed.getType(), packed, number,
                                       form, name);
    }
    plan::SwitchOp::create(b, at, made, number, name);
    b.setInsertionPointToEnd(&program.getBody().front());
    plan::LaneOp::create(b, at, plan::LaneKind::prepare, plan::CoreKind::any,
                         ValueRange(), ValueRange(made));
  }

  std::string prove() { return model->prove(program); }
  void expectFault(const std::string &expected) {
    std::string found = prove();
    EXPECT_TRUE(StringRef(found).contains(expected))
        << "found '" << found << "', expected '" << expected << "'";
    program = model->program;
  }

  /// The model with a changed plan.
  std::string textOf(llvm::function_ref<void(plan::ProgramOp)> change) {
    OwningOpRef<ModuleOp> copy =
        model->main->getParentOfType<ModuleOp>().clone();
    change(*copy->getOps<plan::ProgramOp>().begin());
    std::string text;
    llvm::raw_string_ostream os(text);
    copy->print(os, OpPrintingFlags().enableDebugInfo());
    return text;
  }
  /// The fault of the program that a changed plan gives.
  std::string faultOfPlan(llvm::function_ref<void(plan::StretchOp)> change) {
    std::string text = textOf([&](plan::ProgramOp program) {
      program.walk([&](plan::StretchOp op) { change(op); });
    });
    PlannedModel other(context, text, options, /*alternatives=*/false,
                       "x86-64-v4");
    return other.error.empty() ? other.prove(other.program) : other.error;
  }

  /// Where parts of a layer can begin, in rows; `at` or less.
  uint64_t nearestStart(uint64_t layer, StringRef routine, uint64_t at) {
    uint64_t nearest = 0;
    for (int64_t start : starts(layer, routine))
      if (uint64_t(start) <= at)
        nearest = uint64_t(start);
    return nearest;
  }
  SmallVector<int64_t> starts(uint64_t layer, StringRef routine) {
    auto grid = codegen::partGrid(
        model->layers[layer],
        codegen::CpuRoutine::of(*codegen::cpuRoutines().named(routine)), Rows,
        *codegen::Target::byName("x86-64-v4"));
    return grid ? grid->starts : SmallVector<int64_t>();
  }
  /// The number of a layer, as each has an execute. An adapt has the name of
  /// what it is for.
  uint32_t executeOf(StringRef layer) {
    for (auto [i, operation] : llvm::enumerate(model->program.operations))
      if (operation.layer == layer && !isa<nn::AdaptOp>(model->layers[i]))
        return i;
    llvm_unreachable("the model has it");
  }

  artifact::ProgramGpu &gpu() { return *program.gpu; }
  artifact::Stretch &stretch(unsigned number = 0) {
    return gpu().stretches[number];
  }
  /// The parts of the layer of this name, which are one behind another.
  std::vector<artifact::Operation *> parts(StringRef layer) {
    const artifact::Operand &place =
        model->program.operations[executeOf(layer)].operands[0];
    std::vector<artifact::Operation *> found;
    for (artifact::Stretch &stretch : gpu().stretches)
      for (artifact::Operation &part : stretch.parts)
        if (part.layer == layer && part.operands[0].offset == place.offset &&
            part.operands[0].space == place.space)
          found.push_back(&part);
    EXPECT_FALSE(found.empty()) << layer.str();
    return found;
  }
  artifact::Operation &part(StringRef layer) { return *parts(layer)[0]; }
  artifact::Dispatch &dispatch(StringRef layer) {
    for (artifact::Stretch &stretch : gpu().stretches)
      for (artifact::Dispatch &d : stretch.dispatches)
        if (d.operation == executeOf(layer))
          return d;
    llvm_unreachable("the plan has it");
  }

  MLIRContext context;
  PlanOptions options;
  std::unique_ptr<PlannedModel> model;
  artifact::Program program;
};

//===----------------------------------------------------------------------===//
// Good ones
//===----------------------------------------------------------------------===//

TEST_F(SplitProof, SplitsAreProven) {
  // Pictures are adapted where they come in and go out, which shares neither
  // their channels nor their rows with all processors.
  struct {
    const char *name;
    std::string (*text)(int64_t batch);
    unsigned longest[3]; ///< least executes of a stretch, by dimension
  } models[] = {
      {"chain", chain, {6, 2, 5}},       {"residual", residual, {6, 2, 4}},
      {"sums", sums, {8, 3, 6}},         {"depthwise", depthwise, {6, 5, 4}},
      {"branches", branches, {9, 2, 2}}, {"apart", apart, {9, 4, 2}}};
  for (const auto &m : models)
    for (unsigned dim : {Batch, Channels, Rows})
      for (double percent : {20, 50, 80}) {
        SCOPED_TRACE(m.name + (" " + dimName(dim)).str() + " " +
                     std::to_string(percent));
        plan(m.text(dim == Batch ? 4 : 1), dim, percent);
        ASSERT_FALSE(HasFatalFailure());
        unsigned longest = 0;
        for (const artifact::Stretch &s : gpu().stretches) {
          EXPECT_EQ(s.kind, artifact::StretchKind::Split);
          EXPECT_EQ(s.dim, dim);
          longest = std::max(longest, s.count);
        }
        EXPECT_GE(longest, m.longest[dim]);
      }
}

TEST_F(SplitProof, FilesOfModelsAreProven) {
  unsigned found = 0;
  for (const char *name : {"mnist", "blazeface"}) {
    std::string path = std::string(NNV12_MODELS) + "/" + name + "/model.onnx";
    for (unsigned dim : {Channels, Rows}) {
      SCOPED_TRACE(name + (" " + dimName(dim)).str());
      plan(path, dim);
      ASSERT_FALSE(HasFatalFailure());
      for (const artifact::Stretch &stretch : gpu().stretches)
        found += stretch.count;
    }
  }
  EXPECT_GE(found, 40u) << "executes that are split";
}

TEST_F(SplitProof, RoutinesThatTakeOverAreProven) {
  planSwitch();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(program.switches.size(), 1u);
  EXPECT_NE(part("left").operands[2].offset,
            program.operations[executeOf("left")].operands[2].offset);
}

TEST_F(SplitProof, MoreThanIsNeededIsProven) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  // The GPU computes all of the inner layers.
  EXPECT_EQ(
      faultOfPlan([&](plan::StretchOp op) {
        for (auto dispatch : op.getBody().getOps<plan::DispatchOp>())
          if (dispatch.getLayer() + 1 < op.getFirst() + op.getCount())
            dispatch.setFront(
                nn::typeOf(model->layers[dispatch.getLayer()]->getResult(0))
                    .getDimSize(Rows));
      }),
      "");
  // So does the CPU.
  EXPECT_EQ(faultOfPlan([](plan::StretchOp op) {
              for (auto part : op.getBody().getOps<plan::PartOp>())
                if (part.getLayer() + 1 < op.getFirst() + op.getCount())
                  part.setBack(0);
            }),
            "");
}

TEST_F(SplitProof, TheLayersOwnKernelIsProven) {
  // Where it has tiles that begin there.
  plan(chain(4), Batch);
  ASSERT_FALSE(HasFatalFailure());
  unsigned changed = 0;
  for (artifact::Operation &part : stretch().parts) {
    const artifact::Operation *own = nullptr;
    for (const artifact::Operation &operation : program.operations)
      if (operation.layer == part.layer)
        own = &operation;
    ASSERT_TRUE(own);
    changed += part.kernel == own->kernel;
  }
  EXPECT_GT(changed, 0u);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

TEST_F(SplitProof, OtherTiles) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  for (StringRef layer : {"wide", "half", "flat", "last"}) {
    SCOPED_TRACE(layer.str());
    part(layer).tileBegin += 1; // one missing at the front, one too many
    expectFault("among those that compute position");
    part(layer).tileBegin -= 1;
    expectFault("among those that compute position");
    part(layer).tileBegin += 1;
    part(layer).tiles -= 1;
    expectFault("among those that compute position");
    part(layer).tileBegin -= 1;
    part(layer).tiles += 1;
    expectFault("among those that compute position");
    part(layer).tiles -= 1;
    expectFault("among those that compute position");
    part(layer).tiles += 1;
    expectFault("among those that compute position");
    part(layer).tiles = 0;
    expectFault("among those that compute position");
  }
}

TEST_F(SplitProof, MissingParts) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  std::vector<artifact::Operation> &all = stretch().parts;
  ASSERT_GE(all.size(), 4u);
  all.pop_back();
  expectFault("parts of execute 4: found none");
  stretch().parts.erase(stretch().parts.begin());
  expectFault("parts of execute 0: found kernel");
  stretch().parts.clear();
  expectFault("parts of execute 0: found none");
}

TEST_F(SplitProof, PartsTooMany) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  stretch().parts.push_back(stretch().parts.back());
  expectFault("found 1 parts behind those of its executes");
  stretch().parts.insert(stretch().parts.begin(), stretch().parts[0]);
  expectFault("parts of execute 1: found kernel");
}

TEST_F(SplitProof, PartsInAnotherOrder) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  std::swap(part("half"), part("flat"));
  expectFault("expected the one for parts of");
  std::reverse(stretch().parts.begin(), stretch().parts.end());
  expectFault("expected the one for parts of");
}

TEST_F(SplitProof, APartOfSeveralRanges) {
  // Each picture has rows of its own behind the cut.
  plan(depthwise(2), Rows);
  ASSERT_FALSE(HasFatalFailure());
  std::vector<artifact::Operation *> two = parts("depth");
  ASSERT_EQ(two.size(), 2u);
  std::swap(*two[0], *two[1]);
  expectFault("among those that compute position");
  two = parts("depth");
  two[1]->kernel = parts("pool")[0]->kernel;
  expectFault("among those that compute position");
  two = parts("depth");
  two[1]->operands[1].offset += 256;
  expectFault("expected the operands of later inferences");
}

TEST_F(SplitProof, PartsElsewhere) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  part("half").operands[0].offset += 256;
  expectFault("expected the operands of later inferences");
  part("half").operands[1].offset += 256;
  expectFault("expected the operands of later inferences");
  part("half").operands[1].size -= 256;
  expectFault("expected the operands of later inferences");
  part("half").operands[2].offset += 256;
  expectFault("expected the operands of later inferences");
  part("half").operands.pop_back();
  expectFault("expected the operands of later inferences");
  std::swap(part("half").operands[0], part("half").operands[1]);
  expectFault("expected the operands of later inferences");
}

TEST_F(SplitProof, AnotherKernel) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  part("half").kernel = part("last").kernel;
  expectFault("expected the one for parts of");
  part("half").kernel = ~0U;
  expectFault("expected the one for parts of");
}

TEST_F(SplitProof, TheKernelOfTheFirstRun) {
  planSwitch();
  ASSERT_FALSE(HasFatalFailure());
  const artifact::Operation first = program.operations[executeOf("left")];
  for (artifact::Operation *p : parts("left"))
    p->kernel = first.kernel;
  expectFault("expected the one for parts of 'conv.winograd4.nChw16c'");
  for (artifact::Operation *p : parts("left"))
    p->operands = first.operands;
  expectFault("expected the operands of later inferences");
  // Both, but the other one takes over.
  for (artifact::Operation *p : parts("left")) {
    p->kernel = first.kernel;
    p->operands = first.operands;
  }
  expectFault("expected the one for parts of 'conv.winograd4.nChw16c'");
}

TEST_F(SplitProof, WeightsThatAreNotThere) {
  planSwitch();
  ASSERT_FALSE(HasFatalFailure());
  unsigned changed = 0;
  for (size_t i = 0; i < stretch().after.size(); ++i) {
    // The GPU's preparations have numbers behind the program's.
    if (stretch().after[i].index >= program.preparations.size())
      continue;
    stretch().after.erase(stretch().after.begin() + i);
    expectFault("operand 2: expected it to wait for preparation");
    ++changed;
  }
  EXPECT_GE(changed, 1u);
}

//===----------------------------------------------------------------------===//
// Fronts
//===----------------------------------------------------------------------===//

TEST_F(SplitProof, OtherFronts) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  // One row less or more than the plan has, or than the program has.
  for (StringRef layer : {"wide", "half", "flat", "last"})
    for (int by : {-1, 1}) {
      SCOPED_TRACE(layer.str() + (by < 0 ? " less" : " more"));
      plan::StretchOp planned;
      model->main->getParentOfType<ModuleOp>()->walk(
          [&](plan::StretchOp op) { planned = op; });
      uint32_t execute = dispatch(layer).operation;
      for (auto d : planned.getBody().getOps<plan::DispatchOp>())
        if (d.getLayer() == planned.getFirst() + execute - stretch().first)
          d.setFront(*d.getFront() + by);
      expectFault("stretch 0: dispatch ");
      for (auto d : planned.getBody().getOps<plan::DispatchOp>())
        if (d.getLayer() == planned.getFirst() + execute - stretch().first)
          d.setFront(*d.getFront() - by);
    }
  ASSERT_EQ(prove(), "");
}

TEST_F(SplitProof, BytesThatADispatchTouches) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  unsigned found = 0;
  for (size_t i = 0; i < stretch().dispatches.size(); ++i)
    for (size_t t = 0; t < stretch().dispatches[i].touched.size(); ++t) {
      auto touched = [&]() -> artifact::Touched & {
        return stretch().dispatches[i].touched[t];
      };
      touched().bytes -= 64;
      expectFault(": touched: found ");
      touched().bytes += 64;
      expectFault(": touched: found ");
      touched().stride -= 64;
      expectFault(": touched: found ");
      touched().count -= 1;
      expectFault(": touched: found ");
      touched().operand += 1;
      EXPECT_NE(prove(), "");
      program = model->program;
      auto &list = stretch().dispatches[i].touched;
      list.erase(list.begin() + t);
      expectFault("expected it to say which bytes it touches");
      ++found;
    }
  EXPECT_GE(found, 6u);
}

TEST_F(SplitProof, RowsThatAreMissing) {
  plan(chain(1), Rows);
  ASSERT_FALSE(stretch().in.empty());
  stretch().in[0].bytes -= 48 * 4; // a row of the input
  expectFault("found nothing written, expected bytes");
  stretch().in.pop_back();
  expectFault("found nothing written, expected bytes");
  stretch().in[0].offset += 256;
  expectFault("found nothing written, expected bytes");
}

TEST_F(SplitProof, RowsThatAreNotHandedBack) {
  plan(chain(1), Rows);
  ASSERT_FALSE(stretch().out.empty());
  stretch().out.pop_back();
  expectFault("stretch 0: behind it: byte ");
  stretch().out[0].bytes -= 64;
  expectFault("stretch 0: behind it: byte ");
  stretch().out.clear();
  expectFault("found nothing written, expected bytes 0 to ");
  stretch().out[0].boundary = 99;
  expectFault("out 0: found boundary 99");
}

TEST_F(SplitProof, AllOfALayerIsTheGpus) {
  // Then it has to hand all of it back.
  plan(apart(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  auto fault = faultOfPlan([](plan::StretchOp op) {
    for (auto part : op.getBody().getOps<plan::PartOp>())
      if (part.getLayer() + 1 == op.getFirst() + op.getCount())
        part.setBack(32);
  });
  EXPECT_TRUE(StringRef(fault).contains("behind it: byte")) << fault;
}

TEST_F(SplitProof, WeightsThatAreTooShort) {
  plan(chain(1), Channels);
  ASSERT_FALSE(HasFatalFailure());
  unsigned found = 0;
  for (size_t p = 0; p < gpu().preparations.size(); ++p)
    for (size_t u = 0; u < gpu().preparations[p].uploads.size(); ++u) {
      artifact::Upload &upload = gpu().preparations[p].uploads[u];
      if (upload.size < 4096)
        continue;
      upload.size -= 256;
      upload.source.size -= 256;
      expectFault("the GPU's prepared memory");
      ++found;
    }
  EXPECT_GE(found, 2u);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

TEST_F(SplitProof, HalosThatAreTooSmall) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  unsigned count = stretch().count;
  ASSERT_EQ(count, 5u);
  for (unsigned i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    bool isLast = i + 1 == count;
    // The GPU computes a row less: of the last layer nobody computes it.
    std::string fault = faultOfPlan([&](plan::StretchOp op) {
      for (auto dispatch : op.getBody().getOps<plan::DispatchOp>())
        if (dispatch.getLayer() == op.getFirst() + i)
          dispatch.setFront(*dispatch.getFront() - 1);
    });
    EXPECT_TRUE(StringRef(fault).contains(isLast ? "stretch 0: behind it: byte "
                                                 : ", expected bytes "))
        << fault;
    // The CPU's tiles begin later.
    int64_t rows = 0;
    fault = faultOfPlan([&](plan::StretchOp op) {
      for (auto p : op.getBody().getOps<plan::PartOp>()) {
        if (p.getLayer() != op.getFirst() + i)
          continue;
        for (int64_t start : starts(p.getLayer(), p.getRoutine()))
          if (start > int64_t(p.getBack())) {
            rows = start - int64_t(p.getBack());
            p.setBack(start);
            break;
          }
      }
    });
    EXPECT_GT(rows, 0);
    EXPECT_TRUE(StringRef(fault).contains(
        isLast ? "stretch 0: behind it: byte "
               : "parts of execute " + std::to_string(i + 1) + ": operand 1: "))
        << fault;
  }
}

TEST_F(SplitProof, AnotherCutThanThePlans) {
  plan(chain(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  stretch().kind = artifact::StretchKind::Whole;
  expectFault("stretch 0: expected one of 1, of 6 executes, split as in the");
  stretch().at -= 1;
  expectFault("stretch 0: expected one of 1, of 6 executes, split as in the");
  stretch().dim = 1;
  expectFault("stretch 0: expected one of 1, of 6 executes, split as in the");
  stretch().count -= 1;
  EXPECT_NE(prove(), "");
}

TEST_F(SplitProof, TwoStretches) {
  plan(apart(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(gpu().stretches.size(), 2u);
  std::swap(stretch(0).parts, stretch(1).parts);
  expectFault("stretch 0: parts of execute 1: expected the operands");
  std::swap(stretch(0).dispatches, stretch(1).dispatches);
  expectFault("stretch 0: dispatch 0: found execute");
  part("third").tiles -= 1;
  expectFault("stretch 1: parts of execute " +
              std::to_string(executeOf("third")) + ": expected tiles");
  stretch(1).out.pop_back();
  expectFault("stretch 1: behind it: byte ");
}

TEST_F(SplitProof, AResultWhereTheInputLies) {
  // That is over for the CPU alone, which has read it. A GPU in the CPU's
  // memory may write there while parts still read it.
  plan(apart(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  uint32_t first = executeOf("first");
  artifact::Operand from = program.operations[first + 1].operands[0],
                    to = program.operations[first].operands[1];
  ASSERT_EQ(from.size, to.size);
  auto move = [&](artifact::Operand &operand) {
    if (operand.space == from.space && operand.offset == from.offset &&
        operand.size == from.size)
      operand.offset = to.offset;
  };
  for (artifact::Operation &operation : program.operations)
    llvm::for_each(operation.operands, move);
  for (artifact::Operation &part : stretch().parts)
    llvm::for_each(part.operands, move);
  for (artifact::Boundary &boundary : gpu().boundaries)
    move(boundary.host);
  expectFault("stretch 0: parts of execute 1: operand 1: byte ");
}

TEST_F(SplitProof, InPlace) {
  // Sums lie where their operand was, two of them at one place.
  plan(sums(1), Rows);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(part("left").kernel, part("right").kernel);
  EXPECT_EQ(part("left").operands[0].offset, part("right").operands[0].offset);
  unsigned inPlace = 0;
  for (const artifact::Operation &part : stretch().parts)
    for (size_t k = 1; k < part.operands.size(); ++k)
      inPlace += part.operands[k].space == part.operands[0].space &&
                 part.operands[k].offset == part.operands[0].offset &&
                 part.operands[k].size == part.operands[0].size;
  EXPECT_GE(inPlace, 2u);
  // A result on top of the operand of a window.
  uint32_t second = executeOf("second");
  std::vector<artifact::Operand> &operands =
      program.operations[second].operands;
  for (artifact::Operation *p : parts("second"))
    p->operands[0] = operands[1];
  operands[0] = operands[1];
  expectFault("expected no bytes of operand 1 where the result is");
}

} // namespace
