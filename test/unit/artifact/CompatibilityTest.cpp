//===- CompatibilityTest.cpp - Bundles of later writers -------------------===//
//
// An unknown part makes a program one for newer readers, and no error of the
// bundle as long as another program is left. Whole files of a later format:
// test/unit/runtime/EvolutionTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"

#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/sample/GpuSample.h"

#include <functional>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
namespace fb = flatbuffers;

namespace {

constexpr auto patch8 = [](auto *table, fb::voffset_t field, uint8_t value) {
  PatchedMetadata::patch<uint8_t>(table, field, value);
};

struct Case {
  const char *message;
  std::function<void(const bundle::Program *)> change;
  std::function<void(const bundle::Target *)> changeTarget = {};
};

const Case cases[] = {
    {"processor 0: kind: found 1, expected at most 0 (the program is for newer "
     "readers)",
     {},
     [](const bundle::Target *t) {
       patch8(t->processors()->Get(0), bundle::Processor::VT_KIND,
              bundle::ProcessorKind_Gpu);
     }},
    {"processor 0: kind: found 2, expected at most 0",
     {},
     [](const bundle::Target *t) {
       patch8(t->processors()->Get(0), bundle::Processor::VT_KIND, 2);
     }},
    {"memory 0: kind: found 2, expected at most 1",
     [](const bundle::Program *p) {
       patch8(p->memories()->Get(0), bundle::Memory::VT_KIND, 2);
     }},
    {"memory 1: kind: found 255, expected at most 1",
     [](const bundle::Program *p) {
       patch8(p->memories()->Get(1), bundle::Memory::VT_KIND, 255);
     }},
    {"memory 1: found a second Arena, expected one (the program is for newer "
     "readers)",
     [](const bundle::Program *p) {
       patch8(p->memories()->Get(1), bundle::Memory::VT_KIND,
              bundle::MemoryKind_Arena);
     }},
    {"memory 1: found a second Prepared, expected one",
     [](const bundle::Program *p) {
       patch8(p->memories()->Get(0), bundle::Memory::VT_KIND,
              bundle::MemoryKind_Prepared);
     }},
    {"memory 1: alignment: found 4194304, expected at most 2097152",
     [](const bundle::Program *p) {
       PatchedMetadata::patch<uint64_t>(p->memories()->Get(1),
                                        bundle::Memory::VT_ALIGNMENT, 4 << 20);
     }},
    {"operation 0: kind: found 4, expected at most 3",
     [](const bundle::Program *p) {
       patch8(p->operations()->Get(0), bundle::Operation::VT_KIND, 4);
     }},
    {"operation 12: kind: found 9, expected at most 3",
     [](const bundle::Program *p) {
       patch8(p->operations()->Get(12), bundle::Operation::VT_KIND, 9);
     }},
    {"operation 6: codec: found 2, expected at most 1",
     [](const bundle::Program *p) {
       patch8(p->operations()->Get(6), bundle::Operation::VT_CODEC, 2);
     }},
    {"operation 1: space of an operand: found 4, expected at most 3",
     [](const bundle::Program *p) {
       patch8(p->operations()->Get(1)->operands()->Get(2),
              bundle::Operand::VT_SPACE, 4);
     }},
    {"operation 6: after: found execute 4, expected preparations (the program "
     "is for newer readers)",
     [](const bundle::Program *p) {
       const_cast<fb::Vector<uint32_t> *>(p->operations()->Get(6)->after())
           ->Mutate(0, 4);
     }},
    {"lane 1: kind: found 2, expected at most 1",
     [](const bundle::Program *p) {
       patch8(p->lanes()->Get(1), bundle::Lane::VT_KIND, 2);
     }},
    {"lane 2: core: found 3, expected at most 2",
     [](const bundle::Program *p) {
       patch8(p->lanes()->Get(2), bundle::Lane::VT_CORE, 3);
     }},
    {"switch 1: kind: found 4, expected at most 3",
     [](const bundle::Program *p) {
       patch8(p->switches()->Get(1)->replacement(), bundle::Operation::VT_KIND,
              4);
     }},
    {"switch 0: codec: found 5, expected at most 1",
     [](const bundle::Program *p) {
       patch8(p->switches()->Get(0)->replacement(), bundle::Operation::VT_CODEC,
              5);
     }},
    {"switch 0: space of an operand: found 7, expected at most 3",
     [](const bundle::Program *p) {
       patch8(p->switches()->Get(0)->replacement()->operands()->Get(0),
              bundle::Operand::VT_SPACE, 7);
     }},
};

/// `change` of the sample's programs whose bits are set in `which`.
Fault::Code verify(
    const Case &c, unsigned which, std::string &text,
    const std::function<void(const bundle::Bundle *)> &also =
        [](const bundle::Bundle *) {}) {
  PlannedSample sample(3, 3, 2);
  PatchedMetadata metadata(sample.bundle);
  for (uint32_t i = 0; i < 3; ++i)
    if (which >> i & 1)
      c.change ? c.change(metadata.program(i))
               : c.changeTarget(metadata.target(i));
  also(metadata.bundle());
  Fault fault;
  bool good = metadata.verify(fault);
  EXPECT_EQ(good, fault.code == Fault::None) << c.message;
  text = fault.text;
  return fault.code;
}

} // namespace

TEST(Compatibility, ProgramsForNewerReadersArePassedOver) {
  for (const Case &c : cases)
    for (unsigned which = 0; which < 7; ++which) {
      std::string text;
      EXPECT_EQ(verify(c, which, text), Fault::None)
          << c.message << ", programs " << which << ": " << text;
    }
}

TEST(Compatibility, OneMustBeLeft) {
  for (const Case &c : cases) {
    std::string text;
    EXPECT_EQ(verify(c, 7, text), Fault::Unsupported) << c.message;
    EXPECT_EQ(text.find("programs: found none of 3 that this reader knows all "
                        "of: program 0: " +
                        std::string(c.message)),
              0u)
        << c.message << "\n"
        << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

/// Other tests find other faults of such a program.
TEST(Compatibility, ProgramsForNewerReadersAreNotLookedAt) {
  for (const Case &c : cases) {
    std::string text;
    EXPECT_EQ(verify(c, 1, text,
                     [](const bundle::Bundle *b) {
                       PatchedMetadata::patch<uint32_t>(
                           b->targets()->Get(0)->kernels()->Get(0),
                           bundle::Kernel::VT_ENTRY, 1 << 20);
                     }),
              Fault::None)
        << c.message << ": " << text;
    EXPECT_EQ(verify(c, 1, text,
                     [](const bundle::Bundle *b) {
                       PatchedMetadata::patch<uint32_t>(
                           b->targets()->Get(1)->kernels()->Get(0),
                           bundle::Kernel::VT_ENTRY, 1 << 20);
                     }),
              Fault::BadBundle);
    EXPECT_EQ(text.find("target 1: kernel 0: entry: found 1048576"), 0u)
        << text;
  }
}

TEST(Compatibility, WhatAllProgramsShare) {
  struct Shared {
    const char *message;
    std::function<void(const bundle::Bundle *)> change;
  };
  const Shared shared[] = {
      {"kind: found 2, expected at most 1 (the bundle is newer than this "
       "reader)",
       [](const bundle::Bundle *b) { patch8(b, bundle::Bundle::VT_KIND, 2); }},
  };
  for (const Shared &c : shared) {
    Sample sample;
    PatchedMetadata metadata(sample.bundle);
    c.change(metadata.bundle());
    Fault fault;
    EXPECT_FALSE(metadata.verify(fault));
    EXPECT_STREQ(fault.text, c.message);
    EXPECT_EQ(fault.code, Fault::Unsupported);
  }
  Sample sample;
  PatchedMetadata metadata(sample.bundle);
  patch8(metadata.bundle(), bundle::Bundle::VT_KIND, bundle::BundleKind_Tuning);
  Fault fault;
  EXPECT_TRUE(metadata.verify(fault)) << fault.text;
}

/// They are left alone: a segment that is no code is not run, and one that is
/// no weights is not read.
TEST(Compatibility, SegmentsOfUnknownKinds) {
  Sample sample;
  sample.bundle.segments.push_back({SegmentKind::Weights, {{"other", 5}}});
  auto verify = [&](uint32_t segment, Fault &fault) {
    PatchedMetadata metadata(sample.bundle);
    patch8(metadata.bundle()->segments()->Get(segment),
           bundle::Segment::VT_KIND, bundle::SegmentKind_MAX + 1);
    return metadata.verify(fault);
  };
  Fault fault;
  EXPECT_TRUE(verify(3, fault)) << fault.text;
  EXPECT_FALSE(verify(2, fault));
  EXPECT_EQ(fault.code, Fault::BadBundle);
  EXPECT_STREQ(fault.text, "program 0: operation 0: operand 2: found Weights "
                           "2, which does not exist");
  EXPECT_FALSE(verify(0, fault));
  EXPECT_EQ(fault.code, Fault::BadBundle);
  EXPECT_STREQ(fault.text,
               "target 0: processor 0: code: found 0, expected a code segment");
}

/// A later version may have one element type more.
TEST(Compatibility, TensorsOfUnknownTypes) {
  for (bool isInput : {true, false}) {
    Sample sample;
    PatchedMetadata metadata(sample.bundle);
    const bundle::Program *program = metadata.program();
    patch8((isInput ? program->inputs() : program->outputs())->Get(0),
           bundle::Tensor::VT_TYPE, bundle::ElementType_MAX + 1);
    Fault fault;
    EXPECT_FALSE(metadata.verify(fault));
    EXPECT_EQ(
        std::string(fault.text)
            .find("programs: found none of 3 that this reader knows all of: "
                  "program 0: " +
                  std::string(isInput ? "input" : "output") +
                  " 0: type: found 23, expected at most 22 (the program is for "
                  "newer readers)"),
        0u)
        << fault.text;
    EXPECT_EQ(fault.code, Fault::Unsupported);
  }
}

/// The program itself is the CPU's. The GPU has overlays alone.
TEST(Compatibility, ProcessorsOfOperations) {
  using Meta = PatchedMetadata;
  const Case others[] = {
      {"memory 1: processor: found 1, expected at most 0 (the program is for "
       "newer readers)",
       [](const bundle::Program *p) {
         Meta::patch<uint32_t>(p->memories()->Get(1),
                               bundle::Memory::VT_PROCESSOR, 1);
       }},
      {"lane 1: processor: found 1, expected at most 0",
       [](const bundle::Program *p) {
         Meta::patch<uint32_t>(p->lanes()->Get(1), bundle::Lane::VT_PROCESSOR,
                               1);
       }},
      {"operation 0: processor: found 1, expected at most 0",
       {},
       [](const bundle::Target *t) {
         Meta::patch<uint32_t>(t->kernels()->Get(0),
                               bundle::Kernel::VT_PROCESSOR, 1);
       }},
  };
  for (const Case &c : others)
    for (uint32_t count : {1, 3}) {
      GpuSample sample;
      PatchedMetadata metadata(sample.bundle);
      for (uint32_t i = 0; i < count; ++i)
        c.change ? c.change(metadata.program(i))
                 : c.changeTarget(metadata.target(i));
      Fault fault;
      // The first program's overlay is of the same segment.
      EXPECT_EQ(metadata.verifyMetadata(fault), count == 1)
          << c.message << ": " << fault.text;
      if (count == 3) {
        EXPECT_NE(std::string(fault.text).find(c.message), std::string::npos)
            << fault.text;
      }
    }
}

/// A segment that nobody can read without a key.
TEST(Compatibility, SealedSegments) {
  GpuSample sample;
  auto seal = [](const PatchedMetadata &metadata, uint32_t segment) {
    patch8(metadata.bundle()->segments()->Get(segment),
           bundle::Segment::VT_SEAL, 1);
  };
  const struct {
    uint32_t segment;
    const char *message; ///< null: programs can do without
  } cases[] = {
      {0, "processor 0: seal of a segment: found 1, expected at most 0 (the "
          "program is for newer readers)"},
      {1, nullptr}, // another target's code
      {2, "operation 0: seal of a segment: found 1, expected at most 0"},
      {3, nullptr},
      {4, nullptr}};
  for (const auto &c : cases) {
    PatchedMetadata metadata(sample.bundle);
    ASSERT_EQ(metadata.bundle()->segments()->size(), 5u);
    seal(metadata, c.segment);
    Fault fault, why;
    EXPECT_TRUE(metadata.verifyMetadata(fault) || c.segment == 2) << fault.text;
    EXPECT_EQ(isUnderstood(metadata.bundle(), 0, why), !c.message);
    EXPECT_EQ(std::string(why.text),
              c.message
                  ? "program 0: " + std::string(c.message) +
                        (c.segment ? " (the program is for newer readers)" : "")
                  : "");
    // Modules and overlays that nobody can read are left alone.
    if (c.message)
      continue;
    EXPECT_EQ(gpuOverlayIn(metadata.bundle()) == nullptr, c.segment == 4);
    EXPECT_EQ(gpuOf(metadata.bundle(), metadata.overlays(),
                    metadata.program()) == nullptr,
              c.segment == 3);
  }
  PatchedMetadata metadata(sample.bundle);
  seal(metadata, 3);
  Fault fault;
  EXPECT_TRUE(metadata.verify(fault)) << fault.text;
}

namespace {

/// Builds bundles that no writer makes; without operations.
struct Built {
  struct Overlay {
    unsigned kind;
    uint32_t processor, segment;
  };
  struct Program {
    std::vector<Overlay> overlays = {};
    std::string input = "x";
    bundle::ElementType type = bundle::ElementType_F32;
    uint32_t numInputs = 1, numStates = 0, target = 0;
  };
  enum : uint32_t { code, spirv, overlays, otherOverlays };

  std::vector<unsigned> processors = {bundle::ProcessorKind_Cpu};
  std::vector<Program> programs = {{}};
  unsigned seals[4] = {};

  /// The message, or "".
  std::string verify() {
    fb::FlatBufferBuilder builder;
    std::vector<fb::Offset<bundle::Processor>> processorList;
    std::vector<fb::Offset<bundle::Feature>> features;
    for (unsigned kind : processors)
      processorList.push_back(bundle::CreateProcessorDirect(
          builder, bundle::ProcessorKind(kind), "x86-64", &features,
          kind == bundle::ProcessorKind_Gpu ? spirv : code));
    std::vector<fb::Offset<bundle::Kernel>> kernels;
    std::vector<fb::Offset<bundle::Target>> targets = {
        bundle::CreateTargetDirect(builder, "x", "", &processorList, &kernels)};
    std::vector<fb::Offset<bundle::Program>> programList;
    for (const Program &program : programs)
      programList.push_back(build(builder, program));
    const bundle::SegmentKind kinds[] = {
        bundle::SegmentKind_Code, bundle::SegmentKind_Spirv,
        bundle::SegmentKind_Overlays, bundle::SegmentKind_Overlays};
    std::vector<uint8_t> digest(sizeof(Digest));
    std::vector<fb::Offset<bundle::Segment>> segments;
    for (uint32_t i = 0; i < 4; ++i)
      segments.push_back(bundle::CreateSegmentDirect(
          builder, kinds[i], (i + 1) * segmentAlignment, 64, &digest,
          bundle::SealKind(seals[i])));
    bundle::FinishBundleBuffer(
        builder,
        bundle::CreateBundleDirect(builder, bundle::BundleKind_Model, "", "",
                                   &segments, &targets, &programList));
    AlignedCopy metadata(builder.GetBufferPointer(), builder.GetSize());
    Fault fault;
    bool good = verifyMetadata(metadata.data, metadata.size,
                               5 * segmentAlignment, fault);
    EXPECT_EQ(good, fault.code == Fault::None);
    return fault.text;
  }

private:
  static fb::Offset<bundle::Program> build(fb::FlatBufferBuilder &builder,
                                           const Program &program) {
    std::vector<int64_t> shape = {1};
    auto tensor = bundle::CreateTensorDirect(builder, program.input.c_str(),
                                             program.type, &shape);
    std::vector inputs(program.numInputs, tensor);
    std::vector<fb::Offset<bundle::Tensor>> outputs;
    std::vector<fb::Offset<bundle::Memory>> memories;
    std::vector<fb::Offset<bundle::Operation>> operations;
    std::vector<fb::Offset<bundle::Overlay>> list;
    for (const Overlay &overlay : program.overlays)
      list.push_back(bundle::CreateOverlay(
          builder, bundle::OverlayKind(overlay.kind),
          bundle::CreateOverlayHead(builder, 0, overlay.processor),
          overlay.segment));
    std::vector<fb::Offset<bundle::State>> states;
    for (uint32_t i = 0; i < program.numStates; ++i)
      states.push_back(bundle::CreateState(builder, 0, 0));
    return bundle::CreateProgramDirect(
        builder, program.target, &inputs, &outputs, &memories, &operations,
        nullptr, nullptr, 0, 0, false, &list, &states);
  }
};

constexpr unsigned cpu = bundle::ProcessorKind_Cpu,
                   gpu = bundle::ProcessorKind_Gpu, npu = gpu + 1;
constexpr unsigned gpuKind = bundle::OverlayKind_Gpu,
                   laterKind = bundle::OverlayKind_MAX + 1;

} // namespace

/// An overlay needs no other one, and any processor that it names.
TEST(Compatibility, OverlaysOfUnknownKinds) {
  const Built good[] = {
      {},
      {{cpu}, {{{{laterKind, 0, 99}}}}},
      {{cpu, npu}, {{{{laterKind, 1, Built::overlays}}}}},
      {{cpu, gpu}, {{{{gpuKind, 1, Built::overlays}}}}},
      {{cpu, npu, gpu},
       {{{{laterKind, 1, Built::code}, {gpuKind, 2, Built::overlays}}}}},
      {{cpu, cpu}, {{{{255, 1, 0}, {254, 1, 0}}}}},
      {{cpu, gpu},
       {{{{gpuKind, 1, Built::overlays}}},
        {{{gpuKind, 1, Built::overlays}, {laterKind, 0, 0}}},
        {}}}};
  for (Built built : good)
    EXPECT_EQ(built.verify(), "") << &built - good;
}

TEST(Compatibility, HeadsAreChecked) {
  struct {
    const char *message;
    Built built;
  } cases[] = {
      {"program 0: overlay 1: kind: found a second one of kind 0, expected one "
       "of a kind",
       {{cpu, gpu},
        {{{{gpuKind, 1, Built::overlays}, {gpuKind, 1, Built::overlays}}}}}},
      {"program 0: overlay 1: kind: found a second one of kind 255, expected "
       "one of a kind",
       {{cpu}, {{{{255, 0, 0}, {255, 0, 0}}}}}},
      {"program 0: overlay 0: processor: found 1, expected less than 1",
       {{cpu}, {{{{laterKind, 1, 0}}}}}},
      {"program 0: overlay 0: processor: found 0 of kind 0, expected one of "
       "kind 1 (Gpu)",
       {{cpu, gpu}, {{{{gpuKind, 0, Built::overlays}}}}}},
      {"program 0: overlay 0: segment: found 1, expected one of kind 3 "
       "(Overlays)",
       {{cpu, gpu}, {{{{gpuKind, 1, Built::spirv}}}}}},
      {"program 0: overlay 0: segment: found 4, expected one of kind 3 "
       "(Overlays)",
       {{cpu, gpu}, {{{{gpuKind, 1, 4}}}}}},
      {"program 1: overlay 0: segment: found 3, expected 2, as in programs "
       "before it",
       {{cpu, gpu},
        {{{{gpuKind, 1, Built::overlays}}},
         {{{gpuKind, 1, Built::otherOverlays}}}}}},
  };
  for (auto &c : cases)
    EXPECT_EQ(c.built.verify(), c.message);
}

TEST(Compatibility, ProcessorsHaveAUse) {
  std::string rest = ": found no operation and no overlay that it runs, "
                     "expected one";
  EXPECT_EQ((Built{{cpu, gpu}}.verify()), "target 0: processor 1" + rest);
  EXPECT_EQ((Built{{cpu, cpu}}.verify()), "target 0: processor 1" + rest);
  EXPECT_EQ(
      (Built{{cpu, npu, gpu}, {{{{gpuKind, 2, Built::overlays}}}}}.verify()),
      "target 0: processor 1" + rest);
  // A program for newer readers may use it.
  Built newer{{cpu, npu}};
  newer.programs.push_back({});
  newer.programs[1].numStates = 1;
  EXPECT_EQ(newer.verify(), "");
  Built none{{}};
  EXPECT_EQ(none.verify(), "target 0: processors: found 0, expected 1 to 64");
  Built many{std::vector<unsigned>(65, cpu)};
  EXPECT_EQ(many.verify(), "target 0: processors: found 65, expected 1 to 64");
}

TEST(Compatibility, ProgramsAreOneModel) {
  auto verify = [](Built::Program second) {
    Built built;
    built.programs.push_back(second);
    return built.verify();
  };
  EXPECT_EQ(verify({}), "");
  EXPECT_EQ(verify({{}, "y"}),
            "program 1: input 0: found y of type 0, expected x of type 0, as "
            "in the first program");
  EXPECT_EQ(verify({{}, "x", bundle::ElementType_I64}),
            "program 1: input 0: found x of type 10, expected x of type 0, as "
            "in the first program");
  EXPECT_EQ(verify({{}, "x", bundle::ElementType_F32, 2}),
            "program 1: inputs: found 2, expected 1, as in the first program");
  // Unless it is for newer readers.
  EXPECT_EQ(verify({{}, "y", bundle::ElementType_F32, 2, 1}), "");
  EXPECT_EQ(verify({{}, "x", bundle::ElementType_F32, 1, 0, 1}),
            "program 1: target: found 1, expected less than 1");
}

TEST(Compatibility, States) {
  Built built;
  built.programs[0].numStates = 2;
  EXPECT_EQ(built.verify(),
            "programs: found none of 1 that this reader knows all of: program "
            "0: states 0: count: found 2, expected at most 0 (the program is "
            "for newer readers)");
}
