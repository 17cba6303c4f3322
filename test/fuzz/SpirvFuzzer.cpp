//===- SpirvFuzzer.cpp - Verifies modules of SPIR-V -----------------------===//
//
// If the first byte is 0, the words of a module follow, behind the facts that
// it is said to fit. Another number means edits of a sample, which fits its
// facts, so that code behind the first fault is reached as well. For any words
// the verifier stays inside of them and of its scratch, and its answer does not
// depend on the scratch's old contents.
//
//===----------------------------------------------------------------------===//
#include "artifact/SpirvVerifier.h"
#include "test/fuzz/Choices.h"
#include "test/unit/sample/SpirvAssembler.h"
#include "test/unit/sample/SpirvSamples.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using namespace nnv12;
using namespace nnv12::test;

/// Words and scratch of the exact size, where reads beyond them are seen.
static bool isAccepted(artifact::SpirvInterface module, uint8_t before,
                       artifact::Fault &fault) {
  std::unique_ptr<uint32_t[]> words(new uint32_t[module.numWords]);
  std::copy_n(module.words, module.numWords, words.get());
  module.words = words.get();
  size_t size = artifact::spirvScratchSize(module);
  void *scratch = malloc(size ? size : 1);
  memset(scratch, before, size);
  bool isGood = artifact::verifySpirv(module, scratch, size, fault);
  free(scratch);
  return isGood;
}

static void edit(Choices &choices, std::vector<uint32_t> &words) {
  uint32_t place = uint32_t(choices.below(words.size()));
  uint32_t other = uint32_t(choices.below(words.size()));
  switch (choices.below(6)) {
  case 0:
    words[place] = words[other];
    break;
  case 1:
    words[place] = uint32_t(choices.below(uint64_t(words[3]) + 2));
    break;
  case 2:
    words[place] ^= 1u << choices.below(32);
    break;
  case 3: {
    std::vector<uint32_t> copied(words.begin() + other,
                                 words.begin() +
                                     std::min<size_t>(other + 5, words.size()));
    words.insert(words.begin() + place, copied.begin(), copied.end());
    break;
  }
  case 4: {
    size_t begin = std::max<size_t>(place, 5);
    size_t end = std::min<size_t>(begin + choices.below(6), words.size());
    words.erase(words.begin() + begin, words.begin() + end);
    break;
  }
  default:
    std::swap(words[place], words[other]);
    break;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::vector<uint32_t> *samples = [] {
    auto *all = new std::vector<uint32_t>[numSpirvSamples];
    for (size_t i = 0; i < numSpirvSamples; ++i)
      all[i] = assembleSpirv(spirvSamples[i].text, spirvSamples[i].version);
    return all;
  }();
  if (size == 0)
    return 0;
  uint8_t kind = data[0] % (numSpirvSamples + 1);
  std::vector<uint32_t> words;
  uint32_t facts[8] = {};
  artifact::SpirvInterface module = {};
  if (kind == 0) {
    size_t known = std::min(size - 1, sizeof facts);
    memcpy(facts, data + 1, known);
    words.resize((size - 1 - known) / sizeof(uint32_t));
    if (!words.empty())
      memcpy(words.data(), data + 1 + known, words.size() * sizeof(uint32_t));
    module = {nullptr,     0,        facts[0],
              facts[1],    facts[2], {facts[3], facts[4], facts[5]},
              facts[6],    facts[7], facts,
              facts[2] % 9};
  } else {
    words = samples[kind - 1];
    module = spirvSamples[kind - 1].facts;
    Choices choices(data + 1, size - 1);
    for (unsigned i = unsigned(choices.below(8)); i > 0 && words.size() > 8;
         --i)
      edit(choices, words);
  }
  module.words = words.data();
  module.numWords = words.size();
  artifact::Fault fault, again;
  bool isGood = isAccepted(module, 0, fault);
  if (isGood != (fault.code == artifact::Fault::None) ||
      isGood == (fault.text[0] != 0) || strchr(fault.text, '\n'))
    abort();
  if (isGood != isAccepted(module, 0xff, again) ||
      strcmp(fault.text, again.text) != 0)
    abort();
  return 0;
}
