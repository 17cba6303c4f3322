//===- SpirvVerifierTest.cpp - SPIR-V that no driver may see --------------===//
#include "artifact/SpirvVerifier.h"
#include "test/unit/artifact/SpirvCases.h"
#include "test/unit/sample/SpirvAssembler.h"
#include "test/unit/sample/SpirvSamples.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

/// The fault of the module, or nothing. Words and scratch are of the exact
/// size, so that reads beyond them are seen, and scratch is not
/// zero before.
static std::string faultOf(SpirvInterface module) {
  std::unique_ptr<uint32_t[]> words(new uint32_t[module.numWords]);
  std::copy_n(module.words, module.numWords, words.get());
  module.words = words.get();
  size_t size = spirvScratchSize(module);
  std::unique_ptr<void, decltype(&free)> scratch(malloc(size ? size : 1), free);
  memset(scratch.get(), 0x5a, size);
  Fault fault;
  bool isGood = verifySpirv(module, scratch.get(), size, fault);
  EXPECT_EQ(isGood, fault.code == Fault::None);
  EXPECT_EQ(isGood, !fault.text[0]);
  return fault.text;
}

static std::vector<uint32_t> wordsOf(const SpirvSample &sample) {
  return assembleSpirv(sample.text, sample.version);
}

TEST(SpirvVerifier, AcceptsSamples) {
  for (const SpirvSample &sample : spirvSamples)
    EXPECT_EQ(faultOf(sample.with(wordsOf(sample))), "") << sample.name;
}

static std::string editedText(const SpirvCase &test) {
  std::string text = spirvSamples[test.sample].text;
  for (auto [from, to] : test.edits) {
    size_t place = text.find(from);
    if (place == std::string::npos) {
      ADD_FAILURE() << "no '" << from << "' in the sample";
      continue;
    }
    text.replace(place, std::string(from).size(), to);
  }
  return text;
}

static void expectRefused(const std::vector<SpirvCase> &cases) {
  for (const SpirvCase &test : cases) {
    const SpirvSample &sample = spirvSamples[test.sample];
    std::vector<uint32_t> words =
        assembleSpirv(editedText(test), sample.version);
    std::string fault = faultOf(sample.with(words));
    EXPECT_NE(fault.find(test.message), std::string::npos)
        << "expected " << test.message << "\nfound    " << fault;
    EXPECT_EQ(fault.rfind("word ", 0), 0u) << fault;
    EXPECT_EQ(fault.find('\n'), std::string::npos);
  }
}

TEST(SpirvVerifier, RefusesWrongDeclarations) {
  expectRefused(spirvDeclarationCases());
}

TEST(SpirvVerifier, RefusesWrongFunctions) {
  expectRefused(spirvFunctionCases());
}

TEST(SpirvVerifier, RefusesAnotherHeader) {
  struct {
    uint32_t word, value;
    const char *message;
  } static const headers[] = {
      {0, 0x03022307, "word 0: found 0x03022307, expected 0x07230203"},
      {1, 0x00010400, "word 1: found version 0x00010400, expected 1.0 to 1.3"},
      {1, 0x00000900, "word 1: found version"},
      {1, 0x00010301, "word 1: found version"},
      {3, 0, "word 3: found a bound of 0, expected 1 to 65535"},
      {3, 65536, "word 3: found a bound of 65536, expected 1 to 65535"},
      {3, 5, "expected 1 to 4"},
      {4, 1, "word 4: found schema 1, expected 0"}};
  for (auto &header : headers) {
    std::vector<uint32_t> words = wordsOf(spirvSamples[KernelSample]);
    words[header.word] = header.value;
    std::string fault = faultOf(spirvSamples[KernelSample].with(words));
    EXPECT_NE(fault.find(header.message), std::string::npos) << fault;
  }
}

TEST(SpirvVerifier, RefusesAnotherInterface) {
  static const uint32_t constants[] = {16, 0};
  struct {
    SpirvSampleNumber sample;
    const char *message;
    std::function<void(SpirvInterface &)> change;
  } static const changes[] = {
      {KernelSample, "bindings: found 33, expected at most 32",
       [](SpirvInterface &i) { i.bindings = 33; }},
      {KernelSample, "written: found 8, expected at most 7",
       [](SpirvInterface &i) { i.written = 8; }},
      {KernelSample, "push words: found 33, expected at most 32",
       [](SpirvInterface &i) { i.pushWords = 33; }},
      {KernelSample, "shared bytes: found 16385, expected at most 16384",
       [](SpirvInterface &i) { i.shared = 16385; }},
      {KernelSample, "specialization constants: found 33, expected at most 32",
       [](SpirvInterface &i) { i.numConstants = 33; }},
      {KernelSample, "local size: found 0, expected 1 to 128",
       [](SpirvInterface &i) { i.local[1] = 0; }},
      {KernelSample,
       "invocations of a workgroup: found 192, expected at most 128",
       [](SpirvInterface &i) { i.local[1] = 3; }},
      {SpecialisedSample,
       "invocations of a workgroup: found 2048, expected at most "
       "1024",
       [](SpirvInterface &i) { i.local[2] = 16; }},
      {KernelSample,
       "found a buffer at binding 2, expected one in set 0 less than 2",
       [](SpirvInterface &i) { i.bindings = 2, i.written = 0; }},
      {KernelSample, "found binding 0 with NonWritable, expected it without",
       [](SpirvInterface &i) { i.written = 5; }},
      {KernelSample,
       "found 16 bytes of push constants, expected at most 3 words",
       [](SpirvInterface &i) { i.pushWords = 3; }},
      {KernelSample, "found 1024 bytes of workgroup memory, expected 1028",
       [](SpirvInterface &i) { i.shared = 1028; }},
      {WidthsSample, "found capability 10, expected",
       [](SpirvInterface &i) { i.features &= ~SpirvFloat64; }},
      {SpecialisedSample, "found a local size of 8, expected 4",
       [](SpirvInterface &i) { i.local[1] = 4; }},
      {SpecialisedSample, "found a local size of 0, expected 8",
       [](SpirvInterface &i) { i.constants = constants; }},
      {SpecialisedSample, "with SpecId 1, expected one less than 1, once",
       [](SpirvInterface &i) { i.numConstants = 1; }},
      {SpecialisedSample,
       "found a specialization constant with SpecId 0, expected "
       "one less than 0",
       [](SpirvInterface &i) { i.numConstants = 0, i.local[1] = 1; }},
      {KernelSample, "found 4 words, expected 5 to 1048576",
       [](SpirvInterface &i) { i.numWords = 4; }}};
  for (auto &change : changes) {
    std::vector<uint32_t> words = wordsOf(spirvSamples[change.sample]);
    SpirvInterface interface = spirvSamples[change.sample].with(words);
    change.change(interface);
    std::string fault = faultOf(interface);
    EXPECT_NE(fault.find(change.message), std::string::npos)
        << "expected " << change.message << "\nfound    " << fault;
  }
}

TEST(SpirvVerifier, SaysHowMuchScratchItNeeds) {
  std::vector<uint32_t> words = wordsOf(spirvSamples[KernelSample]);
  SpirvInterface module = spirvSamples[KernelSample].with(words);
  size_t size = spirvScratchSize(module);
  EXPECT_LE(size, words[3] * 40u);
  std::vector<uint64_t> scratch(size / 8 + 1);
  Fault fault;
  EXPECT_FALSE(verifySpirv(module, scratch.data(), size - 1, fault));
  EXPECT_EQ(fault.code, Fault::InvalidArgument);
  words[3] = 65535;
  EXPECT_LE(spirvScratchSize(module), size_t(3) << 20);
}

/// Constructs are limited, so that no module can make the verifier slow.
TEST(SpirvVerifier, RefusesDeepNesting) {
  auto fault = [](unsigned depth) {
    std::string begin, end;
    for (unsigned i = 0; i < depth; ++i) {
      std::string n = std::to_string(i);
      begin += "OpSelectionMerge %m" + n +
               " None\nOpBranchConditional %yes %t" + n + " %m" + n + "\n%t" +
               n + " = OpLabel\n";
      end = "OpBranch %m" + n + "\n%m" + n + " = OpLabel\n" + end;
    }
    std::string text = spirvSamples[OldestSample].text;
    text.replace(text.find("%u32 ="), 0,
                 "%bool = OpTypeBool\n%yes = OpConstantTrue %bool\n");
    text.replace(text.find("OpReturn\n"), 0, begin + end);
    return faultOf(
        spirvSamples[OldestSample].with(assembleSpirv(text, 0x00010000)));
  };
  EXPECT_EQ(fault(64), "");
  EXPECT_NE(fault(65).find("found constructs nested deeper than 64"),
            std::string::npos);
}

TEST(SpirvVerifier, RefusesTruncation) {
  for (const SpirvSample &sample : spirvSamples) {
    std::vector<uint32_t> words = wordsOf(sample);
    while (!words.empty()) {
      words.pop_back();
      EXPECT_NE(faultOf(sample.with(words)), "") << sample.name;
    }
  }
}

/// Calls visit(sample, words, place) for each word of each sample, changed.
template <typename Visit> static void forEachMutation(const Visit &visit) {
  for (const SpirvSample &sample : spirvSamples) {
    std::vector<uint32_t> words = wordsOf(sample);
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t good = words[i];
      for (uint32_t value :
           {0u, 0xffffffffu, good ^ 1, good + 1, good - 1, good ^ 2, good << 1,
            good ^ 0x10000, good + 0x10000, good ^ 0x80000000}) {
        words[i] = value;
        if (value != good)
          visit(sample, words, i);
      }
      words[i] = good;
    }
  }
}

TEST(SpirvVerifier, StaysInsideOfMutatedModules) {
  size_t accepted = 0, all = 0;
  forEachMutation([&](const SpirvSample &sample,
                      const std::vector<uint32_t> &words, size_t) {
    ++all;
    accepted += faultOf(sample.with(words)).empty();
  });
  printf("%zu of %zu mutations change what is computed, no more\n", accepted,
         all);
  EXPECT_LT(accepted, all / 5);
}

/// Whether spirv-val accepts the words, as a module for Vulkan 1.1.
static bool isValid(const std::vector<uint32_t> &words, std::string &report) {
  std::string path =
      testing::TempDir() + "spirv-" + std::to_string(getpid()) + ".spv";
  FILE *file = fopen(path.c_str(), "wb");
  fwrite(words.data(), sizeof(uint32_t), words.size(), file);
  fclose(file);
  FILE *tool = popen(
      ("spirv-val --target-env vulkan1.1 " + path + " 2>&1").c_str(), "r");
  char text[400] = {};
  size_t size = fread(text, 1, sizeof text - 1, tool);
  bool isGood = pclose(tool) == 0;
  remove(path.c_str());
  report.assign(text, size);
  return isGood;
}

/// Khronos's validator accepts all modules that are accepted here.
TEST(SpirvVerifier, AcceptsOnlyWhatSpirvValDoes) {
  if (system("spirv-val --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no spirv-val: install Debian's spirv-tools";
  std::string report;
  for (const SpirvSample &sample : spirvSamples)
    EXPECT_TRUE(isValid(wordsOf(sample), report)) << sample.name << report;
  size_t asked = 0;
  forEachMutation([&](const SpirvSample &sample,
                      const std::vector<uint32_t> &words, size_t i) {
    if (!faultOf(sample.with(words)).empty())
      return;
    ++asked;
    EXPECT_TRUE(isValid(words, report))
        << sample.name << ", word " << i << " = " << words[i] << ": " << report;
  });
  printf("%zu mutations accepted by both\n", asked);
}
