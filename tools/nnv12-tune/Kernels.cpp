//===- Kernels.cpp - Times of the kernels of a tuning bundle --------------===//
#include "tools/nnv12-tune/Kernels.h"

#include "artifact/RuntimePolicy.h"
#include "runtime/LoadedBundle.h"
#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/Recorded.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace nnv12::tune {

using tools::fail;

/// Milliseconds that the kernels are run for at least before the next of
/// `repeat` steps.
static constexpr double leastStep = 200;

Memory::Memory(size_t size, bool huge)
    : pages(std::make_unique<runtime::Pages>()), length(size) {
  size_t alignment = huge && size >= hugePageSize ? hugePageSize : 4096;
  // Nothing has an address, too.
  if (!pages->allocate(std::max<size_t>(size, 1), alignment))
    fail("no memory for " + std::to_string(size) +
         " bytes: " + strerror(errno));
  if (alignment == hugePageSize)
    pages->adviseHuge(size & ~(hugePageSize - 1));
}

/// Numbers from 1/16 to 1 of either sign in f32. Both halves of a word are
/// equal and a sane number by themselves, as f16 and as bf16.
static void fillFloats(Memory &memory) {
  uint32_t state = 1;
  auto *words = reinterpret_cast<uint32_t *>(memory.data());
  for (size_t i = 0; i < memory.size() / 4; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    // bf16: sign, exponent 123 to 126, 7 bits of mantissa.
    uint32_t half =
        (state & 0x8000) | (123 + ((state >> 8) & 3)) << 7 | (state & 0x7f);
    words[i] = half << 16 | half;
  }
}

/// 0 and 1 as i64, which gives sane narrower integers and truth values as well.
static void fillIntegers(Memory &memory) {
  auto *words = reinterpret_cast<int64_t *>(memory.data());
  for (size_t i = 0; i < memory.size() / 8; ++i)
    words[i] = (i * 7 / 3) & 1;
}

static Bundle openKernels(const std::string &path) {
  Bundle bundle = tools::openTuningBundle(path);
  bool isTuning = bundle.info().kind == NNV12_BUNDLE_TUNING;
  if (isTuning && bundle.numInputs() == 1)
    fail(path + ": found kernels of GPUs, which --gpu measures, expected those "
                "of a CPU");
  if (!isTuning || bundle.numInputs() != 3 || bundle.numOutputs() != 2)
    fail(path + ": found the bundle of a model, expected one made by nnv12c "
                "--emit tuning");
  return bundle;
}

Kernels::Kernels(const std::string &path)
    : path_(path), bundle(openKernels(path)),
      weights(bundle.input(0).byte_size),
      activations(bundle.input(1).byte_size),
      integers(bundle.input(2).byte_size), sink(bundle.output(0).byte_size),
      fresh(bundle.output(1).byte_size) {
  const nnv12_bundle &loaded = *bundle.get();
  for (uint32_t i = 0; i < bundle.info().num_operations; ++i) {
    KernelFacts facts = artifact::factsOf(*artifact::kernelOf(
        loaded.target(), loaded.chosenProgram()->operations()->Get(i)));
    // A kernel that makes activations for the next one has no key.
    if (facts.key.empty())
      continue;
    facts_.push_back(std::move(facts));
    operations.push_back(i);
  }
  fillFloats(weights);
  fillFloats(activations);
  fillIntegers(integers);
  memset(sink.data(), 0, sink.size());
  memset(fresh.data(), 0, fresh.size());
}

Kernels::Runner::Runner(Kernels &kernels, unsigned threads)
    : kernels(kernels),
      recorder(kernels.bundle, {threads}, NNV12_RECORD_OPERATION, 1),
      session(tools::openSession(kernels.path_, kernels.bundle, {threads},
                                 &recorder)),
      recording(recorder.recording()), times(kernels.facts_.size()) {}

const std::vector<double> &Kernels::Runner::run() {
  // A bundle of few kernels would find its weights where it left them in the
  // cache: walk over all of them, one load a cache line.
  uint64_t sum = 0;
  for (size_t i = 0; i < kernels.weights.size(); i += 64)
    sum += *reinterpret_cast<volatile uint8_t *>(kernels.weights.data() + i);
  (void)sum;
  tools::runSession(kernels.path_, session,
                    {{kernels.weights.data(), kernels.weights.size()},
                     {kernels.activations.data(), kernels.activations.size()},
                     {kernels.integers.data(), kernels.integers.size()}},
                    {{kernels.sink.data(), kernels.sink.size()},
                     {kernels.fresh.data(), kernels.fresh.size()}});
  uint64_t lost = 0;
  std::vector<uint64_t> nanoseconds =
      tools::operationTimes(recording.readAll(lost),
                            kernels.bundle.info().num_operations)
          .back();
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = double(nanoseconds[kernels.operations[i]]) * 1e-6;
  return times;
}

Kernels::Times Kernels::measure(unsigned threads, unsigned repeat,
                                const std::function<void()> &step) {
  Runner runner(*this, threads);
  std::vector<std::vector<double>> samples(facts_.size());
  Times result;
  for (unsigned i = 0; i <= repeat; ++i) {
    // On a machine with neighbours the speed changes from second to second: few
    // kernels are run more often, rather than all within one of its moods.
    double start = tools::milliseconds();
    bool isFirst = true, isLast;
    do {
      const std::vector<double> &times = runner.run();
      isLast = i == 0 || tools::milliseconds() - start >= leastStep;
      if (i && isFirst)
        result.firstRuns.push_back(
            std::accumulate(times.begin(), times.end(), 0.0));
      for (size_t k = 0; i && (!isFirst || isLast) && k < times.size(); ++k)
        samples[k].push_back(times[k]);
      isFirst = false;
    } while (!isLast);
    step();
  }
  // A clock that stands still makes no kernel free.
  double sum = 0;
  for (const std::vector<double> &one : samples) {
    result.medians.push_back(std::max(tools::median(one), 1e-6));
    sum += result.medians.back();
  }
  for (double &first : result.firstRuns)
    first /= sum;
  return result;
}

} // namespace nnv12::tune
