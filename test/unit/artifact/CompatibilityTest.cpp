//===- CompatibilityTest.cpp - Bundles of later writers -------------------===//
//
// An unknown part makes a program one for newer readers, and no error of the
// bundle as long as another program is left. Whole files of a later format:
// test/unit/runtime/EvolutionTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"

#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/sample/PlannedSample.h"

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
};

const Case cases[] = {
    {"processor 0: kind: found 1, expected at most 0 (the program is for newer "
     "readers)",
     [](const bundle::Program *p) {
       patch8(p->processors()->Get(0), bundle::Processor::VT_KIND, 1);
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
      c.change(metadata.program(i));
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
                           b->programs()->Get(0)->kernels()->Get(0),
                           bundle::Kernel::VT_ENTRY, 1 << 20);
                     }),
              Fault::None)
        << c.message << ": " << text;
    EXPECT_EQ(verify(c, 1, text,
                     [](const bundle::Bundle *b) {
                       PatchedMetadata::patch<uint32_t>(
                           b->programs()->Get(1)->kernels()->Get(0),
                           bundle::Kernel::VT_ENTRY, 1 << 20);
                     }),
              Fault::BadBundle);
    EXPECT_EQ(text.find("program 1: kernel 0: entry: found 1048576"), 0u)
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
      {"input 0: type: found 23, expected at most 22 (the bundle is newer than "
       "this reader)",
       [](const bundle::Bundle *b) {
         patch8(b->inputs()->Get(0), bundle::Tensor::VT_TYPE, 23);
       }},
      {"output 0: type: found 255, expected at most 22 (the bundle is newer "
       "than this reader)",
       [](const bundle::Bundle *b) {
         patch8(b->outputs()->Get(0), bundle::Tensor::VT_TYPE, 255);
       }},
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
  EXPECT_STREQ(fault.text, "program 0: code: found 0, expected a code segment");
}

/// Nobody here could tell which processor runs a kernel.
TEST(Compatibility, OneProcessor) {
  for (uint32_t count : {1, 2}) {
    fb::FlatBufferBuilder builder;
    auto name = builder.CreateString("x86-64");
    std::vector<fb::Offset<fb::String>> noFeatures;
    auto features = builder.CreateVector(noFeatures);
    auto processor = bundle::CreateProcessor(builder, bundle::ProcessorKind_Cpu,
                                             name, features);
    auto processors = builder.CreateVector(std::vector(count, processor));
    std::vector<fb::Offset<bundle::Memory>> none;
    auto empty = builder.CreateVector(none).o;
    auto program = bundle::CreateProgram(builder, name, /*revision=*/0,
                                         processors, empty, empty, empty);
    auto programs = builder.CreateVector(std::vector(1, program));
    auto digest = builder.CreateVector(std::vector<uint8_t>(sizeof(Digest)));
    auto segment = bundle::CreateSegment(builder, bundle::SegmentKind_Code,
                                         segmentAlignment, 64, digest);
    auto segments = builder.CreateVector(std::vector(1, segment));
    bundle::FinishBundleBuffer(
        builder, bundle::CreateBundle(builder, bundle::BundleKind_Model, 0, 0,
                                      empty, empty, segments, programs));
    AlignedCopy metadata(builder.GetBufferPointer(), builder.GetSize());
    Fault fault;
    EXPECT_EQ(verifyMetadata(metadata.data, metadata.size,
                             segmentAlignment + 64, fault) != nullptr,
              count == 1);
    EXPECT_STREQ(
        fault.text,
        count == 1 ? ""
                   : "programs: found none of 1 that this reader knows all of: "
                     "program 0: processors: found 2, expected 1 (the program "
                     "is for newer readers)");
  }
}
