//===- Later.cpp - Which routines take over after the first run -----------===//

#include "compiler/search/Later.h"

#include <algorithm>

namespace nnv12::search {

/// Milliseconds that a change must win: more than sums are rounded by.
static constexpr double leastLaterWin = 1e-9;
/// Milliseconds that a byte must gain where memory counts for nothing: of equal
/// routines the smaller one is taken.
static constexpr double cheapest = 1e-12;
/// How often the price is halved towards the one at which all fits.
static constexpr unsigned priceHalvings = 40;

namespace {

/// A choice that gets better change by change.
class LaterSearch {
public:
  explicit LaterSearch(const LaterProblem &problem)
      : problem(problem), choice(problem.layers.size()),
        users(problem.bytes.size()), readers(problem.bytes.size()) {
    for (uint32_t i = 0; i < problem.layers.size(); ++i)
      for (const LaterRoutine &routine : problem.layers[i])
        for (uint32_t need : routine.needs)
          if (readers[need].empty() || readers[need].back() != i)
            readers[need].push_back(i);
  }

  LaterChoice run() {
    improve(cheapest);
    if (!fits())
      makeFit();
    return choice;
  }

private:
  using Way = std::optional<unsigned>;
  static constexpr uint32_t none = ~0u;

  void take(uint32_t layer, Way way) {
    for (bool comes : {true, false}) {
      Way of = comes ? way : choice[layer];
      if (!of)
        continue;
      const LaterRoutine &routine = problem.layers[layer][*of];
      gain += comes ? routine.gain : -routine.gain;
      for (uint32_t need : routine.needs)
        if (comes ? users[need]++ == 0 : --users[need] == 0)
          bytes += comes ? problem.bytes[need] : -problem.bytes[need];
    }
    choice[layer] = way;
  }

  void clear() {
    for (uint32_t i = 0; i < choice.size(); ++i)
      take(i, std::nullopt);
  }

  double value(double price) const { return gain - price * bytes; }
  bool fits() const {
    return bytes <= problem.most && value(problem.price) >= -leastLaterWin;
  }

  /// The best for one layer while all others stay: without routines that need
  /// `never`, and as if `always` were there.
  Way bestOf(uint32_t layer, double price, uint32_t never = none,
             uint32_t always = none) {
    Way now = choice[layer], best;
    take(layer, std::nullopt);
    double most = leastLaterWin;
    for (unsigned k = 0; k < problem.layers[layer].size(); ++k) {
      const LaterRoutine &routine = problem.layers[layer][k];
      double win = routine.gain;
      bool isAllowed = true;
      for (uint32_t need : routine.needs) {
        isAllowed &= need != never;
        if (!users[need] && need != always)
          win -= price * problem.bytes[need];
      }
      if (isAllowed && win > most + (best ? leastLaterWin : 0)) {
        most = win;
        best = k;
      }
    }
    take(layer, now);
    return best;
  }

  /// Gives all `layers` their `way(layer)`, unless that is no better, or does
  /// not fit where it must. Tells whether it is.
  template <typename WayOf>
  bool attempt(const std::vector<uint32_t> &layers, double price, bool mustFit,
               const WayOf &way) {
    double least = value(price);
    before.clear();
    for (uint32_t layer : layers) {
      before.push_back(choice[layer]);
      take(layer, way(layer));
    }
    if (value(price) > least + leastLaterWin && (!mustFit || fits()))
      return true;
    for (size_t i = 0; i < layers.size(); ++i)
      take(layers[i], before[i]);
    return false;
  }

  /// Changes one layer, and all layers that can use something, as long as that
  /// helps. Each change makes the value larger, so it ends.
  void improve(double price, bool mustFit = false) {
    for (bool improved = true; improved;) {
      improved = false;
      for (uint32_t i = 0; i < choice.size(); ++i) {
        improved |= attempt({i}, price, mustFit,
                            [&](uint32_t) { return bestOf(i, price); });
        if (!mustFit)
          continue;
        // The best may be too large where another one is not.
        for (unsigned k = 0; k < problem.layers[i].size(); ++k)
          improved |=
              attempt({i}, price, mustFit, [&](uint32_t) { return Way(k); });
      }
      for (uint32_t need = 0; need < problem.bytes.size(); ++need) {
        if (readers[need].size() < 2)
          continue;
        improved |= attempt(readers[need], price, mustFit, [&](uint32_t layer) {
          return bestOf(layer, price, none, need);
        });
        improved |= attempt(readers[need], price, mustFit, [&](uint32_t layer) {
          return bestOf(layer, price, need);
        });
      }
    }
  }

  /// A limit that all keep to is a price that all pay, as in a Lagrangian
  /// relaxation: the least at which all fits. The rest of the limit then is
  /// filled up. (At problem.price each byte gains it, so all do.)
  void makeFit() {
    double low = cheapest, high = std::max(low, problem.price);
    for (const auto &layer : problem.layers)
      for (const LaterRoutine &routine : layer)
        for (uint32_t need : routine.needs)
          if (problem.bytes[need] > 0)
            high = std::max(high, 2 * routine.gain / problem.bytes[need]);
    auto choose = [&](double price) {
      clear();
      improve(price);
      return fits();
    };
    for (unsigned n = 0; n < priceHalvings; ++n) {
      double middle = (low + high) / 2;
      (choose(middle) ? high : low) = middle;
    }
    if (!choose(high))
      clear();
    improve(cheapest, /*mustFit=*/true);
    LaterChoice filled = choice;
    double most = gain;
    clear();
    improve(cheapest, /*mustFit=*/true);
    if (gain < most + leastLaterWin)
      choice = filled;
  }

  const LaterProblem &problem;
  LaterChoice choice;
  std::vector<unsigned> users; ///< by need: layers that use it now
  std::vector<std::vector<uint32_t>> readers; ///< by need: that can use it
  std::vector<Way> before;                    ///< memory for attempt()
  double gain = 0, bytes = 0;
};

} // namespace

LaterChoice chooseLater(const LaterProblem &problem) {
  return LaterSearch(problem).run();
}

} // namespace nnv12::search
