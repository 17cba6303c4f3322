//===- EvolutionTest.cpp - Bundles of other versions ----------------------===//
//
// Files that are kept: test/data/README.md says what is in them.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/CpuFeatures.h"
#include "artifact/Digest.h"
#include "artifact/Fault.h"
#include "artifact/Header.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "bundle_generated.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/SplitSample.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace nnv12;
using namespace nnv12::test;

namespace {

class EvolutionTest : public testing::Test {
protected:
  void SetUp() override {
    // The weights are compressed, and cross builds may have no library for
    // that.
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
  }

  static std::string fileNamed(const char *name) {
    return std::string(NNV12_TEST_DATA "/") + name;
  }

  /// Runs once and checks every element; `switched`: as after all switches.
  /// `added` is a difference of the first element alone.
  testing::AssertionResult runs(Session &session, const PlannedSample &sample,
                                int seed, bool switched, float added = 0) {
    size_t n = sample.elements();
    std::vector<float> x(n), y(n, -1);
    for (size_t i = 0; i < n; ++i)
      x[i] = float((i * 31 + seed) % 97);
    x[0] += added;
    session.run({{x.data(), n * 4}}, {{y.data(), n * 4}});
    for (size_t i = 0; i < n; ++i) {
      float expected = sample.expectedRun(i, x[i], switched);
      if (y[i] != expected)
        return testing::AssertionFailure() << "element " << i << ": found "
                                           << y[i] << ", expected " << expected;
    }
    return testing::AssertionSuccess();
  }

  void expectRuns(const char *name) {
    expectRuns(Bundle(fileNamed(name), wholeBundle()), sample);
  }

  static OpenOptions wholeBundle() {
    OpenOptions whole;
    whole.verifyWeights = true;
    return whole;
  }

  void expectRuns(const Bundle &bundle, const PlannedSample &sample) {
    EXPECT_STREQ(bundle.info().target, artifact::hostArchitecture());
    EXPECT_EQ(bundle.info().num_switches, 2u);
    EXPECT_STREQ(bundle.operation(0).routine, "sample.add");
    for (uint32_t threads : {1, 2}) {
      SessionOptions options;
      options.threads = threads;
      options.oversubscribe = true;
      options.mode = NNV12_MODE_PLAN;
      options.gpu.mode = NNV12_GPU_OFF;
      Session session(bundle, options);
      EXPECT_TRUE(runs(session, sample, 1, false));
      EXPECT_TRUE(session.prepare(std::chrono::seconds(60)));
      EXPECT_TRUE(runs(session, sample, 2, true));
    }
  }

  /// The message, without the path.
  std::string refusal(const char *name, const char *target = nullptr) {
    nnv12_open_options options = NNV12_OPEN_OPTIONS_INIT;
    options.target = target;
    nnv12_bundle *bundle = nullptr;
    nnv12_error error = {};
    std::string path = fileNamed(name);
    EXPECT_EQ(nnv12_bundle_open(path.c_str(), &options, &bundle, &error),
              NNV12_UNSUPPORTED);
    EXPECT_EQ(bundle, nullptr);
    nnv12_bundle_close(bundle);
    std::string message = error.message;
    EXPECT_EQ(message.find(path + ": "), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message.substr(std::min(path.size() + 2, message.size()));
  }

  /// Makes the table one without this field.
  template <typename Table>
  static void hide(const Table *table, flatbuffers::voffset_t field) {
    auto *generic = reinterpret_cast<const flatbuffers::Table *>(table);
    auto *vtable = const_cast<uint8_t *>(generic->GetVTable());
    flatbuffers::WriteScalar<flatbuffers::voffset_t>(vtable + field, 0);
  }

  static const bundle::Bundle *metadataOf(const AlignedCopy &image) {
    artifact::Header header;
    memcpy(&header, image.data, sizeof header);
    return bundle::GetBundle(image.data + header.metadataOffset);
  }
  static bool hasOverlays(const char *name) {
    AlignedCopy image(readFile(fileNamed(name)));
    return artifact::gpuOverlaysIn(metadataOf(image), image.data);
  }

  PlannedSample sample{2, 3, 2};
};

} // namespace

TEST_F(EvolutionTest, BundlesStayReadable) { expectRuns("format-5.nnv"); }

/// And those with overlays for a GPU, which the CPU can do without.
TEST_F(EvolutionTest, OverlaysStayReadable) {
  expectRuns(Bundle(fileNamed("format-5-overlays.nnv"), wholeBundle()),
             GpuSample());
  EXPECT_TRUE(hasOverlays("format-5-overlays.nnv"));
  EXPECT_FALSE(hasOverlays("format-5.nnv"));
}

/// And those with stretches that are split.
TEST_F(EvolutionTest, SplitsStayReadable) {
  expectRuns(Bundle(fileNamed("format-5-split.nnv"), wholeBundle()),
             SplitSample());
  AlignedCopy image(readFile(fileNamed("format-5-split.nnv")));
  const bundle::Bundle *bundle = metadataOf(image);
  artifact::Fault fault;
  EXPECT_TRUE(artifact::verifyOverlaysIn(bundle, image.data, fault))
      << fault.text;
  for (const bundle::Program *program : *bundle->programs()) {
    const bundle::ProgramGpu *gpu = artifact::gpuOf(
        bundle, artifact::gpuOverlaysIn(bundle, image.data), program);
    ASSERT_TRUE(gpu);
    EXPECT_EQ(gpu->stretches()->Get(2)->parts()->size(), 3u);
  }
}

/// And those with reuse between the frames of a video.
TEST_F(EvolutionTest, VideosStayReadable) {
  PlannedSample plain{4, 3, 2};
  Bundle bundle(fileNamed("format-5-video.nnv"), wholeBundle());
  expectRuns(bundle, plain);
#if NNV12_VIDEO
  EXPECT_EQ(bundle.info().reuse, NNV12_REUSE_BOUNDED);
  for (nnv12_reuse reuse : {NNV12_REUSE_EXACT, NNV12_REUSE_BOUNDED}) {
    SessionOptions options;
    options.threads = 2;
    options.oversubscribe = true;
    options.mode = NNV12_MODE_COLD;
    options.gpu.mode = NNV12_GPU_OFF;
    options.stream.reuse = reuse;
    // No difference is within these.
    options.stream.tolerance = options.stream.input_tolerance = 1e-9F;
    Session session(bundle, options);
    for (int frame = 0; frame < 5; ++frame)
      EXPECT_TRUE(runs(session, plain, 1, false, float(frame))) << frame;
    EXPECT_EQ(session.streamInfo().frames, 3u);
    EXPECT_EQ(session.streamInfo().whole_frames, 1u);
  }
#endif
}

/// To readers of a program that has no overlay it looks like this.
TEST_F(EvolutionTest, WithoutItsOverlayABundleIsTheSame) {
  AlignedCopy image(readFile(fileNamed("format-5-overlays.nnv")));
  const bundle::Bundle *bundle = metadataOf(image);
  for (const bundle::Program *program : *bundle->programs())
    hide(program, bundle::Program::VT_OVERLAYS);
  // Then nothing uses the GPU.
  for (const bundle::Target *target : *bundle->targets())
    flatbuffers::WriteScalar<uint32_t>(
        const_cast<uint8_t *>(
            reinterpret_cast<const uint8_t *>(target->processors())),
        1);
  fitDigests(image.data);
  expectRuns(Bundle(image.data, image.size, wholeBundle()), GpuSample());
}

/// Opening a bundle looks at nothing of overlays, damaged or not: other readers
/// refuse one whose overlay is wrong, though nothing of it would run.
TEST_F(EvolutionTest, DamagedOverlaysAreLeftAlone) {
  AlignedCopy image(readFile(fileNamed("format-5-overlays.nnv")));
  const bundle::Bundle *metadata = metadataOf(image);
  const bundle::GpuOverlays *overlays =
      artifact::gpuOverlaysIn(metadata, image.data);
  auto *warm = const_cast<flatbuffers::Vector<uint32_t> *>(
      overlays->programs()->Get(0)->warm());
  warm->Mutate(0, 99);
  auto refusal = [&] {
    nnv12_bundle *bundle = nullptr;
    nnv12_error error = {};
    EXPECT_EQ(nnv12_bundle_open_memory(image.data, image.size, nullptr, &bundle,
                                       &error),
              NNV12_OK)
        << error.message;
    nnv12_bundle_close(bundle);
    artifact::Fault fault;
    EXPECT_EQ(artifact::verifyBundle(image.data, image.size, fault), nullptr);
    return std::string(fault.text);
  };
  EXPECT_EQ(refusal(), "segment 4 (Overlays): digest does not match (damaged)");
  fitDigests(image.data);
  EXPECT_NE(refusal().find("program 0: gpu: warm 0: stretch: found 99, "
                           "expected less than 3"),
            std::string::npos);
}

/// A bundle's properties of its model change no result.
TEST_F(EvolutionTest, PropertiesStayReadable) {
  Bundle bundle(fileNamed("format-5-properties.nnv"), wholeBundle());
  expectRuns(bundle, sample);
  EXPECT_STREQ(bundle.property("mean"), "0.485,0.456,0.406");
  EXPECT_STREQ(bundle.property("labels"), "tench\ngoldfish");
  EXPECT_STREQ(bundle.property("empty"), "");
  EXPECT_EQ(bundle.property("Mean"), nullptr);
  EXPECT_EQ(nnv12_bundle_property(bundle.get(), nullptr), nullptr);
  EXPECT_EQ(nnv12_bundle_property(nullptr, "mean"), nullptr);
  std::string keys;
  const char *key = nullptr, *value = nullptr;
  uint32_t count = 0;
  for (;
       nnv12_bundle_get_property(bundle.get(), count, &key, &value) == NNV12_OK;
       ++count) {
    keys += key + std::string(" ");
    EXPECT_EQ(value, bundle.property(key));
  }
  EXPECT_EQ(keys, "empty labels mean ");
  EXPECT_STREQ(key, "mean") << "nothing is set behind the last";
  EXPECT_EQ(nnv12_bundle_get_property(bundle.get(), 0, nullptr, &value),
            NNV12_INVALID_ARGUMENT);
  EXPECT_EQ(Bundle(fileNamed("format-5.nnv")).property("mean"), nullptr);
}

/// To readers of before there were properties it looks like this.
TEST_F(EvolutionTest, WithoutItsPropertiesABundleIsTheSame) {
  AlignedCopy image(readFile(fileNamed("format-5-properties.nnv")));
  hide(metadataOf(image), bundle::Bundle::VT_PROPERTIES);
  fitDigests(image.data);
  Bundle bundle(image.data, image.size, wholeBundle());
  EXPECT_EQ(bundle.property("mean"), nullptr);
  expectRuns(bundle, sample);
}

TEST_F(EvolutionTest, FormatsOfThePastAreRefused) {
  EXPECT_EQ(refusal("format-4.nnv"),
            "format version: found 4, expected 5 (compile the model again)");
}

/// New fields, an overlay of a new kind with a processor of its own, and a
/// segment of a new kind, which do not change the program's results.
TEST_F(EvolutionTest, WhatIsAddedIsLeftAlone) {
  expectRuns("later-overlay.nnv");
  EXPECT_FALSE(hasOverlays("later-overlay.nnv"));
}

/// The same beside an overlay for a GPU, which this reader still knows.
TEST_F(EvolutionTest, OverlaysAreLeftAloneOneByOne) {
  expectRuns(Bundle(fileNamed("later-overlays.nnv"), wholeBundle()),
             GpuSample());
  EXPECT_TRUE(hasOverlays("later-overlays.nnv"));
  AlignedCopy image(readFile(fileNamed("later-overlays.nnv")));
  artifact::Fault fault;
  const bundle::Bundle *bundle =
      artifact::verifyBundle(image.data, image.size, fault);
  ASSERT_NE(bundle, nullptr) << fault.text;
  const bundle::Program *program = bundle->programs()->Get(1);
  EXPECT_EQ(program->overlays()->size(), 2u);
  EXPECT_NE(artifact::gpuOf(bundle, artifact::gpuOverlaysIn(bundle, image.data),
                            program),
            nullptr);
}

TEST_F(EvolutionTest, ProgramsForNewerReadersArePassedOver) {
  expectRuns("later-program.nnv");
  EXPECT_EQ(refusal("later-program.nnv", "newer"),
            std::string("target: none of the bundle's runs on this ") +
                artifact::hostArchitecture() +
                " CPU; newer is for newer readers");
  EXPECT_EQ(refusal("later-program.nnv", "older"),
            "target: found no older, expected one of newer, future, x86-64, "
            "aarch64");
}

/// One whose weights need a key is one of them.
TEST_F(EvolutionTest, SealedProgramsArePassedOver) {
  expectRuns("later-seal.nnv");
}

TEST_F(EvolutionTest, NothingIsLeftForThisReader) {
  EXPECT_EQ(refusal("later-programs-only.nnv"),
            "programs: found none of 3 that this reader knows all of: program "
            "0: memory 2: processor: found 1, expected at most 0 (the program "
            "is for newer readers)");
}
