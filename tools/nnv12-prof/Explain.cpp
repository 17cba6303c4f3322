//===- Explain.cpp - Why a run takes the time that it takes ---------------===//
#include "tools/nnv12-prof/Explain.h"

#include "tools/common/TextFormat.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace nnv12::prof {

using tools::format;

/// A smaller part is not worth a look before the kernel itself.
static constexpr double leastPart = 0.05;
/// Kernels that are nearer than that to no roof compute something else than
/// multiply-adds: exponentials, comparisons, addresses.
static constexpr double leastOfRoof = 0.25;
/// Good kernels reach so much of the peak of a loop without memory.
static constexpr double attainable = 0.7;

static constexpr Cause kernelCauses[] = {Cause::Compute, Cause::Memory,
                                         Cause::Gpu};
static constexpr Cause otherCauses[] = {
    Cause::Imbalance,  Cause::Dispatch,  Cause::Weights,  Cause::Faults,
    Cause::Preemption, Cause::Frequency, Cause::HandOver, Cause::Gpu};

const char *causeName(Cause cause) {
  static constexpr const char *names[] = {
      "compute", "memory",     "imbalance", "dispatch", "weights",
      "faults",  "preemption", "frequency", "gpu",      "hand-over"};
  static_assert(std::size(names) == numCauses);
  return names[unsigned(cause)];
}

static double &part(Explanation &explanation, Cause cause) {
  return explanation.parts[unsigned(cause)];
}

static double sum(const std::array<double, numCauses> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// "310 us", "2.10 ms".
static std::string timeText(double ns) {
  return ns >= 1e6   ? format("%.2f ms", ns * 1e-6)
         : ns >= 1e5 ? format("%.0f us", ns * 1e-3)
                     : format("%.1f us", ns * 1e-3);
}

template <typename Causes>
static Cause largestOf(const Causes &causes,
                       const std::array<double, numCauses> &values) {
  return *std::max_element(std::begin(causes), std::end(causes),
                           [&](Cause a, Cause b) {
                             return values[unsigned(a)] < values[unsigned(b)];
                           });
}

/// Names the cause to look at first, after parts and gains are known. A GPU's
/// computing is a kernel's own time, waiting for it is not.
static void nameCause(Explanation &explanation) {
  double time = sum(explanation.parts);
  explanation.isKnown = time > 0;
  for (Cause cause : otherCauses)
    if (cause != Cause::Gpu)
      explanation.gains[unsigned(cause)] = explanation.part(cause);
  explanation.cause = largestOf(otherCauses, explanation.gains);
  if (explanation.givesBack() < leastPart * time)
    explanation.cause = largestOf(kernelCauses, explanation.parts);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// The machine's best rates for one operation.
struct Roof {
  double rate = 0;       ///< multiply-adds a nanosecond
  double attainable = 0; ///< and those that kernels reach
  double memory = 0;     ///< bytes a nanosecond

  static double quotient(double amount, double rate) {
    return rate > 0 ? amount / rate : 0;
  }
  /// At least so long, if nothing else is to be done.
  double compute(const Work &work) const {
    return quotient(work.multiplyAdds, rate);
  }
  double move(const Work &work) const { return quotient(work.bytes, memory); }
  double best(const Work &work) const {
    return std::max(quotient(work.multiplyAdds, attainable), move(work));
  }
};

/// Explains those of a run, rule by rule.
class Operations {
public:
  Operations(const std::vector<Work> &work, const RunWork &run,
             const Machine &machine)
      : work_(work), run_(run), machine_(machine), found_(work.size()),
        kernel_(work.size()) {
    assert(run.threads > 0 && "somebody computes");
    for (const Work &operation : work) {
      if (operation.isOnGpu)
        continue;
      bestRate_ = std::max(
          bestRate_, Roof::quotient(operation.multiplyAdds, operation.time));
      bestMemory_ = std::max(bestMemory_,
                             Roof::quotient(operation.bytes, operation.time));
    }
  }

  std::vector<Explanation> explain() {
    takeWaits();
    takePreemption();
    takeFaults();
    divideKernels();
    for (size_t i = 0; i < work_.size(); ++i) {
      nameCause(found_[i]);
      if (found_[i].isKnown)
        found_[i].text = describe(i);
    }
    return std::move(found_);
  }

private:
  Roof roof(const Work &operation) const {
    Roof result;
    result.rate = std::max(machine_.multiplyAdds, bestRate_);
    result.attainable = std::max(bestRate_, attainable * result.rate);
    double memory = machine_.memoryRate(operation.bytes);
    // Without a probe the best operation is the roof. With one it is not: one
    // operation may have in caches the data that another one has not.
    result.memory = memory > 0 ? memory : bestMemory_;
    return result;
  }

  /// Rule: a thread that begins late was told late, a thread that has nothing
  /// more to do has less to do than others. One that never came found too few
  /// tiles, or came too late for them. The whole time of an operation on a GPU
  /// is the GPU's.
  void takeWaits() {
    for (size_t i = 0; i < work_.size(); ++i) {
      const Work &operation = work_[i];
      if (operation.isOnGpu) {
        part(found_[i], Cause::Gpu) = operation.time;
        continue;
      }
      double threads = run_.threads;
      bool hasEnough = operation.tiles >= run_.threads;
      double imbalance = operation.tail + (hasEnough ? 0 : operation.absent);
      double dispatch = operation.late + (hasEnough ? operation.absent : 0);
      part(found_[i], Cause::Imbalance) = imbalance / threads;
      part(found_[i], Cause::Dispatch) = dispatch / threads;
      kernel_[i] =
          std::max(0.0, operation.time - (imbalance + dispatch) / threads);
    }
  }

  /// Rule: a thread without a CPU begins late, which is seen; or it is
  /// interrupted: then the operation takes longer than in good runs, at most as
  /// long as the thread had no CPU, because the others wait for it. A thread
  /// that no other program kept from a CPU was woken up late: that stays
  /// dispatch.
  void takePreemption() {
    double left = run_.withoutCpu;
    if (run_.othersCpu >= 0)
      left = std::min(left, run_.othersCpu);
    double late = 0;
    for (const Explanation &explanation : found_)
      late += explanation.part(Cause::Dispatch) * run_.threads;
    double ofLate = late > 0 ? std::min(1.0, left / late) : 0;
    left -= late * ofLate;
    double excess = 0;
    for (size_t i = 0; i < work_.size(); ++i) {
      double &dispatch = part(found_[i], Cause::Dispatch);
      part(found_[i], Cause::Preemption) = dispatch * ofLate;
      dispatch -= dispatch * ofLate;
      excess += excessOf(i);
    }
    double ofExcess = excess > 0 ? std::min(1.0, left / excess) : 0;
    for (size_t i = 0; i < work_.size(); ++i) {
      double lost = excessOf(i) * ofExcess;
      double &imbalance = part(found_[i], Cause::Imbalance);
      double waits =
          std::max(0.0, work_[i].idle() - work_[i].leastIdle) / run_.threads;
      double ofWaits = std::min({lost, waits, imbalance});
      imbalance -= ofWaits;
      double ofKernel = std::min(lost - ofWaits, kernel_[i]);
      kernel_[i] -= ofKernel;
      part(found_[i], Cause::Preemption) += ofWaits + ofKernel;
    }
  }

  /// How much longer it took than in good runs, without the part that is
  /// explained already. Threads' CPUs are nothing to a GPU.
  double excessOf(size_t i) const {
    if (work_[i].isOnGpu)
      return 0;
    return std::max(0.0, work_[i].time - work_[i].least -
                             found_[i].part(Cause::Preemption));
  }

  /// Rule: page faults cost as much as elsewhere on this machine, where kernels
  /// take longer than their work.
  void takeFaults() {
    double cost = run_.pageFaults * machine_.faultNs / run_.threads, excess = 0;
    std::vector<double> above(work_.size());
    for (size_t i = 0; i < work_.size(); ++i) {
      Roof roof = this->roof(work_[i]);
      above[i] = std::max(0.0, kernel_[i] - std::max(roof.compute(work_[i]),
                                                     roof.move(work_[i])));
      excess += above[i];
    }
    double share = excess > 0 ? std::min(1.0, cost / excess) : 0;
    for (size_t i = 0; i < work_.size(); ++i) {
      part(found_[i], Cause::Faults) = above[i] * share;
      kernel_[i] -= above[i] * share;
    }
  }

  /// Rule: a kernel is bound by the roof that it is nearer to. Slower CPUs are
  /// slower at computing alone.
  void divideKernels() {
    for (size_t i = 0; i < work_.size(); ++i) {
      if (work_[i].isOnGpu)
        continue;
      Roof roof = this->roof(work_[i]);
      double compute = roof.compute(work_[i]), move = roof.move(work_[i]);
      bool isMemory = move > compute && move >= leastOfRoof * kernel_[i];
      Cause bound = isMemory ? Cause::Memory : Cause::Compute;
      double slower = isMemory ? 0 : kernel_[i] * (1 - machine_.speed);
      part(found_[i], Cause::Frequency) = slower;
      kernel_[i] -= slower;
      part(found_[i], bound) = kernel_[i];
      // A kernel whose work is not told is as good as it can be.
      double best = roof.best(work_[i]);
      found_[i].gains[unsigned(bound)] =
          best > 0 ? std::max(0.0, kernel_[i] - best) : 0;
    }
  }

  std::string describe(size_t number) const {
    const Work &operation = work_[number];
    const Explanation &explanation = found_[number];
    Roof roof = this->roof(operation);
    double time = explanation.part(explanation.cause);
    switch (explanation.cause) {
    case Cause::Compute: {
      double part = Roof::quotient(roof.compute(operation), time);
      // Probes and kernels are not measured at the same moment.
      part = std::min(part, 1.0);
      return part > 0 ? format("%.0f %% of the compute roof", 100 * part)
                      : "computes other things than multiply-adds";
    }
    case Cause::Memory:
      return format(
          "%.0f %% of the memory roof",
          100 * std::min(1.0, Roof::quotient(roof.move(operation), time)));
    case Cause::Imbalance:
      return format("%llu tiles on %u threads: waits for the last one %s",
                    static_cast<unsigned long long>(operation.tiles),
                    run_.threads, timeText(time).c_str());
    case Cause::Dispatch:
      return "threads begin late, together " +
             timeText(operation.late + operation.absent);
    case Cause::Preemption:
      return "threads had no CPU for " + timeText(time);
    case Cause::Faults:
      return "page faults take about " + timeText(time);
    case Cause::Frequency:
      return format("CPUs have %.0f %% of the fastest one's speed",
                    100 * machine_.speed);
    case Cause::Weights:
      return "waits for weights " + timeText(time);
    case Cause::Gpu:
      return format("%.2f GMAC/s and %.2f GB/s of the GPU",
                    Roof::quotient(operation.multiplyAdds, time),
                    Roof::quotient(operation.bytes, time));
    case Cause::HandOver:
      break; // a run's, of no operation
    }
    return "";
  }

  const std::vector<Work> &work_;
  const RunWork &run_;
  const Machine &machine_;
  std::vector<Explanation> found_;
  std::vector<double> kernel_; ///< the kernel's own time that is left
  double bestRate_ = 0, bestMemory_ = 0;
};

} // namespace
std::vector<Explanation> explainOperations(const std::vector<Work> &work,
                                           const RunWork &run,
                                           const Machine &machine) {
  return Operations(work, run, machine).explain();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static std::string describeRun(const Explanation &explanation,
                               const RunWork &run) {
  // Behind the number of the cause, if it has one, and before its time.
  static constexpr const char *texts[] = {
      "multiply-adds and other computing take ",
      "reading and writing take ",
      "threads wait for one another, ",
      "threads begin late, ",
      "waits for weights, ",
      " page faults a run take about ",
      " a run, together; that costs ",
      "slow CPUs cost ",
      "the GPU computes for ",
      "giving work to the GPU and seeing its end take "};
  static_assert(std::size(texts) == numCauses);
  Cause cause = explanation.cause;
  std::string count;
  if (cause == Cause::Faults)
    count = format("%.0f", run.pageFaults);
  if (cause == Cause::Preemption)
    count = "threads had no CPU for " + timeText(run.withoutCpu);
  return count + texts[unsigned(cause)] + timeText(explanation.part(cause));
}

Explanation explainRun(const std::vector<Explanation> &operations,
                       const RunWork &run) {
  Explanation result;
  for (const Explanation &operation : operations)
    for (unsigned i = 0; i < numCauses; ++i) {
      result.parts[i] += operation.parts[i];
      result.gains[i] += operation.gains[i];
    }
  double left = std::max(0.0, run.time - sum(result.parts));
  auto take = [&](Cause cause, double time) {
    double taken = std::min(time, left);
    part(result, cause) += taken;
    left -= taken;
  };
  take(Cause::Gpu, run.onGpu);
  take(Cause::HandOver, run.handOver);
  take(Cause::Dispatch, left);
  nameCause(result);
  if (result.isKnown)
    result.text = describeRun(result, run);
  return result;
}

//===----------------------------------------------------------------------===//
// First runs
//===----------------------------------------------------------------------===//

static std::string describeCold(const ColdWork &work,
                                const Explanation &explanation) {
  double time = explanation.part(explanation.cause);
  switch (explanation.cause) {
  case Cause::Weights: {
    std::string text = "waits for weights " + timeText(time);
    // More than half of it: faster storage would help, faster threads not.
    if (work.reading >= 0.5 * time)
      text += format(", for the storage %s (%.1f MB)",
                     timeText(work.reading).c_str(),
                     double(work.storedBytes) * 1e-6);
    return text;
  }
  case Cause::Faults:
    return format("%.0f page faults take about %s", work.pageFaults,
                  timeText(time).c_str());
  case Cause::Preemption:
    return "had no CPU for " + timeText(time);
  case Cause::Memory:
    return "weights and code come from memory for the first time, " +
           timeText(time);
  case Cause::Dispatch:
    return "starting takes " + timeText(time);
  case Cause::Gpu:
    return "waiting for the GPU and what it computes take " + timeText(time);
  default:
    return std::string(causeName(explanation.cause)) + " as in warm runs, " +
           timeText(time);
  }
}

/// Rules: waits and preparations of the execute lane are for weights. If its
/// operations take longer than in warm runs, the difference is first the time
/// that it had no CPU, then that of page faults, then that of cold caches.
/// Operations of a GPU in warm runs have nothing to be compared with. Time
/// outside of all operations is a GPU's, and waiting until it is ready.
Explanation explainCold(const ColdWork &work, const Explanation &warm,
                        const Machine &machine) {
  Explanation result = warm;
  for (Cause cause : {Cause::Gpu, Cause::HandOver})
    part(result, cause) = 0;
  double warmTime = sum(result.parts), alike = work.executes - work.unlike;
  double inOperations = std::min(warmTime, alike);
  for (unsigned i = 0; i < numCauses; ++i) {
    double scale = warmTime > 0 ? inOperations / warmTime : 0;
    result.parts[i] *= scale;
    result.gains[i] *= scale;
  }
  part(result, Cause::Compute) += work.unlike;
  double more = alike - inOperations;
  auto take = [&](Cause cause, double time) {
    double taken = std::clamp(time, 0.0, more);
    part(result, cause) += taken;
    more -= taken;
  };
  take(Cause::Preemption, work.withoutCpu);
  take(Cause::Faults, work.pageFaults * machine.faultNs);
  take(Cause::Memory, more);
  more = std::max(0.0, work.time - work.executes);
  take(Cause::Weights, work.weights);
  take(Cause::Gpu, work.onGpu);
  take(Cause::HandOver, work.handOver);
  double before = more;
  take(Cause::Gpu, work.gpuWait);
  result.gains[unsigned(Cause::Gpu)] = before - more;
  part(result, Cause::Dispatch) += std::max(0.0, work.time - sum(result.parts));
  nameCause(result);
  if (result.isKnown)
    result.text = describeCold(work, result);
  return result;
}

} // namespace nnv12::prof
