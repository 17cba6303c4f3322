//===- VerifierTest.cpp - Bundles that must be refused --------------------===//
#include "artifact/Verifier.h"

#include "artifact/Writer.h"
#include "test/unit/artifact/BitFlips.h"
#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/sample/PlannedSample.h"

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
  const char *name =
      good->targets()->Get(0)->processors()->Get(0)->architecture()->c_str();
  ASSERT_STREQ(name, "x86-64");
  *const_cast<char *>(name) = 'y'; // of the copy, which is ours
  Header header = headerOf(image);
  EXPECT_FALSE(verifyMetadata(copy.data + header.metadataOffset,
                              header.metadataSize, copy.size, fault));
  EXPECT_NE(std::string(fault.text)
                .find("target 0: processor 0: code: found segment 0 at"),
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
    (void)verifyMetadata(cut.data, cut.size, image.size(), fault);
  }
}

TEST(Verifier, HeaderFields) {
  struct FieldCase {
    const char *message;
    Fault::Code code;
    std::function<void(Header &)> change;
  };
  const FieldCase cases[] = {
      {"format version: found 6, expected 5 (the bundle is newer than this "
       "reader)",
       Fault::Unsupported, [](Header &h) { h.version = 6; }},
      {"format version: found 4, expected 5 (compile the model again)",
       Fault::Unsupported, [](Header &h) { h.version = 4; }},
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
  for (const FieldCase &c : cases) {
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

namespace {
struct FieldCase {
  const char *message;
  std::function<void(Bundle &)> change;
};
} // namespace

template <typename Cases> static void expectRefused(const Cases &cases) {
  for (const FieldCase &c : cases) {
    Sample sample;
    c.change(sample.bundle);
    // The writer runs the verifier.
    std::string error = writeBundle(sample.bundle, "/nonexistent/a.nnv");
    EXPECT_NE(error.find(c.message), std::string::npos) << c.message << "\n"
                                                        << error;
  }
}

TEST(Verifier, Fields) {
  auto operand = [](Bundle &b) -> Operand & {
    return b.programs[0].operations[0].operands[0];
  };
  const uint64_t huge = ~uint64_t(0);
  const FieldCase cases[] = {
      {"programs: found none", [](Bundle &b) { b.programs.clear(); }},
      {"target 0: processor 0: code",
       [](Bundle &b) { b.programs[0].code = 9; }},
      {"target 0: processor 0: code",
       [](Bundle &b) { b.programs[0].code = 2; }},
      {"program 0: memory 0 (Arena): found",
       [&](Bundle &b) { b.programs[0].arenaSize = huge; }},
      {"kernel 0: entry",
       [](Bundle &b) { b.programs[0].kernels[0].entry = 192; }},
      {"target 2: kernel 0: entry",
       [](Bundle &b) { b.programs[2].kernels[0].entry = 2; }},
      {"kernel 0: outputs",
       [](Bundle &b) { b.programs[0].kernels[0].outputs = 4; }},
      {"kernel 2: scratch",
       [&](Bundle &b) { b.programs[0].kernels[2].scratch = huge; }},
      {"operation 0: kernel",
       [](Bundle &b) { b.programs[0].operations[0].kernel = 3; }},
      {"operation 0: operands: found 2",
       [](Bundle &b) { b.programs[0].operations[0].operands.pop_back(); }},
      {"operation 0: tiles: found 0 to 18446744073709551615, expected a range "
       "of at most 3",
       [&](Bundle &b) { b.programs[0].operations[0].tiles = huge; }},
      {"found a write to Input",
       [&](Bundle &b) { operand(b).space = Space::Input; }},
      {"found a write to Weights",
       [&](Bundle &b) { operand(b) = {Space::Weights, 2, 0, 4}; }},
      {"operation 0: operand 0: found Weights 0, which does not exist",
       [&](Bundle &b) { operand(b).space = Space::Weights; }},
      {"found a write to Prepared, expected Arena or Output",
       [&](Bundle &b) { operand(b).space = Space::Prepared; }},
      {"Memory 2, which does not exist",
       [&](Bundle &b) { operand(b).index = 2; }},
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
      {"operation 0: operand 2: found Weights 2, which does not exist",
       [](Bundle &b) { b.segments[2].kind = SegmentKind(5); }},
  };
  expectRefused(cases);
}

TEST(Verifier, Kernels) {
  auto kernel = [](Bundle &b) -> Kernel & { return b.programs[0].kernels[0]; };
  const FieldCase cases[] = {
      {"target 0: kernel 0: tiles: found 2147483649, expected at most 2^31",
       [&](Bundle &b) { kernel(b).tiles = (uint64_t(1) << 31) + 1; }},
      {"target 0: kernel 0: fingerprint: found 31 bytes, expected none or 32",
       [&](Bundle &b) { kernel(b).fingerprint.pop_back(); }},
      {"kernel 0: fingerprint: found 64 bytes",
       [&](Bundle &b) { kernel(b).fingerprint.resize(64); }},
      {"target 0: kernel 0: maps: found 2, expected none or one for each of 1 "
       "outputs",
       [&](Bundle &b) { kernel(b).maps.push_back(kernel(b).maps[0]); }},
      {"kernel 0: maps: found 1, expected none or one for each of 2 outputs",
       [&](Bundle &b) { kernel(b).outputs = 2; }},
      {"kernel 0: tile map 0: cuts: found another number of tiles than the "
       "grid has",
       [&](Bundle &b) { kernel(b).tiles = 0; }},
      {"operation 0: tiles: found 0 to 3, expected a range of at most 2",
       [&](Bundle &b) {
         kernel(b).tiles = 2;
         kernel(b).maps.clear();
       }},
      {"operation 0: tiles: found 2 to 5, expected a range of at most 3",
       [](Bundle &b) { b.programs[0].operations[0].tileBegin = 2; }},
      {"operation 0: tiles: found 3 to 2, expected a range",
       [](Bundle &b) {
         b.programs[0].operations[0].tileBegin = 3;
         b.programs[0].operations[0].tiles = ~uint64_t(0);
       }},
      {"operation 0: tiles: found 4 to 4, expected a range of at most 3",
       [](Bundle &b) {
         b.programs[0].operations[0].tileBegin = 4;
         b.programs[0].operations[0].tiles = 0;
       }},
      {"operation 0: last_reader: found it set",
       [](Bundle &b) { b.programs[0].operations[0].lastReader = true; }},
  };
  expectRefused(cases);
}

/// Everything else of a map may be followed without further checks.
TEST(Verifier, TileMaps) {
  const uint64_t most = uint64_t(1) << 46, manyTiles = uint64_t(1) << 31;
  struct MapCase {
    const char *message;
    std::function<void(TileMap &)> change;
  };
  const MapCase cases[] = {
      {"found more than 64 axes",
       [](TileMap &m) { m.axes.assign(65, {1, 1}); }},
      {"axes: found an extent or a stride out of range",
       [](TileMap &m) { m.axes[0].extent = 0; }},
      {"axes: found an extent or a stride out of range",
       [&](TileMap &m) { m.axes[0].extent = most + 1; }},
      {"axes: found an extent or a stride out of range",
       [&](TileMap &m) { m.axes[0].stride = most / 48 + 1; }},
      {"axes: found an extent or a stride out of range",
       [](TileMap &m) { m.axes[0].stride = ~uint64_t(0); }},
      {"axes: found more than 2^46 elements",
       [&](TileMap &m) { m.axes.assign(3, {2, most / 2}); }},
      {"parts: found a box of another rank than the axes have",
       [](TileMap &m) { m.axes.push_back({1, 1}); }},
      {"parts: found a box of another rank than the axes have",
       [](TileMap &m) { m.parts[0].lo.clear(); }},
      {"parts: found a box of another rank than the axes have",
       [](TileMap &m) { m.parts[0].hi.push_back(1); }},
      {"parts: found an empty box, or one that leaves the axes",
       [](TileMap &m) { m.parts[0].lo[0] = 48; }},
      {"parts: found an empty box, or one that leaves the axes",
       [](TileMap &m) { m.parts[0].hi[0] = 49; }},
      {"parts: found an empty box, or one that leaves the axes",
       [](TileMap &m) { m.parts[0].lo[0] = ~uint64_t(0); }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0].axis = 1; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0].axis = ~0u; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts.push_back({0, 1, 48}); }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0].count = 0; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0].size = 0; }},
      {"cuts: found one that does not share out its axis", // the last is empty
       [](TileMap &m) { m.parts[0].cuts[0] = {0, 4, 16}; }},
      {"cuts: found one that does not share out its axis", // some are left
       [](TileMap &m) { m.parts[0].cuts[0] = {0, 3, 15}; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0] = {0, 1, 47}; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0] = {0, 3, ~uint64_t(0)}; }},
      {"cuts: found one that does not share out its axis",
       [](TileMap &m) { m.parts[0].cuts[0] = {0, ~uint64_t(0), 16}; }},
      {"cuts: found more than 2^31 tiles",
       [](TileMap &m) {
         m.axes.assign(2, {1 << 20, 1});
         m.parts = {
             {{0, 0}, {1 << 20, 1 << 20}, {{0, 1 << 20, 1}, {1, 1 << 20, 1}}}};
       }},
      {"cuts: found more than 2^31 tiles",
       [&](TileMap &m) {
         m.axes[0].extent = manyTiles;
         m.parts.assign(2, {{0}, {manyTiles}, {{0, manyTiles, 1}}});
       }},
      {"cuts: found another number of tiles than the grid has",
       [](TileMap &m) { m.parts[0].cuts[0] = {0, 2, 24}; }},
      {"cuts: found another number of tiles than the grid has",
       [](TileMap &m) { m.parts[0].cuts.clear(); }},
      {"cuts: found another number of tiles than the grid has",
       [](TileMap &m) { m.parts.clear(); }},
      {"cuts: found another number of tiles than the grid has",
       [](TileMap &m) { m.parts.push_back(m.parts[0]); }},
  };
  for (const MapCase &c : cases) {
    Sample sample;
    c.change(sample.bundle.programs[0].kernels[1].maps[0]);
    EXPECT_EQ(writeBundle(sample.bundle, "/nonexistent/a.nnv"),
              "/nonexistent/a.nnv: target 0: kernel 1: tile map 0: " +
                  std::string(c.message));
  }
}

TEST(Verifier, TakesTileMapsOfAllKinds) {
  const std::function<void(Kernel &)> changes[] = {
      [](Kernel &k) { k.maps.clear(); },
      [](Kernel &k) { k.fingerprint.clear(); },
      [](Kernel &k) { k.key = k.routine = ""; },
      // Without maps a kernel has as many tiles as an operation asks for.
      [](Kernel &k) {
        k.maps.clear();
        k.tiles = 0;
      },
      // The last tile has the rest.
      [](Kernel &k) { k.maps[0].parts[0] = {{0}, {41}, {{0, 3, 16}}}; },
      // Several parts, one of them a tile.
      [](Kernel &k) {
        k.maps[0].parts = {{{0}, {20}, {}}, {{20}, {48}, {{0, 2, 14}}}};
      },
      // A cut that cuts nothing.
      [](Kernel &k) {
        k.maps[0].axes.push_back({1, 1});
        k.maps[0].parts[0] = {
            {0, 0}, {48, 1}, {{0, 3, 16}, {1, 1, ~uint64_t(0)}}};
      },
      // Cuts along two axes, and one that is whole and lies closer together.
      [](Kernel &k) {
        k.maps[0].axes = {{3, 16}, {2, 8}, {8, 0}};
        k.maps[0].parts = {{{0, 0, 0}, {1, 2, 8}, {{0, 1, 1}, {1, 1, 2}}},
                           {{1, 0, 0}, {3, 2, 8}, {{1, 1, 2}, {0, 2, 1}}}};
      },
      // A scalar: no axes at all, and each part is one tile.
      [](Kernel &k) {
        k.maps[0].axes.clear();
        k.maps[0].parts.assign(3, {});
      },
      [](Kernel &k) {
        k.maps[0].axes.assign(64, {1, uint64_t(1) << 46});
        std::vector<uint64_t> lo(64, 0), hi(64, 1);
        k.maps[0].parts.assign(3, {lo, hi, {{63, 1, 1}}});
      },
  };
  TemporaryFolder folder;
  for (const auto &change : changes) {
    Sample sample;
    change(sample.bundle.programs[0].kernels[0]);
    EXPECT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  }
}

/// Metadata that the writer never makes.
TEST(Verifier, ProcessorsAndMemories) {
  using Meta = PatchedMetadata;
  struct PatchCase {
    const char *message;
    std::function<void(const bundle::Program *)> change;
  };
  const PatchCase cases[] = {
      {"memory 0: processor: found 1, expected less than 1",
       [](const bundle::Program *p) {
         Meta::patch<uint32_t>(p->memories()->Get(0),
                               bundle::Memory::VT_PROCESSOR, 1);
       }},
      {"memory 1 (Prepared): alignment: found 0, expected a power of two",
       [](const bundle::Program *p) {
         Meta::patch<uint64_t>(p->memories()->Get(1),
                               bundle::Memory::VT_ALIGNMENT, 0);
       }},
      {"memory 0 (Arena): alignment: found 96, expected a power of two",
       [](const bundle::Program *p) {
         Meta::patch<uint64_t>(p->memories()->Get(0),
                               bundle::Memory::VT_ALIGNMENT, 96);
       }},
      {"memory 0 (Arena): found 70368744177665 bytes, expected at most 2^46",
       [](const bundle::Program *p) {
         Meta::patch<uint64_t>(p->memories()->Get(0), bundle::Memory::VT_SIZE,
                               (uint64_t(1) << 46) + 1);
       }},
      {"operation 0: operand 0: found Memory 0, which does not exist",
       [](const bundle::Program *p) { Meta::shorten(p->memories(), 0); }},
      {"operation 1: operand 2: found Memory 1, which does not exist",
       [](const bundle::Program *p) { Meta::shorten(p->memories(), 1); }},
      {"lane 1: processor: found 1, expected less than 1",
       [](const bundle::Program *p) {
         Meta::patch<uint32_t>(p->lanes()->Get(1), bundle::Lane::VT_PROCESSOR,
                               1);
       }},
  };
  PlannedSample sample(3, 3, 2);
  for (const PatchCase &c : cases) {
    PatchedMetadata metadata(sample.bundle);
    c.change(metadata.program(1));
    Fault fault;
    EXPECT_FALSE(metadata.verify(fault));
    EXPECT_EQ(std::string(fault.text), "program 1: " + std::string(c.message));
    EXPECT_EQ(fault.code, Fault::BadBundle) << fault.text;
  }
}

TEST(Verifier, MemoriesMayBeAnyAsLongAsTheyAreUsedRight) {
  Sample sample;
  PatchedMetadata metadata(sample.bundle);
  for (uint32_t i = 0; i < 3; ++i) {
    // Nothing is prepared: a program without that memory is complete.
    PatchedMetadata::shorten(metadata.program(i)->memories(), 1);
    PatchedMetadata::patch<uint64_t>(metadata.program(i)->memories()->Get(0),
                                     bundle::Memory::VT_ALIGNMENT,
                                     i == 0 ? 1 : uint64_t(2) << 20);
  }
  Fault fault;
  EXPECT_TRUE(metadata.verify(fault)) << fault.text;
}

TEST(Verifier, Properties) {
  using Properties = std::vector<artifact::Property>;
  auto verify = [](Properties properties) {
    TemporaryFolder folder;
    Sample sample;
    sample.bundle.properties = std::move(properties);
    std::string path = folder.file("a.nnv");
    std::string error = writeBundle(sample.bundle, path);
    return error.substr(std::min(error.size(), path.size() + 2));
  };
  EXPECT_EQ(verify({}), "");
  EXPECT_EQ(verify({{"a", ""}, {"b", "1"}, {"\xff", "2"}}), "");
  std::string order = ": key: found one that is empty, or not behind that "
                      "before it";
  EXPECT_EQ(verify({{"", "1"}}), "property 0" + order);
  EXPECT_EQ(verify({{"a", "1"}, {"a", "2"}}), "property 1" + order);
  EXPECT_EQ(verify({{"b", "1"}, {"a", "2"}}), "property 1" + order);
  EXPECT_EQ(verify({{"a", {"x\0y", 3}}}),
            "property 0: found a byte of zero in its text");
  Properties many;
  for (unsigned i = 0; i <= maxProperties; ++i)
    many.push_back({std::to_string(10000 + i), ""});
  EXPECT_EQ(verify(many), "properties: found 4097, expected at most 4096");
  many.pop_back();
  EXPECT_EQ(verify(many), "");
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
