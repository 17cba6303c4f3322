//===- Kernels.cpp - Times of the kernels of a tuning bundle --------------===//
#include "tools/nnv12-tune/Kernels.h"

#include "artifact/RuntimePolicy.h"
#include "artifact/TuningParts.h"
#include "runtime/LoadedBundle.h"
#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/Recorded.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>

namespace nnv12::tune {

using tools::fail;

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

static const bundle::Operation &operationOf(const Bundle &bundle,
                                            uint32_t number) {
  return *bundle.get()->chosenProgram()->operations()->Get(number);
}

Kernels::Kernels(const std::string &path)
    : path_(path), bundle(openKernels(path)),
      weights(bundle.input(0).byte_size),
      activations(bundle.input(1).byte_size),
      integers(bundle.input(2).byte_size), sink(bundle.output(0).byte_size),
      fresh(bundle.output(1).byte_size) {
  const nnv12_bundle &loaded = *bundle.get();
  std::map<std::string, uint32_t> layers;
  for (uint32_t i = 0; i < bundle.info().num_operations; ++i) {
    KernelFacts facts = artifact::factsOf(*artifact::kernelOf(
        loaded.target(), loaded.chosenProgram()->operations()->Get(i)));
    // A kernel that makes activations for the next one has no key.
    if (facts.key.empty())
      continue;
    std::string layer = bundle.operation(i).layer;
    double share = artifact::partShare(layer);
    if (share > 0 && i && layer == bundle.operation(i - 1).layer &&
        operationOf(bundle, i).kernel() ==
            operationOf(bundle, i - 1).kernel()) {
      // More tiles of the same part.
      operations.back().second = i;
      continue;
    }
    // Kernels that make weights of weights have no rivals.
    bool isExecute = share == 0 && facts.routine != "pack" &&
                     facts.routine.compare(0, 10, "transform.") != 0;
    groups.push_back(
        isExecute ? layers.try_emplace(layer, layers.size()).first->second
                  : Race::alone);
    facts_.push_back(std::move(facts));
    shares.push_back(share > 0 ? share : 1);
    operations.push_back({i, i});
  }
  fillFloats(weights);
  fillFloats(activations);
  fillIntegers(integers);
  memset(sink.data(), 0, sink.size());
  memset(fresh.data(), 0, fresh.size());
}

/// Kernels of tuning bundles have their weights in this input
/// (compiler/emit/TuningKernels.cpp).
static constexpr uint32_t weightsInput = 0;

std::vector<double> Kernels::ranges(size_t kernel) const {
  std::vector<double> result;
  for (auto [i, last] = operations[kernel]; i <= last; ++i)
    result.push_back(double(operationOf(bundle, i).tile_end() -
                            operationOf(bundle, i).tile_begin()));
  return result;
}

double Kernels::weightBytes(size_t kernel) const {
  double bytes = 0;
  for (const bundle::Operand *operand :
       *operationOf(bundle, operations[kernel].first).operands())
    if (operand->space() == bundle::Space_Input &&
        operand->index() == weightsInput)
      bytes += double(operand->size());
  return bytes;
}

Kernels::Runner::Runner(Kernels &kernels, unsigned threads)
    : kernels(kernels),
      recorder(kernels.bundle, {threads}, NNV12_RECORD_OPERATION, 1),
      session(tools::openSession(kernels.path_, kernels.bundle, {threads},
                                 &recorder)),
      recording(recorder.recording()), times(kernels.facts_.size()) {}

void Kernels::Runner::select(const std::vector<bool> &wanted) {
  // Before a kernel the operation runs that makes activations for it.
  std::vector<uint32_t> numbers;
  for (size_t k = 0; k < wanted.size(); ++k) {
    uint32_t first = k ? kernels.operations[k - 1].second + 1 : 0;
    for (uint32_t i = first; wanted[k] && i <= kernels.operations[k].second;
         ++i)
      numbers.push_back(i);
  }
  session.selectTuning(numbers);
}

std::vector<bool> Kernels::oneOfEach() const {
  std::vector<bool> result, isThere(groups.size());
  for (uint32_t group : groups) {
    result.push_back(group != Race::alone && !isThere[group]);
    if (group != Race::alone)
      isThere[group] = true;
  }
  return result;
}

const std::vector<double> &Kernels::Runner::run(bool isCold) {
  // A bundle of few kernels would find its weights where it left them in the
  // cache: walk over all of them, one load a cache line.
  uint64_t sum = 0;
  for (size_t i = 0; isCold && i < kernels.weights.size(); i += 64)
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
  for (size_t i = 0; i < times.size(); ++i) {
    auto [first, last] = kernels.operations[i];
    times[i] =
        double(std::accumulate(nanoseconds.begin() + first,
                               nanoseconds.begin() + last + 1, uint64_t(0))) *
        1e-6;
  }
  return times;
}

/// Never 0, even where the clock stands still: no kernel is free.
static double medianOf(const std::vector<double> &samples) {
  return samples.empty() ? 0 : std::max(tools::median(samples), 1e-6);
}

Kernels::Times Kernels::measure(unsigned threads, unsigned repeat,
                                double leastStep,
                                const std::function<void()> &step,
                                const std::vector<double> &before) {
  Runner runner(*this, threads);
  Race race(groups);
  if (!before.empty()) {
    race.drop(before, firstMargin);
    runner.select(race.isIn());
  }
  const Race begun = race;
  std::vector<std::vector<double>> samples(facts_.size());
  /// The times of first runs, and which kernels ran.
  std::vector<std::pair<double, std::vector<bool>>> firsts;
  auto medians = [&] {
    std::vector<double> result;
    for (const std::vector<double> &one : samples)
      result.push_back(medianOf(one));
    return result;
  };
  for (unsigned i = 0; i <= repeat; ++i) {
    // On a machine with neighbours the speed changes from second to second: few
    // kernels are run more often, rather than all within one of its moods.
    double start = tools::milliseconds();
    bool isFirst = true, isLast;
    do {
      const std::vector<double> &times = runner.run();
      isLast = i == 0 || tools::milliseconds() - start >= leastStep;
      if (i && isFirst)
        firsts.push_back(
            {std::accumulate(times.begin(), times.end(), 0.0), race.isIn()});
      for (size_t k = 0; i && (!isFirst || isLast) && k < times.size(); ++k)
        if (race.isIn()[k])
          samples[k].push_back(times[k]);
      isFirst = false;
    } while (!isLast);
    step();
    for (const Heat &heat : heats)
      if (i == std::max(1u, unsigned(heat.part * repeat + 0.5))) {
        race.drop(medians(), heat.margin);
        runner.select(race.isIn());
      }
  }
  Times result;
  result.medians = medians();
  for (const std::vector<double> &one : samples) {
    tools::Statistics of(one.empty() ? std::vector<double>{0} : one);
    result.p10.push_back(of.p10);
    result.p90.push_back(of.p90);
  }
  for (const auto &[first, ran] : firsts) {
    double later = 0;
    for (size_t k = 0; k < ran.size(); ++k)
      later += ran[k] ? result.medians[k] : 0;
    result.firstRuns.push_back(first / later);
  }
  // Some have no sample at all: those that were out from the beginning.
  if (!before.empty())
    begun.estimate(before, result.medians);
  return result;
}

} // namespace nnv12::tune
