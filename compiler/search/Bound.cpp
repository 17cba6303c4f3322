//===- Bound.cpp - A time before which no plan can finish -----------------===//
//
// However a plan is made, its finish T is at least each of these, for every
// layer k:
//
//   boot     preparation of the first layer + all executes
//   execute  all executes + the preparations on the execute lane
//   slowed   all executes + 1/f of the preparations on the execute lane
//            + (1 - 1/f) of the work on preparation lanes / their number, where
//            f is the interference that an execute suffers: it cannot escape
//            while there is that work to do
//   prepare  preparations of layers up to k on preparation lanes / their number
//            + executes from k on
//   storage  bytes of layers up to k / bandwidth + executes from k on, less
//            the bytes that come earlier than that (Device::arrival)
//   cpus     work of all cores / CPUs
//
// A layer's part of them depends on its candidate and its lane, so T is at
// least the least over all choices of the largest of them. That least is hard
// to find, but with weights u >= 0 that sum to 1 the largest is at least the
// weighted sum, and the least of a sum is the sum of each layer's least: for
// every u
//
//   T >= sum over layers of min over (candidate, lane) of u . parts
//
// (a Lagrangian bound). It is concave in u; a pattern search looks for a good
// u, and each u that it finds is a valid bound.
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Candidates.h"
#include "compiler/search/Simulator.h"

#include <algorithm>
#include <array>

namespace nnv12::search {

namespace {

enum Part { Boot, Execute, Slowed, Prepare, Storage, Cpus, Parts };
using Weights = std::array<double, Parts>;

class Bound {
public:
  explicit Bound(const Problem &problem)
      : problem(problem), device(problem.device) {
    usable = usableCandidates(problem, {}, Dominance::Every);
    // Interference below 1 would make work shorter than when alone.
    executeScale = std::min(1.0, device.executeInterference);
    prepareScale = std::min(1.0, device.prepareInterference);
    // With threads beyond the CPUs even an execute alone has to share.
    executeScale *= device.crowding();

    earliest = earliestArrival(device);
    build();
  }

  double run() {
    double best = 0;
    // One preparation in the way of all that follows it.
    double after = 0;
    for (size_t i = problem.layers.size(); i-- > 0;) {
      double least = Simulator::never, leastExecute = Simulator::never;
      for (unsigned c : usable[i]) {
        least = std::min(least, soonestReady(i, c) + execute(i, c));
        leastExecute = std::min(leastExecute, execute(i, c));
      }
      best = std::max(best, least + after);
      after += leastExecute;
    }
    // At most 16 layers k, evenly spread over those that may be prepared.
    std::vector<size_t> prepared;
    for (size_t i = 0; i < problem.layers.size(); ++i)
      if (std::any_of(usable[i].begin(), usable[i].end(), [&](unsigned c) {
            return hasPreparation(problem.layers[i].candidates[c]);
          }))
        prepared.push_back(i);
    if (prepared.empty())
      prepared.push_back(problem.layers.size() - 1);
    size_t count = std::min<size_t>(16, prepared.size());
    for (size_t n = 1; n <= count; ++n) {
      k = prepared[n * prepared.size() / count - 1];
      Weights u;
      u.fill(1.0 / Parts);
      best = std::max(best, climb(u));
      for (Part start : {Execute, Storage}) {
        u.fill(0);
        u[start] = 1;
        best = std::max(best, climb(u));
      }
    }
    return best;
  }

private:
  /// The parts of one candidate on one lane; for prepare and storage its part
  /// as preparation, then as execute.
  struct Option {
    Weights parts;
    double execute;
  };

  double execute(size_t i, unsigned c) const {
    const Layer &layer = problem.layers[i];
    return (layer.candidates[c].execute + layer.firstTouch) * executeScale;
  }
  /// The least time that a preparation keeps a lane busy.
  double occupies(size_t i, unsigned c, Core core) const {
    Job job = preparationJob(device, 0, problem.layers[i].candidates[c], core);
    double wait = device.arrival.empty()
                      ? job.latency + job.bytes / device.readBandwidth
                      : 0;
    return wait + job.work * prepareScale;
  }
  /// The least time from the start of the run to the end of a preparation.
  double soonestReady(size_t i, unsigned c) const {
    double least = Simulator::never;
    auto on = [&](Core core) {
      Job job =
          preparationJob(device, 0, problem.layers[i].candidates[c], core);
      double wait = device.arrival.empty()
                        ? job.latency + job.bytes / device.readBandwidth
                    : job.bytes > 0 ? arrivalOf(device, job.bytes, job.bytes)
                                    : 0;
      least = std::min(least, wait + job.work * prepareScale);
    };
    on(device.executeCore);
    for (Core core : device.preparationLanes)
      on(core);
    return least;
  }

  void build() {
    size_t lanes = device.preparationLanes.size();
    options.resize(problem.layers.size());
    for (size_t i = 0; i < problem.layers.size(); ++i)
      for (unsigned c : usable[i]) {
        const Candidate &candidate = problem.layers[i].candidates[c];
        auto add = [&](Core core, bool executeLane) {
          Option o = {};
          double e = execute(i, c), p = occupies(i, c, core);
          double work =
              preparationJob(device, 0, candidate, core).work * prepareScale;
          o.parts[Boot] = e + (i == 0 ? soonestReady(i, c) : 0);
          o.parts[Execute] = e + (executeLane ? p : 0);
          double f = std::max(1.0, device.executeInterference);
          o.parts[Slowed] =
              e + (executeLane ? p / f : work * (1 - 1 / f) / lanes);
          o.execute = e;
          o.parts[Prepare] = executeLane ? 0 : p / lanes;
          o.parts[Storage] = candidate.bytes / device.readBandwidth;
          o.parts[Cpus] =
              (e * std::min(device.executeThreads, device.cpus) + work) /
              std::max(1u, device.cpus);
          options[i].push_back(o);
        };
        add(device.executeCore, true);
        for (Core kind : {Core::Big, Core::Little})
          if (std::count(device.preparationLanes.begin(),
                         device.preparationLanes.end(), kind))
            add(kind, false);
      }
  }

  double at(const Weights &u) const {
    // Without preparation lanes that part bounds nothing.
    double sum = 0, tail = u[Prepare] + u[Storage];
    for (size_t i = 0; i < options.size(); ++i) {
      Weights v = u;
      if (i > k)
        v[Prepare] = v[Storage] = 0;
      double least = Simulator::never;
      for (const Option &o : options[i]) {
        double value = i >= k ? tail * o.execute : 0;
        for (int part = 0; part < Parts; ++part)
          value += v[part] * o.parts[part];
        least = std::min(least, value);
      }
      sum += least;
    }
    return sum - u[Storage] * earliest;
  }

  /// Moves weight from one part to another while that helps.
  double climb(Weights u) const {
    double best = at(u);
    for (double step = 0.5; step > 1e-3; step /= 2)
      for (bool better = true; better;) {
        better = false;
        for (int from = 0; from < Parts; ++from)
          for (int to = 0; to < Parts; ++to) {
            double amount = std::min(step, u[from]);
            if (from == to || amount <= 0)
              continue;
            Weights v = u;
            v[from] -= amount;
            v[to] += amount;
            double value = at(v);
            if (value > best * (1 + 1e-9)) {
              best = value;
              u = v;
              better = true;
            }
          }
      }
    return best;
  }

  const Problem &problem;
  const Device &device;
  std::vector<std::vector<unsigned>> usable;
  std::vector<std::vector<Option>> options;
  double executeScale = 1, prepareScale = 1;
  double earliest = 0; ///< see earliestArrival()
  size_t k = 0;
};

} // namespace

double lowerBound(const Problem &problem) {
  if (problem.layers.empty())
    return 0;
  // Sums of rounded numbers may exceed the simulator's by as much as they
  // round.
  return Bound(problem).run() * (1 - 1e-9);
}

} // namespace nnv12::search
