//===- VerifierTest.cpp - Bundles that must be refused --------------------===//
#include "artifact/Verifier.h"

#include "artifact/Writer.h"
#include "test/unit/artifact/BitFlips.h"

#include <functional>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

static std::vector<unsigned char> sampleImage() {
  TemporaryFolder folder;
  Sample sample;
  EXPECT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  return readFile(folder.file("a.nnv"));
}

static Header headerOf(const std::vector<unsigned char> &image) {
  Header header;
  memcpy(&header, image.data(), sizeof header);
  return header;
}

static void setHeader(std::vector<unsigned char> &image, Header header) {
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(image.data(), &header, sizeof header);
}

TEST(Verifier, CodeLiesAtItsArchitecturesPages) {
  std::vector<unsigned char> image = sampleImage();
  AlignedCopy copy(image);
  Fault fault;
  const bundle::Bundle *good = verifyBundle(copy.data, copy.size, fault);
  ASSERT_TRUE(good) << fault.text;
  EXPECT_EQ(good->segments()->Get(0)->offset() % segmentAlignment, 0u);
  EXPECT_NE(good->segments()->Get(0)->offset() % largestPage, 0u) << "x86-64";
  EXPECT_EQ(good->segments()->Get(1)->offset() % largestPage, 0u) << "aarch64";
  // One that nobody knows may have large pages.
  const char *name = good->programs()->Get(0)->architecture()->c_str();
  ASSERT_STREQ(name, "x86-64");
  *const_cast<char *>(name) = 'y'; // of the copy, which is ours
  Header header = headerOf(image);
  EXPECT_FALSE(verifyMetadata(copy.data + header.metadataOffset,
                              header.metadataSize, copy.size, fault));
  EXPECT_NE(std::string(fault.text).find("program 0: code: found segment 0 at"),
            std::string::npos)
      << fault.text;
}

TEST(Verifier, EveryMetadataByteFlipped) {
  std::vector<unsigned char> image = sampleImage();
  Header header = headerOf(image);
  AlignedCopy copy(image);
  withFlips(copy, header.metadataOffset + header.metadataSize, {0, 7},
            [&](size_t i) {
              Fault fault;
              EXPECT_FALSE(verifyBundle(copy.data, copy.size, fault)) << i;
              EXPECT_NE(fault.text[0], 0) << i;
            });
}

TEST(Verifier, EveryMetadataBitFlippedWithAFittingDigest) {
  expectFlipsBehindTheDigestAreHarmless(sampleImage());
}

TEST(Verifier, CutAtEveryLength) {
  std::vector<unsigned char> image = sampleImage();
  for (size_t size = 0; size < image.size(); size += size < 16384 ? 1 : 1021) {
    AlignedCopy cut(image.data(), size);
    Fault fault;
    ASSERT_FALSE(verifyBundle(cut.data, cut.size, fault)) << size;
    ASSERT_NE(fault.text[0], 0) << size;
  }
}

TEST(Verifier, MetadataCutAtEveryLength) {
  std::vector<unsigned char> image = sampleImage();
  Header header = headerOf(image);
  for (size_t size = 0; size < header.metadataSize; ++size) {
    AlignedCopy cut(image.data() + header.metadataOffset, size);
    Fault fault;
    verifyMetadata(cut.data, cut.size, image.size(), fault);
  }
}

TEST(Verifier, HeaderFields) {
  struct Case {
    const char *message;
    Fault::Code code;
    std::function<void(Header &)> change;
  };
  const Case cases[] = {
      {"format version: found 4, expected 3 (the bundle is newer than this "
       "reader)",
       Fault::Unsupported, [](Header &h) { h.version = 4; }},
      {"format version: found 2, expected 3 (compile the model again)",
       Fault::Unsupported, [](Header &h) { h.version = 2; }},
      {"magic", Fault::BadBundle, [](Header &h) { h.magic[0] = 'P'; }},
      {"file size", Fault::BadBundle, [](Header &h) { h.fileSize += 1; }},
      {"file size", Fault::BadBundle, [](Header &h) { h.fileSize = ~0ull; }},
      {"metadata: found", Fault::BadBundle,
       [](Header &h) { h.metadataOffset = ~0ull; }},
      {"metadata: found", Fault::BadBundle,
       [](Header &h) { h.metadataOffset = 0; }},
      {"metadata: found", Fault::BadBundle,
       [](Header &h) { h.metadataOffset += 4; }},
      {"metadata: found", Fault::BadBundle,
       [](Header &h) { h.metadataSize = ~0ull; }},
      {"metadata: digest", Fault::BadBundle,
       [](Header &h) { h.metadataSize -= 8; }},
      {"reserved", Fault::BadBundle, [](Header &h) { h.reserved[3] = 1; }},
      {"reserved", Fault::BadBundle, [](Header &h) { h.isSigned = 2; }},
  };
  for (const Case &c : cases) {
    std::vector<unsigned char> image = sampleImage();
    Header header = headerOf(image);
    c.change(header);
    setHeader(image, header);
    AlignedCopy copy(image);
    Fault fault;
    EXPECT_FALSE(verifyBundle(copy.data, copy.size, fault)) << c.message;
    EXPECT_NE(std::string(fault.text).find(c.message), std::string::npos)
        << fault.text;
    EXPECT_EQ(fault.code, c.code) << c.message;
  }
}

TEST(Verifier, Fields) {
  struct Case {
    const char *message;
    std::function<void(Bundle &)> change;
  };
  auto operand = [](Bundle &b) -> Operand & {
    return b.programs[0].operations[0].operands[0];
  };
  const uint64_t huge = ~uint64_t(0);
  const Case cases[] = {
      {"programs: found none", [](Bundle &b) { b.programs.clear(); }},
      {"program 0: code", [](Bundle &b) { b.programs[0].code = 9; }},
      {"program 0: code", [](Bundle &b) { b.programs[0].code = 2; }},
      {"program 0: arena", [&](Bundle &b) { b.programs[0].arenaSize = huge; }},
      {"kernel 0: entry",
       [](Bundle &b) { b.programs[0].kernels[0].entry = 192; }},
      {"program 2: kernel 0: entry",
       [](Bundle &b) { b.programs[2].kernels[0].entry = 2; }},
      {"kernel 0: outputs",
       [](Bundle &b) { b.programs[0].kernels[0].outputs = 4; }},
      {"kernel 2: scratch",
       [&](Bundle &b) { b.programs[0].kernels[2].scratch = huge; }},
      {"operation 0: kernel",
       [](Bundle &b) { b.programs[0].operations[0].kernel = 3; }},
      {"operation 0: operands: found 2",
       [](Bundle &b) { b.programs[0].operations[0].operands.pop_back(); }},
      {"operation 0: tiles",
       [&](Bundle &b) { b.programs[0].operations[0].tiles = huge; }},
      {"found a write to Input",
       [&](Bundle &b) { operand(b).space = Space::Input; }},
      {"found a write to Weights",
       [&](Bundle &b) { operand(b).space = Space::Weights; }},
      {"space: found 7", [&](Bundle &b) { operand(b).space = Space(7); }},
      {"Arena 1, which does not exist",
       [&](Bundle &b) { operand(b).index = 1; }},
      {"Output 1, which does not exist",
       [&](Bundle &b) { operand(b) = {Space::Output, 1, 0, 4}; }},
      {"Input 1, which does not exist",
       [](Bundle &b) { b.programs[0].operations[0].operands[1].index = 1; }},
      {"Weights 0, which does not exist",
       [](Bundle &b) { b.programs[0].operations[0].operands[2].index = 0; }},
      {"Weights 3, which does not exist",
       [](Bundle &b) { b.programs[0].operations[0].operands[2].index = 3; }},
      {"expected them inside", [&](Bundle &b) { operand(b).offset = huge; }},
      {"expected them inside", [&](Bundle &b) { operand(b).size = huge; }},
      {"expected them inside",
       [](Bundle &b) { b.programs[0].operations[0].operands[1].offset = 1; }},
      {"input 0: shape", [](Bundle &b) { b.inputs[0].shape = {-1}; }},
      {"input 0: shape",
       [](Bundle &b) { b.inputs[0].shape = {0, int64_t(1) << 62}; }},
      {"input 0: shape: found more",
       [](Bundle &b) {
         b.inputs[0].shape = {int64_t(1) << 40, 0, int64_t(1) << 40};
       }},
      {"output 0: type",
       [](Bundle &b) { b.outputs[0].type = ElementType(200); }},
      {"output 0: rank", [](Bundle &b) { b.outputs[0].shape.assign(65, 1); }},
      {"segment 2: kind",
       [](Bundle &b) { b.segments[2].kind = SegmentKind(5); }},
  };
  for (const Case &c : cases) {
    Sample sample;
    c.change(sample.bundle);
    // The writer runs the verifier.
    std::string error = writeBundle(sample.bundle, "/nonexistent/a.nnv");
    EXPECT_NE(error.find(c.message), std::string::npos) << c.message << "\n"
                                                        << error;
  }
}

TEST(Verifier, ZeroSizedTensorsAreFine) {
  TemporaryFolder folder;
  Sample sample;
  sample.bundle.inputs.push_back({"empty", ElementType::I64, {0, 3}});
  sample.bundle.outputs.push_back({"scalar", ElementType::F64, {}});
  EXPECT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
}

TEST(Verifier, DamagedSegment) {
  std::vector<unsigned char> image = sampleImage();
  image.back() ^= 1;
  AlignedCopy copy(image);
  Fault fault;
  const bundle::Bundle *read = verifyBundle(copy.data, copy.size, fault);
  ASSERT_TRUE(read);
  EXPECT_FALSE(verifySegment(
      read, 2, copy.data + read->segments()->Get(2)->offset(), fault));
  EXPECT_STREQ(fault.text,
               "segment 2 (Weights): digest does not match (damaged)");
}
